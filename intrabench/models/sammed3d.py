"""SAM-Med3D: SAM with three axes, trained on volumes, for points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Box, Floats32, Mask
from intrabench.models.base import Answer, Request
from intrabench.models.parts.crop_model import CropModel, OpenCrops
from intrabench.models.parts.intensity import percentiles
from intrabench.models.parts.recipe import Policy
from intrabench.prompts import Abilities, Derived, StrokePoints
from intrabench.specs.specs import switch
from intrabench.volume import Volume

if TYPE_CHECKING:
    import torch

SIDE = 128
STEP_MM = 1.5
"""The network sees cubes of 128 voxels of 1.5 mm."""
THRESHOLDS = {"official": 0.0, "radioactive": 0.5}
"""On logits, by policy."""
STROKES: dict[Policy, StrokePoints] = {"official": "one_negative", "radioactive": "one"}
"""The points of strokes that it gets, by policy."""


@dataclass(eq=False)
class SAMMed3D(CropModel):
    """SAM-Med3D (Wang et al., arXiv 2310.15161): a crop of 192 mm around the first prompts, points only.

    All points inside the crop are used, those outside are ignored, and rows say ``outside crop``. The crop stays where
    the first turn put it, so it is encoded once. The mask prompt is the previous logits, or zeros before the first
    answer.

    policy: radioactive clips intensities to the percentiles of the volume and uses a threshold of 0.5 on logits. It
    uses one point: of the newest turn's, then of earlier ones, the first inside the crop, with the label of the very
    first; if all are outside, their mean. Of a stroke, positive or negative, it gets one point, drawn from it. With
    earlier prompts (``previous=keep``) there is no mask prompt.

    strokes: the points of strokes that it gets: all of a positive and one of a negative one (one_negative), one of
    either, or all. threshold: on logits; voxels above it are answered.
    """

    name = "sammed3d"
    version = "2"
    weights = "sammed3d"
    grey_only = True
    extra = "sam"
    requires = ("segment_anything", "torchvision")
    accepts = frozenset({"point"})
    covers = f"a crop of {SIDE * STEP_MM:g} mm around the first prompts"

    policy: Policy = "official"
    threshold: float | None = switch(None)
    derived: Derived = switch("none")
    strokes: StrokePoints | None = switch(None)

    @classmethod
    def default_words(cls) -> dict[str, str]:
        """The threshold and the points of strokes that each policy has."""
        thresholds = [f"{value:g} ({policy})" for policy, value in THRESHOLDS.items()]
        strokes = [f"{value} ({policy})" for policy, value in STROKES.items()]
        return {"threshold": ", ".join(thresholds), "strokes": ", ".join(strokes)}

    @property
    def abilities(self) -> Abilities:
        """What it takes; which points of strokes, the policy says unless a parameter does."""
        return replace(super().abilities, strokes=self.strokes or STROKES[self.policy])

    def build(self) -> Any:
        """The network of vit_b_ori."""
        from intrabench.models.networks.sammed3d import build_sammed3d

        return build_sammed3d()

    def prepared(self, volume: Volume) -> tuple[float, float] | None:
        """The range that intensities are clipped to."""
        return percentiles(volume.array) if self.policy == "radioactive" else None

    def encode(self, crop: Floats32) -> Floats32:
        """A z-scored crop ``(x, y, z)`` to its embedding ``(384, 8, 8, 8)``."""
        return self.embedding_of(crop[None], self.network.encode)

    def segment_one(self, image: OpenCrops, request: Request) -> Answer:
        """Answer for the whole volume: background outside of the crop.

        Raises:
            ValueError: there is no point to begin with.
        """
        crop = Crop.around(request.turns[0].prompts.points, image.volume)
        turns, one = [turn.prompts.points for turn in request.given], self.policy == "radioactive"
        clicks = np.vstack(turns[::-1] if one else turns)
        points = crop.one(clicks) if one else crop.inside(clicks)
        if len(points) == 0:  # distant clicks change nothing, but are not a failure
            return Answer(request.mask, memory=request.memory, reach=crop.box)
        embedding = image.embedding(crop.key, lambda: zscored(crop.cut(image.volume.array, image.prepared)))
        low = self._decode(embedding, points, None if one and len(turns) > 1 else request.memory)
        memory = low[0, 0].cpu().numpy().astype(np.float16)
        return Answer(self._mask(low, crop), memory=memory, reach=crop.box)

    def _decode(self, embedding: Floats32, points: NDArray[Any], previous: NDArray[np.float16] | None) -> torch.Tensor:
        import torch

        before = np.zeros((SIDE // 4,) * 3) if previous is None else previous
        with self.computing():
            low: torch.Tensor = self.network.decode(
                self.tensor(embedding)[None],
                self.tensor(points[None, :, :3]),
                torch.from_numpy(points[None, :, 3]).to(self.runtime.device),
                self.tensor(before)[None, None],
            )[0].float()
        return self.finite(low)

    def _mask(self, low: torch.Tensor, crop: Crop) -> Mask:
        from torch.nn import functional

        threshold = THRESHOLDS[self.policy] if self.threshold is None else self.threshold
        full = functional.interpolate(low, (SIDE,) * 3, mode="trilinear", align_corners=False)[0, 0]
        return crop.paste((full > threshold).cpu().numpy())


@dataclass(eq=False)
class SAMMed3DTurbo(SAMMed3D):
    """SAM-Med3D-turbo: the same network, fine-tuned on 44 data sets; same parameters as SAM-Med3D."""

    name = "sammed3d_turbo"
    weights = "sammed3d_turbo"


@dataclass(frozen=True)
class Crop:
    """A cube of the volume resampled to 1.5 mm; axes are the network's ``(x, y, z)``, as in an array in RAS.

    start: its first voxel in the resampled grid, which begins at the same corner as the volume, as in torchio when the
    network was trained. shape and spacing_mm are the volume's, along x, y, z.
    """

    start: tuple[int, int, int]
    shape: tuple[int, int, int]
    spacing_mm: tuple[float, float, float]

    @classmethod
    def around(cls, points: NDArray[Any], volume: Volume) -> Crop:
        """The cube around the middle of the box of `points`, rows ``z, y, x, label``.

        Raises:
            ValueError: there are none, or one lies outside of the volume.
        """
        if len(points) == 0:
            raise ValueError("the first turn has no point, so the position of the crop is unknown")
        if points[:, :3].min() < 0 or (points[:, :3] >= volume.shape).any():
            raise ValueError(f"a point lies outside of the volume of {' x '.join(map(str, volume.shape))} voxels")
        shape, spacing = volume.shape[::-1], volume.spacing_mm[::-1]
        there = cls((0, 0, 0), shape, spacing).positions(points)
        start = (there.min(axis=0) + there.max(axis=0) + 1) // 2 - SIDE // 2  # torchio's CropOrPad around a mask
        return cls((int(start[0]), int(start[1]), int(start[2])), shape, spacing)

    @property
    def key(self) -> str:
        """A name for the crop."""
        return "_".join(map(str, self.start))

    @property
    def box(self) -> Box:
        """The volume's voxels that the crop has, a half-open box."""
        low, high = zip(*((int(kept[0]), int(kept[-1]) + 1) for kept in map(self._kept, (2, 1, 0))), strict=True)
        return *low, *high

    def positions(self, points: NDArray[Any]) -> NDArray[np.int64]:
        """The crop's voxels nearest to points ``z, y, x`` of the volume, rows ``x, y, z``; they may lie outside."""
        return np.stack([self._there(axis, points[:, 2 - axis]) for axis in range(3)], axis=1)

    def inside(self, points: NDArray[Any]) -> NDArray[np.int64]:
        """The points ``z, y, x, label`` inside the crop, as rows ``x, y, z, label``."""
        return _in_crop(np.column_stack([self.positions(points), points[:, 3]]))

    def one(self, points: NDArray[Any]) -> NDArray[np.int64]:
        """The row ``x, y, z, label`` that RadioActive takes of points ``z, y, x, label``, or none."""
        rows = np.column_stack([self.positions(points), points[:, 3]])
        if len(rows):
            mean = np.rint(rows.mean(axis=0, keepdims=True)).astype(np.int64)
            label, rows = rows[0, 3], _in_crop(np.vstack([rows, mean]))[:1]
            rows[:, 3] = label
        return rows

    def cut(self, array: NDArray[Any], limits: tuple[float, float] | None = None) -> Floats32:
        """The crop of an array ``(z, y, x)``, linearly resampled, zeros outside of the volume.

        Raises:
            ValueError: the image has channels.
        """
        if array.ndim != 3:
            raise ValueError("SAM-Med3D takes grey volumes, not colour images")
        # first the part that is needed is cut out, so that only this is converted, clipped and resampled
        part, weights = array, []
        for axis in range(3):
            low, high, weight, inside = self._neighbours(axis)
            first, last = int(low.min()), int(high.max())
            part = np.take(part, np.arange(first, last + 1), axis=2 - axis)
            weights.append((low - first, high - first, weight, inside))
        part = part.astype(np.float32) if limits is None else np.clip(part.astype(np.float32), *limits)
        for axis, (low, high, weight, inside) in enumerate(weights):
            along = 2 - axis
            weight = weight.reshape([-1 if a == along else 1 for a in range(3)])
            inside = inside.reshape(weight.shape)
            part = (np.take(part, low, axis=along) * (1 - weight) + np.take(part, high, axis=along) * weight) * inside
        return part.transpose(2, 1, 0).astype(np.float32)

    def paste(self, cube: NDArray[np.bool_]) -> Mask:
        """A mask of the crop, resampled to the volume by nearest neighbour."""
        corner, index = [], []
        for axis in range(3):
            kept = self._kept(axis)
            corner.append(int(kept[0]) if len(kept) else 0)
            index.append(self._there(axis, kept))
        return Mask.of(cube[np.ix_(*index)].transpose(2, 1, 0), corner[::-1])

    def _kept(self, axis: int) -> NDArray[np.intp]:
        """The volume's voxels along one axis that the crop has."""
        there = self._there(axis, np.arange(self.shape[axis]))
        return np.flatnonzero((there >= 0) & (there < SIDE))

    def _there(self, axis: int, positions: NDArray[Any]) -> NDArray[np.int64]:
        """Nearest voxels of the crop, along one axis, for voxels of the volume."""
        there = np.floor((positions + 0.5) * self.spacing_mm[axis] / STEP_MM).astype(np.int64)
        return there - self.start[axis]

    def _neighbours(self, axis: int) -> tuple[Any, Any, Any, Any]:
        """For each voxel of the crop: the voxels of the volume before and after, the weight of the latter, inside."""
        resampled = self.start[axis] + np.arange(SIDE)
        last = self.shape[axis] - 1
        exact = (resampled + 0.5) * STEP_MM / self.spacing_mm[axis] - 0.5
        inside = (resampled >= 0) & (exact <= last + 0.5)
        low = np.clip(np.floor(exact), 0, last).astype(np.int64)
        high = np.minimum(low + 1, last)
        return low, high, np.clip(exact - low, 0, 1).astype(np.float32), inside.astype(np.float32)


def _in_crop(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[((rows[:, :3] >= 0) & (rows[:, :3] < SIDE)).all(axis=1)]


def zscored(crop: Floats32) -> Floats32:
    """Z-scores by the positive voxels, or by all if none is positive; constant crops become 0."""
    counted = crop[crop > 0] if (crop > 0).any() else crop
    spread = float(counted.std(ddof=1)) if counted.size > 1 else 0.0
    return (crop - counted.mean()) / np.float32(spread) if spread > 0 else np.zeros_like(crop)
