"""Videos: a folder of frames, one of masks with palette, and what people drew on them. Time is z.

Frame 0 is the first by name. A pixel counts as 1 mm, and so does a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from intrabench.datasets.convert.photo import PIXELS, Pixels, read_objects, read_photo
from intrabench.datasets.convert.segments import Segment, Strokes
from intrabench.errors import IntraBenchError
from intrabench.files.pictures import SUFFIXES
from intrabench.files.scribble_file import joined, lines_of, pixels_of, read_scribbles
from intrabench.mask import Array, Mask
from intrabench.prompts import Scribble
from intrabench.volume import Volume


def read_video(
    frames: Path, masks: Path, scribbles: Path | None = None, pixels: Pixels = PIXELS
) -> tuple[Volume, list[Segment], Mask]:
    """The frames of a folder, ``(frame, y, x, colour)``, the objects in the masks of another one, and ignored pixels.

    scribbles: a folder with a file of each person, as DAVIS has them. pixels: how those of masks become objects.

    Raises:
        IntraBenchError: a frame has no mask or another size, or a file is damaged or does not fit the others.
    """
    pairs = _paired(frames, masks)
    pictures = [read_photo(frame) for frame in pairs]
    first, *others = zip(pairs, (picture.array for picture in pictures), strict=True)
    for frame, array in others:
        if (array.shape, array.dtype) != (first[1].shape, first[1].dtype):
            raise IntraBenchError(
                f"{frame} has {_described(array)}, but {first[0].name} has {_described(first[1])}; all frames of a "
                "video need one size and kind"
            )
    volume = Volume.from_canonical(np.concatenate([picture.array for picture in pictures]))
    drawn = {mask: frame for frame, mask in pairs.items()}
    segments, ignored, told = read_objects(drawn, volume.shape[1:], pixels)
    strokes = _drawn(people(scribbles), frames.name, volume.shape, max((one.number for one in segments), default=0))
    notes = dict.fromkeys((*(note for picture in pictures for note in picture.notes), *told))
    return (
        replace(volume, notes=tuple(notes)),
        [replace(segment, scribbles=strokes.get(segment.number, ())) for segment in segments],
        ignored,
    )


def pictures_in(folder: Path) -> list[Path]:
    """The pictures in a folder, by name."""
    files = sorted(folder.iterdir(), key=lambda path: path.name)
    return [path for path in files if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")]


def people(scribbles: Path | None) -> list[Path]:
    """The files of scribbles in a folder, ``001.json`` and so on, in order; none if there is no such folder."""
    return sorted(scribbles.glob("[0-9][0-9][0-9].json")) if scribbles else []


def _paired(frames: Path, masks: Path) -> dict[Path, Path]:
    """Each frame with the mask of the same name."""
    files, drawn = _by_name(frames), _by_name(masks)
    for name, frame in files.items():
        if name not in drawn:
            raise IntraBenchError(f"{frame} has no mask of the same name in {masks}; add it")
    if extra := drawn.keys() - files:
        raise IntraBenchError(f"{drawn[min(extra)]} has no frame of the same name in {frames}; add it")
    return {frame: drawn[name] for name, frame in files.items()}


def _by_name(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in pictures_in(folder):
        if found.setdefault(path.stem, path) != path:
            raise IntraBenchError(f"{found[path.stem]} and {path} are both of one frame; keep one of them")
    return found


def _described(frame: Array) -> str:
    return f"{frame.shape[1]} x {frame.shape[2]} pixels in {'colour' if frame.ndim == 4 else f'grey ({frame.dtype})'}"


def _drawn(files: Sequence[Path], sequence: str, shape: tuple[int, int, int], count: int) -> dict[int, Strokes]:
    """What people drew for each object; a stroke into the background says that all of them are not there."""
    frames, height, width = shape
    objects = range(1, count + 1)
    found: dict[int, list[list[Scribble]]] = {number: [[] for _ in files] for number in objects}
    for person, file in enumerate(files):
        for frame, line in lines_of(read_scribbles(file, sequence, frames, len(objects))):
            xy = joined(pixels_of(np.asarray(line["path"], np.float64), width, height))
            xy = xy[(np.diff(xy, axis=0, prepend=-1) != 0).any(axis=1)]
            stroke = Scribble(np.insert(xy[:, ::-1], 0, frame, axis=1), int(line["object_id"] > 0))
            for number in [line["object_id"]] if line["object_id"] else objects:
                found[number][person].append(stroke)
    return {number: tuple(map(tuple, strokes)) for number, strokes in found.items()}
