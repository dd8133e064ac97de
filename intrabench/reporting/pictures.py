"""Pictures of a target, prompts and an answer on slices of the scan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from intrabench.files.atomic import atomically, writing
from intrabench.files.names import one_line
from intrabench.mask import TURNED, Box, Mask, box_slices, grow, intersection
from intrabench.prompts import Prompts
from intrabench.reporting.windows import CT_WINDOWS, ct_window, stated
from intrabench.target import Target
from intrabench.volume import Volume

Colour = tuple[int, int, int]
TARGET, ANSWER = (90, 200, 90), (235, 80, 235)
DRAWN, DERIVED, NEGATIVE = (255, 200, 0), (90, 170, 255), (255, 80, 80)
_TEXT, _GROUND = (230, 230, 230), (20, 20, 20)
_TILE, _LINE, _DOT = 260, 14, 4  # pixels: the longer side of a tile, a line of text, the radius of a click
_LETTERS = ImageFont.load_default(16)
_MARGIN_MM, _REACH_MM = 15.0, 30.0  # margin around everything shown; the answer is shown up to this far from the target
_PLANES = ("z", "coronal, y", "sagittal, x")
"""The planes across the canonical axes."""
_ENDS = (("S", "I"), ("A", "P"), ("R", "L"))  # of an axis: at the top or left, and opposite


@dataclass(frozen=True, eq=False)
class Picture:
    """A target, prompts, and a model's answer if there is one; `lines` are written above them.

    window: of a CT, one of `CT_WINDOWS`, or `stated`; empty: the one that fits the target.
    """

    volume: Volume
    target: Target
    prompts: Sequence[Prompts] = ()
    answer: Mask | None = None
    lines: Sequence[str] = ()
    window: str = ""

    def save(self, path: Path, tiles: int = 12) -> None:
        """Write the `image` in the format of the path's ending.

        Raises:
            ValueError: no format has this ending.
            IntraBenchError: the file cannot be written.
        """
        drawn = self.image(tiles)
        kind = Image.registered_extensions().get(path.suffix.lower())
        if kind is None:
            raise ValueError(f"unknown ending: {path.suffix}")
        with writing(path), atomically(path, durable=False) as part:
            drawn.save(part, kind)

    def image(self, tiles: int = 12) -> Image.Image:
        """An RGB image of at most `tiles` slices of the volume, and of the planes across them in which strokes lie.

        Green: outline of the target. Magenta: outline of the answer, visible on both sides of the green where they
        agree. Yellow: prompts made by the hand. Blue: prompts derived from those. Red: background prompts. Anterior is
        up in axial slices, superior in other planes. The patient's left is on the right; in sagittal planes, anterior
        is on the left. Letters at the borders say so, but for photographs.
        """
        marks = [mark for prompts in self.prompts for mark in _marks(prompts)]
        box = self._window(marks)
        views = [(0, z) for z in self._slices(marks, box, tiles)]
        views += [plane for prompts in self.prompts for plane in _stroke_planes(prompts)]
        grey = self._grey(box)
        drawn = [self._tile(_View(box, self.volume, axis, at), grey, marks) for axis, at in views]
        typed = [f"typed: {prompts.text}" for prompts in self.prompts if prompts.text is not None]
        return _sheet(drawn, [*self.lines, *typed])

    def _window(self, marks: Sequence[_Mark]) -> Box:
        """A box around the target, the prompts and the near part of the answer, with a margin."""
        margin, reach = ([ceil(mm / step) for step in self.volume.spacing_mm] for mm in (_MARGIN_MM, _REACH_MM))
        boxes = [self.target.mask.box, *(mark.box for mark in marks)]
        if self.answer is not None and self.answer.any():
            near = intersection(self.answer.box, grow(self.target.mask.box, reach, self.volume.shape))
            boxes += [near] if near else []
        corners = np.array(boxes)
        z0, y0, x0 = corners[:, :3].min(axis=0).tolist()
        z1, y1, x1 = corners[:, 3:].max(axis=0).tolist()
        return grow((z0, y0, x0, z1, y1, x1), margin, self.volume.shape)

    def _grey(self, box: Box) -> NDArray[np.uint8]:
        """The scan in `box` as grey values 0 to 255."""
        scan = self.volume.array[box_slices(box)].astype(np.float32)
        if ends := stated(self.window):
            low, high = ends
        elif self.volume.is_ct:
            low, high = CT_WINDOWS[ct_window(self.volume, self.target.mask, self.window)]
        else:
            low, high = np.percentile(scan, (1, 99))
        return (255 * ((scan - low) / max(high - low, 1e-6)).clip(0, 1)).astype(np.uint8)

    def _slices(self, marks: Sequence[_Mark], box: Box, most: int) -> list[int]:
        """At most `most` slices: first those with prompts made by hand, then others of the target.

        A single one is that where the target is largest. Up to a third of the rest may be slices that only the answer
        occupies.
        """
        inside = set(range(box[0], box[3]))
        touched = {mark.box[0] for mark in marks if mark.colour != DERIVED and mark.box[3] - mark.box[0] == 1} & inside
        target = set(self.target.mask.occupied_slices.tolist()) - touched
        answer = set() if self.answer is None else set(self.answer.occupied_slices.tolist()) & inside
        chosen = _spaced(touched, most)
        chosen += _spaced(answer - target - touched, (most - len(chosen)) // 3)
        if not touched and most == 1:
            return [int(self.target.mask.voxels_per_slice(self.volume.shape[0]).argmax())]
        if not touched:
            return sorted(chosen + _spaced(target, most - len(chosen)))
        while target and len(chosen) < most:  # always the one farthest from those chosen
            chosen.append(max(sorted(target), key=lambda z: min(abs(z - other) for other in chosen)))
            target.remove(chosen[-1])
        return sorted(chosen)

    def _tile(self, view: _View, grey: NDArray[np.uint8], marks: Sequence[_Mark]) -> Image.Image:
        plane = np.ascontiguousarray(view.cut(grey)[view.order, view.order])
        picture = Image.fromarray(plane).convert("RGB").resize(view.size)
        pen = ImageDraw.Draw(picture)
        if self.answer is not None:
            view.outline(pen, self.answer, ANSWER, width=3)
        view.outline(pen, self.target.mask, TARGET, width=2)
        for mark in marks:
            view.mark(pen, mark)
        view.ends(pen)
        pen.text(
            (4, view.size[1] - _LINE),
            f"{_PLANES[TURNED[self.volume.plane][view.axis]]} = {view.index}",
            fill=_TEXT,
            stroke_width=1,
            stroke_fill=_GROUND,
        )
        return picture


@dataclass(frozen=True)
class _Mark:
    """A prompt as it is drawn: a dot on a voxel, or the edges of a box."""

    box: Box
    colour: Colour
    dot: bool = False


def _marks(prompts: Prompts) -> Iterator[_Mark]:
    for (z0, y0, x0, z1, y1, x1), by_hand in zip(prompts.blocks.tolist(), [*_flags(prompts.drawn), True], strict=False):
        yield _Mark((z0, y0, x0, z1, y1, x1), DRAWN if by_hand else DERIVED)
    strokes = [(*row, True) for stroke in prompts.strokes for row in stroke.rows.tolist()]
    clicks = [(*row, by_hand) for row, by_hand in zip(prompts.points.tolist(), _flags(prompts.clicked), strict=True)]
    for z, y, x, label, by_hand in [*clicks, *strokes]:
        colour = NEGATIVE if not label else DRAWN if by_hand else DERIVED
        yield _Mark((z, y, x, z + 1, y + 1, x + 1), colour, dot=True)


def _flags(flags: NDArray[np.bool_] | None) -> list[bool]:
    return [] if flags is None else flags.tolist()


def _stroke_planes(prompts: Prompts) -> Iterator[tuple[int, int]]:
    """Axis and index of the coronal or sagittal planes in which strokes lie."""
    for stroke in prompts.strokes:
        low, high = stroke.points.min(axis=0), stroke.points.max(axis=0)
        within = [axis for axis in (1, 2) if low[axis] == high[axis] and low[0] < high[0]]
        yield from ((axis, int(low[axis])) for axis in within[:1])


def _spaced(pool: set[int], most: int) -> list[int]:
    ordered = sorted(pool)
    return [ordered[i] for i in np.linspace(0, len(ordered) - 1, min(len(ordered), most)).astype(int)]


def _sheet(tiles: Sequence[Image.Image], lines: Sequence[str]) -> Image.Image:
    """The lines, and below them the tiles, four in a row; a tile of another size begins a new row."""
    lines = [one_line(line).replace(" ", "  ") for line in lines]  # the built-in font's space is too narrow to be seen
    head, pen = _LINE * len(lines) + 6, ImageDraw.Draw(Image.new("RGB", (1, 1)))
    places, x, y, row = list[tuple[int, int]](), 0, head, 0
    for before, tile in zip([tiles[0], *tiles], tiles, strict=False):
        if x == 4 * before.width or (x and tile.size != before.size):
            x, y, row = 0, y + row, 0
        places.append((x, y))
        x, row = x + tile.width, max(row, tile.height)
    right = [x + tile.width for (x, _), tile in zip(places, tiles, strict=True)]
    width = max([*right, *(ceil(pen.textlength(line)) + 12 for line in lines)])
    sheet = Image.new("RGB", (width, y + row), _GROUND)
    for tile, place in zip(tiles, places, strict=True):
        sheet.paste(tile, place)
    pen = ImageDraw.Draw(sheet)
    for number, line in enumerate(lines):
        pen.text((6, 3 + _LINE * number), line, fill=_TEXT)
    return sheet


class _View:
    """Maps voxels of one plane of a box to pixels of its tile, with the aspect ratio of the spacing.

    All canonical axes (towards Superior, Anterior, Right) are reversed on a screen; those of a photo are not.
    """

    def __init__(self, box: Box, volume: Volume, axis: int, index: int) -> None:
        spacing_mm = volume.spacing_mm
        self.box, self.axis, self.index = box, axis, index
        self.canonical = TURNED[volume.plane]
        self.forwards = volume.is_photo
        self.order = slice(None, None, 1 if self.forwards else -1)
        self.row, self.column = sorted({0, 1, 2} - {axis}, key=lambda other: self.canonical[other])
        height, width = ((box[a + 3] - box[a]) * spacing_mm[a] for a in (self.row, self.column))
        scale = _TILE / max(height, width)
        self.size = (max(round(width * scale), 1), max(round(height * scale), 1))
        self.step = [step * scale for step in spacing_mm]

    def cut(self, array: NDArray[Any]) -> NDArray[Any]:
        """The plane of an array that covers the box, ``(row, column)``."""
        plane = array.take(self.index - self.box[self.axis], self.axis)
        return plane if self.row < self.column else plane.swapaxes(0, 1)

    def at(self, row: float, column: float) -> tuple[float, float]:
        """Pixel of an edge coordinate (voxel centres at integers + 0.5)."""
        if self.forwards:
            x, y = column - self.box[self.column], row - self.box[self.row]
        else:
            x, y = self.box[self.column + 3] - column, self.box[self.row + 3] - row
        return x * self.step[self.column], y * self.step[self.row]

    def ends(self, pen: ImageDraw.ImageDraw) -> None:
        """Write at the borders to which sides of the patient they are; a photograph has none."""
        if self.forwards:
            return
        (top, bottom), (left, right) = (_ENDS[self.canonical[axis]] for axis in (self.row, self.column))
        width, height = self.size
        for letter, place, anchor in (
            (top, (width / 2, 2), "ma"),
            (bottom, (width / 2, height - 2), "md"),
            (left, (4, height / 2), "lm"),
            (right, (width - 4, height / 2), "rm"),
        ):
            pen.text(place, letter, fill=_TEXT, anchor=anchor, stroke_width=1, stroke_fill=_GROUND, font=_LETTERS)

    def outline(self, pen: ImageDraw.ImageDraw, mask: Mask, colour: Colour, width: int) -> None:
        """Draw the edges between foreground and background pixels."""
        # An edge is drawn between neighbours that differ; the rim of background closes outlines that reach the end of
        # the box.
        plane = np.pad(self.cut(mask.crop(self.box)), 1)
        row, column = self.box[self.row] - 1, self.box[self.column] - 1
        for y, x in np.argwhere(plane[1:] != plane[:-1]) + (row, column):
            pen.line([self.at(y + 1, x), self.at(y + 1, x + 1)], fill=colour, width=width)
        for y, x in np.argwhere(plane[:, 1:] != plane[:, :-1]) + (row, column):
            pen.line([self.at(y, x + 1), self.at(y + 1, x + 1)], fill=colour, width=width)

    def mark(self, pen: ImageDraw.ImageDraw, mark: _Mark) -> None:
        """Draw a prompt where it crosses the plane."""
        if not mark.box[self.axis] <= self.index < mark.box[self.axis + 3]:
            return
        low, high = ((mark.box[self.row + side], mark.box[self.column + side]) for side in (0, 3))
        ends = [self.at(*corner) for corner in (low, high)]
        (left, top), (right, bottom) = ends if self.forwards else ends[::-1]
        if mark.dot:
            x, y = (left + right) / 2, (top + bottom) / 2
            pen.ellipse([x - _DOT, y - _DOT, x + _DOT, y + _DOT], fill=mark.colour, outline=(0, 0, 0))
        else:
            pen.rectangle([left, top, right, bottom], outline=mark.colour, width=2)
