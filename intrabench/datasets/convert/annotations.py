"""Annotations of whole pictures by several people: each divides the picture into segments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.segments import Segment
from intrabench.errors import IntraBenchError
from intrabench.files.label_files import READERS, read_label_file
from intrabench.files.label_values import check_hard, whole_numbers
from intrabench.target import Target, targets_of
from intrabench.volume import Volume

FORMATS = (".mat", *READERS)
"""Files that may hold annotations; a MATLAB file is one of BSDS500."""


_HARD = "save it without smooth borders"


def read_annotations(paths: Mapping[Path, int], shape: tuple[int, ...]) -> dict[int, NDArray[Any]]:
    """The label maps ``(y, x)`` of people, by number.

    Each is a file, or one of several in an array ``(person, y, x)`` or a MATLAB file.

    paths: each file with the number of its first person, so that nobody's number depends on other files.

    Raises:
        IntraBenchError: a file cannot be read, has another size than the picture, `shape` ``(y, x)``, or has somebody
            whom another file has, too.
    """
    found: dict[int, NDArray[Any]] = {}
    files: dict[int, Path] = {}
    for path, first in paths.items():
        for person, labels in enumerate(_of_bsds(path) if path.suffix.lower() == ".mat" else _maps(path), first):
            if labels.shape != shape:
                raise IntraBenchError(
                    f"{path} has {' x '.join(map(str, labels.shape))} pixels, but its picture has "
                    f"{' x '.join(map(str, shape))}; export both in the same size"
                )
            if files.setdefault(person, path) != path:
                raise IntraBenchError(f"{files[person]} and {path} are both of person {person}; rename one of them")
            found[person] = whole_numbers(labels, str(path))
            check_hard(np.unique(found[person], return_inverse=True)[1].reshape(shape), str(path), _HARD)
    return found


def annotated(maps: Mapping[int, NDArray[Any]], case: str, volume: Volume) -> list[Target]:
    """The segments of each person as targets; persons are called ``person1``, ``person2``, ... by their numbers."""
    found: list[Target] = []
    for number, labels in sorted(maps.items()):
        person = f"person{number}"
        ids = np.unique(labels, return_inverse=True)[1].reshape(1, *labels.shape) + 1  # 0 is a segment, too
        names = {value: (person, value) for value in range(1, int(ids.max()) + 1)}
        found += [replace(one, person=person) for one in targets_of(ids, names, case, volume.spacing_mm)]
    return found


def segments_of(targets: Sequence[Target]) -> list[Segment]:
    """The same as segments of a file."""
    return [Segment(one.label, one.mask, one.instance, person=one.person) for one in targets]


def _maps(path: Path) -> Iterator[NDArray[Any]]:
    labels = read_label_file(path)
    yield from labels if labels.ndim == 3 else [labels]


def _of_bsds(path: Path) -> Iterator[NDArray[Any]]:
    """A MATLAB file of BSDS500: a cell ``groundTruth`` of structures with ``Segmentation``."""
    from scipy.io import loadmat

    try:
        people = loadmat(path, squeeze_me=False)["groundTruth"].ravel()
        yield from [np.asarray(person["Segmentation"][0, 0]) for person in people]
    except Exception as error:  # scipy raises other exceptions for each kind of damage
        raise IntraBenchError(
            f"{path} is no annotation of BSDS500 ({type(error).__name__}); unpack the archive again"
        ) from error
