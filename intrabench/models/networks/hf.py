"""The promptable networks of transformers by their ``model_type``: built, loaded safely, and asked slice by slice.

Code: https://github.com/huggingface/transformers, Apache-2.0. Each family has a class for images, and most have one for
videos that loads the same files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from intrabench.errors import IntraBenchError
from intrabench.models.networks.hf_families import Family
from intrabench.models.networks.tracks import LIMIT

Points = tuple[Tensor, Tensor]
SHOWN = 3
_OF_TRACKERS = (
    "memory_",
    "mask_downsample.",
    "object_pointer_proj.",
    "temporal_positional_encoding_projection_layer.",
    "no_memory_positional_encoding",
    "no_object_pointer",
    "occlusion_spatial_embedding_parameter",
    "spatial_perceiver.",
    "detector_model.",
)
"""Keys that a file for videos holds and a network for images does not need."""


def build(folder: Path, family: Family, video: bool) -> Any:
    """The untrained network that ``config.json`` describes.

    Raises:
        IntraBenchError: the file does not describe one.
    """
    import transformers

    config = _config(folder)
    try:
        return getattr(transformers, family.video if video else family.image)(config)
    except ImportError:
        raise
    except Exception as error:  # whatever a wrong value leads to
        raise IntraBenchError(f"{folder}/config.json describes no network ({_first_line(error)})") from error


def load(folder: Path, family: Family, video: bool) -> Any:
    """The network with its weights, in float32, from safetensors.

    Raises:
        IntraBenchError: a file cannot be read, or has other keys or shapes than this network.
    """
    import transformers

    name = family.video if video else family.image
    try:
        with _quiet():
            network, found = getattr(transformers, name).from_pretrained(
                folder,
                config=_config(folder),
                dtype=torch.float32,
                use_safetensors=True,
                local_files_only=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # told below, with all other differences
            )
    except (ImportError, IntraBenchError):
        raise
    except Exception as error:  # damaged files raise various exceptions
        raise IntraBenchError(
            f"{folder} cannot be read as the weights of a {name} ({_first_line(error)}); fetch it again"
        ) from error
    kinds = {"missing_keys": "missing", "mismatched_keys": "of another shape", "unexpected_keys": "unexpected"}
    keys = {kind: sorted(map(_key, found[kind])) for kind in kinds}
    if not video:
        keys["unexpected_keys"] = [key for key in keys["unexpected_keys"] if not key.startswith(_OF_TRACKERS)]
    differences = [
        f"{len(keys[kind])} {words}: {', '.join(keys[kind][:SHOWN])}" for kind, words in kinds.items() if keys[kind]
    ]
    if differences:
        raise IntraBenchError(f"{folder} does not hold the weights of a {name} ({'; '.join(differences)})")
    return network


def image_processor(folder: Path, family: Family, side: int) -> Any:
    """What prepares images as the repository says; without its file, the library's default for squares of `side`."""
    import transformers

    described = [folder / name for name in ("preprocessor_config.json", "processor_config.json")]
    if any(path.is_file() for path in described):
        auto: Any = transformers.AutoImageProcessor
        return auto.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    square = {"height": side, "width": side}
    sizes = {"size": {"longest_edge": side}, "pad_size": square} if family.pads else {"size": square}
    return getattr(transformers, family.processor)(**sizes)


def side_of(processor: Any, folder: Path) -> int:
    """The side of the square that a processor makes of an image.

    Raises:
        IntraBenchError: it makes no squares.
    """
    size, pad = processor.size, getattr(processor, "pad_size", None)
    longest = getattr(size, "longest_edge", None)
    edges = {longest} if longest else {size.height, size.width}
    edges |= {pad.height, pad.width} if pad else set()
    if len(edges) != 1:
        raise IntraBenchError(
            f"{folder}: its processor resizes to {size} and pads to {pad}; only squares of one size are supported"
        )
    return int(edges.pop())


def encode(network: Any, pixels: Tensor) -> Tensor:
    """Prepared images ``(n, 3, side, side)`` to embeddings ``(n, length)``, all maps in one vector (see `unpack`)."""
    found = network.get_image_embeddings(pixels)
    if isinstance(found, Tensor):
        parts = [found]
    elif isinstance(found[1], Tensor):
        parts = list(found)
    else:  # SAM-HQ: the decoder also looks at the first of the features in between
        parts = [found[0], found[1][0]]
    return torch.cat([part.float().flatten(1) for part in parts], dim=1)


def unpack(network: Any, embeddings: Tensor) -> list[Tensor]:
    """The maps that embeddings ``(n, length)`` consist of: one of SAM, ``(n, c, h, w)``, three of SAM 2.

    Of SAM-HQ the second is ``(n, h, w, c)``.
    """
    shapes = _shapes(network)
    parts = torch.split(embeddings, [math.prod(shape) for shape in shapes], dim=1)
    return [part.reshape(-1, *shape) for part, shape in zip(parts, shapes, strict=True)]


def decode(
    network: Any, embeddings: Tensor, points: Points | None, boxes: Tensor | None, masks: Tensor | None, multimask: bool
) -> tuple[Tensor, Tensor]:
    """Low-resolution logits ``(n, m, h, w)`` and estimated IoU ``(n, m)`` for n pairs of an image and its prompts.

    points: ``(n, k, 2)`` as x, y in the network's square, and labels ``(n, k)``, 1 target, 0 background. boxes: ``(n,
    4)`` as x0, y0, x1, y1. masks: ``(n, 1, h, w)``, logits of an earlier call. m is 3 with `multimask`, else 1.
    """
    image, *others = unpack(network, embeddings)
    inputs: dict[str, Any] = {"image_embeddings": [image, *others]}
    if not others:
        inputs = {"image_embeddings": image}
    elif len(others) == 1:
        inputs = {"image_embeddings": image, "intermediate_embeddings": others}
    elif masks is not None:
        masks = masks.clamp(-LIMIT, LIMIT)
    if points is not None:
        inputs |= {"input_points": points[0][:, None], "input_labels": points[1][:, None]}
    if boxes is not None:
        inputs["input_boxes"] = boxes[:, None]
    answer = network(**inputs, input_masks=masks, multimask_output=multimask)
    return answer.pred_masks[:, 0], answer.iou_scores[:, 0]


def _shapes(network: Any) -> list[tuple[int, ...]]:
    """Those of the maps that `encode` puts into one vector, without n."""
    decoder, config = network.mask_decoder, network.config
    if hasattr(decoder, "conv_s0"):
        channels = decoder.conv_s0.out_channels, decoder.conv_s1.out_channels, network.hidden_dim
        return [(c, *size) for c, size in zip(channels, network.backbone_feature_sizes, strict=True)]
    vision = config.vision_config
    grid = vision.image_size // vision.patch_size
    in_between: list[tuple[int, ...]] = [(grid, grid, vision.hidden_size)] if config.model_type == "sam_hq" else []
    return [(vision.output_channels, grid, grid), *in_between]


@contextmanager
def _quiet() -> Iterator[None]:
    """The library prints what differs, which is told in one sentence here, and shows a bar."""
    from transformers.utils import logging as theirs

    logging: Any = theirs
    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


def _config(folder: Path) -> Any:
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise IntraBenchError(f"{folder}/config.json cannot be read ({_first_line(error)})") from error


def _key(found: Any) -> str:
    return str(found if isinstance(found, str) else found[0])


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
