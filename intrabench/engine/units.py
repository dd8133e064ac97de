"""What a run consists of: units with content keys, grouped by image. Needs the target index only, never a volume."""

from __future__ import annotations

import hashlib
import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from intrabench.models.weights import registry as weights
from intrabench.target import WHOLE_CASE, TargetInfo

if TYPE_CHECKING:
    from intrabench.datasets.base import Dataset
    from intrabench.engine.remote import RemoteModel
    from intrabench.models.base import Model, Predictor
    from intrabench.prompters.base import Prompter
    from intrabench.volume import Volume

CONTRACT = 2
"""Raised when the meaning of a stored row changes, so that older rows are computed anew."""


@dataclass(frozen=True)
class Runner:
    """A model as it enters a run: the object, what identifies it, where it computes.

    remote: opens images in its place, in another process.
    """

    model: Model
    device: str = "cpu"
    remote: RemoteModel | None = None

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Open one image."""
        from intrabench.models.base import open_image

        return self.remote.open(volume) if self.remote else open_image(self.model, volume)

    def close(self) -> None:
        """End the other process, if there is one."""
        if self.remote is not None:
            self.remote.close()

    @cached_property
    def weights_sha256(self) -> str:
        """The sha256 of its weights, or `RANDOM`, or nothing."""
        return weights.identity(self.model) if self.remote is None else self.remote.weights_sha256

    @cached_property
    def identity(self) -> tuple[str, str, str, str]:
        """All that decides its answers."""
        return self.model.spec, self.model.version, self.weights_sha256, self.model.runtime.dtype

    @property
    def short_spec(self) -> str:
        """How people call it; weights other than the registered ones belong to the name."""
        model, sha256 = self.model, self.weights_sha256
        if sha256 == weights.RANDOM:
            return f"{model.short_spec} (random weights)"
        if model.weights and model.runtime.weights is not None and not weights.is_registered(model.weights, sha256):
            return f"{model.short_spec} (weights {sha256[:8]})"
        return model.short_spec


@dataclass(frozen=True, eq=False)
class Unit:
    """One session to be: a target of a case, prompted by one prompter with one seed, against one model.

    metrics: the ids of all that is measured.
    """

    protocol: str
    runner: Runner
    prompter: Prompter
    dataset: Dataset
    case: str
    target: TargetInfo | None
    seed: int
    image_hash: str = ""
    strict: bool = False
    metrics: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """The content key: equal for equal work, whatever the run, the order or the folder."""
        target = WHOLE_CASE if self.target is None else [self.target.id, self.target.content_hash]
        parts = [CONTRACT, self.protocol, self.runner.identity, self.prompter.spec, self.dataset.spec]
        parts += [self.dataset.version, self.case, self.image_hash, target, self.seed, self.strict]
        parts += sorted(self.metrics)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]

    def columns(self) -> dict[str, Any]:
        """The columns of a row that say who it is."""
        info = self.target
        return {
            "protocol": self.protocol,
            "metrics": " ".join(self.metrics),
            "dataset": self.dataset.short_spec,
            "dataset_version": self.dataset.version,
            "case": self.case,
            "target": info.id if info else WHOLE_CASE,
            "label": info.label if info else "",
            "instance": info.instance if info else -1,
            "target_voxels": info.voxels if info else 0,
            "model": self.runner.short_spec,
            "model_version": self.runner.model.version,
            "weights_sha256": self.runner.weights_sha256,
            "seen_in_training": weights.seen(
                self.runner.model, self.dataset.card.part_of, self.dataset.card.modality.startswith("natural")
            ),
            "prompter": self.prompter.spec,
            "seed": self.seed,
            "strict": self.strict,
            "device": self.runner.device,
            "dtype": self.runner.model.runtime.dtype,
        }
