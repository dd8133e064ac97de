"""Robustness of a model to where people click: sessions with clicks of each group, and of real users, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.protocols import row_names
from intrabench.results.current import IDENTITY
from intrabench.specs.specs import parse, split
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.measures import described, measured, scored_by
from intrabench.statistics.notes import adapted
from intrabench.statistics.resample import AVERAGE, intervals
from intrabench.statistics.robustness import (
    COUNTED_CLICKS,
    Robustness,
    UserNoise,
    each_target,
    each_user_noise,
    robustness,
    user_noise,
)
from intrabench.statistics.scores import TARGET, FailurePolicy
from intrabench.statistics.sources import SOURCES, group_of, levels, varied
from intrabench.target import WHOLE_CASE

_GROUPS = SOURCES["group"]

LINE = tuple(name for name in IDENTITY if name != "prompter")
"""Columns that identify a line, besides the click model."""

_EACH = [*LINE, *TARGET, "patient"]
_KEYS = [*LINE, "clicks", "dataset"]
_COUNTED = ("groups", "targets", "trajectories")


def group_table(
    rows: pl.DataFrame,
    metric: str = "dice",
    round: int | None = None,
    policy: FailurePolicy | None = None,
    *,
    interval: bool = False,
) -> pl.DataFrame:
    """A line per model, click model and data set: `LINE`, ``clicks``, ``dataset``, the fields of `Robustness`,
    ``groups``, and the numbers of ``targets`` that have all of them and of ``trajectories`` (seeds) of each.

    All targets have equal weight, as published. Clicks (noc) are compared in percent, failures (nof) as counts, other
    metrics as differences; nsr of clicks and failures is that of `rclicks_auc`, NSR@20. base and dsb are null if
    the baseline clicker was not played. interval: the ends of each field's interval of 95 % over patients, too, such as
    ``dsb_low`` and ``dsb_high`` (as `intervals`; failures have none of spread).

    Raises:
        IntraBenchError: no model was run with two groups of clicks of the same click model.
    """
    values = _values(rows, metric, round, policy)
    if values.is_empty():
        raise IntraBenchError(f"no session has {metric}; choose a metric that the protocol measures")
    kind = metric.partition(":")[0]
    areas = {}
    if kind in COUNTED_CLICKS:
        areas = _families(_values(rows, area_of(metric), round, policy))
    lines = []
    for key, one in _families(values).items():
        groups = sorted(int(name) for name in one.columns if name.isdecimal() and name != "0")
        if len(groups) < 2 or one.is_empty():
            continue
        robust = robustness(kind, *_arrays(one, groups))
        each = each_target(kind, *_arrays(one, groups))
        if key in areas:
            area = one.select(_EACH).join(areas[key], on=_EACH, how="left", nulls_equal=True, maintain_order="left")
            each["nsr"] = each_target("auc", *_arrays(area, groups))["nsr"]
            robust = replace(robust, nsr=float(each["nsr"].mean()))
        ends = _ends(one, each, kind) if interval else {}
        lines.append({**dict(zip(_KEYS, key, strict=True)), **asdict(robust), **ends, **_counts(one, groups)})
    if not lines:
        raise IntraBenchError(_no_groups(rows))
    kinds: dict[str, Any] = {name: values.schema.get(name, pl.String) for name in _KEYS} | {
        name: pl.Float64 for name in lines[0] if name not in _KEYS
    }
    kinds |= dict.fromkeys(_COUNTED, pl.Int64)
    return pl.DataFrame(lines, schema=kinds, orient="row").sort(_KEYS).fill_nan(None)


def _no_groups(rows: pl.DataFrame) -> str:
    """What to run; by the protocol that has groups, if that was played."""
    groups = "--prompter clickability:group=1 --prompter clickability:group=10 --prompter click_deepest"
    protocols = [id for id in rows["protocol"].unique().sort() if any(map(group_of, row_names(id)))]
    if protocols and not any(map(group_of, rows["prompter"].unique())):
        return (
            f"only the baseline of {protocols[0]} was played, and no groups of clicks; run it without --only, or with "
            f"another click model than the published one: --protocol {protocols[0]} {groups}"
        )
    return f"no model was run with two groups of clicks; run one with, for example, {groups}"


def _values(rows: pl.DataFrame, metric: str, round: int | None, policy: FailurePolicy | None) -> pl.DataFrame:
    """The scores of targets."""
    return measured(rows, metric, round, policy).filter(pl.col("target") != WHOLE_CASE).drop_nulls("value")


def _arrays(one: pl.DataFrame, groups: Sequence[int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(targets, groups) and (targets) of the baseline, NaN if it was not played."""
    base = one["0"].to_numpy() if "0" in one.columns else np.full(len(one), np.nan)
    return one.select(str(group) for group in groups).to_numpy(), base


def _counts(one: pl.DataFrame, groups: Sequence[int]) -> dict[str, int]:
    return dict(zip(_COUNTED, (len(groups), len(one), one["seed"].item(0)), strict=True))


def _ends(one: pl.DataFrame, each: Mapping[str, NDArray[np.float64]], kind: str) -> dict[str, float | None]:
    """The ends of the interval of each field."""
    times, found = len(one) if kind == "nof" else 1, dict[str, float | None]()  # failures are a sum
    limits = ends(one, each)
    for name in (f"{field.name}_{end}" for field in fields(Robustness) for end in ("low", "high")):
        value = limits.get(name)
        found[name] = None if value is None else value * (1 if name.startswith("nsr") else times)
    return found


def ends(one: pl.DataFrame, each: Mapping[str, NDArray[np.float64]]) -> dict[str, float | None]:
    """``NAME_low`` and ``NAME_high`` for each name: the interval of the mean of its values over patients.

    one: a line for each target of a data set. each: by name, the values of these targets.
    """
    who = one.select("dataset", "case", "target", "patient", failed=False, not_applicable=False)
    parts = [
        who.with_columns(pl.Series("value", values, nan_to_null=True), field=pl.lit(name))
        for name, values in each.items()
    ]
    found = intervals(pl.concat(parts), ["field"], AGGREGATIONS["pooled"]).filter(pl.col("dataset") != AVERAGE)
    return {f"{line['field']}_{end}": line[end] for line in found.iter_rows(named=True) for end in ("low", "high")}


def _families(scored: pl.DataFrame) -> dict[tuple[object, ...], pl.DataFrame]:
    """By line, click model and data set: a line for each target that has all groups, a column for each group.

    Group 0 is the baseline. ``seed`` is the least number of seeds.
    """
    families = {}
    each = levels(scored, [*LINE, "prompter"], _GROUPS).with_columns(pl.col("level").fill_null("0"))
    for key, one in each.partition_by(*LINE, "prompter", "dataset", as_dict=True).items():
        wide = one.pivot("level", index=_EACH, values="value").drop_nulls(cs.matches(r"^\d+$"))
        families[key] = wide.sort(TARGET).with_columns(seed=pl.lit(one["seeds"].min()))
    return families


def of_groups(rows: pl.DataFrame, *, base: bool = False) -> pl.DataFrame:
    """The rows that make the numbers of groups in lines of `group_table`, or of the baseline (base), by ``clicks``."""
    return varied(rows, _GROUPS, base=base).rename({"common": "clicks"})


def describe_groups(metric: str) -> str:
    """A description of the columns of `group_table`."""
    area = "" if area_of(metric) == metric else f" of {area_of(metric)}"
    number = "number" if metric.partition(":")[0] == "nof" else "mean"
    return (
        f"{described(metric)}: {number} over targets of the baseline clicker (base) and of groups of clicks (sample, "
        "spread); dsb: sample against base, dgr: the least against the most likely clicks, dhh: their halves, pair by "
        "pair or merged; noc in percent; "
        f"nsr: spread over sample{area} in percent"
    )


def area_of(metric: str) -> str:
    """The metric that nsr is of: the metric itself, or the area of that which clicks and failures are of."""
    return f"rclicks_auc:metric={scored_by(metric)}" if metric.partition(":")[0] in COUNTED_CLICKS else metric


REAL = "real"
"""The value of ``clicks`` in lines of real users."""

_CLICK = ["dataset", "case", "target", "seed"]
_ENDS = ("low", "high")


def user_table(
    rows: pl.DataFrame, metric: str = "dice", policy: FailurePolicy | None = None, *, interval: bool = False
) -> pl.DataFrame:
    """A line per model, file of clicks, data set, and origin of the clicks: `LINE`, ``users`` (the prompter of real
    clicks), ``dataset``, ``clicks`` (`REAL` or the prompter of simulated ones), the fields of `UserNoise`, and the
    numbers of ``targets`` and ``sessions``.

    The state after the first click counts, whatever follows. Of simulated clicks, only those count whose seed is the
    number of a real click on the same target, so that both are equally many. interval: also the ends of each field's
    interval of 95 % over patients, as in `group_table`; the clicks on a target stay as they are.

    Raises:
        IntraBenchError: no model was given real clicks.
    """
    scored = measured(rows, metric, 0, policy).filter(pl.col("target") != WHOLE_CASE).drop_nulls("value")
    kinds = {name: _kind(name) for name in scored["prompter"].unique()}
    of = {kind: [name for name, one in kinds.items() if one == kind] for kind in ("recorded", "clickability")}
    lines = []
    for users in sorted(of["recorded"]):
        real = scored.filter(prompter=users)
        played = {REAL: real}
        for name in sorted(of["clickability"]):
            played[name] = scored.filter(prompter=name).join(real, on=[*LINE, *_CLICK], how="semi", nulls_equal=True)
        lines += [{**line, "users": users} for clicks, one in played.items() for line in _lines(clicks, one, interval)]
    if not lines:
        raise IntraBenchError(
            f"no model that was given real first clicks has {metric}; run one with --protocol "
            "rclicks-users@1:clicks=clicks.csv, or choose a metric that was measured"
        )
    names = [name for field in fields(UserNoise) for name in (field.name, *(f"{field.name}_{end}" for end in _ENDS))]
    numbers = [name for name in names if interval or not name.endswith(_ENDS)]
    schema: dict[str, Any] = {
        name: scored.schema.get(name, pl.String) for name in (*LINE, "users", "dataset", "clicks")
    }
    schema |= dict.fromkeys(numbers, pl.Float64) | dict.fromkeys(("targets", "sessions"), pl.Int64)
    table = pl.DataFrame(lines, schema=schema, orient="row")
    real_first = pl.col("clicks") != REAL
    return table.sort(*LINE, "users", "dataset", real_first, "clicks").fill_nan(None)


def users_adapted(rows: pl.DataFrame) -> pl.DataFrame:
    """`adapted` of the first clicks in the lines of `user_table`, by ``clicks`` besides `LINE` and data set."""
    kinds = {name: _kind(name) for name in rows["prompter"].unique()}
    of = {name: REAL if kind == "recorded" else name for name, kind in kinds.items() if kind}
    clicks = pl.col("prompter").replace_strict(of, default=None, return_dtype=pl.String)
    return adapted(rows.with_columns(clicks=clicks).drop_nulls("clicks"), [*LINE, "dataset", "clicks"], 0)


def _lines(clicks: str, scored: pl.DataFrame, interval: bool) -> Iterator[dict[str, object]]:
    """The lines of `user_table`, but for ``users``."""
    for key, one in scored.partition_by(*LINE, "dataset", as_dict=True).items():
        targets = one.group_by("dataset", "case", "target", "patient", maintain_order=True).agg("value")
        values = targets["value"].to_list()
        found = {**asdict(user_noise(values)), **(ends(targets, each_user_noise(values)) if interval else {})}
        counts = {"targets": len(targets), "sessions": len(one)}
        yield {**dict(zip((*LINE, "dataset"), key, strict=True)), "clicks": clicks, **found, **counts}


def is_real(prompter: str) -> bool:
    """Whether the first clicks of a prompter are those of real users."""
    return _kind(prompter) == "recorded"


def _kind(prompter: str) -> str:
    """The first part of a prompter if its clicks are users' or drawn from all of a click model, else empty."""
    name, parameters = parse(split(prompter)[0])
    wanted = {"recorded": bool(parameters.get("clicks")), "clickability": parameters.get("group", "all") == "all"}
    return name if wanted.get(name) else ""


def describe_users(metric: str) -> str:
    """A description of the columns of `user_table`."""
    return (
        f"{described(metric)} after the first click: mean over targets of the mean over clicks, of their standard "
        "deviation (spread), and of spread over mean in percent (nsr); as many simulated clicks as real ones"
    )
