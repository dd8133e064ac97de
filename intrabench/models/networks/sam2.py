"""SAM 2 and 2.1 as networks: an image becomes an embedding, embeddings and prompts become masks.

The network is that of the package ``sam2``, the steps are those of its SAM2ImagePredictor:
https://github.com/facebookresearch/sam2.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from importlib.resources import files
from typing import Any, get_args

import torch
from torch import Tensor
from torch.nn import functional

from intrabench.models.networks.padding import PADDING, hiding
from intrabench.models.networks.sam2_choice import SIDE, Release, Size
from intrabench.models.networks.tracks import LIMIT, Asked

Pair = tuple[Tensor, Tensor]
Maps = tuple[Tensor, Tensor, Tensor]

LENGTH = 4 * SIDE**2
"""The length of an embedding; in float32 it takes 16 MiB."""


class Sam2Network(torch.nn.Module):
    """A network in evaluation mode; `module` is the package's own. See `build_sam2`."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module.eval()

    @property
    def no_memory(self) -> Tensor:
        """``(1, 1, 256)``: what is added to the image embedding where no other slice is looked at."""
        return self.module.no_mem_embed

    @property
    def image_encoder(self) -> torch.nn.Module:
        """The part that takes most of the time of `encode`."""
        return self.module.image_encoder

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The weights under the names of the official checkpoints."""
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Take the weights of an official checkpoint, ``torch.load(path)["model"]``, or of `state_dict`.

        Raises:
            RuntimeError: a key is missing or unknown, or has another shape.
        """
        return self.module.load_state_dict(state_dict, strict, assign)

    @torch.inference_mode()
    def encode(self, images: Tensor) -> Tensor:
        """Prepared images ``(n, 3, 1024, 1024)`` to embeddings ``(n, LENGTH)`` (see `unpack`).

        `no_memory` is not in them, so that the same embedding serves single slices and propagation.
        """
        high0, high1, image = self.module.forward_image(images.to(self.no_memory.device))["backbone_fpn"]
        return torch.cat([part.float().flatten(1) for part in (image, high0, high1)], dim=1)

    @torch.inference_mode()
    def decode(
        self, embeddings: Tensor, points: Tensor, labels: Tensor, masks: Tensor | None = None, multimask: bool = False
    ) -> Pair:
        """n pairs of an embedding and its prompts to logits ``(n, m, 256, 256)`` and predicted IoU ``(n, m)``.

        m is 3 with `multimask`, else 1: the single mask or, where that is unstable, the best of the three. embeddings:
        ``(n, LENGTH)``. points: ``(n, k, 2)``, x and y in pixels of the 1024 x 1024 image. labels: ``(n, k)``: 1
        target, 0 background, 2 and 3 the first and the second corner of a box (before all clicks), -1 padding, which
        is ignored. masks: logits of an earlier call, ``(n, 1, 256, 256)``, or None.
        """
        device = self.no_memory.device
        image, *high = unpack(embeddings.to(device))
        clicks = points.to(device, torch.float32), labels.to(device, torch.int32)
        previous = None if masks is None else masks.to(device, torch.float32).clamp(-LIMIT, LIMIT)
        encoder = self.module.sam_prompt_encoder
        sparse, dense = encoder(points=clicks, boxes=None, masks=previous)
        image = image + self.no_memory.view(1, -1, 1, 1)
        padding = labels == PADDING
        decoder, hidden = self.module.sam_mask_decoder, functional.pad(padding, (0, 1))  # the encoder adds a token
        with hiding(decoder.transformer, hidden.to(device)) if padding.any() else nullcontext():
            logits, iou, _, _ = decoder(  # repeat_image: every prompt has its own image
                image, encoder.get_dense_pe(), sparse, dense, multimask, repeat_image=False, high_res_features=high
            )
        return logits.float(), iou.float()

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.no_memory.device

    def maps(self, embedding: Tensor) -> Maps:
        """What an embedding ``(LENGTH,)`` consists of, on the device; see `unpack`."""
        return unpack(embedding[None].to(self.device))

    def track(
        self, maps: Maps, z: int, frames: int, seen: tuple[Any, Any], reverse: bool, asked: Asked
    ) -> tuple[Tensor, Tensor, Tensor]:
        """See `intrabench.models.networks.tracks.Tracks`."""
        image, *high = maps
        positions = self.module.image_encoder.neck.position_encoding(image)
        clicks = None
        if asked.prompt is not None:
            clicks = {
                "point_coords": asked.prompt.points[None].to(self.device, torch.float32),
                "point_labels": asked.prompt.labels[None].to(self.device, torch.int32),
            }
        out = self.module.track_step(  # SAM2VideoPredictor calls it as well
            frame_idx=z,
            is_init_cond_frame=asked.initial,
            current_vision_feats=[_flat(part) for part in (*high, image)],
            current_vision_pos_embeds=[_flat(positions)],  # only the last one is used
            feat_sizes=[part.shape[-2:] for part in (*high, image)],
            point_inputs=clicks,
            mask_inputs=asked.mask,
            output_dict={"cond_frame_outputs": seen[0], "non_cond_frame_outputs": seen[1]},
            num_frames=frames,
            track_in_reverse=reverse,
            run_mem_encoder=False,  # see `remember`
            prev_sam_mask_logits=asked.previous,
        )
        return out["pred_masks"][0], out["object_score_logits"], out["obj_ptr"]

    def remember(self, maps: Maps, logits: Tensor, score: Tensor, prompted: bool) -> tuple[Tensor, list[Tensor]]:
        """See `intrabench.models.networks.tracks.Tracks`."""
        image, _, _ = maps
        side = self.module.image_size
        masks = logits[None].expand(-1, 1 if prompted else 3, -1, -1)  # torch rounds one and three differently
        large = functional.interpolate(masks, (side, side), mode="bilinear")[:, :1]
        memory, places = self.module._encode_new_memory(  # SAM2VideoPredictor calls it as well
            current_vision_feats=[_flat(image)],
            feat_sizes=[image.shape[-2:]],
            pred_masks_high_res=large,
            object_score_logits=score,
            is_mask_from_pts=prompted,
        )
        return memory.to(torch.bfloat16), places


def unpack(embeddings: Tensor) -> Maps:
    """What embeddings consist of: the image embedding and two maps of higher resolution.

    ``(n, LENGTH)`` to ``(n, 256, 64, 64)``, ``(n, 32, 256, 256)`` and ``(n, 64, 128, 128)``, where the side is `SIDE`.
    """
    side = math.isqrt(embeddings.shape[1] // 4)
    shapes = [(channels, side // stride, side // stride) for channels, stride in ((256, 16), (32, 4), (64, 8))]
    parts = torch.split(embeddings, [math.prod(shape) for shape in shapes], dim=1)
    image, high0, high1 = (part.reshape(-1, *shape) for part, shape in zip(parts, shapes, strict=True))
    return image, high0, high1


def _flat(maps: Tensor) -> Tensor:
    """``(n, c, h, w)`` as ``(h * w, n, c)``."""
    return maps.flatten(2).permute(2, 0, 1)


def normalised(channels: Tensor) -> Tensor:
    """A square of 1 or 3 channels from 0 to 1 as three, normalised by mean and deviation of ImageNet."""
    mean, deviation = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])[:, :, None, None]
    return (channels - mean) / deviation


def build_sam2(size: Size, release: Release = "2.1", side: int = SIDE) -> Sam2Network:
    """A network of random weights on the CPU, to be filled by `Sam2Network.load_state_dict`.

    It has the official settings of inference: an unstable single mask gives way to the best of three, and of a slice
    with prompts the mask is remembered, not the logits. side: of the images; checkpoints were trained with `SIDE`.

    Raises:
        ImportError: the package is not installed.
    """
    for value, allowed in ((size, Size), (release, Release)):
        if value not in get_args(allowed):
            raise ValueError(f"SAM 2 comes as {', '.join(get_args(allowed))}, not as {value}")
    with torch.random.fork_rng(devices=[]):  # initial weights are overwritten: leave the global stream alone
        return Sam2Network(_module(size, release, side))


def _module(size: Size, release: Release, side: int) -> Any:
    """The network that the package's configuration describes, made without hydra's global state."""
    from hydra.core.global_hydra import GlobalHydra

    shared: Any = GlobalHydra.instance()
    before = shared.hydra
    shared.hydra = before or object()  # importing sam2 initialises hydra for the whole process, unless that was done
    try:
        import sam2
        from hydra.utils import instantiate
        from omegaconf import OmegaConf
    finally:
        shared.hydra = before
    folder, name = ("sam2", "sam2_hiera") if release == "2.0" else ("sam2.1", "sam2.1_hiera")
    config = OmegaConf.create((files(sam2) / "configs" / folder / f"{name}_{size}.yaml").read_text("utf-8"))
    config.model.image_size = side
    config.model.binarize_mask_from_pts_for_mem_enc = True
    config.model.sam_mask_decoder_extra_args = {
        "dynamic_multimask_via_stability": True,
        "dynamic_multimask_stability_delta": 0.05,
        "dynamic_multimask_stability_thresh": 0.98,
    }
    return instantiate(config.model)
