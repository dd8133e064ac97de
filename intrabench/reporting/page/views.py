"""The viewer's data of a target: a small window of the scan, masks and prompts, as plain data for the page."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import TURNED, UPRIGHT, Box, Mask, Plane, box_slices, grow, intersection, reordered, reordered_box
from intrabench.prompts import Prompts
from intrabench.reporting.windows import windows
from intrabench.target import Target
from intrabench.volume import Volume

BUDGET = 500_000
"""Maximum number of voxels per window; larger windows are shown with larger voxels."""

TOTAL = 24_000_000
"""Maximum number of voxels of all windows; with more targets their windows have larger voxels."""

_MARGIN_MM, _REACH_MM = (
    8.0,
    30.0,
)  # margin around everything shown; answers and prompts are shown up to this far from the target


@dataclass(frozen=True)
class Window:
    """A box of a canonical volume, and the number of voxels along ``(z, y, x)`` that are merged into one."""

    box: Box
    factor: tuple[int, int, int]

    @classmethod
    def around(
        cls,
        target: Target,
        answers: Sequence[Mask],
        drawn: Sequence[Mapping[str, Any]],
        volume: Volume,
        budget: int = BUDGET,
    ) -> Window:
        """The window of the target and the near parts of answers and `marks`, with a margin, in `budget` voxels."""
        margin, reach = ([ceil(mm / step) for step in volume.spacing_mm] for mm in (_MARGIN_MM, _REACH_MM))
        near = grow(target.mask.box, reach, volume.shape)
        shown = [*(mask.box for mask in answers), *(box for one in drawn for box in _boxes(one))]
        cut = [common for box in shown if (common := intersection(box, near))]
        corners = np.array([target.mask.box, *cut])
        z0, y0, x0 = corners[:, :3].min(axis=0).tolist()
        z1, y1, x1 = corners[:, 3:].max(axis=0).tolist()
        box = grow((z0, y0, x0, z1, y1, x1), margin, volume.shape)
        return cls(box, _factor(box, volume.spacing_mm, budget // prod(volume.array.shape[3:])))

    @property
    def shape(self) -> tuple[int, int, int]:
        """The number of shown voxels along ``(z, y, x)``."""
        z, y, x = (ceil((self.box[a + 3] - self.box[a]) / self.factor[a]) for a in range(3))
        return z, y, x

    def scan(self, volume: Volume) -> NDArray[Any]:
        """The scan, as means of merged voxels."""
        return self._means(volume.array[box_slices(self.box)])

    def mask(self, mask: Mask) -> NDArray[np.bool_]:
        """A mask, set where at least half of the merged voxels are set."""
        return self._means(mask.crop(self.box)) >= 0.5

    def _means(self, array: NDArray[Any]) -> NDArray[Any]:
        if prod(self.factor) == 1:
            return array
        missing = [(0, -size % step) for size, step in zip(array.shape, self.factor, strict=False)]
        padded = np.pad(array, missing + [(0, 0)] * (array.ndim - 3), mode="edge")
        blocks = [part for size, step in zip(self.shape, self.factor, strict=True) for part in (size, step)]
        means: NDArray[Any] = padded.reshape(*blocks, *array.shape[3:]).mean(axis=(1, 3, 5))
        return means


def view(volume: Volume, target: Target, window: Window) -> dict[str, Any]:
    """Plain data of the scan and the target in a window; those of sessions are separate (`marks`, `mask_text`)."""
    spacing = [step * factor for step, factor in zip(volume.spacing_mm, window.factor, strict=True)]
    scan = window.scan(volume)
    colour = scan.shape[3:] == (3,)
    scan = scan if colour or scan.ndim == 3 else scan[..., 0]
    shared = {
        "shape": window.shape,
        "spacing": [round(step, 4) for step in spacing],
        "origin": window.box[:3],
        "factor": window.factor,
        "truth": mask_text(window.mask(target.mask)),
        "voxel_ml": prod(volume.spacing_mm) / 1000,
        "photo": volume.is_photo,
        "colour": colour,
    }
    if colour:
        return shared | {"scan": _text(scan.astype(np.uint8))}
    levels, presets, start = windows(scan, volume, target.mask)
    codes = np.searchsorted((levels[1:] + levels[:-1]) / 2, scan).astype(np.uint8)
    steps = np.diff(codes, axis=2, prepend=np.uint8(0))  # differences of neighbours compress better
    return shared | {
        "levels": np.round(levels, 2).tolist(),
        "presets": [{"name": name, "low": round(low, 2), "high": round(high, 2)} for name, low, high in presets],
        "preset": start,
        "scan": _text(steps),
    }


def mask_text(mask: NDArray[np.bool_]) -> str:
    """The bits of a mask, compressed."""
    return _text(np.packbits(mask))


def marks(prompts: Prompts, plane: Plane = "axial", shown: Plane = "axial") -> dict[str, Any]:
    """Prompts to draw: dots, boxes and strokes in voxels of the whole scan, each flagged if made by hand.

    plane: in which they were given. shown: in which the scan is, slices first; axial is the canonical scan.
    """
    axes = reordered(UPRIGHT[plane], TURNED[shown])
    places = prompts.points[:, [*axes, 3]].tolist()
    clicks = zip(places, np.asarray(prompts.clicked).tolist(), strict=True)
    boxes = zip(prompts.blocks.tolist(), [*np.asarray(prompts.drawn).tolist(), True], strict=False)
    return {
        "points": [[*row, hand] for row, hand in clicks],
        "boxes": [[*reordered_box(box, axes), hand] for box, hand in boxes],
        "strokes": [
            {"points": one.points[:, axes].tolist(), "label": one.label, "closed": one.closed}
            for one in prompts.strokes
        ],
    }


def _boxes(drawn: Mapping[str, Any]) -> list[Box]:
    """Boxes of all that is drawn."""
    dots = [*drawn["points"], *(point for stroke in drawn["strokes"] for point in stroke["points"])]
    flat = [(z, y, x, z + 1, y + 1, x + 1) for z, y, x, *_ in dots]
    return flat + [(z0, y0, x0, z1, y1, x1) for z0, y0, x0, z1, y1, x1, _ in drawn["boxes"]]


def _factor(box: Box, spacing_mm: Sequence[float], budget: int) -> tuple[int, int, int]:
    """The smallest factors that fit the budget and make voxels more cubic, never less."""
    sizes = [box[axis + 3] - box[axis] for axis in range(3)]
    # Voxels are merged as far as they fit into a cube, which grows in steps that matter to some axis: so those that are
    # thin along an axis are merged there first.
    for edge_mm in sorted({step * factor for step in spacing_mm for factor in range(1, 65)}):
        z, y, x = (max(1, floor(edge_mm / step + 1e-6)) for step in spacing_mm)
        if prod(ceil(size / step) for size, step in zip(sizes, (z, y, x), strict=True)) <= budget:
            return z, y, x
    return 64, 64, 64


def _text(array: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
