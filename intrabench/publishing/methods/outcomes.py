"""Facts on what came out: effort, times, failures, adapted prompts, and how numbers are computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from intrabench.effort import SECONDS, TABLES, kinds, recorded_tables, table
from intrabench.errors import several
from intrabench.publishing.methods.markup import (
    BCA,
    CLAIMS,
    EXTREME,
    RCLICKS,
    Bibliography,
    count,
    listed,
    name,
    plain,
    sentence,
)
from intrabench.publishing.methods.provenance import Missing, Provenance
from intrabench.results import labels
from intrabench.results.schema import MACHINE, metric_columns
from intrabench.results.statuses import FAILED, NO_DATA
from intrabench.statistics.aggregate import USUAL
from intrabench.statistics.bca import LEVEL
from intrabench.statistics.measures import summary
from intrabench.statistics.notes import CUT_SHORT, INAPPLICABLE, adapted, shares
from intrabench.statistics.resample import DRAWS, FEW
from intrabench.statistics.scores import measured_metrics, metric, without_data
from intrabench.statistics.significance import ENOUGH


def interactions(of: Provenance, cites: Bibliography) -> str:
    """How many interactions there were."""
    usual = of.scored.filter(USUAL)
    if usual.is_empty():
        return Missing("no session was played to its end")
    interactions, rounds = usual.select(pl.col("interactions", "round").mean()).row(0)
    if interactions is None:
        return Missing("rows do not say how many interactions there were")
    most = usual.select(pl.col("interactions").max()).item()
    corrected = f" with {rounds:.1f} corrections" if of.corrections else ""
    own = [one for one, found in _own_tables(of).items() if "interactions" in found]
    counted = _prices()
    if own:
        counted = f"they are counted by the table{'s' * (len(own) > 1)} {listed([name(one) for one in own])}"
    return f"A session took {interactions:.1f} interactions on average{corrected}, and at most {most:.0f}; {counted}."


_ACTIONS = {
    **{"click": "a click", "extent": "a mark of the extent", "text": "a word", "undo": "taking a correction back"},
    **{"handle": "a handle of a threshold", "box2d": "a 2D box"},
    **{"box3d": "a 3D box", "scribble": "a scribble", "lasso": "a lasso"},
}
"""What the kinds of actions are called."""


def _prices() -> str:
    """How many interactions each action counts: ``a click counts 1, a 2D box 2, ...``."""
    by_price: dict[float, list[str]] = {}
    costs = table(TABLES[0])
    for kind in sorted(kinds(), key=[*_ACTIONS].index):
        price = costs[kind]["each"] + costs[kind].get("per_word", 0)
        by_price.setdefault(price, []).append(_ACTIONS[kind])
    parts = [
        f"{listed(names)} {'count' if len(names) > 1 else 'counts'} {price:g}" for price, names in by_price.items()
    ]
    return "; ".join(parts)


def _own_tables(of: Provenance) -> dict[str, dict[str, str]]:
    """The effort tables that do not ship, with the sources of what they count; empty if no record of a run has them."""
    known = recorded_tables(of.records)
    used = (one for one in of.rows["effort"].fill_null(SECONDS).unique().sort() if one not in TABLES)
    return {one: known[one].sources if one in known else {} for one in used}


def human_time(of: Provenance, cites: Bibliography) -> str:
    """Seconds of the user and where they come from."""
    tables = of.rows["effort"].fill_null(SECONDS).unique().sort().to_list()
    shipped = [one for one in tables if one in TABLES]
    cited = cites.cite([RCLICKS, EXTREME]) if shipped else ""
    sources = "; ".join(str(table(one)["source"]).replace("ours", "assumed by IntraBench") for one in shipped)
    parts = [f"by the table{'s' * (len(tables) > 1)} {listed([name(one) for one in tables])}{cited}"]
    parts += [f"sources: {plain(sources)}"] if shipped else []
    for one, found in _own_tables(of).items():
        source = found.get("seconds", f"as in {SECONDS}") if found else "not known, for no record of a run has it"
        parts.append(f"the source of {name(one)}: {plain(source)}")
    return f"The time of the user was not measured but estimated from the actions, {'; '.join(parts)}."


def machine_time(of: Provenance, cites: Bibliography) -> str:
    """Latency, device and batch size."""
    answered = of.rows.filter(~pl.col("status").is_in([*FAILED, NO_DATA, "not_applicable"]))
    times = answered.with_columns(labels.MODEL.alias("label"), spent=MACHINE)
    times = times.group_by("label", "device").agg(pl.col("spent").mean()).sort("label", "device")
    parts = [
        f"{name(one['label'])} {one['spent']:.3g} s" + (f" ({plain(one['device'])})" if one["device"] else "")
        for one in times.iter_rows(named=True)
    ]
    if not parts:
        return Missing("no model answered")
    hardware = dict.fromkeys(filter(None, (_hardware(record.get("hardware") or {}) for record in of.records)))
    single = bool(of.records) and set(of.options("batch")) == {"1"}
    how = "" if single else " These times are those of batches, divided by their requests; they are not latencies."
    where = f" The machine had {'; or '.join(hardware)}." if hardware else ""
    spent = f"Mean times of a model per round, with its share of encoding the scan, were: {', '.join(parts)}."
    return spent + how + where


def _hardware(hardware: Mapping[str, Any]) -> str:
    gpus = [str(one.get("name", one)) if isinstance(one, Mapping) else str(one) for one in hardware.get("gpus") or []]
    cpu = f" ({plain(hardware['cpu'])})" if hardware.get("cpu") else ""
    parts = [f"{several(hardware['cores'], 'core')}{cpu}"] if hardware.get("cores") else []
    parts += [f"{hardware['memory_gb']} GB of memory"] if hardware.get("memory_gb") else []
    parts += [f"the GPU {plain(one)}" for one in gpus] or ["no GPU"] * bool(hardware)
    return listed(parts)


def failures(of: Provenance, cites: Bibliography) -> str:
    """Sessions that failed, gave nothing, or could not be played."""
    empty = of.scored.filter(pl.col("status") == "empty").height
    failed, refused = (int(of.scored[name].sum()) for name in ("failed", "not_applicable"))
    text = (
        f"Of {several(of.scored.height, 'session')}, {failed or 'none'} failed and {empty or 'none'} ended with an "
        f"empty answer ({of.statistic.policy.describe()})."
    )
    if refused:
        text += f" In {count(refused, 'session')}, the model could not take the prompts; these enter no mean."
    if lost := without_data(of.rows):
        text += f" Cases that could not be read enter no mean: {plain(lost)}."
    return text


def adaptation(of: Provenance, cites: Bibliography) -> str:
    """Prompts that were converted."""
    notes = adapted(of.rows, ["line"])
    notes = notes.filter(~pl.col("note").str.starts_with(INAPPLICABLE))
    if notes.is_empty():
        none = of.scored["not_applicable"].all()
        return Missing("no model could take the prompts") if none else "The models got all prompts as they were given."
    converted: list[str] = []
    others: list[str] = []  # how the user drew, or what a model assumed
    for one in notes.iter_rows(named=True):
        text = f"{name(of.names[one['line']])}: {name(one['note'])} in {shares([one['sessions'] / one['of']])}"
        (converted if "->" in one["note"] or one["note"].startswith("ignored") else others).append(text)
    text = "The models got all prompts as they were given."
    if converted:
        text = f"Prompts that a model does not take were converted, at the same effort: {'; '.join(converted)}."
    return text + (f" The sessions also note: {'; '.join(others)}." if others else "")


def scores_of(of: Provenance, cites: Bibliography) -> str:
    """What is measured, and how it is averaged."""
    column = of.statistic.column
    others = [one for one in ("dice", "iou", *metric_columns(of.rows)) if one != column]
    also = f" The rows also hold {listed([name(one) for one in others])}." if others else ""
    return (
        f"Scores are {measure(of.statistic.metric)}. An average is the {of.statistic.how.description}, then over data "
        f"sets.{_cut_short(of)}{also}{_definitions(of, cites)}"
    )


def _definitions(of: Provenance, cites: Bibliography) -> str:
    """What each metric of the rows is, with its name and sources."""
    return "".join(
        f" {plain(one.description).rstrip('.')} ({name(one.column)}){cites.cite([one.source])}."
        for one in measured_metrics(of.rows)
    )


def _cut_short(of: Provenance) -> str:
    """That numbers of clicks are bounds, where sessions ended before the clicks that they are of."""
    found = of.statistic.cut_short(of.rows, [])
    return "".join(
        f" In {one['sessions']} of {several(one['of'], 'session')}, {plain(one['note'].removeprefix(CUT_SHORT))}."
        for one in found.iter_rows(named=True)
    )


def measure(spec: str) -> str:
    """A metric or summary in words."""
    found = summary(spec)
    if found is not None:
        return f"{name(spec)} ({plain(found.description)})"
    head = metric(spec).head
    return head if head.lower() == spec else f"{head} ({name(spec)})"


def statistics(of: Provenance, cites: Bibliography) -> str:
    """Intervals, claims, and what is said of few patients."""
    few = of.results.filter(pl.col("fewest") < ENOUGH).height
    wide = cites.cite(BCA)
    claims = (
        " Differences between models are paired by target; their intervals are t intervals over patients, and each "
        f"comes with the probability that the claim it supports is false{cites.cite([CLAIMS])}."
        if of.models.height > 1
        else ""
    )
    if of.models.height > 1 and of.shared.compared:
        claims += f" {'. '.join(sentence(text) for text in of.shared.compared)}."
    text = (
        f"Intervals of {100 * LEVEL:g} % come from {DRAWS} bootstrap draws of patients (bias-corrected and "
        f"accelerated, with the wider tails of a t interval{wide}); with fewer than {FEW} patients in a data set there "
        f"is none.{claims}"
    )
    words = [word for column in of.results.columns if column.endswith("_words") for word in of.results[column]]
    if any(words):
        text += (
            f" An infinite {name(of.statistic.metric)}, as of a missed target, makes a mean infinite; then the table "
            "says in how many sessions it is, with the mean over the others."
        )
    return text + (f" Averages with fewer than {ENOUGH} patients are marked." if few else "")


def software(of: Provenance, cites: Bibliography) -> str:
    """Versions of the software."""
    shown = ("python", "torch", "numpy", "scipy", "SimpleITK", "polars")
    found = dict.fromkeys(
        ", ".join(f"{plain(one)} {plain(record['versions'][one])}" for one in shown if one in record["versions"])
        for record in of.records
        if record.get("versions")
    )
    if not found:
        return Missing("there is no record of the runs; rows hold only a hash of the versions")
    commits = dict.fromkeys(name(record["commit"][:12]) for record in of.records if record.get("commit"))
    commit = f" (commit{'s' * (len(commits) > 1)} {listed(list(commits))})" if commits else ""
    return f"IntraBench{commit} ran with {'; and with '.join(found)}."
