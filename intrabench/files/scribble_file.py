"""Scribbles as DAVIS Interactive writes them, as JSON.

``{"sequence": str, "annotated_frame": int, "scribbles": [...]}``, with a list for each frame of
``{"path": [[x, y], ...], "object_id": int, "start_time": ms, "end_time": ms}``. Paths are shares of the width and
height, 0 to 1; the object 0 is background.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Ints

Scribbles = dict[str, Any]


def read_scribbles(path: Path, sequence: str, frames: int, objects: int) -> Scribbles:
    """The scribbles of one person in a sequence with so many frames and objects.

    Raises:
        IntraBenchError: the file is damaged or does not fit the sequence.
    """
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        check_scribbles(found)
    except (ValueError, IntraBenchError) as error:
        raise IntraBenchError(f"{path} has no scribbles of DAVIS: {error}") from None
    if len(found["scribbles"]) != frames:
        raise IntraBenchError(f"{path} has {len(found['scribbles'])} frames, but {sequence} has {frames}")
    if wrong := [line["object_id"] for _, line in lines_of(found) if line["object_id"] > objects]:
        raise IntraBenchError(f"{path} has scribbles of object {wrong[0]}, but {sequence} has objects 1 to {objects}")
    return {"sequence": sequence, **found}


def check_scribbles(scribbles: Scribbles) -> None:
    """Refuse what is no scribbles.

    Raises:
        IntraBenchError: what is wrong, and where.
    """
    frames = scribbles.get("scribbles") if isinstance(scribbles, dict) else None
    if not isinstance(frames, list) or not all(isinstance(lines, list) for lines in frames):
        raise IntraBenchError('scribbles are a dictionary with a list for each frame: {"scribbles": [[], [...]], ...}')
    for number, line in lines_of(scribbles):
        path = np.asarray(line.get("path", ()), dtype=np.float64) if isinstance(line, dict) else np.zeros(0)
        if path.ndim != 2 or path.shape[1] != 2:
            raise IntraBenchError(f"a scribble in frame {number} has no path; give it points, [[x, y], ...]")
        if not ((path >= 0) & (path <= 1)).all():
            wrong = path[~((path >= 0) & (path <= 1)).all(axis=1)][0].tolist()
            raise IntraBenchError(
                f"a scribble in frame {number} has the point {wrong}, outside of the image; points are shares of its "
                "width and height, 0 to 1"
            )
        if not isinstance(line.get("object_id"), int) or line["object_id"] < 0:
            raise IntraBenchError(f"a scribble in frame {number} has no object_id; give 0 (background), 1, 2, ...")


def lines_of(scribbles: Scribbles) -> list[tuple[int, Any]]:
    """All strokes, each with its frame."""
    return [(number, line) for number, lines in enumerate(scribbles["scribbles"]) for line in lines]


def pixels_of(path: NDArray[Any], width: int, height: int, compat: bool = False) -> Ints:
    """The pixels ``x, y`` of shares; compat: those that davisinteractive 1.0.4 drew, one to the left and above."""
    if compat:
        return (path * (width - 1, height - 1)).astype(np.int64)
    return np.minimum((path * (width, height)).astype(np.int64), (width - 1, height - 1))


def joined(pixels: Ints) -> Ints:
    """The pixels on the lines from point to point, as Bresenham draws them, each line with its ends.

    Half pixels are rounded towards the end of a line.
    """
    if len(pixels) < 2:
        return pixels
    way = np.diff(pixels, axis=0)
    steps = np.abs(way).max(axis=1)
    line = np.repeat(np.arange(len(way)), steps + 1)  # of each pixel
    along = np.arange(len(line)) - (np.cumsum(steps + 1) - steps - 1)[line]
    halves = 2 * along[:, None] * np.abs(way)[line] + steps[line, None]
    found = pixels[:-1][line] + np.sign(way)[line] * (halves // np.maximum(2 * steps, 1)[line, None])
    return np.asarray(found, dtype=np.int64)
