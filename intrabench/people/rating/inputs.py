"""What is rated: the answers of several models to the same prompts, from a results folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError, several
from intrabench.results.current import counting
from intrabench.results.masks import masks_file
from intrabench.results.parts import read_rows
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.statistics.evaluation import with_lines
from intrabench.statistics.superpixels import prompted

INPUT = ("dataset", "case", "target", "prompter", "seed")
"""What an input is: all models get the same."""


@dataclass(frozen=True)
class Input:
    """A target with its prompts, and a row of each model's answer."""

    rows: tuple[dict[str, Any], ...]

    @property
    def first(self) -> dict[str, Any]:
        """One of the rows; they differ in the model."""
        return self.rows[0]


def inputs_of(
    results: Path, round: int | None = None, selection: Selection = EVERYTHING
) -> tuple[list[Input], list[str]]:
    """All inputs that every model answered with a stored mask, and sentences on what is left out.

    round: the state after this round; None: the last one. selection: of which sessions. `name` of a row is its model
    as reports call it.

    Raises:
        IntraBenchError: there are no such inputs.
    """
    rows, notes = counting(read_rows(results), results)
    if rows.is_empty():
        raise IntraBenchError(
            f"{results} has no results yet; `intrabench run --model M --prompter P --save-masks` computes some"
        )
    rows, lines = with_lines(prompted(selection.of(rows, results)))
    names = dict(lines.select("line", _model(lines)).iter_rows())
    rows = rows.filter(pl.col("round") <= (10**9 if round is None else round), pl.col("status") != "not_applicable")
    last = rows.sort("round").group_by("session", maintain_order=True).last()
    last = last.with_columns(name=pl.col("line").replace_strict(names, return_dtype=pl.String))
    stored = [masks_file(results, session).exists() for session in last["session"]]
    if not any(stored):
        raise IntraBenchError(f"{results} has no masks; repeat the run with --save-masks, which keeps them")
    last = last.filter(pl.Series(stored))
    models = last["name"].n_unique()
    complete = last.filter(pl.col("name").n_unique().over(INPUT) == models)
    left = last.select(INPUT).n_unique() - complete.select(INPUT).n_unique()
    if left:
        notes.append(f"{several(left, 'input')} left out: not all {models} models have a mask of it")
    if complete.is_empty():
        raise IntraBenchError(f"no input of {results} was answered by all of its {models} models; give --model")
    groups = complete.sort("name").partition_by(INPUT, maintain_order=True)
    return [Input(tuple(group.unique("name", maintain_order=True).to_dicts())) for group in groups], notes


def _model(lines: pl.DataFrame) -> pl.Expr:
    """A name of each line without its prompter: what is rated are models."""
    notes = pl.when(pl.col("notes") == "").then(pl.lit("")).otherwise(pl.format(" ({})", "notes"))
    return pl.format("{}{}", "label", notes).alias("model")


def sampled_inputs(inputs: Sequence[Input], count: int, rng: np.random.Generator) -> list[Input]:
    """At most `count` inputs by chance, of as many cases as possible."""
    found: dict[tuple[str, str], list[Input]] = {}
    for place in rng.permutation(len(inputs)).tolist():
        one = inputs[place]
        found.setdefault((one.first["dataset"], one.first["case"]), []).append(one)
    return list(_in_turn(found.values()))[:count]


def _in_turn(groups: Any) -> Iterator[Input]:
    left = [list(group) for group in groups]
    while left:
        for group in left:
            yield group.pop()
        left = [group for group in left if group]
