"""The position and orientation of one plane of pixels in the patient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.datasets.convert.dicom_file import required
from intrabench.errors import IntraBenchError

Vectors = NDArray[np.float64]

TAGS = (
    "Rows",
    "Columns",
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "PixelSpacing",
    "SliceThickness",
    "SpacingBetweenSlices",
)
"""The tags that define the plane of a single-frame file."""

_RAS = np.array([-1.0, -1.0, 1.0])  # DICOM points to Left and Posterior


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane of ``(rows, columns)`` pixels in RAS millimetres.

    position: centre of the first pixel, (3,). axes: one step along columns and along rows, as the columns of (3, 2).
    thickness: SliceThickness, or SpacingBetweenSlices if that is missing. name: file (and frame), for messages.
    """

    name: str
    shape: tuple[int, int]
    position: Vectors
    axes: Vectors
    thickness: float | None

    @classmethod
    def of_file(cls, dataset: Any, path: Path) -> Plane:
        """The plane of a file with one frame.

        Raises:
            IntraBenchError: a tag is missing, or the orientation is not two perpendicular unit vectors.
        """
        return _plane(str(path), dataset, dataset, dataset, dataset)

    @classmethod
    def of_frame(cls, dataset: Any, index: int, path: Path) -> Plane:
        """The plane of one frame, counted from 0, of a multi-frame file; raises as `of_file`."""
        name = f"{path} (frame {index + 1})"
        groups = (
            frame_group(dataset, index, f"{group}Sequence", name)
            for group in ("PlanePosition", "PlaneOrientation", "PixelMeasures")
        )
        return _plane(name, dataset, *groups)

    @property
    def spacing_mm(self) -> Vectors:
        """The distances between columns and between rows, (2,)."""
        return np.asarray(np.linalg.norm(self.axes, axis=0))

    @property
    def normal(self) -> Vectors:
        """The unit vector (3,) normal to the plane, in the direction of ascending slices."""
        across = np.cross(self.axes[:, 0], self.axes[:, 1])
        return np.asarray(across / np.linalg.norm(across))


def frame_group(dataset: Any, index: int, keyword: str, name: str) -> Any:
    """The functional group of one frame: its own, or the one shared by all frames.

    Raises:
        IntraBenchError: both are missing.
    """
    frames = dataset.get("PerFrameFunctionalGroupsSequence") or ()
    shared = dataset.get("SharedFunctionalGroupsSequence") or ()
    for groups in (*frames[index : index + 1], *shared[:1]):
        if groups.get(keyword):
            return groups[keyword][0]
    return required({}, keyword, name)


def frame_groups(frames: Sequence[Any]) -> list[Any]:
    """All functional groups of frames, whatever they are called."""
    return [element.value[0] for frame in frames for element in frame if element.VR == "SQ" and element.value]


def _plane(name: str, size: Any, position: Any, orientation: Any, measures: Any) -> Plane:
    directions = _numbers(orientation, "ImageOrientationPatient", 6, name).reshape(2, 3)
    if not np.allclose(directions @ directions.T, np.eye(2), atol=1e-3):
        raise IntraBenchError(
            f"{name} has the ImageOrientationPatient {directions.round(4).ravel().tolist()}, expected two "
            "perpendicular vectors of length 1; repair or export it again"
        )
    down, across = _numbers(measures, "PixelSpacing", 2, name)  # the distance between rows comes first
    if min(down, across) <= 0:
        raise IntraBenchError(
            f"{name} has the PixelSpacing {[float(down), float(across)]}, expected distances above 0; export it again"
        )
    distances = (float(measures.get(keyword) or 0) for keyword in ("SliceThickness", "SpacingBetweenSlices"))
    thickness = next((distance for distance in distances if 0 < distance < np.inf), None)
    return Plane(
        name,
        (int(required(size, "Rows", name)), int(required(size, "Columns", name))),
        _numbers(position, "ImagePositionPatient", 3, name) * _RAS,
        (directions * _RAS * [[across], [down]]).T,
        thickness,
    )


def _numbers(dataset: Any, keyword: str, count: int, name: str) -> Vectors:
    values = np.atleast_1d(np.asarray(required(dataset, keyword, name), dtype=np.float64))
    if len(values) != count or not np.isfinite(values).all():
        raise IntraBenchError(f"{name} has the {keyword} {values.tolist()}, expected {count} numbers; export it again")
    return values
