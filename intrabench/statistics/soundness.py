"""What must be known of rows before they are believed: whether a run still goes on, and whether they may be mixed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from filelock import FileLock, Timeout

from intrabench.errors import IntraBenchError
from intrabench.protocols import PROTOCOLS
from intrabench.results.labels import PROTOCOL
from intrabench.results.runs import LOCK, unfinished
from intrabench.statistics.scores import MachineTime, metric


def is_partial(root: Path) -> str:
    """One sentence when a run into a results folder goes on, or did not come to its end; else nothing.

    Sessions are stored whole; so what is partial about a store is which sessions it has, and only their run knows.
    """
    if any(_is_held(path) for path in sorted((root / "locks").glob(f"*{LOCK}"))):
        return f"a run into {root} is still going on; these are its results so far"
    left = unfinished(root)
    if not left:
        return ""
    last = left[-1]
    how = {"running": "was killed", "interrupted": "was interrupted"}.get(last["state"], last["state"])
    return f"{root} is partial, for the run {last['run_id']} {how}; the same command completes it: {last['command']}"


def check_mixable(rows: pl.DataFrame, name: str = "dice") -> None:
    """Refuse rows whose protocols mean different things by the metric called `name`.

    For who averages or pairs rows across protocols; a line of a table has one protocol and needs no check. Those may be
    mixed that have the same version of the metric, the same averages and the same rule for stopping.

    Raises:
        IntraBenchError: it names two protocols and what they mean.
    """
    column = metric(name).column
    found = rows.with_columns(label=PROTOCOL).partition_by("label", as_dict=True)
    meanings = {label: _meaning(found[label,], column) for (label,) in sorted(found)}
    first, *others = meanings or [""]
    for other in others:
        if meanings[other] != meanings[first]:
            raise IntraBenchError(
                f"rows of {first} and {other} are not put together: {first} is {meanings[first]}, "
                f"{other} is {meanings[other]}; choose the rows of one protocol"
            )


def _meaning(rows: pl.DataFrame, column: str) -> str:
    """What a protocol makes of a column of its rows, in words."""
    id, stop = rows.select("protocol", "stop").row(0)
    preset = PROTOCOLS.get(id)
    if preset is None:
        return f"{id}, which this version does not know"
    asked = (one for ids in rows["metrics"].drop_nulls().unique() for one in ids.split())
    versions = sorted(one for one in {*preset.metrics, *asked} if one.rpartition("@")[0] == column)
    measured = () if column == MachineTime.column else (" and ".join(versions) or f"without {column}",)
    return ", ".join((*measured, preset.aggregation, f"stop {stop}" if stop else "no early stop"))


def _is_held(path: Path) -> bool:
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # a folder for reading only: nobody can be writing
        return False
