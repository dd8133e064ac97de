"""Seconds and peak memory of the statistics of 1,008,000 rows, from the table to areas under curves; and of the report.

Run with `python -m benchmarks statistics`. 20 lines on 10 data sets of 60 cases with 7 classes of 2 instances, 6 rounds
each, in random order. The statistics run in a process of their own that reads the rows from Parquet; its peak holds the
rows themselves. The means alone are set against the same means in plain pandas, where that is installed. The report,
without pictures, is written from a results folder in a third process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.comparison import MINIATURE
from intrabench.effort import SECONDS
from intrabench.results.schema import SCHEMA

SHAPE = {"line": 20, "dataset": 10, "case": 60, "label": 7, "instance": 2}
if MINIATURE:
    SHAPE = {"line": 4, "dataset": 2, "case": 8, "label": 2, "instance": 1}
ROUNDS = 6


def rows() -> pl.DataFrame:
    """Rows of a store: later lines and later rounds are better, cases differ, one in a thousand fails."""
    random = np.random.default_rng(0)
    sessions = int(np.prod(list(SHAPE.values())))
    axes = dict(zip(SHAPE, np.unravel_index(np.tile(np.arange(sessions), ROUNDS), tuple(SHAPE.values())), strict=True))
    number = np.repeat(np.arange(ROUNDS), sessions)
    size = number.size
    hard = random.normal(0.6, 0.1, (SHAPE["dataset"], SHAPE["case"]))[axes["dataset"], axes["case"]]
    dice = np.clip(hard + 0.005 * axes["line"] + 0.04 * number + random.normal(0, 0.08, size), 0, 1)
    failed = random.random(size) < 0.001
    frame = pl.DataFrame({**axes, "round": number, "dice": np.where(failed, 0, dice)}).with_columns(
        pl.format("dataset_{}", "dataset").alias("dataset"),
        pl.format("case_{}", "case").alias("case"),
        pl.format("class_{}", "label").alias("label"),
        session=pl.concat_str("line", "dataset", "case", "label", "instance", separator="/").hash().cast(pl.String),
        target=pl.format("class_{}.{}", "label", "instance"),
        model=pl.format("model_{}", pl.col("line") // 2),
        prompter=pl.format("box_interp:n={}+scribble", pl.col("line") % 2 + 1),
        status=pl.Series(np.where(failed, "oom", "ok")),
        iou=pl.col("dice") / (2 - pl.col("dice")),
        interactions=6.0 + 3 * number,
        seconds_human=20 + 5.5 * number,
        encode_s=random.random(size),
        segment_s=random.random(size),
        weights_sha256=pl.lit("0" * 64),
        run_id=pl.lit("run"),
        protocol=pl.lit("basic@1"),
        stop=pl.lit(""),
        effort=pl.lit(SECONDS),
        metrics=pl.lit("dice@1 iou@1"),
        seen_in_training=pl.lit("unknown"),
        seed=0,
        written_at=1,
    )
    schema = SCHEMA | {"nsd_2mm": pl.Float64, "hd95_mm": pl.Float64}
    columns = [pl.col(c) if c in frame.columns else pl.lit(None).alias(c) for c in schema]
    return frame.select(columns).cast(pl.Schema(schema)).sample(fraction=1, shuffle=True, seed=0)


def measure(path: str) -> None:
    """Print the seconds of each statistic of the rows in a file, and the peak memory."""
    from intrabench.engine.environment import peak_memory_mb
    from intrabench.reporting.table import effort_table
    from intrabench.results.current import IDENTITY
    from intrabench.statistics.aggregate import AGGREGATIONS, aggregate
    from intrabench.statistics.curves import curve
    from intrabench.statistics.measures import Area
    from intrabench.statistics.ranking import ranking
    from intrabench.statistics.resample import intervals
    from intrabench.statistics.scores import scores
    from intrabench.statistics.steps import steps

    how = AGGREGATIONS["protocol"]
    given = pl.read_parquet(path)
    print(f"{given.height:,} rows, {given.estimated_size('mb'):.0f} MiB, peak {peak_memory_mb():.0f} MiB when read")
    total = 0.0

    def timed(name: str, make: Callable[[], Any]) -> Any:
        nonlocal total
        start = time.perf_counter()
        made = make()
        seconds = time.perf_counter() - start
        total += seconds
        print(f"  {name:42} {seconds:6.2f} s")
        return made

    timed("table, from rows", lambda: effort_table(given))
    scored = timed("scores of sessions", lambda: scores(given))
    means = timed("means", lambda: aggregate(scored, IDENTITY, how))
    timed("means with intervals, 2,000 draws", lambda: intervals(scored, IDENTITY, how))
    timed("ranking, 2,000 draws", lambda: ranking(scored, IDENTITY, how))
    played = timed("steps of sessions, from rows", lambda: steps(given))
    timed("curves against interactions", lambda: curve(played, IDENTITY, how))
    timed("areas under the curves", lambda: aggregate(Area().of(played), IDENTITY, how))
    print(f"  {'in all':42} {total:6.2f} s, peak {peak_memory_mb():.0f} MiB")
    _against_pandas(given, means)


def measure_report(results: str) -> None:
    """Print the seconds of the report of a results folder, and the peak memory."""
    from intrabench.engine.environment import peak_memory_mb
    from intrabench.reporting.page.page import write_report

    path = Path(results) / "report.html"
    start = time.perf_counter()
    write_report(Path(results), path, views=0)
    seconds, size = time.perf_counter() - start, path.stat().st_size / 2**20
    print(f"  {'report without pictures':42} {seconds:6.2f} s, peak {peak_memory_mb():.0f} MiB, {size:.1f} MiB written")


def _against_pandas(given: pl.DataFrame, means: pl.DataFrame) -> None:
    """The same means from the same rows in plain pandas."""
    try:
        import pandas as pd
    except ImportError:
        print("  pandas is not installed, so there is nothing to compare with; pip install pandas")
        return
    columns = ["session", "model", "prompter", "dataset", "case", "label", "round", "dice"]
    frame = pd.DataFrame(given.select(columns).to_dict(as_series=False))
    line = ["model", "prompter", "dataset"]
    start = time.perf_counter()
    last = frame.sort_values("round").groupby("session").tail(1)
    cases = last.groupby([*line, "label", "case"])["dice"].mean()
    found = cases.groupby([*line, "label"]).mean().groupby(line).mean()
    seconds = time.perf_counter() - start
    ours = means.sort(line)["value"].to_numpy()
    off = float(np.abs(found.sort_index().to_numpy() - ours).max())
    print(f"  {'pandas: scores of sessions and means':42} {seconds:6.2f} s, largest difference {off:.0e}")


def main() -> None:
    """Make the rows, then measure in fresh processes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows" / "run.parquet"
        path.parent.mkdir()
        rows().write_parquet(path)
        for name, given in (("measure", path), ("measure_report", folder)):
            command = f"from benchmarks.statistics import {name}; {name}({str(given)!r})"
            subprocess.run([sys.executable, "-c", command], check=True)


if __name__ == "__main__":
    main()
