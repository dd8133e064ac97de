"""Which sessions count: the newest of each target, by the newest code of model, prompter and data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from intrabench.results.fast_queries import different
from intrabench.results.present import present
from intrabench.results.schema import metric_columns
from intrabench.results.statuses import ALWAYS
from intrabench.results.weights import HOW
from intrabench.specs.specs import split

VERSIONS = {"model": "model_version", "prompter": "prompter_version", "dataset": "dataset_version"}
"""Columns of names, with their columns of versions."""

PROTOCOL, MODEL = ("protocol", "stop", "joint_rules", "effort"), ("model", "weights", "weights_sha256")
"""The columns of the protocol and of the model; `intrabench.results.labels` makes one text of each."""

IDENTITY = (*PROTOCOL, "prompter", *MODEL, "dtype", "strict")
"""Columns that tell lines of a table apart; only the newest versions of a line count (`current`)."""

_SAME = (*IDENTITY, *VERSIONS.values(), "dataset", "case", "target", "seed")
"""Columns that sessions share which differ only in what was played: in the image, the target or the metrics."""


def current(rows: pl.DataFrame, by: Sequence[str] = (), *, root: Path | None = None) -> tuple[pl.DataFrame, list[str]]:
    """The rows of the newest versions and of what is still there, and sentences about the sessions that are left out.

    root: the results folder that the rows are of, so that those count that are `present`; None: they are just played.
    The newest version of a model, prompter or data set is that of its newest row; all specs of one class share its
    version. by: the columns that define lines; versions among them are separate lines and are all kept. A session with
    a score of an older version of a metric keeps its other scores. The column `weights` says of all rows what weights
    they have.
    """
    rows, notes = present(root, rows) if root else (rows, [])
    kept, unmeasured = _newest_metrics(rows.with_columns(HOW))
    notes += unmeasured
    for name, version in VERSIONS.items():
        older = _older(rows, name, version)
        if version in by or older.is_empty():
            continue
        left = kept.join(older, on=[name, version], how="semi", nulls_equal=True)
        kept = kept.join(older, on=[name, version], how="anti", nulls_equal=True, maintain_order="left")
        for who, count in left.group_by(name).agg(pl.col("session").n_unique()).sort(name).iter_rows():
            sessions, are = ("session", "is") if count == 1 else ("sessions", "are")
            notes.append(f"{count} older {sessions} of {who} {are} left out: it has changed since")
    return kept, notes


def newest_plays(rows: pl.DataFrame, column: str = "dice", apart: Sequence[str] = ()) -> pl.DataFrame:
    """The rows of each target's newest session, of those in which the metric of `column` was measured, if any was.

    A target is played several times if its image, mask or modality changed, or with other metrics. apart: further
    columns that tell sessions apart.
    """
    same = (*_SAME, *apart)
    if different(rows, same) == different(rows, (*same, "session")):
        return rows  # each target was played once
    if column not in ALWAYS:
        lacks = ~(pl.lit(" ") + pl.col("metrics")).str.contains(f" {column}@", literal=True)
        rows = rows.with_columns(_lacks=lacks)
        rows = rows.filter(pl.col("_lacks") == pl.col("_lacks").min().over(same)).drop("_lacks")
    rows = rows.with_columns(_played=pl.col("written_at").max().over("session"))
    return rows.filter(pl.col("_played") == pl.col("_played").max().over(same)).drop("_played")


def counting(rows: pl.DataFrame, root: Path) -> tuple[pl.DataFrame, list[str]]:
    """`current` rows of the sessions that are the newest of their target for some metric, and what is left out."""
    rows, notes = current(rows, root=root)
    columns = [*ALWAYS[:1], *metric_columns(rows)]
    newest = pl.concat([newest_plays(rows, column).select("session") for column in columns]).unique()
    left = rows.join(newest, on="session", how="anti")
    for where, count in left.group_by("dataset").agg(pl.col("session").n_unique()).sort("dataset").iter_rows():
        one, many = "session on {} is left out: its target was", "sessions on {} are left out: their targets were"
        what = one if count == 1 else many
        notes.append(f"{count} older {what.format(where)} played or scored again since")
    return rows.join(newest, on="session", how="semi", maintain_order="left"), notes


def _older(rows: pl.DataFrame, name: str, version: str) -> pl.DataFrame:
    """The specs and versions that are not the newest of one of their classes."""
    written = rows.group_by(name, version).agg(pl.col("written_at").max())
    classes = [_classes(spec, of) for spec, of in written.select(name, version).iter_rows()]
    newest: dict[str, tuple[int, str]] = {}
    for at, parts in zip(written["written_at"], classes, strict=True):
        for cls, of in parts.items():
            newest[cls] = max(newest.get(cls, (at, of)), (at, of))
    outdated = [any(newest[cls][1] != of for cls, of in parts.items()) for parts in classes]
    return written.select(name, version).filter(pl.Series(outdated, dtype=pl.Boolean))


def _classes(spec: str, versions: str | None) -> dict[str, str]:
    """The classes that a spec is made of, each with its version.

    One that uses another class, such as a clickability model, has both versions, ``1/1``; its spec stands for it.
    """
    numbers = (versions or "").split("+")
    parts = split(spec) if len(numbers) > 1 else [spec]
    return {part if "/" in of else part.partition(":")[0]: of for part, of in zip(parts, numbers, strict=False)}


def _newest_metrics(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The rows without scores of older versions of metrics, and a sentence for each metric with such scores."""
    notes = []
    for column, written in _versions(rows).items():
        newest = max(written, key=lambda id: written[id])
        count = 0
        for old in written.keys() - {newest}:
            ids = pl.lit(" ") + pl.col("metrics") + " "
            has = ids.str.contains(f" {old} ", literal=True).fill_null(False)
            count += rows.filter(has)["session"].n_unique()
            rows = rows.with_columns(
                pl.when(~has).then(pl.col(column)).alias(column),
                metrics=ids.str.replace(f" {old} ", " ", literal=True).str.strip_chars(),
            )
        if count:
            sessions = "session does" if count == 1 else "sessions do"
            notes.append(f"{count} older {sessions} not count for {column}: it has changed since")
    return rows, notes


def _versions(rows: pl.DataFrame) -> dict[str, dict[str, int]]:
    """By the column of a metric that not all rows have, its ids with versions, and when each was last written."""
    found: dict[str, dict[str, int]] = {}
    for ids, written in rows.group_by("metrics").agg(pl.col("written_at").max()).iter_rows():
        for id in (ids or "").split():
            column = id.rpartition("@")[0]
            if column in rows.columns and column not in ALWAYS:
                times = found.setdefault(column, {})
                times[id] = max(written, times.get(id, 0))
    return found
