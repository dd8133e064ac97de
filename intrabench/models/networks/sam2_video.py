"""SAM 2 on a volume whose slices are the frames of a video: prompts on some slices, masks of one object on all.

The steps are those of https://github.com/facebookresearch/sam2 (SAM2VideoPredictor, sam2/modeling/sam2_base.py) for
one object, prompted before it is tracked, without hole filling and without constraints between objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from intrabench.models.networks.sam2 import LIMIT, MAPS, Sam2Network, unpack

REACH = 15
"""A slice looks back at the pointers of so many tracked slices, and at the masks of the 6 nearest of them."""
SIZES = [shape[1:] for shape in MAPS[1:] + MAPS[:1]]
"""The sides of the maps, finest first, as `track_step` takes them."""


class SlicePrompt(NamedTuple):
    """All prompts on one slice.

    points: ``(k, 2)``, x and y in pixels of the 1024 x 1024 image, k at least 1. labels: ``(k,)`` as in
    `Sam2Network.decode`, but without padding: one point gives the best of three masks, more give a single one.
    previous: ``(1, 256, 256)``, the slice's own earlier logits, or None.
    """

    points: Tensor
    labels: Tensor
    previous: Tensor | None = None


class Tracked(NamedTuple):
    """What came of one slice.

    logits: ``(1, 256, 256)``, -1024 all over where the network sees no object; the official mask is where they are
    above 0 after bilinear resizing to the slice. score: ``(1, 1)``, above 0 when it sees one. pointer: ``(1, 256)`` and
    memory: ``(1, 64, 64, 64)`` in bfloat16 are what other slices look back at.
    """

    z: int
    logits: Tensor
    score: Tensor
    pointer: Tensor
    memory: Tensor


def propagate(
    network: Sam2Network,
    features: Callable[[int], Tensor],
    frames: int,
    prompts: Mapping[int, SlicePrompt],
    both_ways: bool = True,
) -> Iterator[Tracked]:
    """From the first slice with prompts to the last slice, then (`both_ways`) from there back to slice 0.

    features: from z to the embedding ``(LENGTH,)`` that `Sam2Network.encode` gave for the slice; asked once for each
    slice. frames: the number of slices of the volume. Every slice with prompts is decoded from its prompts alone; all
    others look at all of those. Memory is bounded: besides the slices with prompts about 2 * `REACH` slices are
    remembered at a time, 0.5 MiB each, and nothing once the iterator is gone.

    Raises:
        ValueError: there are no prompts, or they are outside of the volume.
    """
    if not prompts or not (min(prompts) >= 0 and max(prompts) < frames):
        raise ValueError(f"prompts are needed on slices from 0 to {frames - 1}, there are some on {sorted(prompts)}")
    return walk(Tracker(network, frames), features, frames, prompts, both_ways)


def walk(
    tracker: Tracker,
    features: Callable[[int], Tensor],
    frames: int,
    prompts: Mapping[int, SlicePrompt],
    both_ways: bool,
) -> Iterator[Tracked]:
    """The slices in the order of `propagate`, with what no later one looks back at forgotten."""
    prompted = {z: tracker.step(z, features(z), prompts[z], reverse=False) for z in sorted(prompts)}
    first = min(prompted)
    for z in range(first, frames):
        yield prompted[z] if z in prompted else tracker.step(z, features(z), None, reverse=False)
        if z - REACH >= first + REACH:  # the slices just after the first are looked at from below it, too
            tracker.forget(z - REACH)
    for z in range(first - 1, -1, -1) if both_ways else ():
        yield tracker.step(z, features(z), None, reverse=True)
        tracker.forget(z + REACH)


class Tracker:
    """The memory of one object in a volume with so many `frames`, and a step that adds a slice to it."""

    def __init__(self, network: Sam2Network, frames: int) -> None:
        self.network, self.frames = network, frames
        self.places: Any = None  # positions in a memory, the same in all of them
        self.prompted: dict[int, dict[str, Any]] = {}
        self.tracked: dict[int, dict[str, Any]] = {}
        # under the names by which the package looks it up
        self.memory = {"cond_frame_outputs": self.prompted, "non_cond_frame_outputs": self.tracked}

    @torch.inference_mode()
    def step(self, z: int, embedding: Tensor, prompt: SlicePrompt | None, reverse: bool) -> Tracked:
        """Decode slice z from its prompts or, without any, from the memory; remember the outcome."""
        device, module = self.network.no_memory.device, self.network.module
        image, *high = unpack(embedding[None].to(device))
        positions = module.image_encoder.neck.position_encoding(image)
        clicks = previous = None
        if prompt is not None:
            points, labels = prompt.points[None].to(device, torch.float32), prompt.labels[None].to(device, torch.int32)
            clicks = {"point_coords": points, "point_labels": labels}
            if prompt.previous is not None:
                previous = prompt.previous[None].to(device, torch.float32).clamp(-LIMIT, LIMIT)
        out = module.track_step(  # SAM2VideoPredictor calls it as well
            frame_idx=z,
            is_init_cond_frame=prompt is not None,
            current_vision_feats=[part.flatten(2).permute(2, 0, 1) for part in (*high, image)],
            current_vision_pos_embeds=[positions.flatten(2).permute(2, 0, 1)],  # only the last one is used
            feat_sizes=SIZES,
            point_inputs=clicks,
            mask_inputs=None,
            output_dict=self.memory,
            num_frames=self.frames,
            track_in_reverse=reverse,
            prev_sam_mask_logits=previous,
        )
        memory = out["maskmem_features"].to(torch.bfloat16)
        self.places = self.places or out["maskmem_pos_enc"]
        (self.tracked if prompt is None else self.prompted)[z] = {
            "maskmem_features": memory,
            "maskmem_pos_enc": self.places,
            "obj_ptr": out["obj_ptr"],
        }
        return Tracked(z, out["pred_masks"][0].float(), out["object_score_logits"], out["obj_ptr"], memory)

    def forget(self, z: int) -> None:
        """Forget a slice without prompts."""
        self.tracked.pop(z, None)
