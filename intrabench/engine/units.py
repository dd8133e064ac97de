"""The units of a run: sessions with content keys, grouped by image. Needs only the target index, not a volume."""

from __future__ import annotations

import hashlib
import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from intrabench.models.weights import registry as weights
from intrabench.results.labels import model_label
from intrabench.target import WHOLE_CASE, TargetInfo
from intrabench.versions import version_of

if TYPE_CHECKING:
    from intrabench.datasets.base import Dataset
    from intrabench.engine.remote import RemoteModel
    from intrabench.models.base import Model, Predictor
    from intrabench.prompters.base import Prompter
    from intrabench.protocols import Protocol
    from intrabench.volume import Volume

CONTRACT = 4
"""Increased when the meaning of stored rows changes, so that older rows are computed again."""


@dataclass(frozen=True)
class Runner:
    """A model in a run: the object, its identity, and where it computes.

    remote: opens images in another process instead.
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
        """The sha256 of its weights, or `RANDOM`, or empty."""
        return weights.identity(self.model) if self.remote is None else self.remote.weights_sha256

    @property
    def weights(self) -> str:
        """The kind of its weights: registered, a file of the user's, random, or none."""
        return weights.kind(self.model, self.weights_sha256)

    @cached_property
    def identity(self) -> tuple[str | int, ...]:
        """Everything that decides its answers, and which prompts it gets."""
        model, taken = self.model, self.model.abilities
        abilities = taken.dims, *sorted(taken.accepts), taken.derived, taken.feeds_back
        return model.spec, version_of(model), self.weights_sha256, model.runtime.dtype, *abilities

    @property
    def label(self) -> str:
        """The name that tables show."""
        return model_label(self.model.short_spec, self.weights, self.weights_sha256)


@dataclass(frozen=True, eq=False)
class Unit:
    """One planned session: a target of a case, one prompter, one seed and one model.

    metrics: the ids of the metrics to measure. patient: that the case is of; it changes no answer, so not the key.
    modality: that of the image, on which answers of some models depend.
    """

    protocol: Protocol
    runner: Runner
    prompter: Prompter
    dataset: Dataset
    case: str
    target: TargetInfo | None
    seed: int
    image_hash: str = ""
    strict: bool = False
    metrics: tuple[str, ...] = ()
    patient: str = ""
    modality: str = ""

    @cached_property
    def key(self) -> str:
        """The content key: equal for equal work, whatever the run, the order or the folder."""
        target = WHOLE_CASE if self.target is None else [self.target.id, self.target.content_hash]
        parts: list[object] = [CONTRACT, self.protocol.id, self.protocol.stop.spec, self.runner.identity]
        parts += [self.prompter.spec, version_of(self.prompter), self.dataset.spec, version_of(self.dataset)]
        parts += [self.case, self.image_hash, self.modality, target, self.seed, self.strict, sorted(self.metrics)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]

    def columns(self) -> dict[str, Any]:
        """The columns of a row that identify it."""
        info = self.target
        return {
            "contract": CONTRACT,
            "protocol": self.protocol.id,
            "stop": self.protocol.stop.spec,
            "metrics": " ".join(self.metrics),
            "dataset": self.dataset.short_spec,
            "dataset_version": version_of(self.dataset),
            "case": self.case,
            "patient": self.patient,
            "target": info.id if info else WHOLE_CASE,
            "label": info.label if info else "",
            "instance": info.instance if info else -1,
            "target_voxels": info.voxels if info else 0,
            "model": self.runner.model.short_spec,
            "model_version": version_of(self.runner.model),
            "weights": self.runner.weights,
            "weights_sha256": self.runner.weights_sha256,
            "seen_in_training": weights.seen(
                self.runner.model, self.dataset.card.part_of, self.dataset.card.modality.startswith("natural")
            ),
            "prompter": self.prompter.spec,
            "prompter_version": version_of(self.prompter),
            "seed": self.seed,
            "strict": self.strict,
            "device": self.runner.device,
            "dtype": self.runner.model.runtime.dtype,
        }
