"""How much a model depends on who makes the first click: sessions of real users, beside as many simulated ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.specs.specs import parse, split
from intrabench.statistics.adapted import adapted
from intrabench.statistics.click_groups import LINE, ends
from intrabench.statistics.measures import described, measured
from intrabench.statistics.robustness import UserNoise, each_user_noise, user_noise
from intrabench.statistics.scores import FailurePolicy
from intrabench.target import WHOLE_CASE

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
    name, given = parse(split(prompter)[0])
    wanted = {"recorded": bool(given.get("clicks")), "clickability": given.get("group", "all") == "all"}
    return name if wanted.get(name) else ""


def describe_users(metric: str) -> str:
    """A description of the columns of `user_table`."""
    return (
        f"{described(metric)} after the first click: mean over targets of the mean over clicks, of their standard "
        "deviation (spread), and of spread over mean in percent (nsr); as many simulated clicks as real ones"
    )
