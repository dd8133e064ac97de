"""Make the rows of sessions, of those that were played and of those that could not be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from intrabench.engine.environment import peak_gpu_mb, peak_memory_mb, versions_hash
from intrabench.engine.session_spec import SessionSpec
from intrabench.engine.summary import Summary
from intrabench.identity.versions import ships
from intrabench.mask import UPRIGHT, Mask
from intrabench.models.base import Failure
from intrabench.play.divided import Divided
from intrabench.play.session import Session
from intrabench.results.statuses import FAILED, NO_DATA
from intrabench.target import TargetInfo


@dataclass(frozen=True, eq=False)
class SessionBatch:
    """Specs that were played together, with the sessions of each and the columns that say how much memory that took."""

    specs: Sequence[SessionSpec]
    sessions: Sequence[Sequence[Session | Divided]]
    memory: Mapping[str, float | None]


@dataclass(frozen=True, eq=False)
class ResultBatch:
    """Finished sessions, to be stored together.

    masks: per session, one per round, canonical. summary: what came of them; its `keys` are their sessions.
    """

    rows: Sequence[Mapping[str, Any]]
    turns: Sequence[Mapping[str, Any]] = ()
    masks: Mapping[str, Sequence[Mask]] = field(default_factory=dict)
    summary: Summary = field(default_factory=Summary)


def played(batches: Sequence[SessionBatch]) -> ResultBatch:
    """The sessions of these batches that are complete, with their turns and masks."""
    rows, turns, masks, summary = list[Mapping[str, Any]](), list[Mapping[str, Any]](), {}, Summary()
    every = [
        (spec, own, batch.memory) for batch in batches for spec, own in zip(batch.specs, batch.sessions, strict=True)
    ]
    for spec, own, used in every:
        if any(not session.ended for session in own):
            continue
        for info, session in zip(spec.scored, own, strict=True):
            _count(summary, session)
            columns, target_ml = _columns(spec, info, used), session.target_ml
            rows += [{**columns, **row, "target_ml": target_ml} for row in session.rows]
            turns += session.turns
            if session.masks:
                masks[session.key] = [mask.reordered(UPRIGHT[spec.plane]) for mask in session.masks]
    return ResultBatch(rows, turns, masks, summary)


def failed(specs: Sequence[SessionSpec], failure: Failure, of_data: bool = False) -> ResultBatch:
    """Specs that were never played, and why; of_data: because their case could not be had, which counts in no mean."""
    status, dice = (NO_DATA, None) if of_data else (failure.status, 0.0)
    keys = [key for spec in specs for key in spec.sessions]
    summary = Summary(computed=len(keys), keys=set(keys))
    if keys:
        summary.fail(failure, len(keys), status)
    return ResultBatch(
        [row for spec in specs for row in bare_rows(spec, status, failure.message, dice)], summary=summary
    )


def not_applicable(specs: Sequence[SessionSpec], reason: str) -> ResultBatch:
    """Specs that do not apply to their model because of the kind of images."""
    keys = {key for spec in specs for key in spec.sessions}
    summary = Summary(computed=len(keys), keys=keys)
    summary.inapplicable[reason] += len(keys)
    rows = [row for spec in specs for row in bare_rows(spec, "not_applicable", reason, dice=None)]
    return ResultBatch(rows, summary=summary)


def _count(summary: Summary, session: Session | Divided) -> None:
    """Count a session: whether it failed, why it does not apply, what its metrics lack."""
    scored = [row for row in session.rows if row["status"] not in (*FAILED, "not_applicable")]
    summary.computed += 1
    summary.keys.add(session.key)
    summary.encode_s += sum(row.get("encode_s") or 0.0 for row in session.rows)
    if session.failure is not None:
        summary.fail(session.failure)
    summary.unmeasured.update(session.problems)
    summary.inapplicable.update([row["error"] for row in session.rows if row["status"] == "not_applicable"][:1])
    for metric in session.metrics if scored else ():
        empty = all(row[metric.column] is None for row in scored)
        (summary.undefined if empty else summary.measured)[metric.column] += 1
        summary.by_definition |= {metric.column: metric.name} if ships(metric) else {}


def memory() -> dict[str, float | None]:
    """The columns of the memory that was in use, at most, since `reset_peaks`."""
    return {"peak_memory_mb": peak_memory_mb(), "peak_gpu_mb": peak_gpu_mb()}


def _columns(spec: SessionSpec, info: TargetInfo | None, used: Mapping[str, float | None]) -> dict[str, Any]:
    return {**spec.columns(info), **used, "package_versions_hash": versions_hash()}


def bare_rows(spec: SessionSpec, status: str, message: str, dice: float | None) -> list[dict[str, Any]]:
    """The rows of sessions that were never played, one for each target."""
    scores = {"round": 0, "dice": dice, "iou": dice, "ended": True, "adapted": "", "prompts_hash": ""}
    effort = {"interactions": 0.0, "dof": 0.0, "seconds_human": 0.0}
    same = {"status": status, "error": message, **scores, **effort}
    used, each = memory(), zip(spec.scored, spec.sessions, strict=True)
    return [{**_columns(spec, info, used), "session": key, **same} for info, key in each]
