"""RT structure sets: planar contours on a series, converted to masks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.dicom_file import read_dataset, required
from intrabench.datasets.convert.dicom_references import References, beside_named
from intrabench.datasets.convert.dicom_series import Series
from intrabench.datasets.convert.polygons import Contours, filled
from intrabench.datasets.convert.resample import canonical_mask
from intrabench.datasets.convert.segments import Drawn, Segment
from intrabench.errors import IntraBenchError, reading, several, some
from intrabench.mask import Floats, Mask

_CLOSED = ("CLOSED_PLANAR", "CLOSEDPLANAR_XOR")
_FLAT = 0.1
"""Tolerance for contours in a slice plane, as a fraction of the step between slices, and at the sides, in pixels."""
_CENTRED = 0.02
"""Vertices at most this far from pixel centres, in pixels, lie on them: files round coordinates to 0.01 mm."""
_ON_CENTRES = (
    "all vertices of a region lie on centres of voxels, as if its contours were traced along the voxels of a mask; "
    "voxels on such contours count as "
)
_COUNTED: dict[Contours, str] = {
    "inclusive": 'inside (contours = "exclusive" in dataset.toml leaves them out)',
    "exclusive": "outside, as dataset.toml says",
}


def read_rtstruct(path: Path, series: Series, contours: Contours = "inclusive") -> Drawn:
    """The regions of interest of a structure set as masks on the grid of its series, in the order of the file.

    A voxel is inside if its centre is inside; `contours` says whether one on a contour is. A contour belongs to the
    nearest slice, and the contours of one slice are combined by the even-odd rule (holes, keyholes, islands); one that
    is there twice counts once. Points and open contours are left out, and so are regions without contours and those in
    another frame of reference than others, as notes say; contours that belong to no region are one without a name.
    Contours outside of the volume are cut off, which the segment says (`Segment.lost`, `Segment.beside`); it also says
    if all vertices lie on voxel centres. Names and numbers are ROIName and ROINumber.

    Raises:
        IntraBenchError: the file is not a structure set, truncated or drawn on other images; its contours are not in
            the planes of the slices, or lie in several planes within one slice.
    """
    dataset = read_dataset(path)
    if dataset.get("Modality") != "RTSTRUCT":
        raise IntraBenchError(
            f"{path} is a {dataset.get('Modality')} file, expected an RTSTRUCT; give the structure set"
        )
    References.of(dataset).check(path, series.uid, series.frame_of_reference, series.instances)
    drawn: dict[int, list[tuple[Any, frozenset[str]]]] = {}
    for item in required(dataset, "ROIContourSequence", path):
        contours_of = drawn.setdefault(int(required(item, "ReferencedROINumber", path)), [])
        contours_of += [(one, References.of_contour(one)) for one in item.get("ContourSequence") or ()]
    names, elsewhere = _regions(dataset, series, path)
    for number in sorted(drawn.keys() - elsewhere.keys()):
        names.setdefault(number, "")
    segments, empty, notes, others = list[Segment](), list[str](), list[str](), 0
    for number, name in names.items():
        region, every = f"{path}: the region {name or number}", drawn.get(number, ())
        found = [(one, images) for one, images in every if not series.has_not(images)]
        others += len(every) - len(found)
        closed = [(points, images) for one, images in found if len(points := _points(one, region))]
        if not every:
            empty.append(name or str(number))
        elif opened := len(found) - len(closed):
            kinds = sorted({str(one.get("ContourGeometricType")) for one, _ in found} - {*_CLOSED}) or ["no points"]
            what = f"open or empty contours ({', '.join(kinds)})"
            notes.append(f"{region} has {what}, which are left out: {opened} of {len(found)}")
        if closed:
            polygons, sources = zip(*closed, strict=True)
            once = list({points.tobytes(): points for points in polygons}.values())  # two of a kind would cancel out
            segments.append(Segment(name, *_read(once, series, number, region, contours)))
            if count := beside_named(sources, _places(polygons, series), series.instances):
                where = "on other slices than the images that they name; their own positions count"
                notes.append(f"{region} has {several(count, 'contour')} {where}")
    if others:
        many = several(others, "contour")
        notes.append(f"{path} has {many} that were drawn on another phase of the series, left out")
    if empty:
        notes.append(f"{path} describes {several(len(empty), 'region')} without contours: {some(empty)}")
    if elsewhere:
        many, which = several(len(elsewhere), "region"), [name or str(number) for number, name in elsewhere.items()]
        notes.append(f"{path} has {many} in another frame of reference than the images, left out: {some(which)}")
    return segments, tuple(notes)


def _regions(dataset: Any, series: Series, path: Path) -> tuple[dict[int, str], dict[int, str]]:
    """The names of regions by number, and of those in another frame of reference, if there are some in that of images.

    Raises:
        IntraBenchError: two regions have the same number.
    """
    names, frames = dict[int, str](), dict[int, str]()
    for item in required(dataset, "StructureSetROISequence", path):
        number = int(required(item, "ROINumber", path))
        if number in names:
            raise IntraBenchError(f"{path} describes two regions under one number ({number}); export it again")
        names[number] = str(item.get("ROIName") or "")
        frames[number] = str(item.get("ReferencedFrameOfReferenceUID") or "")
    if not series.frame_of_reference or series.frame_of_reference not in frames.values():
        return names, {}
    others = [number for number, frame in frames.items() if frame not in ("", series.frame_of_reference)]
    return names, {number: names.pop(number) for number in others}


def _places(drawn: Sequence[Floats], series: Series) -> Floats:
    """The slices of the images in which contours begin, as fractions; drawn: vertices ``(n, 3)`` in RAS mm."""
    along = np.linalg.inv(series.volume.grid.affine)[2]
    return series.slices_at(np.stack([points[0] for points in drawn]) @ along[:3] + along[3])


def _points(contour: Any, region: str) -> Floats:
    """The vertices ``(n, 3)`` of a closed contour in RAS mm; no vertices for other contours."""
    stored = contour.get_item("ContourData")  # as bytes, because pydicom would make an object of every number
    if contour.get("ContourGeometricType") not in _CLOSED or stored is None or not stored.value:
        return np.empty((0, 3))
    with reading(region):
        points = np.array(stored.value.split(b"\\"), dtype=np.float64).reshape(-1, 3)
    if not np.isfinite(points).all():
        raise IntraBenchError(f"{region} has a contour with coordinates that are NaN or infinite; export it again")
    return points * (-1, -1, 1)  # DICOM points to Left and Posterior


def _read(
    drawn: Sequence[Floats], series: Series, number: int, region: str, contours: Contours
) -> tuple[Mask, int, str, str]:
    """The mask of one region, its number, and what is lost and beside; `drawn`: vertices ``(n, 3)`` in RAS mm."""
    grid = series.volume.grid
    to_voxels = np.linalg.inv(grid.affine)
    voxels = np.concatenate(drawn) @ to_voxels[:3, :3].T + to_voxels[:3, 3]
    voxels[:, 2] = series.slices_at(voxels[:, 2])
    sizes = np.array([len(contour) for contour in drawn])
    slices = _slices(voxels[:, 2], sizes, region, series.remedy)
    kept = (slices >= 0) & (slices < grid.shape[2])
    lost = (
        f"{region} has {np.count_nonzero(~kept)} of {len(kept)} contours more than half a step beyond the "
        f"{several(grid.shape[2], 'slice')} of the series {series.uid}"
    )
    lost = "" if kept.all() else lost
    there, sizes, slices = voxels[np.repeat(kept, sizes)], sizes[kept], slices[kept]
    if not len(slices):
        return Mask.empty(), number, lost, ""
    flat, off = there[:, :2], float(np.abs(there[:, 2] - np.repeat(slices, sizes)).max())
    centred = bool(np.abs(flat - np.rint(flat)).max() < _CENTRED)
    flat = np.rint(flat) if centred else flat
    low = np.clip(np.floor(flat.min(axis=0)), 0, grid.shape[:2]).astype(int)
    high = np.clip(np.ceil(flat.max(axis=0)) + 1, 0, grid.shape[:2]).astype(int)
    if (low >= high).any():
        return Mask.empty(), number, lost, f"{region} lies outside the images of the series, so it is left out"
    over = float(max((-0.5 - flat).max(), (flat - np.array(grid.shape[:2]) + 0.5).max()))
    beside = f"{region} reaches up to {over:.3g} pixels beyond the sides of the images and is cut off there"
    first = int(slices.min())
    width, height = (int(extent) for extent in high - low)
    polygons = np.split(flat - low, sizes.cumsum()[:-1])
    inside = filled(polygons, slices - first, (width, height, int(np.ptp(slices)) + 1), contours)
    apart = np.diff(np.unique(slices))
    notes = [
        *([beside] if over > _FLAT else []),
        *(
            [f"{region} has no contours in neighbouring slices; those between stay empty"]
            if len(apart) and (apart > 1).all()
            else []
        ),
        *(
            [f"{region} has contours up to {off:.2g} steps off the slices; each belongs to the nearest one"]
            if off > _FLAT
            else []
        ),
        *([] if inside.any() else [f"{region} holds no centre of a voxel, so it gives no target"]),
        *([_ON_CENTRES + _COUNTED[contours]] if centred else []),
    ]
    return canonical_mask(inside, (*low.tolist(), first), grid), number, lost, "; also: ".join(notes)


def _slices(along: Floats, sizes: NDArray[np.intp], region: str, remedy: str) -> NDArray[np.intp]:
    """The slice of each contour; `along`: the coordinates of all vertices on the slice axis, `sizes`: per contour.

    region, remedy: what it is, and what to do if contours do not fit, for messages.
    """
    starts = sizes.cumsum() - sizes
    lowest, highest = np.minimum.reduceat(along, starts), np.maximum.reduceat(along, starts)
    through = float((highest - lowest).max())
    if through > _FLAT:
        raise IntraBenchError(
            f"{region} has a contour that extends over {through:.1f} steps between slices, expected contours in the "
            "planes of the slices; provide the series that it was drawn on"
        )
    slices = np.floor(np.round((lowest + highest) / 2, 3) + 0.5).astype(np.intp)  # rounded against float noise
    order = np.lexsort((lowest, slices))
    apart = (np.diff(lowest[order]) > _FLAT) & (np.diff(slices[order]) == 0)
    if apart.any():
        raise IntraBenchError(
            f"{region} has contours in several planes within one slice, so it was drawn on other slices; {remedy}"
        )
    return slices
