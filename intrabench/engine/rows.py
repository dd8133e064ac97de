"""Make the rows of sessions, of those that were played and of those that could not be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from intrabench.engine.environment import peak_gpu_mb, peak_memory_mb, versions_hash
from intrabench.engine.summary import Summary
from intrabench.engine.units import Unit
from intrabench.mask import Mask
from intrabench.play.session import Session
from intrabench.results.schema import FAILED


@dataclass(frozen=True, eq=False)
class Wave:
    """Units that were played together, with their sessions and the columns that say how much memory that took."""

    units: Sequence[Unit]
    sessions: Sequence[Session]
    memory: Mapping[str, float | None]


@dataclass(frozen=True, eq=False)
class Part:
    """Finished sessions, to be stored together.

    masks: per session, one per round. summary: what came of them; its `keys` are their sessions.
    """

    rows: Sequence[Mapping[str, Any]]
    turns: Sequence[Mapping[str, Any]] = ()
    masks: Mapping[str, Sequence[Mask]] = field(default_factory=dict)
    summary: Summary = field(default_factory=Summary)


def played(waves: Sequence[Wave]) -> Part:
    """The sessions of these waves that are complete, with their turns and masks."""
    rows, turns, masks, summary = list[Mapping[str, Any]](), list[Mapping[str, Any]](), {}, Summary()
    every = [(unit, one, wave.memory) for wave in waves for unit, one in zip(wave.units, wave.sessions, strict=True)]
    for unit, session, used in every:
        if session.request is not None:
            continue
        _count(summary, unit, session)
        columns, target_ml = _columns(unit, used), session.target.volume_ml
        rows += [{**columns, **row, "target_ml": target_ml} for row in session.rows]
        turns += session.turns
        if session.masks:
            masks[unit.key] = session.masks
    return Part(rows, turns, masks, summary)


def failed(units: Sequence[tuple[Unit, str, str]]) -> Part:
    """Units that were never played, each with its status and the reason."""
    summary = Summary(computed=len(units), keys={unit.key for unit, _, _ in units})
    summary.failures.update(f"{status}: {message}" for _, status, message in units)
    return Part([bare_row(unit, status, message, dice=0.0) for unit, status, message in units], summary=summary)


def not_applicable(units: Sequence[Unit], reason: str) -> Part:
    """Units that do not apply to their model because of the kind of images."""
    summary = Summary(computed=len(units), keys={unit.key for unit in units})
    summary.inapplicable[reason] += len(units)
    return Part([bare_row(unit, "not_applicable", reason, dice=None) for unit in units], summary=summary)


def _count(summary: Summary, unit: Unit, session: Session) -> None:
    """Count a session: whether it failed, why it does not apply, what its metrics lack."""
    scored = [row for row in session.rows if row["status"] not in (*FAILED, "not_applicable")]
    summary.computed += 1
    summary.keys.add(unit.key)
    summary.failures.update([f"{row['status']}: {row['error']}" for row in session.rows if row["status"] in FAILED][:1])
    summary.unmeasured.update(session.problems)
    summary.inapplicable.update([row["error"] for row in session.rows if row["status"] == "not_applicable"][:1])
    for metric in session.metrics if scored else ():
        empty = all(row[metric.column] is None for row in scored)
        (summary.undefined if empty else summary.measured)[metric.column] += 1


def memory() -> dict[str, float | None]:
    """The columns of the memory that was in use, at most, since `reset_peaks`."""
    return {"peak_memory_mb": peak_memory_mb(), "peak_gpu_mb": peak_gpu_mb()}


def _columns(unit: Unit, used: Mapping[str, float | None]) -> dict[str, Any]:
    return {**unit.columns(), **used, "package_versions_hash": versions_hash()}


def bare_row(unit: Unit, status: str, message: str, dice: float | None) -> dict[str, Any]:
    """A row of a session that was never played."""
    scores = {"round": 0, "dice": dice, "iou": dice, "ended": True, "adapted": "", "prompts_hash": ""}
    effort = {"interactions": 0.0, "dof": 0.0, "seconds_human": 0.0}
    return {**_columns(unit, memory()), "session": unit.key, "status": status, "error": message, **scores, **effort}
