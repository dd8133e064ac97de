"""SegVol: a 3D network for CT that looks at the whole volume first, then closely at what it found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from intrabench.mask import Box, Floats32
from intrabench.models.base import Answer, Request
from intrabench.models.installing import importing
from intrabench.models.parts.clip_tokens import tokenizer, tokens_of
from intrabench.models.parts.crop_model import CropModel, OpenCrops
from intrabench.models.parts.recipe import Policy
from intrabench.models.weights import registry as weights
from intrabench.progress import loading
from intrabench.prompts import Derived, StrokePoints
from intrabench.specs.specs import switch
from intrabench.volume import Volume

if TYPE_CHECKING:
    import torch

SENTENCE = "A computerized tomography of a {}."
"""What the published network was trained to read."""
MERGES = "clip_merges"
"""The id of the tokenizer's file in the registry of weights."""


@dataclass(eq=False)
class SegVol(CropModel):
    """SegVol (Du et al., NeurIPS 2024) with points, a box or a text: zoom out, then zoom in.

    A text goes with all other prompts, into the sentence "A computerized tomography of a TEXT."; the newest counts. It
    needs `pip install 'intrabench[text]'` and the weights `clip_merges`, a list of CLIP's tokens. Random weights do
    without the list: every letter is a token.

    It has no mask prompt, so a correction is all prompts so far plus the new points. In the zoom-in each window gets up
    to five random target points, drawn from a separate random stream for every request. The original refuses points
    together with a box; here both are passed. ``policy=radioactive`` differs in the seed of that stream.
    """

    name = "segvol"
    weights = "segvol"
    grey_only = True
    extra = "sam"
    requires = ("segment_anything", "torchvision")
    accepts = frozenset({"point", "box3d", "text"})
    feeds_back = False
    covers = "the foreground of the scan"

    policy: Policy = "official"
    derived: Derived = switch("none")
    strokes: StrokePoints = switch("one_negative")

    def build(self) -> Any:
        """The network without its text encoder."""
        from intrabench.models.networks.segvol import build_segvol

        return build_segvol()

    @cached_property
    def text_encoder(self) -> Any:
        """The text encoder with its weights, on the device of the runtime.

        Raises:
            IntraBenchError: transformers is not installed, or the weights are absent or do not fit.
        """
        import torch

        from intrabench.models.parts.checkpoints import fill

        with importing(f"texts for {self.name} need", "run: pip install 'intrabench[text]'"):
            from intrabench.models.networks.segvol_text import TextEncoder, own_key
        with loading(f"loading the text encoder of {self.name}"), torch.random.fork_rng(devices=[]):
            return fill(TextEncoder(), self, own_key).eval().requires_grad_(False).to(self.runtime.device)

    @cached_property
    def tokenizer(self) -> Any:
        """CLIP's tokenizer.

        Raises:
            IntraBenchError: its merges are absent.
        """
        return tokenizer(None if self.runtime.random else weights.locate(MERGES))

    @cached_property
    def read(self) -> dict[str, torch.Tensor]:
        """What the text encoder made of texts so far, each ``(1, 768)``."""
        return {}

    def prepared(self, volume: Volume) -> Any:
        """The crop: the foreground, its intensities from 0 to 1.

        Raises:
            ValueError: the image has channels.
        """
        from intrabench.models.networks.segvol_zoom import Crop

        if volume.array.ndim != 3:
            raise ValueError("SegVol takes grey volumes, not colour images")
        return Crop.of(volume.array)

    def encode(self, crop: Floats32) -> Floats32:
        """A window ``(32, 256, 256)`` to its embedding ``(768, 8, 16, 16)``."""
        return self.embedding_of(crop[None], self.network.encode)

    def segment_one(self, image: OpenCrops, request: Request) -> Answer:
        """Answer for the whole volume.

        Raises:
            ValueError: a prompt lies outside of the volume.
        """
        import torch

        from intrabench.models.networks.segvol_zoom import Prompts, segment

        texts = [turn.prompts.text for turn in request.given if turn.prompts.text is not None]
        points = np.vstack([turn.prompts.points for turn in request.given])
        drawn = [turn.prompts.box3d for turn in request.given if turn.prompts.box3d is not None]
        box = drawn[-1] if drawn else None
        shape = image.volume.shape
        if ((points[:, :3] < 0) | (points[:, :3] >= shape)).any():
            raise ValueError(f"a point lies outside of the volume of {' x '.join(map(str, shape))} voxels")
        if box is not None and ((box[3:] <= 0) | (box[:3] >= shape)).any():
            raise ValueError(f"the box lies outside of the volume of {' x '.join(map(str, shape))} voxels")

        def encode(key: Box | None, window: torch.Tensor) -> torch.Tensor:
            name = "frame" if key is None else "_".join(map(str, key))
            return self.tensor(image.embedding(name, lambda: window[0, 0].numpy())[None])

        prompts = Prompts.of(image.prepared, points, None if box is None else box.tolist())
        generator = torch.Generator().manual_seed(1 if self.policy == "radioactive" else 0)
        with self.computing():
            tokens = {"text": self._read(texts[-1])} if texts else {}
            mask = segment(image.prepared, prompts, encode, partial(self._decode, **tokens), generator)
        return Answer(mask, reach=image.prepared.box)

    def _read(self, text: str) -> torch.Tensor:
        """What the decoder gets of a text, ``(1, 768)``."""
        import torch

        if text not in self.read:
            encoder = self.text_encoder  # first, as it says what is not installed
            tokens = tokens_of(SENTENCE.format(text), self.tokenizer)
            self.read[text] = encoder(torch.tensor([tokens], device=self.runtime.device)).float()
        return self.read[text]

    def _decode(self, embedding: torch.Tensor, *prompts: torch.Tensor | None, **tokens: torch.Tensor) -> torch.Tensor:
        device = self.runtime.device
        inputs = (None if p is None else p.to(device) for p in prompts)
        logits: torch.Tensor = self.network.decode(embedding, *inputs, **tokens)
        return self.finite(logits.float())
