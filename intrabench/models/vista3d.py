"""VISTA3D: a 3D network for CT that knows 124 structures by name, and takes clicks on these and on others."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats32, Mask
from intrabench.models.base import Answer, Predictor, Request
from intrabench.models.parts.crop_model import CropModel, OpenCrops
from intrabench.models.parts.embeddings import opened
from intrabench.models.parts.vista3d_classes import class_of, name_of, supported
from intrabench.models.parts.vista3d_scan import Scan
from intrabench.progress import encoding
from intrabench.prompts import Derived, StrokePoints
from intrabench.specs.specs import switch
from intrabench.volume import Volume, states_ct

if TYPE_CHECKING:
    from torch import Tensor

    from intrabench.models.networks.vista3d import Clicks

TOGETHER = 16
"""Classes from 1 to 16, 17 to 32 and so on are looked for in one pass: the network encodes a window for all it looks
for. Always the same ones, so that no answer depends on what else is asked."""


@dataclass(eq=False)
class VISTA3D(CropModel):
    """VISTA3D (He et al., CVPR 2025) through MONAI: clicks, and the name of the target if the network knows it.

    classes=auto: a target whose name in the card of the data set, or label, is one of its 124 classes
    (`intrabench/models/parts/vista3d_classes.toml`) is first looked for by its class in the whole scan. Nobody clicks
    for that, so with the prompter `nothing` it is the answer of round 0; clicks correct it. Other targets are unknown
    to the network (zero-shot) and found by clicks alone. classes=none: all targets are; then it gets what the other
    models get.

    As in the authors' bundle: 1.5 mm, HU -964 to 1054, cropped to what is above 0 HU; windows of 128 voxels, for a
    class with an overlap of 0.3, for clicks one around each. Clicks of a round change the logits of the round before
    (MONAI's `prev_mask`), and only the windows around new clicks are computed. It was trained on CT alone.
    """

    name = "vista3d"
    weights = "vista3d"
    passing = True
    grey_only = True
    extra = "monai"
    requires = ("monai",)
    accepts = frozenset({"point"})
    unprompted = True
    covers = "the scan without the air around it"
    reads_names = True

    classes: Literal["auto", "none"] = "auto"
    derived: Derived = switch("none")
    strokes: StrokePoints = switch("one_negative")

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """Any scan is taken as Hounsfield units."""
        return () if states_ct(volume.modality) else ("taken as CT",)

    def build(self) -> Any:
        """The network for 132 classes."""
        from intrabench.models.networks.vista3d import build_vista3d

        return build_vista3d()

    def prepared(self, volume: Volume) -> Scan:
        """The scan as the network sees it."""
        return Scan.of(volume)

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Load the network if needed, and prepare one scan."""
        self.load()
        return opened(OpenVISTA3D, self, volume)

    def encode(self, crop: Floats32) -> Floats32:
        """A window ``(x, y, z)`` of 128 voxels to what clicks on it need, ``(48, 64, 64, 64)``."""
        from intrabench.models.networks.vista3d import encode

        return self.embedding_of(crop[None], partial(encode, self.network))

    def segment_one(self, image: OpenCrops, request: Request) -> Answer:
        """Answer for the whole volume."""
        assert isinstance(image, OpenVISTA3D)
        return image.segment_one(request)


class OpenVISTA3D(OpenCrops):
    """An opened scan. The memory of a session is the part of the logits that clicks have changed, and its place."""

    model: VISTA3D
    prepared: Scan

    def segment_one(self, request: Request) -> Answer:
        """The mask after the newest turn; clicks outside of what the network sees change nothing."""
        words = (*request.names, request.label) if self.model.classes == "auto" else ()
        index = next((found for found in map(class_of, words) if found is not None), None)
        found = None if index is None else self._found(index)
        points, new = np.vstack([turn.prompts.points for turn in request.given]), request.turns[-1].prompts.points
        kept, memory = self.prepared.inside(points), request.memory
        if kept[len(points) - len(new) :].any():
            first = int(kept[: len(points) - len(new)].sum())
            memory = self._clicked(points[kept], first, index, found, memory)
        notes = () if index is None else (f"class {name_of(index)}",)
        return Answer(self._mask(found, memory), memory=memory, notes=notes, reach=self.prepared.box)

    def _found(self, index: int) -> Floats32:
        """Logits ``(x, y, z)`` of a class in the whole scan."""
        from intrabench.models.networks.vista3d import automatic

        key = f"class_{index}"
        if key not in self.store:
            group = [other for other in sorted(supported()) if (other - 1) // TOGETHER == (index - 1) // TOGETHER]
            started = time.perf_counter()
            with encoding(f"looking for {name_of(index)}"), self.model.computing():
                logits = self.model.finite(automatic(self.model.network, self.prepared.image, group).float())
            seconds = time.perf_counter() - started
            for other, one in zip(group, logits.numpy(), strict=True):
                self.store.put(f"class_{other}", one, seconds / len(group))
            self.encode_s += seconds
        return self.store.get(key)

    def _clicked(self, points: NDArray[Any], first: int, index: int | None, found: Floats32 | None, memory: Any) -> Any:
        """The memory after clicks ``z, y, x, label``; those before number `first` have already changed it."""
        import torch

        from intrabench.models.networks.vista3d import ZERO_SHOT

        clicks, previous = self._clicks, None
        if found is not None or memory is not None:
            shape = self.prepared.image.shape[1:]
            previous = np.full(shape, clicks.unseen, dtype=np.float32) if found is None else found.copy()
            if memory is not None:
                previous[_part(memory)] = memory["logits"]
        with self.model.computing():
            logits, seen = clicks(
                torch.from_numpy(self.prepared.positions(points)),
                torch.from_numpy(points[:, 3]),
                first,
                ZERO_SHOT if index is None else index,
                None if previous is None else torch.from_numpy(previous),
            )
        parts = seen if memory is None else [*seen, _part(memory)]
        sides = zip(*parts, strict=True)
        part = tuple(slice(min(one.start for one in along), max(one.stop for one in along)) for along in sides)
        changed = self.model.finite(logits[part].float().nan_to_num(nan=clicks.unseen)).numpy().copy()
        return {"start": np.array([along.start for along in part]), "logits": changed}

    @cached_property
    def _clicks(self) -> Clicks:
        from intrabench.models.networks.vista3d import Clicks

        return Clicks(self.model.network, self.prepared.image, self._embed)

    def _embed(self, name: str, window: Tensor) -> Tensor:
        return self.model.tensor(self.embedding(f"window_{name}", lambda: window[0, 0].cpu().numpy())[None])

    def _mask(self, found: Floats32 | None, memory: Any) -> Mask:
        if memory is None:
            return Mask.empty() if found is None else self.prepared.paste(found > 0, (0, 0, 0))
        if found is None:
            return self.prepared.paste(memory["logits"] > 0, memory["start"].tolist())
        above = found > 0
        above[_part(memory)] = memory["logits"] > 0
        return self.prepared.paste(above, (0, 0, 0))


def _part(memory: Any) -> tuple[slice, ...]:
    """Where the logits of a memory are in those of the image."""
    sides = zip(memory["start"].tolist(), memory["logits"].shape, strict=True)
    return tuple(slice(start, start + side) for start, side in sides)
