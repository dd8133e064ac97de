"""Robustness of a model to where people click: its sessions with clicks of each group, side by side."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

import numpy as np
import polars as pl
import polars.selectors as cs

from intrabench.errors import IntraBenchError
from intrabench.results.current import IDENTITY
from intrabench.specs import parse, quoted, split
from intrabench.statistics.adapted import adapted
from intrabench.statistics.measures import described, measured
from intrabench.statistics.robustness import Robustness, auc_robustness, noc_robustness, nof_robustness
from intrabench.statistics.scores import FailurePolicy
from intrabench.target import WHOLE_CASE

_CLICKER, _BASELINE = "clickability", "click_deepest"

LINE = tuple(name for name in IDENTITY if name != "prompter")
"""Columns that identify a line, besides the click model."""


@dataclass(frozen=True)
class Clicks:
    """The comparison that a prompter with groups belongs to.

    clicks: its spec without the group, common to all groups. base: the spec of the baseline clicker, which clicks at
    the deepest place.
    """

    clicks: str
    base: str
    group: int


_STATISTICS = {"noc": noc_robustness, "nof": nof_robustness}
"""Statistics by kind of metric; all other metrics are compared by differences of means."""


def clicks_of(prompter: str) -> Clicks | None:
    """The group from which a prompter's clicks are drawn; None for other prompters."""
    parts = split(prompter)
    for place, part in enumerate(parts):
        name, given = parse(part)
        if name == _CLICKER and given.get("group", "all").isdigit():
            group = int(given.pop("group"))
            shared = {key: value for key, value in given.items() if key in ("previous", "space")}
            others = _spec(name, given), _spec(_BASELINE, shared)
            clicks, base = ("+".join([*parts[:place], other, *parts[place + 1 :]]) for other in others)
            return Clicks(clicks, base, group)
    return None


def group_table(
    rows: pl.DataFrame, metric: str = "dice", round: int | None = None, policy: FailurePolicy | None = None
) -> pl.DataFrame:
    """A line per model, click model and data set: `LINE`, ``clicks``, ``dataset``, the fields of `Robustness`,
    ``groups``, and the numbers of ``targets`` that have all of them and of ``trajectories`` (seeds) of each.

    All targets have equal weight, as published. Clicks (noc) are compared in percent, failures (nof) as counts, other
    metrics as differences. base and dsb are null if the baseline clicker was not played.

    Raises:
        IntraBenchError: no model was run with two groups of clicks of the same click model.
    """
    scored = measured(rows, metric, round, policy).filter(pl.col("target") != WHOLE_CASE).drop_nulls("value")
    if scored.is_empty():
        raise IntraBenchError(f"no session has {metric}; choose a metric that the protocol measures")
    each = [*LINE, "dataset", "case", "target"]
    values = scored.group_by(*each, "prompter").agg(pl.col("value").mean(), pl.col("seed").n_unique())
    found = {name: clicks for name in values["prompter"].unique() if (clicks := clicks_of(name))}
    kind, lines = metric.partition(":")[0], []
    for key, one in _families(values, found):
        wide = one.pivot("group", index=each, values="value").drop_nulls(cs.matches(r"^\d+$"))
        groups = sorted(int(name) for name in wide.columns if name not in (*each, "0"))
        if len(groups) < 2 or wide.is_empty():
            continue
        array = wide.select(str(group) for group in groups).to_numpy()
        base = wide["0"].to_numpy() if "0" in wide.columns else np.full(len(wide), np.nan)
        robust = _STATISTICS.get(kind, auc_robustness)(array, base)
        lines.append((*key, *astuple(robust), len(groups), len(wide), one["seed"].min()))
    if not lines:
        raise IntraBenchError(
            "no model was run with two groups of clicks; run one with, for example, --prompter clickability:group=1 "
            "--prompter clickability:group=10 --prompter click_deepest"
        )
    names = [*LINE, "clicks", "dataset", *(field.name for field in fields(Robustness))]
    schema = [*names, "groups", "targets", "trajectories"]
    return pl.DataFrame(lines, schema=schema, orient="row").sort(*LINE, "clicks", "dataset").fill_nan(None)


def _families(values: pl.DataFrame, found: dict[str, Clicks]) -> list[tuple[tuple[str, ...], pl.DataFrame]]:
    """All values per line, click model and data set with their ``group``; group 0 is the baseline."""
    families = []
    for clicks in sorted({one.clicks for one in found.values()}):
        groups = {name: one.group for name, one in found.items() if one.clicks == clicks}
        base = next(one.base for one in found.values() if one.clicks == clicks)
        mine = values.filter(pl.col("prompter").is_in([*groups, base]))
        mine = mine.with_columns(group=pl.col("prompter").replace_strict(groups | {base: 0}, return_dtype=pl.Int64))
        for key, one in mine.partition_by(*LINE, "dataset", as_dict=True).items():
            families.append(((*key[:-1], clicks, key[-1]), one))
    return families


def groups_adapted(rows: pl.DataFrame, round: int | None = None) -> pl.DataFrame:
    """`adapted` of the lines of `group_table`, by what makes them: of all groups, without the baseline."""
    of = {name: found.clicks for name in rows["prompter"].unique() if (found := clicks_of(name))}
    clicks = pl.col("prompter").replace_strict(of, default=None, return_dtype=pl.String)
    return adapted(rows.with_columns(clicks=clicks).drop_nulls("clicks"), [*LINE, "clicks", "dataset"], round)


def _spec(name: str, given: dict[str, str]) -> str:
    return name + (":" + ",".join(f"{key}={quoted(value)}" for key, value in given.items()) if given else "")


def describe_groups(metric: str) -> str:
    """A description of the columns of `group_table`."""
    number = "number" if metric.partition(":")[0] == "nof" else "mean"
    return (
        f"{described(metric)}: {number} over targets of the baseline clicker (base) and of groups of clicks (sample, "
        "spread); dsb: sample against base, dgr: the least against the most likely clicks, dhh: their halves, pair by "
        "pair or merged; noc in percent; nsr: spread over sample in percent"
    )
