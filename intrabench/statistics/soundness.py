"""Checks of rows before they are used: whether a run is still going on, and whether they may be mixed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from intrabench.errors import IntraBenchError, several
from intrabench.protocols import command_for, known, slices_of
from intrabench.results.labels import PROTOCOL
from intrabench.results.parts import damaged_parts, read_rows
from intrabench.results.runs import going_on, read_records, unfinished
from intrabench.results.statuses import NO_DATA
from intrabench.statistics.aggregate import Aggregation
from intrabench.statistics.scores import MachineTime, last_round, metric, without_data
from intrabench.statistics.statistic import averages


def is_partial(root: Path) -> str:
    """One sentence if a run into a results folder is still going on or did not finish; else an empty string.

    Sessions are stored whole. Whether some are missing is known only from the record of their run.
    """
    if going_on(root):
        return f"a run into {root} is still going on; these are its results so far"
    left = unfinished(root)
    if not left:
        return ""
    last = left[-1]
    how = {"running": "was killed", "interrupted": "was interrupted"}.get(last["state"], last["state"])
    return f"{root} is partial because the run {last['run_id']} {how}; the same command completes it: {last['command']}"


def some_rows(root: Path, protocol: str = "", columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The rows of a results folder; protocol: whose rows are wanted, for the message. columns: as of `read_rows`.

    Raises:
        IntraBenchError: there are none.
    """
    rows = read_rows(root, columns)
    if rows.is_empty():
        raise IntraBenchError(
            "; ".join(damaged_parts(root)) or f"{root} has no results yet; `{command_for(protocol)}` computes some"
        )
    return rows


def check_data(root: Path, rows: pl.DataFrame) -> None:
    """Refuse rows of a results folder that are all of cases whose data could not be read.

    Raises:
        IntraBenchError: they are.
    """
    if rows["status"].eq(NO_DATA).all():
        raise IntraBenchError(
            f"{root} has nothing to show, for the data of all cases could not be read ({without_data(rows)}); "
            f"`intrabench failures --out {root}` says why"
        )


def check_round(rows: pl.DataFrame, round: int | None, *roots: Path) -> None:
    """Refuse a round that no run of these folders allowed; sessions that ended before it keep their last state.

    Raises:
        IntraBenchError: none did.
    """
    played = last_round(rows)
    allowed = max([played, *(record.get("rounds", 0) for root in roots for record in read_records(root))])
    if round is not None and round > allowed:
        most = f"give --round 0 to {allowed}" if allowed else "omit it"
        raise IntraBenchError(f"--round {round} is beyond all that was run, {several(allowed, 'correction')}; {most}")


def check_mixable(rows: pl.DataFrame, name: str = "dice", how: Aggregation | None = None) -> None:
    """Refuse rows whose protocols define the metric called `name` differently.

    This is for averages and pairs of rows across protocols; a line of a table has only one protocol. Protocols may be
    mixed if they have the same version of the metric, the same averages, the same stop rule and the same plane.
    Effort tables do not matter, unless the rule counts seconds. how: of the averages, if it can be chosen; one that was
    counts for all rows, whatever their protocols do.

    Raises:
        IntraBenchError: two protocols differ; the message names both and their definitions.
    """
    column = metric(name).column
    found = rows.with_columns(label=PROTOCOL).partition_by("label", as_dict=True)
    by_protocol = how is None or how.name == "protocol"
    meanings = {label: _meaning(found[label,], column, by_protocol) for (label,) in sorted(found)}
    first, *others = meanings or [""]
    for other in others:
        if meanings[other] != meanings[first]:
            alike = how and by_protocol and len({_meaning(found[one,], column, False) for one in (first, other)}) == 1
            raise IntraBenchError(
                f"rows of {first} and {other} cannot be combined: {first} is {meanings[first]}, "
                f"{other} is {meanings[other]}; choose the rows of one protocol"
                + (", or averages for both, such as --aggregation pooled" if alike else "")
            )


def _meaning(rows: pl.DataFrame, column: str, by_protocol: bool) -> str:
    """How a protocol defines a column of its rows, in words; by_protocol: and their means."""
    id, stop, joint, effort = rows.select("protocol", "stop", "joint_rules", "effort").row(0)
    by = f" by {effort}" if "seconds=" in (stop or "") else ""
    preset = known(id)
    if preset is None:
        return f"{id}, which is unknown to this version"
    asked = (one for ids in rows["metrics"].drop_nulls().unique() for one in ids.split())
    versions = sorted(one for one in {*preset.metrics, *asked} if one.rpartition("@")[0] == column)
    measured = () if column == MachineTime.column else (" and ".join(versions) or f"without {column}",)
    return ", ".join(
        (
            *measured,
            *([averages([id]).description] if by_protocol else []),
            f"stop {stop}{by}" if stop else "no early stop",
            *([f"joint {joint}"] if joint else []),
            *([slices] if (slices := slices_of(preset)) else []),
        )
    )
