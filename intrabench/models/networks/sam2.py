"""SAM 2 and 2.1 as networks: an image becomes an embedding, embeddings and prompts become masks. Two backends.

Network and steps are those of https://github.com/facebookresearch/sam2 (SAM2ImagePredictor). The default backend is
its package ``sam2``; ``transformers`` computes the same from the same checkpoints and needs neither hydra nor a build.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Size = Literal["t", "s", "b+", "l"]
Version = Literal["2.0", "2.1"]
Backend = Literal["sam2", "transformers"]
Pair = tuple[Tensor, Tensor]
Maps = tuple[Tensor, Tensor, Tensor]

SIDE = 1024
"""The side of an image as the network sees it; prompts are in these pixels."""
LIMIT = 32.0
"""Logits that are fed back lie within plus and minus this, as the official predictors clamp them."""
MAPS = ((256, 64, 64), (32, 256, 256), (64, 128, 128))
"""What an embedding consists of, in this order: the image embedding and two maps of higher resolution, (c, y, x)."""
LENGTH = sum(math.prod(shape) for shape in MAPS)
"""The length of an embedding; in float32 it takes 16 MiB."""


class Sam2Network(torch.nn.Module, ABC):
    """A network of either backend, in evaluation mode; `module` is the backend's own. See `build_sam2`."""

    _no_memory: ClassVar[str]
    _encoder: ClassVar[str]

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module.eval()

    @property
    def no_memory(self) -> Tensor:
        """``(1, 1, 256)``: what is added to the image embedding where no other slice is looked at."""
        return getattr(self.module, self._no_memory)

    @property
    def image_encoder(self) -> torch.nn.Module:
        """The part that takes most of the time of `encode`."""
        return getattr(self.module, self._encoder)

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """The weights under the backend's own names; of ``sam2`` they are the official ones."""
        return self.module.state_dict(*args, **kwargs)

    def load_official(self, state: Mapping[str, Tensor]) -> None:
        """Take the weights of an official checkpoint, ``torch.load(path)["model"]``, or of `state_dict`.

        Raises:
            RuntimeError: a key is missing or unknown, or has another shape.
        """
        own = state.keys() == self.state_dict().keys()
        self.module.load_state_dict(state if own else self.own_names(state), strict=True)

    @torch.inference_mode()
    def encode(self, images: Tensor) -> Tensor:
        """Prepared images ``(n, 3, 1024, 1024)`` to embeddings ``(n, LENGTH)`` (see `unpack`).

        `no_memory` is not in them, so that the same embedding serves single slices and propagation.
        """
        maps = self._maps(images.to(self.no_memory.device))
        return torch.cat([part.float().flatten(1) for part in maps], dim=1)

    @torch.inference_mode()
    def decode(
        self, embeddings: Tensor, points: Tensor, labels: Tensor, masks: Tensor | None = None, multimask: bool = False
    ) -> Pair:
        """n pairs of an embedding and its prompts to logits ``(n, m, 256, 256)`` and predicted IoU ``(n, m)``.

        m is 3 with `multimask`, else 1: the single mask or, where that is unstable, the best of the three. embeddings:
        ``(n, LENGTH)``. points: ``(n, k, 2)``, x and y in pixels of the 1024 x 1024 image. labels: ``(n, k)``: 1
        target, 0 background, 2 and 3 the first and the second corner of a box (before all clicks), -1 padding, which
        does change the result a little. masks: logits of an earlier call, ``(n, 1, 256, 256)``, or None.
        """
        device = self.no_memory.device
        image, *high = unpack(embeddings.to(device))
        clicks = points.to(device, torch.float32), labels.to(device, torch.int32)
        dense = None if masks is None else masks.to(device, torch.float32)
        logits, iou = self._decoded(image + self.no_memory.view(1, -1, 1, 1), high, clicks, dense, multimask)
        return logits.float().clamp(-LIMIT, LIMIT), iou.float()

    def own_names(self, state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """An official state dict under the names of `state_dict`."""
        return state

    @abstractmethod
    def _maps(self, images: Tensor) -> Maps:
        """The maps of `MAPS`, each with n in front."""

    @abstractmethod
    def _decoded(self, image: Tensor, high: list[Tensor], points: Pair, masks: Tensor | None, multimask: bool) -> Pair:
        """Logits and IoU; `image` has `no_memory` in it."""


class OfficialSam2(Sam2Network):
    """The package ``sam2``."""

    _no_memory = "no_mem_embed"
    _encoder = "image_encoder"

    def _maps(self, images: Tensor) -> Maps:
        high0, high1, image = self.module.forward_image(images)["backbone_fpn"]
        return image, high0, high1

    def _decoded(self, image: Tensor, high: list[Tensor], points: Pair, masks: Tensor | None, multimask: bool) -> Pair:
        sparse, dense = self.module.sam_prompt_encoder(points=points, boxes=None, masks=masks)
        positions = self.module.sam_prompt_encoder.get_dense_pe()
        logits, iou, _, _ = self.module.sam_mask_decoder(  # repeat_image: every prompt has its own image
            image, positions, sparse, dense, multimask, repeat_image=False, high_res_features=high
        )
        return logits, iou


class TransformersSam2(Sam2Network):
    """Sam2VideoModel of ``transformers``: it has the weights of the memory, too, so it serves images and volumes."""

    _no_memory = "no_memory_embedding"
    _encoder = "vision_encoder"

    def own_names(self, state: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return transformers_state(state)

    def _maps(self, images: Tensor) -> Maps:
        tokens = self.module.get_image_features(images, return_dict=True).fpn_hidden_states  # (y * x, n, channel)
        high0, high1, image = (
            flat.permute(1, 2, 0).reshape(-1, *shape) for flat, shape in zip(tokens, MAPS[1:] + MAPS[:1], strict=True)
        )
        return image, high0, high1

    def _decoded(self, image: Tensor, high: list[Tensor], points: Pair, masks: Tensor | None, multimask: bool) -> Pair:
        coordinates, labels = (prompt[:, None] for prompt in points)  # one object for each image
        sparse, dense = self.module.prompt_encoder(coordinates, labels, input_boxes=None, input_masks=masks)
        positions = self.module.get_image_wide_positional_embeddings().expand(len(image), -1, -1, -1)
        logits, iou, _, _ = self.module.mask_decoder(image, positions, sparse, dense, multimask, high)
        return logits[:, 0], iou[:, 0]


def unpack(embeddings: Tensor) -> Maps:
    """Embeddings ``(n, LENGTH)`` to ``(n, 256, 64, 64)``, ``(n, 32, 256, 256)`` and ``(n, 64, 128, 128)``."""
    parts = torch.split(embeddings, [math.prod(shape) for shape in MAPS], dim=1)
    image, high0, high1 = (part.reshape(-1, *shape) for part, shape in zip(parts, MAPS, strict=True))
    return image, high0, high1


def prepare(image: NDArray[np.uint8]) -> Tensor:
    """An 8-bit slice ``(y, x)`` or ``(y, x, 3)`` as the network takes it: ``(3, 1024, 1024)``.

    From 0 to 1, resized to a square whatever its shape was, normalised by mean and deviation of ImageNet.
    """
    pixels = torch.from_numpy(np.ascontiguousarray(image)).to(torch.float32) / 255
    channels = pixels[None] if pixels.ndim == 2 else pixels.permute(2, 0, 1)
    square = functional.interpolate(channels[None], (SIDE, SIDE), mode="bilinear", align_corners=False, antialias=True)
    mean, deviation = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])[:, :, None, None]
    return (square[0] - mean) / deviation


def build_sam2(size: Size, version: Version = "2.1", backend: Backend = "sam2") -> Sam2Network:
    """A network of random weights on the CPU, to be filled by `load_official`.

    Both backends have the official settings of inference: an unstable single mask gives way to the best of three, and
    of a slice with prompts the mask is remembered, not the logits.

    Raises:
        ImportError: the backend is not installed.
    """
    for value, allowed in ((size, Size), (version, Version), (backend, Backend)):
        if value not in get_args(allowed):
            raise ValueError(f"SAM 2 comes as {', '.join(get_args(allowed))}, not as {value}")
    with torch.random.fork_rng(devices=[]):  # initial weights are overwritten: leave the global stream alone
        if backend == "sam2":
            return OfficialSam2(_official_module(size, version))
        return TransformersSam2(_transformers_module(size, version))


def _official_module(size: Size, version: Version) -> Any:
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
    folder, name = ("sam2", "sam2_hiera") if version == "2.0" else ("sam2.1", "sam2.1_hiera")
    config = OmegaConf.create((files(sam2) / "configs" / folder / f"{name}_{size}.yaml").read_text())
    config.model.binarize_mask_from_pts_for_mem_enc = True
    config.model.sam_mask_decoder_extra_args = {
        "dynamic_multimask_via_stability": True,
        "dynamic_multimask_stability_delta": 0.05,
        "dynamic_multimask_stability_thresh": 0.98,
    }
    return instantiate(config.model)


_HIERA: dict[str, tuple[int, int, list[int], list[int], int, list[int]]] = {
    # width, heads, blocks of each stage, blocks of global attention, side of the background of positions, windows
    "t": (96, 1, [1, 2, 7, 2], [5, 7, 9], 7, [8, 4, 14, 7]),
    "s": (96, 1, [1, 2, 11, 2], [7, 10, 13], 7, [8, 4, 14, 7]),
    "b+": (112, 2, [2, 3, 16, 3], [12, 16, 20], 14, [8, 4, 14, 7]),
    "l": (144, 2, [2, 6, 36, 4], [23, 33, 43], 7, [8, 4, 16, 8]),
}


def _transformers_module(size: Size, version: Version) -> Any:
    from transformers import Sam2HieraDetConfig, Sam2VideoConfig, Sam2VideoModel, Sam2VisionConfig

    width, heads, blocks, everywhere, background, windows = _HIERA[size]
    widths = [width * 2**stage for stage in range(4)]
    backbone = Sam2HieraDetConfig(
        hidden_size=width,
        num_attention_heads=heads,
        embed_dim_per_stage=widths,
        num_attention_heads_per_stage=[heads * 2**stage for stage in range(4)],
        blocks_per_stage=blocks,
        global_attention_blocks=everywhere,
        window_positional_embedding_background_size=[background, background],
        window_size_per_stage=windows,
    )
    vision = Sam2VisionConfig(backbone_config=backbone, backbone_channel_list=widths[::-1])
    newer = version == "2.1"
    config = Sam2VideoConfig(
        vision_config=vision,
        enable_temporal_pos_encoding_for_object_pointers=newer,
        enable_occlusion_spatial_embedding=newer,
    )
    return Sam2VideoModel(config)


_RENAMED = (
    (r"^sam_", ""),
    (r"^image_encoder\.trunk", "vision_encoder.backbone"),
    (r"^image_encoder\.neck\.convs\.(\d)\.conv", r"vision_encoder.neck.convs.\1"),
    (r"^memory_encoder\.out_proj", "memory_encoder.projection"),
    (r"^memory_encoder\.fuser", "memory_encoder.memory_fuser"),
    (r"^maskmem_tpos_enc$", "memory_temporal_positional_encoding"),
    (r"^no_mem_embed$", "no_memory_embedding"),
    (r"^no_mem_pos_enc$", "no_memory_positional_encoding"),
    (r"^no_obj_embed_spatial$", "occlusion_spatial_embedding_parameter"),
    (r"^no_obj_ptr$", "no_object_pointer"),
    (r"^obj_ptr_proj", "object_pointer_proj"),
    (r"^obj_ptr_tpos_proj", "temporal_positional_encoding_projection_layer"),
    (r"\.patch_embed\.proj\.", ".patch_embed.projection."),
    (r"\.out_proj\.", ".o_proj."),
    (r"\.pix_feat_proj\.", ".feature_projection."),
    (r"\.dwconv\.", ".depthwise_conv."),
    (r"\.pwconv", ".pointwise_conv"),
    (r"\.gamma$", ".scale"),
    (r"\.norm", ".layer_norm"),
    (r"\.mask_downsampler\.encoder\.12", ".mask_downsampler.final_conv"),
    *((rf"\.encoder\.{3 * i}\.", f".layers.{i}.conv.") for i in range(4)),
    *((rf"\.encoder\.{3 * i + 1}\.", f".layers.{i}.layer_norm.") for i in range(4)),
    *((rf"\.mask_downscaling\.{3 * i}", f".mask_embed.conv{i + 1}") for i in range(3)),
    *((rf"\.mask_downscaling\.{3 * i + 1}", f".mask_embed.layer_norm{i + 1}") for i in range(2)),
    (r"\.output_upscaling\.0", ".upscale_conv1"),
    (r"\.output_upscaling\.1", ".upscale_layer_norm"),
    (r"\.output_upscaling\.3", ".upscale_conv2"),
    (r"(\.mlp|_head|_mlps\.\d|^object_pointer_proj)\.layers\.0", r"\1.proj_in"),
    (r"(_head|_mlps\.\d|^object_pointer_proj)\.layers\.2|(\.mlp)\.layers\.1", r"\1\2.proj_out"),
    (r"(_head|_mlps\.\d|^object_pointer_proj)\.layers\.1", r"\1.layers.0"),
    (r"\.pe_layer\.positional_encoding_gaussian_matrix$", ".shared_embedding.positional_embedding"),
)


def transformers_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """An official state dict under the names of Sam2VideoModel; unknown keys stay, so that strict loading refuses them.

    The four kinds of points have one table there, and the random frequencies of positions are in it twice.
    """
    kinds = sorted(key for key in state if re.match(r"sam_prompt_encoder\.point_embeddings\.\d\.weight$", key))
    renamed = {}
    for name, value in state.items():
        if name not in kinds:
            for pattern, replacement in _RENAMED:
                name = re.sub(pattern, replacement, name)
            renamed[name] = value
    if kinds:
        renamed["prompt_encoder.point_embed.weight"] = torch.cat([state[key] for key in kinds])
    if (key := "prompt_encoder.shared_embedding.positional_embedding") in renamed:
        renamed["shared_image_embedding.positional_embedding"] = renamed[key]
    return renamed
