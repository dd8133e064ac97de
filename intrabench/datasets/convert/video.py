"""Videos: a folder of frames, one of masks with palette, and what people drew on them. Time is z.

Frame 0 is the first by name. A pixel counts as 1 mm, and so does a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from intrabench.datasets.convert.label_map import segments_of
from intrabench.datasets.convert.photo import IGNORED, SUFFIXES, VOID, read_grey, read_ids, read_photo
from intrabench.datasets.convert.segments import Segment, Strokes
from intrabench.errors import IntraBenchError
from intrabench.files.label_values import WHOLE, LabelValues
from intrabench.files.scribble_file import joined, lines_of, pixels_of, read_scribbles
from intrabench.mask import Array, Mask
from intrabench.prompts import Scribble
from intrabench.volume import Volume


def read_video(
    frames: Path, masks: Path, scribbles: Path | None = None, values: LabelValues = WHOLE
) -> tuple[Volume, list[Segment], Mask]:
    """The frames of a folder, ``(frame, y, x, colour)``, the objects in the masks of another one, and ignored pixels.

    scribbles: a folder with a file of each person, as DAVIS has them. values: how those of masks become objects.

    Raises:
        IntraBenchError: a frame has no mask or another size, or a file is damaged or does not fit the others.
    """
    pairs = _paired(frames, masks)
    pictures = [read_photo(frame).array[0] for frame, _ in pairs]
    cut = isinstance(values.threshold, float)
    ids = [read_grey(mask) if cut else read_ids(mask, "palette") for _, mask in pairs]
    first = pairs[0][0].name
    for paths, picture, labels in zip(pairs, pictures, ids, strict=True):
        for path, shape in zip(paths, (picture.shape[:2], labels.shape), strict=True):
            if shape != pictures[0].shape[:2]:
                size = f"{pictures[0].shape[0]} x {pictures[0].shape[1]}"
                raise IntraBenchError(
                    f"{path} has {shape[0]} x {shape[1]} pixels, but {first} has {size}; all frames and masks of a "
                    "video need the same size"
                )
    labels = values.labels(np.stack(ids), str(masks)).astype(np.int32)
    labels[labels == VOID] = IGNORED
    strokes = _drawn(people(scribbles), frames.name, labels)
    segments = segments_of(labels.clip(0), "object")
    segments = [replace(segment, scribbles=strokes.get(segment.number, ())) for segment in segments]
    return Volume.from_canonical(np.stack(pictures)), segments, Mask.of(labels == IGNORED)


def pictures_in(folder: Path) -> list[Path]:
    """The pictures in a folder, by name."""
    files = sorted(folder.iterdir(), key=lambda path: path.name)
    return [path for path in files if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")]


def people(scribbles: Path | None) -> list[Path]:
    """The files of scribbles in a folder, ``001.json`` and so on, in order; none if there is no such folder."""
    return sorted(scribbles.glob("[0-9][0-9][0-9].json")) if scribbles else []


def _paired(frames: Path, masks: Path) -> list[tuple[Path, Path]]:
    """Each frame with the mask of the same name."""
    files, named = pictures_in(frames), {path.stem: path for path in pictures_in(masks)}
    for frame in files:
        if frame.stem not in named:
            raise IntraBenchError(f"{frame} has no mask of the same name in {masks}; add it")
    if extra := named.keys() - {frame.stem for frame in files}:
        raise IntraBenchError(f"{named[min(extra)]} has no frame of the same name in {frames}; add it")
    return [(frame, named[frame.stem]) for frame in files]


def _drawn(files: Sequence[Path], sequence: str, labels: Array) -> dict[int, Strokes]:
    """What people drew for each object; a stroke into the background says that all of them are not there."""
    frames, height, width = labels.shape
    objects = range(1, int(labels.max(initial=0)) + 1)
    found: dict[int, list[list[Scribble]]] = {number: [[] for _ in files] for number in objects}
    for person, file in enumerate(files):
        for frame, line in lines_of(read_scribbles(file, sequence, frames, len(objects))):
            xy = joined(pixels_of(np.asarray(line["path"], np.float64), width, height))
            xy = xy[(np.diff(xy, axis=0, prepend=-1) != 0).any(axis=1)]
            stroke = Scribble(np.insert(xy[:, ::-1], 0, frame, axis=1), int(line["object_id"] > 0))
            for number in [line["object_id"]] if line["object_id"] else objects:
                found[number][person].append(stroke)
    return {number: tuple(map(tuple, strokes)) for number, strokes in found.items()}
