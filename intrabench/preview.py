"""A picture of the simulated user's prompts on the scan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from intrabench import registry
from intrabench.datasets import store
from intrabench.errors import IntraBenchError
from intrabench.mask import Box, Mask, box_slices, grow
from intrabench.plan import select_cases, select_targets
from intrabench.prompters.base import User
from intrabench.prompts import Prompts
from intrabench.target import Target
from intrabench.volume import Volume

TARGET, DRAWN, DERIVED, NEGATIVE = (90, 200, 90), (255, 200, 0), (90, 170, 255), (255, 80, 80)
_TILE = 260
_MARGIN_MM = 15.0
_MOST_TILES = 12


def preview(
    prompter: str,
    dataset: str,
    case: str | None = None,
    target: str | None = None,
    seed: int = 0,
    path: Path = Path("preview.png"),
) -> Path:
    """Draw the first prompts of a prompter on a target of a data set (default: the first case and target)."""
    strategy, source = registry.make("prompters", prompter), registry.make("datasets", dataset)
    case = select_cases(source, [case] if case else [])[0]
    infos = store.prepare(source, case).targets
    chosen = select_targets(infos, [target] if target else [])
    if not chosen:
        raise IntraBenchError(
            f"--target {target} fits none of {source.spec}, case {case}; it has {', '.join(info.id for info in infos)}"
        )
    scene = store.open_case(source, case)
    (found,) = scene.targets([chosen[0].id])
    user = User(found, source.spec, seed, scene.volume, strategy.spec)
    title = f"{strategy.spec}   {source.spec} / {case} / {found.id}   seed {seed}"
    try:
        prompts = next(strategy.interact(user)).prompts
    except Exception as error:  # a prompter of the user's own may fail in any way
        raise IntraBenchError(
            f"prompter {strategy.spec} failed ({type(error).__name__}: {error}); repair it"
        ) from error
    try:
        draw_prompts(scene.volume, found, prompts, path, title)
    except (OSError, ValueError) as error:  # PIL refuses unknown endings by ValueError
        raise IntraBenchError(f"cannot write the picture {path} ({error}); give a path that ends in .png") from error
    return path


def draw_prompts(volume: Volume, target: Target, prompts: Prompts, path: Path, title: str = "") -> None:
    """Write a PNG: axial slices around the target, its outline (green) and the prompts.

    Yellow: made by the hand. Blue: derived from those. Red: background. Anterior is up and the patient's left is on the
    right of the picture, as radiologists look at axial slices.
    """
    margin = [round(_MARGIN_MM / spacing) for spacing in volume.spacing_mm]
    box = grow(target.mask.box, margin, volume.shape)
    slices = _chosen_slices(target, prompts)
    tiles = [_tile(volume, target, prompts, box, z) for z in slices]
    columns = min(4, len(tiles))
    width, height = tiles[0].size
    rows = -(-len(tiles) // columns)
    sheet = Image.new("RGB", (columns * width, rows * height + 20), (20, 20, 20))
    for number, tile in enumerate(tiles):
        sheet.paste(tile, (number % columns * width, number // columns * height + 20))
    ImageDraw.Draw(sheet).text((6, 4), title, fill=(230, 230, 230))
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)


def _chosen_slices(target: Target, prompts: Prompts) -> list[int]:
    """Evenly spaced slices of the target; slices that the hand touched come first, for they show the strategy."""
    clicked = [int(z) for z in prompts.drawn_boxes2d[:, 0]] + [int(z) for z in prompts.clicked_points[:, 0]]
    occupied = [int(z) for z in target.mask.occupied_slices]
    pool = sorted(set(clicked)) or occupied
    if len(pool) < _MOST_TILES:
        extra = [z for z in occupied if z not in pool]
        picks = np.linspace(0, len(extra) - 1, min(len(extra), _MOST_TILES - len(pool))).astype(int)
        return sorted({*pool, *(extra[i] for i in picks)})
    return [pool[i] for i in np.linspace(0, len(pool) - 1, _MOST_TILES).astype(int)]


def _tile(volume: Volume, target: Target, prompts: Prompts, box: Box, z: int) -> Image.Image:
    _, y0, x0, _, y1, x1 = box
    low, high = np.percentile(volume.array[box_slices(box)], (1, 99))
    plane = volume.array[z, y0:y1, x0:x1].astype(np.float32)
    grey = (255 * ((plane - low) / max(high - low, 1e-6)).clip(0, 1)).astype(np.uint8)
    view = _View(volume, box, z)
    picture = Image.fromarray(np.ascontiguousarray(_displayed(grey))).convert("RGB").resize(view.size)
    pen = ImageDraw.Draw(picture)
    view.outline(pen, target.mask.slice(z))
    view.prompts(pen, prompts)
    pen.text((4, view.size[1] - 14), f"z = {z}", fill=(230, 230, 230))
    return picture


def _known(flags: NDArray[np.bool_] | None) -> list[bool]:
    return [] if flags is None else flags.tolist()


def _displayed(plane: NDArray[Any]) -> NDArray[Any]:
    """Anterior up, and the patient's left on the right: both canonical in-plane axes run backwards on a screen."""
    return plane[::-1, ::-1]


class _View:
    """From voxels of one slice to pixels of its tile, with the aspect of the spacing."""

    def __init__(self, volume: Volume, box: Box, z: int) -> None:
        _, self.y0, self.x0, _, self.y1, self.x1 = box
        _, dy, dx = volume.spacing_mm
        height, width = (self.y1 - self.y0) * dy, (self.x1 - self.x0) * dx
        scale = _TILE / max(height, width)
        self.size = (max(round(width * scale), 1), max(round(height * scale), 1))
        self.scale_y, self.scale_x, self.z = dy * scale, dx * scale, z

    def at(self, y: float, x: float) -> tuple[float, float]:
        """Pixel of an edge coordinate (voxel centres at integers + 0.5)."""
        return (self.x1 - x) * self.scale_x, (self.y1 - y) * self.scale_y

    def outline(self, pen: ImageDraw.ImageDraw, mask: Mask) -> None:
        """Draw the edges between foreground and background pixels."""
        if not mask.any():
            return
        plane = np.pad(mask.array[0], 1)
        _, oy, ox = (start - 1 for start in mask.start)
        for y, x in np.argwhere(plane[1:] != plane[:-1]):
            pen.line([self.at(oy + y + 1, ox + x), self.at(oy + y + 1, ox + x + 1)], fill=TARGET, width=2)
        for y, x in np.argwhere(plane[:, 1:] != plane[:, :-1]):
            pen.line([self.at(oy + y, ox + x + 1), self.at(oy + y + 1, ox + x + 1)], fill=TARGET, width=2)

    def prompts(self, pen: ImageDraw.ImageDraw, prompts: Prompts) -> None:
        """Draw the prompts of this slice."""
        for (z, *box), by_hand in zip(prompts.boxes2d.tolist(), _known(prompts.drawn), strict=True):
            if z == self.z:
                self.box(pen, box, DRAWN if by_hand else DERIVED)
        if prompts.box3d is not None:
            z0, y0, x0, z1, y1, x1 = prompts.box3d.tolist()
            if z0 <= self.z < z1:
                self.box(pen, [y0, x0, y1, x1], DRAWN)
        strokes = [(*point, stroke.label, True) for stroke in prompts.scribbles for point in stroke.points.tolist()]
        clicks = [
            (*row, by_hand) for row, by_hand in zip(prompts.points.tolist(), _known(prompts.clicked), strict=True)
        ]
        for z, y, x, label, by_hand in [*clicks, *strokes]:
            if z == self.z:
                px, py = self.at(y + 0.5, x + 0.5)
                colour = NEGATIVE if not label else DRAWN if by_hand else DERIVED
                pen.ellipse([px - 4, py - 4, px + 4, py + 4], fill=colour, outline=(0, 0, 0))

    def box(self, pen: ImageDraw.ImageDraw, box: list[int], colour: tuple[int, int, int]) -> None:
        """Draw a half-open box ``y0, x0, y1, x1``."""
        y0, x0, y1, x1 = box
        (left, top), (right, bottom) = self.at(y1, x1), self.at(y0, x0)
        pen.rectangle([left, top, right, bottom], outline=colour, width=2)
