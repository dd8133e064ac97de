"""Effort against a metric: rows to the table that people read."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.protocols import row_names
from intrabench.results.store import FAILED, read_rows

METRICS = ("dice", "iou", "nsd_2mm", "hd95_mm")

_IDENTITY = ["protocol", "prompter", "model", "model_version", "weights_sha256", "dtype", "strict"]
"""What makes two lines of a table; the columns after the first three are shown where they differ."""

_SESSION = [*_IDENTITY, "dataset", "case", "target", "seed"]


def stored_table(
    root: Path, metric: str = "dice", round: int | None = None, *, per_round: bool = False
) -> pl.DataFrame:
    """`effort_table` of a results folder, or `round_table` of it up to `round`."""
    rows = read_rows(root)
    if rows.is_empty():
        raise IntraBenchError(f"{root} holds no results yet; `intrabench run --model M --prompter P` makes some")
    return round_table(rows, metric, round) if per_round else effort_table(rows, metric, round)


def round_table(rows: pl.DataFrame, metric: str = "dice", last: int | None = None) -> pl.DataFrame:
    """The lines of `effort_table` after every round that was played, up to `last`, with a column `round`."""
    ends = rows.group_by(_IDENTITY).agg(pl.col("round").max().alias("_end"))
    top = int(rows["round"].max() or 0)  # type: ignore[arg-type]
    tables = []
    for number in range((top if last is None else min(top, last)) + 1):
        table = effort_table(rows.join(ends.filter(pl.col("_end") >= number), on=_IDENTITY, how="semi"), metric, number)
        tables.append(table.insert_column(table.columns.index("sessions"), pl.lit(number).alias("round")))
    if not tables:
        raise IntraBenchError(f"there are no rows up to round {last}; give --round 0 or more")
    return pl.concat(tables, how="diagonal_relaxed").sort([*_IDENTITY, "round"])


def effort_table(rows: pl.DataFrame, metric: str = "dice", round: int | None = None) -> pl.DataFrame:
    """One line per prompter and model; a column per data set holds the mean of `metric`.

    Mean over a case's instances (and seeds), then over cases; `average` is the mean over data sets and empty where one
    is missing. Each session enters with its last row up to `round`, so the last state is carried forward after an early
    stop. `error`, `oom` and `timeout` count as the worst value and are counted in `failed`; `not_applicable` enters no
    mean and is counted apart.
    """
    if metric not in METRICS:
        raise IntraBenchError(f"there is no metric {metric!r} in the rows; known are {', '.join(METRICS)}")
    if round is not None:
        rows = rows.filter(pl.col("round") <= round)
    if rows.is_empty():
        raise IntraBenchError(f"there are no rows up to round {round}; give --round 0 or more")
    # of the same target in an older version of itself or of its data set, only the newest session counts
    newest = pl.col("written_at").max().over("session")
    rows = rows.with_columns(_played=newest).filter(pl.col("_played") == pl.col("_played").max().over(_SESSION))
    last = rows.filter(pl.col("round") == pl.col("round").max().over("session"))
    failed = pl.col("status").is_in(FAILED)
    worst = float("inf") if metric == "hd95_mm" else 0.0
    last = last.with_columns(value=pl.when(failed).then(worst).otherwise(pl.col(metric)), failed=failed)
    counts = last.group_by(_IDENTITY).agg(
        (pl.col("target") != "*").sum().alias("sessions"),
        pl.col("failed").sum(),
        (pl.col("status") == "not_applicable").sum().alias("not_applicable"),
    )
    scored = last.filter(pl.col("status") != "not_applicable")
    effort = scored.group_by(_IDENTITY).agg(
        *(pl.col(name).filter(~pl.col("failed")).mean() for name in ("interactions", "dof", "seconds_human"))
    )
    cases = scored.group_by([*_IDENTITY, "dataset", "case"]).agg(pl.col("value").mean())
    means = cases.group_by([*_IDENTITY, "dataset"]).agg(pl.col("value").mean())
    wide = counts
    for more in (effort, _pivot(means, last)):
        wide = wide.join(more, on=_IDENTITY, how="left", nulls_equal=True)
    return wide.sort(_IDENTITY).with_columns(pl.col("weights_sha256").str.slice(0, 12))


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that people compare, with short heads: versions and trouble only where there is any to tell.

    Rows of a published table go by their printed names.
    """
    dropped = [name for name in ("protocol", "dtype", "strict") if frame[name].n_unique() == 1]
    versions = frame.group_by("model").agg(pl.col("model_version", "weights_sha256").n_unique())
    dropped += [name for name in ("model_version", "weights_sha256") if versions[name].max() == 1]
    dropped += [name for name in ("failed", "not_applicable") if frame[name].sum() == 0]
    dropped += ["dof"] + (["average"] if frame.width - frame.columns.index("seconds_human") <= 3 else [])
    frame = frame.with_columns(
        prompter=pl.struct("protocol", "prompter").map_elements(
            lambda line: row_names(line["protocol"]).get(line["prompter"], line["prompter"]), pl.String
        )
    )
    short = {"seconds_human": "human s", "not_applicable": "n/a"}
    return frame.drop(dropped).rename(short, strict=False)


def seen_in_training(rows: pl.DataFrame) -> list[str]:
    """A sentence for each model and data set of which the authors say that they trained on it."""
    seen = rows.filter(pl.col("seen_in_training") == "yes").select("model", "dataset").unique().sort("model", "dataset")
    return [f"{model} was trained on {dataset}, or on what that is part of" for model, dataset in seen.iter_rows()]


def _pivot(means: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """One column per data set, and their average where none is missing."""
    names = sorted(rows["dataset"].unique().to_list())
    columns = [pl.col("value").filter(pl.col("dataset") == name).first().alias(name) for name in names]
    wide = means.group_by(_IDENTITY).agg(columns)
    complete = pl.all_horizontal(pl.col(name).is_not_null() for name in names)
    return wide.with_columns(average=pl.when(complete).then(pl.mean_horizontal(names)))
