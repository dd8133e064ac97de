"""SAM 2 on a volume whose slices are the frames of a video: prompts on some slices, masks of one object on all.

The steps are those of https://github.com/facebookresearch/sam2 (SAM2VideoPredictor, sam2/modeling/sam2_base.py) for
one object, prompted before it is tracked, without hole filling and without constraints between objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from intrabench.models.networks.sam2 import LIMIT, MAPS, OfficialSam2, Sam2Network, TransformersSam2, unpack

REACH = 15
"""A slice looks back at the pointers of so many tracked slices, and at the masks of the 6 nearest of them."""
SIZES = [shape[1:] for shape in MAPS[1:] + MAPS[:1]]
"""The sides of the maps, finest first, as the video networks take them."""


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
    return walk(tracker_of(network, frames), features, frames, prompts, both_ways)


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


class Tracker(ABC):
    """The memory of one object, and a step that adds a slice to it."""

    def __init__(self, network: Sam2Network, frames: int) -> None:
        self.network, self.frames = network, frames
        self.places: Any = None  # positions in a memory, the same in all of them
        self.prompted: dict[int, dict[str, Any]] = {}
        self.tracked: dict[int, dict[str, Any]] = {}
        # under the names by which both backends look it up
        self.memory = {"cond_frame_outputs": self.prompted, "non_cond_frame_outputs": self.tracked}

    @torch.inference_mode()
    def step(self, z: int, embedding: Tensor, prompt: SlicePrompt | None, reverse: bool) -> Tracked:
        """Decode slice z from its prompts or, without any, from the memory; remember the outcome."""
        device = self.network.no_memory.device
        image, *high = unpack(embedding[None].to(device))
        tokens = [part.flatten(2).permute(2, 0, 1) for part in (*high, image)]
        if prompt is not None:
            previous = None if prompt.previous is None else prompt.previous[None].to(device, torch.float32)
            points, labels = prompt.points[None].to(device, torch.float32), prompt.labels[None].to(device, torch.int32)
            prompt = SlicePrompt(points, labels, None if previous is None else previous.clamp(-LIMIT, LIMIT))
        return self._step(z, tokens, self._positions(image), prompt, reverse)

    def forget(self, z: int) -> None:
        """Forget a slice without prompts."""
        self.tracked.pop(z, None)

    @abstractmethod
    def _positions(self, image: Tensor) -> Tensor:
        """The positions ``(1, 256, 64, 64)`` of the image embedding."""

    @abstractmethod
    def _step(
        self, z: int, tokens: list[Tensor], positions: Tensor, prompt: SlicePrompt | None, reverse: bool
    ) -> Tracked:
        """tokens: the maps, finest first, ``(y * x, 1, channel)``. The prompt's tensors have an axis of 1 in front."""


class OfficialTracker(Tracker):
    """The package ``sam2``: its track_step, which SAM2VideoPredictor calls as well."""

    def _positions(self, image: Tensor) -> Tensor:
        return self.network.module.image_encoder.neck.position_encoding(image)

    def _step(
        self, z: int, tokens: list[Tensor], positions: Tensor, prompt: SlicePrompt | None, reverse: bool
    ) -> Tracked:
        clicks = None if prompt is None else {"point_coords": prompt.points, "point_labels": prompt.labels}
        out = self.network.module.track_step(
            frame_idx=z,
            is_init_cond_frame=prompt is not None,
            current_vision_feats=tokens,
            current_vision_pos_embeds=[positions.flatten(2).permute(2, 0, 1)],  # only the last one is used
            feat_sizes=SIZES,
            point_inputs=clicks,
            mask_inputs=None,
            output_dict=self.memory,
            num_frames=self.frames,
            track_in_reverse=reverse,
            prev_sam_mask_logits=None if prompt is None else prompt.previous,
        )
        memory = out["maskmem_features"].to(torch.bfloat16)
        self.places = self.places or out["maskmem_pos_enc"]
        (self.tracked if prompt is None else self.prompted)[z] = {
            "maskmem_features": memory,
            "maskmem_pos_enc": self.places,
            "obj_ptr": out["obj_ptr"],
        }
        return Tracked(z, out["pred_masks"][0].float(), out["object_score_logits"], out["obj_ptr"], memory)


class TransformersTracker(Tracker):
    """``transformers``: the parts of Sam2VideoModel.forward, which itself takes no earlier logits with the prompts."""

    def __init__(self, network: Sam2Network, frames: int) -> None:
        from transformers import Sam2VideoInferenceSession

        super().__init__(network, frames)
        device = network.no_memory.device
        self.session = Sam2VideoInferenceSession(
            inference_device=device, inference_state_device=device, dtype=torch.float32
        )
        self.session.processed_frames = dict.fromkeys(range(frames))  # counted, but never read: features are given
        self.session.obj_id_to_idx(0)
        self.session.output_dict_per_obj[0] = self.memory

    def _positions(self, image: Tensor) -> Tensor:
        return self.network.module.vision_encoder.neck.position_encoding(image.shape, image.device, image.dtype)

    def _step(
        self, z: int, tokens: list[Tensor], positions: Tensor, prompt: SlicePrompt | None, reverse: bool
    ) -> Tracked:
        module, session, clicked = self.network.module, self.session, prompt is not None
        positions = positions.flatten(2).permute(2, 0, 1)
        session.cache.cache_vision_features(z, {"vision_feats": tokens, "vision_pos_embeds": [positions]})
        clicks = None if prompt is None else {"point_coords": prompt.points[None], "point_labels": prompt.labels[None]}
        out = module._run_single_frame_inference(
            inference_session=session,
            frame_idx=z,
            obj_idx=0,
            batch_size=1,
            is_init_cond_frame=clicked,
            point_inputs=clicks,
            mask_inputs=None,
            reverse=reverse,
            prev_sam_mask_logits=None if prompt is None else prompt.previous,
        )
        memory, places = module._encode_new_memory(
            current_vision_feats=tokens[-1],
            pred_masks_high_res=out["high_res_masks"],
            object_score_logits=out["object_score_logits"],
            is_mask_from_pts=clicked,
        )
        self.places = places if self.places is None else self.places
        pointer = out["object_pointer"]
        (self.prompted if clicked else self.tracked)[z] = {
            "maskmem_features": memory,
            "maskmem_pos_enc": self.places,
            "object_pointer": pointer,
        }
        grid = memory.permute(1, 2, 0).reshape(1, -1, *SIZES[-1])
        return Tracked(z, out["pred_masks"][0].float(), out["object_score_logits"][0], pointer[0], grid)


def tracker_of(network: Sam2Network, frames: int) -> Tracker:
    """An empty memory for one object of a volume with so many slices."""
    if isinstance(network, OfficialSam2):
        return OfficialTracker(network, frames)
    if isinstance(network, TransformersSam2):
        return TransformersTracker(network, frames)
    raise TypeError(f"no tracker for {type(network).__name__}")
