"""The specs of a run: sessions with content keys, grouped by image. Needs only the target index, not a volume."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from intrabench.effort import SECONDS
from intrabench.engine.environment import memory_mb
from intrabench.errors import foreign
from intrabench.identity.versions import ships, version_of
from intrabench.models.parts.allocator import return_freed_memory
from intrabench.models.parts.batching import release_memory
from intrabench.models.weights import registry as weights
from intrabench.registry.reach import reaches
from intrabench.results.model_label import model_label
from intrabench.target import WHOLE_CASE, TargetInfo, annotation_info

if TYPE_CHECKING:
    from intrabench.datasets.base import Dataset
    from intrabench.engine.executors.remote_model import RemoteModel
    from intrabench.mask import Plane
    from intrabench.models.base import Model, Predictor
    from intrabench.prompters.base import Prompter
    from intrabench.protocols import Protocol
    from intrabench.protocols.joint import JointRules
    from intrabench.volume import Volume

CONTRACT = 4
"""Increased when the meaning of stored rows changes, so that older rows are computed again."""


_json = lru_cache(maxsize=4096, typed=True)(json.dumps)
"""JSON of what follows itself in many keys."""


def keys(begun: Sequence[hashlib._Hash], what: Iterable[bytes], how: Sequence[bytes]) -> list[str]:
    """Content keys, in the order of `Job.specs`: of each target, with each prompter, for each seed.

    begun: `ModelRunner.begun` of each prompter. what: `what_is_asked` for each target. how:
    `how_it_is_asked` for each seed.
    """
    found = []
    for asked in what:
        for shared in begun:
            of_target = shared.copy()
            of_target.update(asked)
            for last in how:
                hashed = of_target.copy()
                hashed.update(last)
                found.append(hashed.hexdigest()[:24])
    return found


def what_is_asked(
    case: str, image_hash: str, modality: str, targets: Sequence[TargetInfo], rules: JointRules | None = None
) -> bytes:
    """The image and the target in a key, or all targets of an annotation, or the targets and rules of a joint session.

    None: the whole case.
    """
    each = tuple((info.id, info.content_hash) for info in targets)
    alone = each[0] if len(each) == 1 else each
    target = _json((rules.spec, *each)) if rules else _json(alone) if each else _json(WHOLE_CASE)
    return f", {_json(case)}, {_json(image_hash)}, {_json(modality)}, {target}".encode()


def sessions_of(key: str, targets: Sequence[TargetInfo], rules: JointRules | None) -> tuple[str, ...]:
    """The keys of the sessions of a spec; those of a joint session follow from its own."""
    if rules is None or not targets:
        return (key,)
    return tuple(hashlib.sha256(f"{key} {info.id}".encode()).hexdigest()[:24] for info in targets)


def how_it_is_asked(seed: int, strict: bool, metrics: Iterable[str]) -> bytes:
    """The rest of a key."""
    return f", {_json(seed)}, {_json(strict)}, {_json(tuple(sorted(metrics)))}]".encode()


@dataclass(frozen=True)
class ModelRunner:
    """A model in a run: the object, its identity, and where it computes.

    remote: opens images in another process instead.
    """

    model: Model
    device: str = "cpu"
    remote: RemoteModel | None = None

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Open one image."""
        from intrabench.models.parts.upright import open_in_plane

        return self.remote.open(volume) if self.remote else open_in_plane(self.model, volume)

    def load(self) -> None:
        """Load the model; in another process it is loaded from the beginning."""
        if self.remote is None:
            self.model.load()

    def memory_mb(self) -> float:
        """Resident memory of the process that computes, in MiB."""
        return memory_mb() if self.remote is None else float(self.remote.ask("memory"))

    def close(self) -> None:
        """End the other process, if there is one."""
        if self.remote is not None:
            self.remote.close()

    def release(self) -> None:
        """Drop the model from memory, so that there is room for another one; the next image loads it again.

        The process of another interpreter ends. Whatever a model of the user's raises is left unsaid: it has answered.
        """
        if self.remote is not None:
            self.remote.close()
            return
        with suppress(Exception), foreign():
            self.model.unload()
        gc.collect()  # networks and the exceptions of failed batches have circles
        release_memory()
        return_freed_memory()

    @cached_property
    def weights_sha256(self) -> str:
        """The sha256 of its weights, or `RANDOM`, or empty."""
        return weights.identity(self.model) if self.remote is None else self.remote.weights_sha256

    @property
    def weights(self) -> str:
        """The kind of its weights: registered, a file of the user's, random, or none."""
        return weights.kind(self.model, self.weights_sha256)

    @cached_property
    def ships(self) -> bool:
        """Whether only code that comes with IntraBench answers; it does not for programs and repositories of others."""
        return all(one.kind != "program" for one in reaches("models", self.model.spec)) and ships(self.model)

    @cached_property
    def identity(self) -> tuple[str | int, ...]:
        """Everything that decides its answers, and which prompts it gets."""
        model, taken = self.model, self.model.abilities
        alone = ("unprompted",) * taken.unprompted + (f"{taken.handles} handles",) * (taken.handles > 0)
        accepts = taken.accepts - {"text"}  # no other prompt becomes a text, so taking it changes no other session
        strokes = (taken.strokes,) if taken.strokes_as_points else ()
        abilities = taken.dims, *sorted(accepts), taken.derived, taken.feeds_back, *strokes, *alone
        return model.spec, version_of(model), self.weights_sha256, model.runtime.dtype, *abilities

    def begun(self, protocol: Protocol, prompter: Prompter, dataset: Dataset) -> hashlib._Hash:
        """The hash of a key, fed with what many specs share."""
        shared = protocol, prompter, dataset
        key = tuple(map(id, shared))
        if key not in self._begun:  # what is shared is kept, too, so that nothing else gets its id
            parts: list[object] = [CONTRACT, protocol.id, protocol.stop.spec, self.identity, prompter.spec]
            parts += [version_of(prompter), dataset.spec, version_of(dataset)]
            parts += [protocol.effort.id] if protocol.effort else []
            parts += [["plane", protocol.plane]] if protocol.plane != "axial" else []
            parts += [sorted(dataset.card.names.items())] if prompter.reads_names or self.model.reads_names else []
            # the list stays open: `what_is_asked` and `how_it_is_asked` write the rest of it
            self._begun[key] = hashlib.sha256(json.dumps(parts).removesuffix("]").encode()), shared
        return self._begun[key][0].copy()

    @cached_property
    def _begun(self) -> dict[tuple[int, ...], tuple[hashlib._Hash, tuple[object, ...]]]:
        return {}

    @property
    def label(self) -> str:
        """The name that tables show."""
        return model_label(self.model.short_spec, self.weights, self.weights_sha256)


@dataclass(frozen=True, eq=False)
class SessionSpec:
    """One planned session: a target of a case, one prompter, one seed and one model; or a joint session of targets.

    Where models divide images, its targets are together one annotation, on which its one session is scored.

    targets: none stands for the whole case. metrics: the ids of the metrics to measure. patient: that the case is of;
    it changes no answer, so not the key. modality: that of the image, on which answers of some models depend. plane: in
    which the user reads it, which follows from the protocol and the image.
    """

    protocol: Protocol
    runner: ModelRunner
    prompter: Prompter
    dataset: Dataset
    case: str
    targets: tuple[TargetInfo, ...]
    seed: int
    image_hash: str = ""
    strict: bool = False
    metrics: tuple[str, ...] = ()
    patient: str = ""
    modality: str = ""
    plane: Plane = "axial"

    @cached_property
    def key(self) -> str:
        """The content key: equal for equal work, whatever the run, the order or the folder."""
        begun = self.runner.begun(self.protocol, self.prompter, self.dataset)
        asked = what_is_asked(self.case, self.image_hash, self.modality, self.targets, self.protocol.joint)
        (key,) = keys([begun], [asked], [how_it_is_asked(self.seed, self.strict, self.metrics)])
        return key

    @cached_property
    def sessions(self) -> tuple[str, ...]:
        """The keys of its sessions, one for each target; of a single target or a whole case it is that of the spec."""
        return sessions_of(self.key, self.targets, self.protocol.joint)

    @property
    def scored(self) -> Sequence[TargetInfo | None]:
        """What its sessions are scored on, one after the other: a target each, an annotation, or the whole case."""
        if self.protocol.partition and self.targets:
            return [annotation_info(self.targets)]
        return self.targets or [None]

    @property
    def joint(self) -> bool:
        """Whether it is a joint session."""
        return self.protocol.joint is not None and bool(self.targets)

    def columns(self, info: TargetInfo | None) -> dict[str, Any]:
        """The columns of a row that identify it; info: one of its targets, None for the whole case."""
        rules = self.protocol.joint
        return {
            "contract": CONTRACT,
            "protocol": self.protocol.id,
            "plane": self.plane if info else None,
            "stop": self.protocol.stop.spec,
            "effort": self.protocol.effort.id if self.protocol.effort else SECONDS,
            "joint": self.key if self.joint else None,
            "joint_rules": rules.spec if rules and self.joint else None,
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
