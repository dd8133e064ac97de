"""A job: the objects of a run, and the specs that it consists of."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from intrabench.datasets.base import Dataset, patient_of
from intrabench.datasets.cases.selection import select_cases, select_targets
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.session_spec import ModelRunner, SessionSpec, how_it_is_asked, keys, sessions_of, what_is_asked
from intrabench.errors import IntraBenchError
from intrabench.files.grid import acquisition_plane
from intrabench.identity.versions import ships
from intrabench.mask import Plane
from intrabench.metrics.base import Metric
from intrabench.models.base import Model
from intrabench.prompters.base import Prompter
from intrabench.protocols import Protocol
from intrabench.protocols.row import Row
from intrabench.target import TargetInfo, by_person


@dataclass(frozen=True, eq=False)
class Job:
    """Models times prompters times data sets times seeds, under one protocol.

    rows: the protocol's rows by prompter spec. Such a prompter is run only with the models that the row admits.
    metrics: those of the protocol, then others. Dice and IoU are always measured.
    """

    runners: tuple[ModelRunner, ...]
    prompters: tuple[Prompter, ...]
    datasets: tuple[Dataset, ...]
    seeds: tuple[int, ...]
    protocol: Protocol
    rounds: int
    cases: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    strict: bool = False
    save_masks: bool = False
    rows: Mapping[str, Row] = field(default_factory=dict)
    metrics: tuple[Metric, ...] = ()

    def prompters_for(self, model: Model) -> list[Prompter]:
        """The prompters to run with a model."""
        return [p for p in self.prompters if p.spec not in self.rows or self.rows[p.spec].suits(model.abilities)]

    def shipped(self, runner: ModelRunner) -> bool:
        """Whether the code that takes part in all sessions of a model comes with IntraBench: its own, and metrics."""
        return runner.ships and all(map(ships, self.metrics))

    @property
    def ships(self) -> bool:
        """Whether all its code comes with IntraBench."""
        prompters = [prompter for runner in self.runners for prompter in self.prompters_for(runner.model)]
        return all(map(self.shipped, self.runners)) and all(map(ships, (*self.datasets, *prompters)))

    def selected(self, without: Container[Dataset] = ()) -> list[tuple[Dataset, str]]:
        """The cases of the job, ``(data set, case)``. without: data sets whose cases are unknown."""
        chosen: dict[tuple[str, str], tuple[Dataset, str]] = {}
        for dataset in self.datasets:
            if dataset in without:
                continue
            for case in select_cases(dataset, self.cases):
                if (dataset.short_spec, case) in chosen:
                    raise IntraBenchError(
                        f"two data sets are named {dataset.short_spec} and have a case {case}, so their rows would be "
                        "mixed up; give one of the folders another name in its dataset.toml"
                    )
                chosen[dataset.short_spec, case] = dataset, case
        return list(chosen.values())

    def specs(self, dataset: Dataset, case: str, runner: ModelRunner, index: CaseIndex | None) -> list[SessionSpec]:
        """The specs of one case and model, ordered by target; without an index one spec stands for the case.

        Under a protocol with joint sessions, the targets are one spec; where images are divided, those of each person.
        """
        listed, image_hash, modality = self._targets(index)
        more = self.strict, tuple(metric.id for metric in self.metrics), patient_of(dataset, case), modality
        return [
            SessionSpec(
                self.protocol, runner, prompter, dataset, case, targets, seed, image_hash, *more, self.plane(index)
            )
            for targets in listed
            for prompter in self.prompters_for(runner.model)
            for seed in self.seeds
        ]

    def plane(self, index: CaseIndex | None) -> Plane:
        """The plane in which users read a case; photographs and videos have only one, which counts as axial.

        Axial, too, if nothing is known of the case.
        """
        chosen = self.protocol.plane
        if index is None or index.modality.startswith("natural"):
            return "axial"
        return acquisition_plane(index.shape, index.spacing_mm) if chosen == "acquisition" else chosen

    def keys(self, dataset: Dataset, case: str, runner: ModelRunner, index: CaseIndex | None) -> list[str]:
        """The keys of the sessions of `specs`, in their order; planning needs no more of a million specs."""
        listed, image_hash, modality = self._targets(index)
        metrics, rules = [metric.id for metric in self.metrics], self.protocol.joint
        found = keys(
            [runner.begun(self.protocol, prompter, dataset) for prompter in self.prompters_for(runner.model)],
            [what_is_asked(case, image_hash, modality, targets, rules) for targets in listed],
            [how_it_is_asked(seed, self.strict, metrics) for seed in self.seeds],
        )
        return found if rules is None else [key for one in found for key in sessions_of(one, listed[0], rules)]

    def joint(self, index: CaseIndex) -> int:
        """How many sessions each spec of a case has."""
        listed, _, _ = self._targets(index)
        return len(listed[0]) if listed and self.protocol.joint else 1

    def _targets(self, index: CaseIndex | None) -> tuple[Sequence[tuple[TargetInfo, ...]], str, str]:
        """The targets of each spec of a case, and the hash and the modality of its image."""
        if index is None:
            return [()], "", ""
        chosen = select_targets(index, self.targets)
        if self.protocol.partition:
            each = by_person(chosen)
        else:
            each = [(info,) for info in chosen] if self.protocol.joint is None else [tuple(chosen)] if chosen else []
        return each, index.image_hash, index.modality
