"""How long models take: seconds of an answer and of encoding, and memory, on each device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from intrabench.reporting.page.grid import Grid, number, word
from intrabench.reporting.page.narrative import Names, Sentence, amount, name, text
from intrabench.results.statuses import ANSWERED

_READ = ("line", "session", "status", "device", "encode_s", "segment_s", "batch", "peak_memory_mb", "peak_gpu_mb")
"""Columns of rows that are read; a copy of all of a million rows would take much memory."""


def speeds(rows: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """A row per model and device: `median_s` and `most_s` (95 % are faster) of an answer, and more.

    An answer is that to the prompts of a round; `answers` counts them. encode_s: median over the sessions that encoded
    anything. memory_mb, gpu_mb: the most that was seen. batch: the largest number of requests answered at once, in
    which case the time of each is its share.
    """
    asked = rows.select(_READ).filter(pl.col("status").is_in(ANSWERED))
    named = asked.join(lines.select("line", model="label"), on="line")
    named = named.with_columns(pl.col("device").fill_null(""))
    encoded = named.group_by("model", "device", "session").agg(pl.col("encode_s").sum())
    encoded = encoded.filter(pl.col("encode_s") > 0).group_by("model", "device").agg(pl.col("encode_s").median())
    second = pl.col("segment_s")
    found = named.group_by("model", "device").agg(
        second.count().alias("answers"),
        second.median().alias("median_s"),
        second.quantile(0.95, "higher").alias("most_s"),
        pl.col("peak_memory_mb").max().alias("memory_mb"),
        pl.col("peak_gpu_mb").max().alias("gpu_mb"),
        pl.col("batch").max().alias("batch"),
    )
    return found.join(encoded, on=["model", "device"], how="left").sort("model", "device")


def speed_grid(found: pl.DataFrame) -> Grid:
    """The table of `speeds`."""
    gpu = found["gpu_mb"].is_not_null().any()
    heads = ["Model", "Device", "Answers", "Answer, s", "95 % within, s", "Encoding, s", "Batch", "Memory, MiB"]
    rows = []
    for row in found.iter_rows(named=True):
        numbers = [number(row[key], 3) for key in ("median_s", "most_s", "encode_s")]
        cells = [word(row["model"]), word(row["device"]), number(row["answers"]), *numbers]
        cells += [number(row["batch"]), number(row["memory_mb"]), *([number(row["gpu_mb"])] if gpu else [])]
        rows.append(cells)
    return Grid("speed", [*heads, *(["GPU, MiB"] if gpu else [])], rows, headed=2)


def speed_sentence(found: pl.DataFrame, names: Names, line: int) -> Sentence:
    """How long the model of a line takes, on the device where it answered most; empty if that was not measured."""
    label = names.lines.filter(pl.col("line") == line)["label"][0]
    mine = found.filter(pl.col("model") == label, pl.col("median_s").is_not_null()).sort("answers", descending=True)
    return _sentence(mine.row(0, named=True)) if len(mine) else []


def _sentence(row: Mapping[str, Any]) -> Sentence:
    device = f" on {row['device']}" if row["device"] else ""
    within = f"{_seconds(row['median_s'])} (median; 95 % within {_seconds(row['most_s'])})"
    shared = f", its share of up to {row['batch']} answered at once" if (row["batch"] or 1) > 1 else ""
    encoding = f"; encoding takes {_seconds(row['encode_s'])} per session" if row["encode_s"] else ""
    peaks = [(row["memory_mb"], "MiB of memory"), (row["gpu_mb"], "MiB on the GPU")]
    memory = " and ".join(f"{amount(peak, 0)} {unit}" for peak, unit in peaks if peak)
    memory = f"; the process took up to {memory}" if memory else ""
    return [text("An answer of "), name(row["model"]), text(f" takes {within}{device}{shared}{encoding}{memory}.")]


def _seconds(value: float) -> str:
    """Two significant digits, in milliseconds where these are easier to read."""
    return f"{float(f'{1000 * value:.2g}'):g}\u00a0ms" if value < 0.1 else f"{float(f'{value:.2g}'):g}\u00a0s"
