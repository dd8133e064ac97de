"""What existing scripts of DAVIS Interactive do with scribbles.

compat: the values of davisinteractive 1.0.4, which draws one pixel to the left of and above what its robot meant, and
scales the axes of points by each other's size.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from intrabench.davis.robot import MOST_POINTS, bezier
from intrabench.errors import IntraBenchError
from intrabench.files.scribble_file import Scribbles, check_scribbles, joined, lines_of, pixels_of
from intrabench.mask import Ints

NONE = -1
"""No object, in masks."""

_Any = TypeVar("_Any")


def is_empty(scribbles: Scribbles) -> bool:
    """Whether there is no stroke at all."""
    return not any(scribbles["scribbles"])


def annotated_frames(scribbles: Scribbles) -> list[int]:
    """The frames with strokes."""
    return [number for number, lines in enumerate(scribbles["scribbles"]) if lines]


def annotated_frames_object(scribbles: Scribbles, object_id: int) -> list[int]:
    """The frames with strokes for an object."""
    frames = enumerate(scribbles["scribbles"])
    return [number for number, lines in frames if any(line["object_id"] == object_id for line in lines)]


def copied(scribbles: _Any) -> _Any:
    """A deep copy; four times as fast as `copy.deepcopy`, for paths are long lists of lists."""
    found: _Any = pickle.loads(pickle.dumps(scribbles))
    return found


def fuse_scribbles(scribbles_a: Scribbles, scribbles_b: Scribbles, compat: bool = False) -> Scribbles:
    """The strokes of both, those of `scribbles_a` first; compat: written into `scribbles_a`.

    Raises:
        IntraBenchError: they are of different sequences or numbers of frames.
    """
    if scribbles_a["sequence"] != scribbles_b["sequence"]:
        names = f"{scribbles_a['sequence']} and {scribbles_b['sequence']}"
        raise IntraBenchError(f"scribbles of {names} cannot be fused; give two of the same sequence")
    counts = len(scribbles_a["scribbles"]), len(scribbles_b["scribbles"])
    if counts[0] != counts[1]:
        raise IntraBenchError(f"scribbles of {counts[0]} and of {counts[1]} frames cannot be fused")
    fused = scribbles_a if compat else copied(scribbles_a)
    for lines, more in zip(fused["scribbles"], scribbles_b["scribbles"], strict=True):
        lines += copied(more)
    return fused


def scribbles2mask(
    scribbles: Scribbles,
    output_resolution: Sequence[int],
    bezier_curve_sampling: bool = False,
    nb_points: int = MOST_POINTS,
    bresenham: bool = True,
    default_value: int = NONE,
    compat: bool = False,
) -> Ints:
    """The objects of the strokes ``(frame, y, x)``; `default_value` where there are none, the last one where several.

    output_resolution: ``(height, width)``. bezier_curve_sampling: draw the Bezier curve of each path instead, of
    `nb_points`. bresenham: join the points by lines.
    """
    check_scribbles(scribbles)
    height, width = (int(side) for side in output_resolution)
    masks = np.full((len(scribbles["scribbles"]), height, width), default_value, np.int64)
    for number, line in lines_of(scribbles):
        path = np.asarray(line["path"], dtype=np.float64)
        if bezier_curve_sampling:
            path = bezier(path, nb_points)
        pixels = pixels_of(path, width, height, compat)
        x, y = (joined(pixels) if bresenham else pixels).T
        masks[number, y, x] = line["object_id"]
    return masks


def scribbles2points(
    scribbles: Scribbles, output_resolution: Sequence[int] | None = None, compat: bool = False
) -> tuple[NDArray[Any], Ints]:
    """All points, rows ``frame, y, x``, and their objects; without a resolution ``(height, width)`` as shares.

    compat: rows ``frame, x, y``, where x is scaled by the height and y by the width.
    """
    check_scribbles(scribbles)
    rows, objects = [np.zeros((0, 3))], list[int]()
    for number, line in lines_of(scribbles):
        path = np.asarray(line["path"], dtype=np.float64)
        rows.append(np.column_stack([np.full(len(path), number), path if compat else path[:, ::-1]]))
        objects += [line["object_id"]] * len(path)
    points = np.concatenate(rows)
    if output_resolution is not None:
        height, width = (int(side) for side in output_resolution)
        if compat:
            points = (points * (1, height - 1, width - 1)).astype(np.int64)
        else:
            points = np.minimum((points * (1, height, width)).astype(np.int64), (len(points), height - 1, width - 1))
    return points, np.array(objects, dtype=np.int64)


def shares(path: NDArray[Any], height: int, width: int, compat: bool = False) -> list[list[float]]:
    """A path of pixels ``y, x``, whole numbers at their centres, as shares ``x, y``; compat: at their corners."""
    middle = 0.0 if compat else 0.5
    return ((np.asarray(path, dtype=np.float64)[:, ::-1] + middle) / (width, height)).tolist()


def drawn(path: NDArray[Any], inside: NDArray[np.bool_] | None = None) -> Ints:
    """The pixels ``y, x`` of a stroke through the points of `path`, without repeats; only those `inside`, if given."""
    stroke = joined(np.rint(path).astype(np.int64))
    if inside is not None:  # a line between two points of it may leave it
        stroke = stroke[inside[stroke[:, 0], stroke[:, 1]]]
    return stroke[(np.diff(stroke, axis=0, prepend=NONE) != 0).any(axis=1)]
