"""The texts of the report: what was run, warnings, and the meaning of the numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import polars as pl

from intrabench.effort import TABLES, Calibration, recorded_tables
from intrabench.effort import table as effort_table
from intrabench.errors import several
from intrabench.protocols import known
from intrabench.reporting.page.grid import digits_of
from intrabench.reporting.table import seen_in_training
from intrabench.results import labels
from intrabench.results.parts import damaged_parts, left_out_columns
from intrabench.results.runs import without_home
from intrabench.results.schema import MACHINE
from intrabench.results.statuses import FAILED, NO_DATA
from intrabench.statistics.aggregate import Aggregation
from intrabench.statistics.evaluation import Evaluation
from intrabench.statistics.resample import DRAWS, FEW
from intrabench.statistics.scores import FailurePolicy, last_round, measured_metrics, without_data
from intrabench.statistics.soundness import is_partial
from intrabench.target import WHOLE_CASE

Facts = list[tuple[str, str]]


def summary(rows: pl.DataFrame, scored: pl.DataFrame) -> Facts:
    """The size, time and environment of the runs."""
    targets = scored.filter(pl.col("target") != WHOLE_CASE)
    cases, patients = _distinct(targets, "dataset", "case"), _distinct(targets, "dataset", "patient")
    of = "" if patients == cases else f" of {patients} patient{'s' * (patients != '1')}"
    machine = float(rows.select(MACHINE.sum()).item())
    failed, inapplicable = int(scored["failed"].sum()), int(scored["not_applicable"].sum())
    most = last_round(rows)
    facts = [
        ("Sessions", f"{_count(scored.height)}, {_count(failed)} failed, {_count(inapplicable)} not applicable"),
        ("Targets", f"{_distinct(targets, 'dataset', 'case', 'target')} in {cases} case{'s' * (cases != '1')}{of}"),
        ("Data sets", _values(rows, "dataset")),
        ("Models", _values(rows.select(labels.MODEL), "model")),
        (
            "Prompters",
            f"{_distinct(rows, 'prompter')}, "
            + (f"with up to {several(most, 'correction')}" if most else "without corrections"),
        ),
        ("Seeds", _values(rows, "seed")),
        ("Protocol", _values(rows.select(labels.PROTOCOL), "protocol")),
        ("Devices", _values(rows, "device")),
        ("Machine time", _time(machine)),
        ("Peak memory", _peak(rows)),
        ("Written", " to ".join(_minute(rows, end) for end in (pl.Expr.min, pl.Expr.max))),
    ]
    return [(name, text) for name, text in facts if text]


def warnings(evaluation: Evaluation, scored: pl.DataFrame) -> list[str]:
    """Warnings to read before the numbers, and what lines are not compared, or not on all targets, and why."""
    results, rows = evaluation.root, evaluation.rows
    notes = [is_partial(results), *damaged_parts(results), *left_out_columns(results)]
    failed = int(scored["failed"].sum())
    if failed:
        notes.append(f"{_count(failed)} of {_count(scored.height)} sessions failed; they are listed under Failures.")
    if lost := without_data(rows):
        notes.append(f"Cases that could not be read count in no mean: {lost}; they are listed under Failures.")
    notes += [f"{text} (marked †)." for text in seen_in_training(rows)]
    few = ", ".join(f"{name} ({count})" for name, count in _patients(scored).items() if count < FEW)
    if few:
        notes.append(f"Fewer than {FEW} patients have no interval, and allow no conclusions: {few}.")
    fair = evaluation.shared  # lines that it leaves out are told, with what they lack
    notes += [*incomplete(scored, fair.lines["name"].to_list()), *(f"{text}." for text in fair.compared)]
    return [without_home(text) for text in notes if text]


def with_interval(scored: pl.DataFrame) -> str:
    """Whether ``all``, ``some`` or ``none`` of the data sets have the patients that an interval needs."""
    enough = {count >= FEW for count in _patients(scored).values()}
    return "some" if len(enough) > 1 else "all" if True in enough else "none"


def _patients(scored: pl.DataFrame) -> dict[str, int]:
    """The number of patients by data set."""
    return dict(scored.group_by("dataset").agg(pl.col("patient").n_unique()).sort("dataset").iter_rows())


def incomplete(scored: pl.DataFrame, names: Collection[str], most: int = 10) -> list[str]:
    """A sentence for each data set and line, of these names, with fewer sessions than another line."""
    targets = scored.filter(pl.col("target") != WHOLE_CASE)
    counted = targets.group_by("name", "dataset").agg(pl.struct("case", "target", "seed").n_unique().alias("here"))
    fewer = counted.with_columns(most=pl.col("here").max().over("dataset")).filter(pl.col("here") < pl.col("most"))
    notes = [
        f"{name} has {here} of {all_} sessions on {dataset}."
        for name, dataset, here, all_ in fewer.sort("dataset", "name").iter_rows()
        if name in names
    ]
    return notes[:most] + ([f"{len(notes) - most} more lines lack sessions."] if len(notes) > most else [])


def environment(records: Sequence[Mapping[str, Any]]) -> Facts:
    """The hardware and software of the runs, without repetitions."""
    notes = [
        (head, text)
        for name, head in _RECORDED.items()
        for record in records
        for text in _texts(record.get(name) or [])
    ]
    return list(dict.fromkeys(notes))


_RECORDED = {
    "commit": "Commit",
    "hardware": "Hardware",
    "versions": "Versions",
    "datasets": "Data",
    "weights": "Weights",
}
"""Entries of a run's record and their names in the report."""


def _texts(value: Any) -> list[str]:
    """The texts of an entry of a record."""
    if isinstance(value, Mapping):
        texts = (
            (name, " and ".join(_texts(one))) for name, one in value.items() if name != "licence"
        )  # shown elsewhere
        return [", ".join(f"{name} {text or 'none'}" for name, text in texts)]
    return [text for one in value for text in _texts(one)] if isinstance(value, list) else [str(value)]


def definitions(
    rows: pl.DataFrame, how: Aggregation, policy: FailurePolicy, records: Sequence[Mapping[str, Any]] = ()
) -> Facts:
    """Definitions of the numbers. records: of the runs, which hold the effort tables that do not ship."""
    own = recorded_tables(records)
    presets = [preset for id in rows["protocol"].drop_nulls().unique().sort() if (preset := known(id))]
    written = (id for ids in rows["metrics"].unique().drop_nulls().sort() for id in ids.split())
    metrics = dict.fromkeys([*(id for preset in presets for id in preset.metrics), *written])
    return [
        ("Session", "One target, one prompter, one seed, one model."),
        ("Round", "Prompts made by hand, and all answers until the next prompts made by hand; round 0 is the first."),
        ("Average", f"The {how.description}; then the mean over data sets, if a line has all of them."),
        (
            "Failures",
            f"{policy.describe().capitalize()}. Failures are {', '.join(FAILED)}; those of data are {NO_DATA}. "
            "Sessions that are not applicable are not averaged.",
        ),
        ("Last state", "After an early stop, the last state is carried forward."),
        (
            "Interval",
            f"Of 95 %, from {DRAWS} bootstrap draws of patients (BCa, with wider tails for few patients); all scans, "
            f"targets and seeds of a patient stay together. Those of differences are t intervals. Fewer than {FEW} "
            "patients have none.",
        ),
        ("Metrics", ", ".join(metrics) or "those of a protocol that is unknown to this version"),
        *((one.head, one.description) for one in measured_metrics(rows)),
        *((name, effort_table(name)["source"]) for name in TABLES),
        *((name, _own_table(name, own)) for name in _own_tables(rows)),
    ]


def _own_table(name: str, known: Mapping[str, Calibration]) -> str:
    """What an effort table is that does not ship."""
    sources = (
        "; ".join(f"{family}: {source}" for family, source in known[name].sources.items()) if name in known else ""
    )
    return f"Costs from a file, which the records of its runs hold{f' ({sources})' if sources else ''}."


def _own_tables(rows: pl.DataFrame) -> list[str]:
    """The effort tables that do not ship."""
    return [name for name in rows["effort"].unique().drop_nulls().sort() if name not in TABLES]


def _count(value: float) -> str:
    return digits_of(value, 0)


def _distinct(rows: pl.DataFrame, *names: str) -> str:
    return _count(rows.select(names).n_unique())


def _time(seconds: float) -> str:
    """Seconds, minutes or hours, with two digits or more."""
    unit, length = next(((unit, length) for unit, length in _UNITS if seconds >= 2 * length), ("s", 1))
    return f"{digits_of(seconds / length, 0 if seconds >= 10 * length else 1)} {unit}"


_UNITS = (("h", 3600), ("min", 60))


def _values(rows: pl.DataFrame, name: str) -> str:
    return ", ".join(str(value) for value in rows[name].unique().drop_nulls().sort())


def _peak(rows: pl.DataFrame) -> str:
    """The peak memory of a process and of a GPU."""
    most, most_gpu = rows.select(pl.col("peak_memory_mb", "peak_gpu_mb").max()).row(0)
    return ", ".join(f"{_count(peak)} MiB{where}" for peak, where in ((most, ""), (most_gpu, " on the GPU")) if peak)


def _minute(rows: pl.DataFrame, end: Callable[[pl.Expr], pl.Expr]) -> str:
    """The first or last time that rows were written."""
    time = end(pl.from_epoch("written_at", time_unit="ns"))
    return str(rows.select(time.dt.strftime("%Y-%m-%d %H:%M UTC")).item())
