"""Parameters of superpixel methods as the benchmark chooses them: the least 1 - Rec + UE on training images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from intrabench.statistics.superpixels import SuperpixelScores
from intrabench.superpixels.tuned import tuned_words

BAND = 2.0
"""Settings that give, on average, more or fewer superpixels than this times the number asked for are not chosen."""


def losses(found: SuperpixelScores) -> pl.DataFrame:
    """A line per `method` and `asked`, mean over images, then over data sets: `K`, `rec`, `ue_np` and `loss`.

    loss: 1 - Rec + UE. Settings beyond `BAND`, or that always fail, are left out; the least loss of each number is
    first.
    """
    columns = pl.col("sp", "rec", "ue_np").mean()
    means = found.images.group_by("dataset", "method", "asked").agg(columns).group_by("method", "asked").agg(columns)
    means = means.filter((pl.col("sp") / pl.col("asked")).is_between(1 / BAND, BAND))
    means = means.with_columns(loss=1 - pl.col("rec") + pl.col("ue_np")).rename({"sp": "K"})
    return means.sort("asked", "loss", "method")


@dataclass(frozen=True)
class Choice:
    """What was chosen of one method.

    by_number: of each number asked for the chosen `parameters`, and the columns of `losses`. missed: sentences on the
    numbers at which nothing was.
    """

    by_number: Mapping[int, Mapping[str, Any]]
    missed: Sequence[str] = ()

    @property
    def tuned(self) -> str:
        """Its parameters by number (`tuned_words`); empty if nothing was chosen."""
        chosen = {number: line["parameters"] for number, line in self.by_number.items()}
        return tuned_words(chosen) if chosen else ""


def choose(
    table: pl.DataFrame, name: str, tried: Mapping[str, Mapping[str, int | float]], numbers: Sequence[int]
) -> Choice:
    """The settings of a method with the least loss at each number at which one gives about as many superpixels.

    table: `losses`. tried: parameters, by the method as `table` has it.
    """
    found, missed = {}, []
    for number in numbers:
        lines = table.filter((pl.col("asked") == number) & pl.col("method").is_in(list(tried)))
        if lines.is_empty():
            missed.append(
                f"no setting of {name} gives between {number / BAND:g} and {number * BAND:g} superpixels where "
                f"{number} are asked for"
            )
        else:
            line = lines.row(0, named=True)
            found[number] = {"parameters": tried[line["method"]], **line}
    return Choice(found, missed)
