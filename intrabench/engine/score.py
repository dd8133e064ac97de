"""Measure further metrics of stored masks; nothing is played.

The metrics of a session are part of its key. So a session with further metrics is another one, and it gets the key that
a run with these metrics gives it. Its rows, turns and masks are those of the session that was played, with the new
values. Whatever reads results sees a session that was played again, and a run with these metrics finds it finished.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from intrabench import progress
from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.stored_case import CaseIndex, StoredCase
from intrabench.engine.environment import versions, versions_hash
from intrabench.engine.make_job import make_unplayed, models_of
from intrabench.engine.metric_trial import try_out
from intrabench.engine.session_spec import ModelRunner
from intrabench.engine.verify import Trust, changed_since, finished_rows, options_of, together
from intrabench.errors import IntraBenchError, foreign, in_words
from intrabench.mask import TURNED, Mask, Plane
from intrabench.metrics.base import Metric
from intrabench.metrics.score import Scores, without_problems
from intrabench.metrics.score import score as score_of
from intrabench.models.base import Runtime
from intrabench.registry.objects import once
from intrabench.results.current import IDENTITY, VERSIONS, current, newest_plays
from intrabench.results.differences import who
from intrabench.results.labels import by_person
from intrabench.results.masks import masks_file, read_masks
from intrabench.results.parts import read_turns
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.statuses import ALWAYS
from intrabench.results.store import Store, new_run_id
from intrabench.target import Target
from intrabench.turns import turns_by_round

PART_SECONDS = 10.0
"""What was scored is stored after so long, for a kill to lose no more."""

_JOB = ("dataset", "case", *IDENTITY, *VERSIONS.values(), "run_id", "contract", "joint", "metrics", "seed")
"""Columns that the sessions of one job on one case share."""


@dataclass
class Scored:
    """What became of sessions: how many were scored, had the metrics already, or have no stored masks.

    left: others that were not scored, by the reason. unmeasured: how many of those scored lack a value because a metric
    failed, by its column and the reason.
    """

    scored: int = 0
    already: int = 0
    without_masks: int = 0
    left: Counter[str] = field(default_factory=Counter)
    unmeasured: Counter[tuple[str, str]] = field(default_factory=Counter)


def score(results: Path, metrics: Sequence[Metric], trust: Trust, selection: Selection = EVERYTHING) -> Scored:
    """Measure metrics of the newest finished session of each target, and store sessions that have them.

    Nothing is downloaded, and no model is loaded. Sessions that have the metrics are left as they are, so the same call
    continues one that was killed. selection: of which sessions.

    Raises:
        IntraBenchError: there are no finished sessions, every row has these metrics, or one of the user's own fails on
            whatever it is tried on.
    """
    if not metrics:
        raise IntraBenchError("--metric is missing; `intrabench list metrics` shows all")
    metrics = [metric for metric in once(metrics).values() if metric.column not in ALWAYS]
    if not metrics:
        raise IntraBenchError(f"every row has {' and '.join(ALWAYS)}; give another metric by --metric")
    try_out(metrics)
    rows = finished_rows(results)
    newest = selection.of(newest_plays(current(rows, root=results)[0]), results).select("session", "joint").unique()
    others = rows.join(newest.drop_nulls(), on="joint", how="semi").select("session", "joint")
    newest = pl.concat([newest, others]).unique()  # the key of a joint session tells all its targets
    ids = pl.lit(" ") + pl.col("metrics").fill_null("") + " "
    measured = pl.all_horizontal(ids.str.contains(f" {metric.id} ", literal=True) for metric in metrics)
    lacking = rows.join(newest, on="session", how="semi").filter(~measured).sort(*_JOB, "session", "round")
    found = Scored(already=len(newest) - lacking["session"].n_unique())
    scoring = _Scoring(results, metrics, trust, found)
    try:
        for case in lacking.partition_by("dataset", "case", maintain_order=True):
            turns = read_turns(results, case["session"].unique().to_list()).sort("session", "turn")
            for job in case.partition_by(_JOB, maintain_order=True):
                scoring.of_job(job, turns, together(rows, job["joint"].drop_nulls().first()))
    finally:
        scoring.store()  # also what was complete before Ctrl-C
    return found


@dataclass(frozen=True, eq=False)
class _Case:
    """A case as users read it; each target is one object, with which metrics keep what they make of it once."""

    index: CaseIndex
    plane: Plane
    stored: StoredCase
    _targets: dict[str, Target] = field(default_factory=dict)

    def target(self, id: str) -> Target:
        """The target in the plane."""
        if id not in self._targets:
            (found,) = self.stored.targets([id])
            self._targets[id] = found.turned(self.plane)
        return self._targets[id]


@dataclass(frozen=True, eq=False)
class _Session:
    """A session as the code and the data that are here define it.

    was, key: its keys before, and with the new metrics. columns: those of its rows that identify it.
    """

    was: str
    key: str
    columns: Mapping[str, Any]


@dataclass(eq=False)
class _Scoring:
    """Scores the sessions of job after job, and stores them now and then."""

    results: Path
    metrics: Sequence[Metric]
    trust: Trust
    found: Scored
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _turns: list[dict[str, Any]] = field(default_factory=list)
    _masks: dict[str, str] = field(default_factory=dict)
    _stored_at: float = field(default_factory=time.monotonic)
    _case: _Case | None = None  # the last one

    def of_job(self, rows: pl.DataFrame, turns: pl.DataFrame, joint: Sequence[str]) -> None:
        """Score the sessions of these rows, which share `_JOB`. joint: all targets of their joint session."""
        sessions = rows.partition_by("session", maintain_order=True)
        if joint and not all(map(self._has_masks, sessions)):  # which is scored as a whole
            self.found.without_masks += len(sessions)
            return
        with progress.step("reading", "scoring masks", who(rows.row(0, named=True))):
            try:
                with foreign():
                    case, now = self._as_it_is(rows, joint)
            except Exception as error:  # a data set, model or prompter of the user's own may raise anything
                self.found.left[in_words(error)] += len(sessions)
                return
            for one in sessions:
                given = turns.filter(pl.col("session") == one["session"][0])
                try:
                    self._score(one.to_dicts(), given.to_dicts(), case, now)
                except IntraBenchError as error:
                    self.found.left[str(error)] += 1
                if time.monotonic() - self._stored_at > PART_SECONDS:
                    self.store()

    def _has_masks(self, session: pl.DataFrame) -> bool:
        """Whether there is a file of masks, if the model answered."""
        return session["pred_voxels"].count() == 0 or masks_file(self.results, session["session"][0]).is_file()

    def store(self) -> None:
        """Store what was scored, as a run does: masks, turns, then rows."""
        if self._rows:
            if self._masks:
                self._store.copy_masks(self._masks)
            self._store.write_part(self._rows, self._turns)
        self._rows, self._turns, self._masks, self._stored_at = [], [], {}, time.monotonic()

    @cached_property
    def _store(self) -> Store:
        record = {"scored": [one.id for one in self.metrics], "package_versions_hash": versions_hash()}
        return Store(self.results, new_run_id(), lambda: {**record, "versions": versions()})

    def _as_it_is(self, rows: pl.DataFrame, joint: Sequence[str]) -> tuple[_Case, dict[str, _Session]]:
        """The case of a job, and its sessions by target.

        Raises:
            IntraBenchError: its data set, scan or code is not available, or a metric does not fit its protocol.
        """
        first = rows.row(0, named=True)
        if by_person(first["prompter"]):
            raise IntraBenchError("a person prompted, and what they did is stored for the sessions as they are")
        options = replace(options_of(self.results, rows, self.trust, joint), metric=self.metrics, targets=joint)
        job, ((_, model),) = make_unplayed(options), models_of(options)
        (dataset,) = job.datasets
        index = cases.prepare(dataset, first["case"])
        if self._case is None or (self._case.index, self._case.plane) != (index, job.plane(index)):
            self._case = _Case(index, job.plane(index), cases.open_case(dataset, first["case"]))
        runner = ModelRunner(copy(model), first["device"])
        runner.model.runtime = Runtime(dtype=first["dtype"])
        vars(runner)["weights_sha256"] = first["weights_sha256"]  # so that the files need not be here
        old, measured = (first["metrics"] or "").split(), {metric.column for metric in self.metrics}
        new = [id for id in old if id.rpartition("@")[0] not in measured] + [metric.id for metric in self.metrics]
        found = {}
        for spec in job.specs(dataset, first["case"], runner, index):
            before, after = replace(spec, metrics=tuple(old)), replace(spec, metrics=tuple(new))
            for info, was, key in zip(spec.scored, before.sessions, after.sessions, strict=True):
                columns = after.columns(info)
                found[columns["target"]] = _Session(was, key, columns)
        return self._case, found

    def _score(
        self,
        rows: Sequence[Mapping[str, Any]],
        turns: Sequence[Mapping[str, Any]],
        case: _Case,
        sessions: Mapping[str, _Session],
    ) -> None:
        """Score a session.

        Raises:
            IntraBenchError: it is not one of those that are here now, or its masks are not those of its rows.
        """
        first = rows[0]
        now = sessions.get(first["target"])
        if now is None or now.was != first["session"]:
            raise IntraBenchError(changed_since(first, now.columns) if now else "its target is no longer in the case")
        masks = read_masks(self.results, first["session"])
        answered = any(row["pred_voxels"] is not None for row in rows)
        if answered and len(masks) != len(rows):
            self.found.without_masks += 1
            return
        new, problems = list[dict[str, Any]](), set[tuple[str, str]]()
        measured = self._measured(rows, turns, masks, case) if answered else [None] * len(rows)
        for row, scores in zip(rows, measured, strict=True):
            new.append({name: value for name, value in row.items() if value is not None and name != "written_at"})
            new[-1] |= {"session": now.key, **{name: now.columns[name] for name in ("metrics", "joint")}}
            if scores is not None:
                before = without_problems(row["error"] or "", [metric.column for metric in self.metrics])
                new[-1] |= {**scores.columns, "error": "; ".join(filter(None, [before, scores.message]))}
                problems |= set(scores.problems.items())
        self._rows += new
        self._turns += [{**turn, "session": now.key} for turn in turns]
        self._masks |= {now.key: first["session"]} if masks else {}
        self.found.scored += 1
        self.found.unmeasured.update(problems)

    def _measured(
        self,
        rows: Sequence[Mapping[str, Any]],
        turns: Sequence[Mapping[str, Any]],
        masks: Sequence[Mask],
        case: _Case,
    ) -> list[Scores | None]:
        """The scores of each round, from what its session had measured them from; None where nothing was measured.

        Raises:
            IntraBenchError: the masks are not those of the rows.
        """
        target, given = case.target(rows[0]["target"]), turns_by_round(turns)
        image = case.stored.volume.turned(case.plane) if any("image" in one.needs for one in self.metrics) else None
        found, prompted, before = list[Scores | None](), set[int](), None
        for row, stored in zip(rows, masks, strict=True):
            prompted.update(z for turn in given.get(row["round"], ()) for z in turn.prompts.by_hand.slices())
            if row["pred_voxels"] is None:
                found.append(None)
                continue
            mask = stored.reordered(TURNED[case.plane])
            scores = score_of(target, mask, self.metrics, image, before, sorted(prompted))
            if any(scores.columns[name] != row[name] for name in ("fp_voxels", "fn_voxels", "pred_voxels")):
                path = masks_file(self.results, row["session"])
                raise IntraBenchError(f"{path} has other masks than those of the rows; delete it and run again")
            found.append(scores)
            before = mask
        return found
