"""SAM 2 on a volume whose slices are the frames of a video: prompts on some slices, masks of one object on all.

The steps are those of https://github.com/facebookresearch/sam2 (SAM2VideoPredictor, sam2/modeling/sam2_base.py) for
one object; the network behind them may be that package's or that of transformers (`tracks`).

One call of `play_round` is what a user of that predictor does in one round: ``add_new_points_or_box`` once for each
slice with new prompts, then ``propagate_in_video`` and ``propagate_in_video(reverse=True)``. Both directions begin at
the first conditioning slice, as they do without ``start_frame_idx``. Two steps that MedSAM2's scripts add to that are
optional: ``add_new_mask`` (`Tracker.as_mask`), and ``reset_state`` between the two directions (apart).

Shapes below are those for images of 1024 x 1024 pixels; logits have a quarter of the image's side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from intrabench.models.networks.tracks import LIMIT, Asked, Corrections, SlicePrompt, Tracks

__all__ = ["Outcome", "Past", "Remembered", "SlicePrompt", "Tracker", "fill_holes", "play_round"]

REACH = 6
"""A slice looks back at the memories of so many tracked slices; of the pointers, which are small, at more."""
FILLED = 0.1
"""The logit of a filled hole."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the network answered for one slice, on the CPU.

    logits: ``(1, 256, 256)`` in float32, holes not filled. Where the network sees no object they are -1024 all over and
    take no memory. score: ``(1, 1)``, above 0 when it sees one. pointer: ``(1, 256)``. prompted: the slice was decoded
    from prompts, or its mask was given, so that others look back at its mask instead of its logits.
    """

    logits: Tensor
    score: Tensor
    pointer: Tensor
    prompted: bool


@dataclass(frozen=True, eq=False)
class Past:
    """All slices as the last round left them.

    conditioning: those at which every other slice looks, in the order in which they became so. tracked: the others,
    which are tracked again in each round, but meanwhile are looked back at.
    """

    conditioning: Mapping[int, Outcome]
    tracked: Mapping[int, Outcome]

    def __getitem__(self, z: int) -> Outcome:
        return self.conditioning.get(z) or self.tracked[z]

    def was_reverse(self, z: int) -> bool:
        """Whether a slice was last visited on the way back: also the first conditioning slice, unless it is slice 0."""
        return z <= min(self.conditioning) and min(self.conditioning) > 0


def play_round(
    network: Tracks,
    features: Callable[[int], Tensor],
    frames: int,
    prompts: Mapping[int, SlicePrompt],
    past: Past | None = None,
    *,
    fill_area: int = 8,
    corrections: Corrections = "conditioning",
    mask_shape: tuple[int, int] | None = None,
    apart: bool = False,
) -> Past:
    """Decode the slices with new prompts, then track the object through all slices that are not conditioning.

    features: from z to the embedding ``(LENGTH,)`` that the network gave for the slice. frames: the number of
    slices. past: what the round before returned, which stays as it is; None in the first round. There, slices are
    decoded from their prompts alone; later also from their own logits and what they look back at. fill_area: see
    `fill_holes`. corrections: see `Corrections`. mask_shape: see `Tracker.prompt`. apart: see `Tracker.track`. Besides
    the results, the memories of the conditioning and of 2 * `REACH` other slices are held at a time, 0.5 MiB each.

    Raises:
        ValueError: there are no prompts, or they are outside of the volume.
    """
    if not prompts or not (min(prompts) >= 0 and max(prompts) < frames):
        raise ValueError(f"prompts are needed on slices from 0 to {frames - 1}, there are some on {sorted(prompts)}")
    tracker = Tracker(network, features, frames, prompts, past, fill_area)
    tracker.prompt(corrections, mask_shape)
    first = min(tracker.conditioning)
    tracker.track(range(first + 1, frames), reverse=False, apart=apart)
    tracker.track(range(first - 1, -1, -1), reverse=True, apart=apart)
    return tracker.left()


class Tracker:
    """One round; its parameters are those of `play_round`."""

    def __init__(
        self,
        network: Tracks,
        features: Callable[[int], Tensor],
        frames: int,
        prompts: Mapping[int, SlicePrompt],
        past: Past | None,
        fill_area: int,
    ) -> None:
        self.network, self.features, self.frames = network, features, frames
        self.prompts, self.past, self.fill_area = prompts, past, fill_area
        self.conditioning = {z: Remembered(self, z, one) for z, one in past.conditioning.items()} if past else {}
        self.tracked = {z: Remembered(self, z, one) for z, one in past.tracked.items()} if past else {}
        self.maps = lru_cache(2)(self._maps)  # of this slice and of the last, whose memory comes next
        self.memory = lru_cache(len(self.conditioning) + len(prompts) + 2 * REACH)(self._memory)

    @torch.inference_mode()
    def prompt(self, corrections: Corrections, mask_shape: tuple[int, int] | None) -> None:
        """Decode all slices with prompts; none of them sees another's answer, except with ``library``.

        mask_shape: of a slice ``(y, x)``, if the mask of each takes the place of its prompts, see `as_mask`; else None.
        """
        if corrections == "library":
            for z in sorted(self.prompts):
                initial = self.past is None or z in self.conditioning
                answer = self._step(z, False, Asked(initial, self.prompts[z]))
                (self.conditioning if initial else self.tracked)[z] = Remembered(self, z, answer)
            return
        decoded = {z: self._decode(z) for z in sorted(self.prompts)}
        if mask_shape is not None:
            decoded = {z: self.as_mask(z, outcome, mask_shape) for z, outcome in decoded.items()}
        answers = {z: Remembered(self, z, outcome) for z, outcome in decoded.items()}
        stay = self.past is None or corrections == "conditioning"
        (self.conditioning if stay else self.tracked).update(answers)
        for z in self.conditioning:
            self.tracked.pop(z, None)

    def as_mask(self, z: int, outcome: Outcome, shape: tuple[int, int]) -> Outcome:
        """What ``add_new_mask`` makes of the mask of an outcome, ``> 0`` in the slice's own size ``(y, x)``."""
        logits = fill_holes(outcome.logits, self.fill_area)[None].to(self.network.device)
        mask = (functional.interpolate(logits, shape, mode="bilinear") > 0).float()
        side = 4 * logits.shape[-1]
        if shape != (side, side):
            mask = (functional.interpolate(mask, (side, side), mode="bilinear", antialias=True) >= 0.5).float()
        return self._step(z, False, Asked(mask=mask))

    @torch.inference_mode()
    def track(self, slices: Iterable[int], *, reverse: bool, apart: bool) -> None:
        """Decode slices in their order, but for conditioning ones, from what each looks back at.

        apart: at first that is only the conditioning ones, as after ``reset_state`` and the same prompts again; else
        also those that were tracked before.
        """
        before = self.tracked
        self.tracked = {} if apart else dict(before)
        for z in slices:
            if z not in self.conditioning:
                self.tracked[z] = Remembered(self, z, self._step(z, reverse, Asked()))
        self.tracked = before | self.tracked

    def left(self) -> Past:
        """What the next round begins with; all else is released."""
        self.maps.cache_clear()
        self.memory.cache_clear()
        return Past(*({z: one.outcome for z, one in part.items()} for part in (self.conditioning, self.tracked)))

    def _decode(self, z: int) -> Outcome:
        if self.past is None:
            return self._step(z, False, Asked(True, self.prompts[z]))
        logits = fill_holes(self.past[z].logits, self.fill_area)[None].to(self.network.device).clamp(-LIMIT, LIMIT)
        return self._step(z, self.past.was_reverse(z), Asked(False, self.prompts[z], logits))

    def _step(self, z: int, reverse: bool, asked: Asked) -> Outcome:
        seen = self.conditioning, self.tracked
        found, score, pointer = self.network.track(self.maps(z), z, self.frames, seen, reverse, asked)
        logits = found.float().cpu()
        # all are equal where no object is seen; one number then stands for all in memory
        if (logits == logits[..., :1, :1]).all():
            logits = logits[..., :1, :1].clone().expand(logits.shape)
        return Outcome(logits, score.cpu(), pointer.cpu(), prompted=asked.prompt is not None or asked.mask is not None)

    def _memory(self, z: int, outcome: Outcome) -> tuple[Tensor, Any]:
        """What others look back at, and the positions in it; holes are filled only where there were prompts."""
        logits = fill_holes(outcome.logits, self.fill_area) if outcome.prompted else outcome.logits
        device = self.network.device
        return self.network.remember(self.maps(z), logits.to(device), outcome.score.to(device), outcome.prompted)

    def _maps(self, z: int) -> Any:
        return self.network.maps(self.features(z))


class Remembered:
    """An outcome under the names by which networks look back at it; its memory is encoded when it is looked at."""

    def __init__(self, tracker: Tracker, z: int, outcome: Outcome) -> None:
        self.tracker, self.z, self.outcome = tracker, z, outcome

    def __getitem__(self, name: str) -> Any:
        if name in ("obj_ptr", "object_pointer"):
            return self.outcome.pointer.to(self.tracker.network.device)
        memory, places = self.tracker.memory(self.z, self.outcome)
        return {"maskmem_features": memory, "maskmem_pos_enc": places}[name]


def fill_holes(logits: Tensor, area: int) -> Tensor:
    """Logits ``(1, h, w)`` with `FILLED` in the holes: parts of the background of at most `area` pixels.

    Diagonal neighbours are connected, and a part at the rim is a hole, too, as in the predictor's own step, which needs
    a CUDA extension. An area of 0 leaves the logits as they are.
    """
    from scipy import ndimage

    labels, _ = ndimage.label((logits <= 0).numpy()[0], np.ones((3, 3)))
    hole = np.bincount(labels.ravel()) <= area
    hole[0] = False  # the foreground
    return torch.where(torch.from_numpy(hole[labels])[None], FILLED, logits) if hole.any() else logits
