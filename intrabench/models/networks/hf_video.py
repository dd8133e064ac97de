"""The video networks of transformers, one slice at a time, for the frames logic of `sam2_video`.

The library's own inference session holds what a slice looks back at; features of slices come from embeddings instead of
pictures, so that they are encoded once for all objects.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from intrabench.models.networks.hf import unpack
from intrabench.models.networks.tracks import Asked, Outcomes

OBJECT = 1


def encode(network: Any, pixels: Tensor) -> Tensor:
    """Prepared images ``(n, 3, side, side)`` to embeddings ``(n, length)``; what says "no memory" is not in them."""
    maps = network.get_image_features(pixels, return_dict=True).fpn_hidden_states
    return torch.cat([part.float().permute(1, 2, 0).flatten(1) for part in maps], dim=1)


class HubTracker:
    """A video network as one that follows an object; see `intrabench.models.networks.tracks.Tracks`."""

    def __init__(self, network: Any) -> None:
        import transformers

        self.network = network
        self._sessions = getattr(transformers, type(network).__name__.replace("Model", "InferenceSession"))
        parameters = inspect.signature(network._run_single_frame_inference).parameters
        self._later = {"run_mem_encoder": False} if "run_mem_encoder" in parameters else {}

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        device: torch.device = self.network.no_memory_embedding.device
        return device

    def maps(self, embedding: Tensor) -> list[Tensor]:
        """The feature maps, each ``(h * w, 1, c)``, from high to low resolution."""
        return [part.flatten(2).permute(2, 0, 1) for part in unpack(self.network, embedding[None].to(self.device))]

    def track(
        self, maps: list[Tensor], z: int, frames: int, seen: tuple[Outcomes, Outcomes], reverse: bool, asked: Asked
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Logits ``(1, h, w)``, score and pointer of slice z."""
        session = self._sessions(inference_device=self.device, inference_state_device=self.device, dtype=torch.float32)
        session.processed_frames = dict.fromkeys(range(frames))
        index = session.obj_id_to_idx(OBJECT)
        session.output_dict_per_obj[index] = {"cond_frame_outputs": seen[0], "non_cond_frame_outputs": seen[1]}
        features = {"vision_feats": maps, "vision_pos_embeds": [self._positions(maps[-1])]}  # only the last is used
        session.cache.cache_vision_features(z, features)
        clicks = None
        if asked.prompt is not None:
            clicks = {
                "point_coords": asked.prompt.points[None, None].to(self.device, torch.float32),
                "point_labels": asked.prompt.labels[None, None].to(self.device),
            }
        out = self.network._run_single_frame_inference(  # the network calls it as well
            inference_session=session,
            obj_idx=index,
            frame_idx=z,
            batch_size=1,
            is_init_cond_frame=asked.initial,
            point_inputs=clicks,
            mask_inputs=asked.mask,
            reverse=reverse,
            prev_sam_mask_logits=asked.previous,
            **self._later,
        )
        return out["pred_masks"][0], out["object_score_logits"], out["object_pointer"]

    def remember(self, maps: list[Tensor], logits: Tensor, score: Tensor, prompted: bool) -> tuple[Tensor, Tensor]:
        """What other slices look back at, and the positions in it."""
        side = self.network.image_size
        masks = logits[None].expand(-1, 1 if prompted else 3, -1, -1)  # torch rounds one and three differently
        memory, places = self.network._encode_new_memory(  # the network calls it as well
            current_vision_feats=maps[-1],
            pred_masks_high_res=functional.interpolate(masks, (side, side), mode="bilinear")[:, :1],
            object_score_logits=score,
            is_mask_from_pts=prompted,
        )
        return memory, places

    def _positions(self, lowest: Tensor) -> Tensor:
        """The positions in the map of lowest resolution, ``(h * w, 1, c)``."""
        height, width = self.network.backbone_feature_sizes[-1]
        shape = torch.Size((1, lowest.shape[2], height, width))
        places: Tensor = self.network.vision_encoder.neck.position_encoding(shape, lowest.device, lowest.dtype)
        return places.flatten(2).permute(2, 0, 1)
