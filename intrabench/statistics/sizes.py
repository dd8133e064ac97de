"""Groups of targets by their volume: thirds of the targets of each label, or between ends that the user gives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.statistics.scores import TARGET

SIZES = ("small", "medium", "large")
_ALIKE = ("dataset", "label")


def ends_of(words: str | Sequence[float]) -> tuple[float, ...]:
    """The ends between groups that ``--size-bins`` means, in ml; none if it was not given.

    Raises:
        IntraBenchError: they are no numbers, or do not increase.
    """
    try:
        ends = tuple(float(word) for word in (words.split(",") if isinstance(words, str) else words) if word != "")
    except ValueError:
        ends = (math.nan,)
    if not all(0 < low < high for low, high in zip(ends, (*ends[1:], math.inf), strict=False)):
        raise IntraBenchError(
            f"--size-bins {words}: give the ends of groups in ml, from small to large, as in 1,10,100"
        )
    return ends


def names_of(ends: Sequence[float]) -> tuple[str, ...]:
    """What the groups are called, the smallest first."""
    if not ends:
        return SIZES
    between = [f"{low:g} to {high:g} ml" for low, high in zip([0, *ends], ends, strict=False)]
    return (*between, f"over {ends[-1]:g} ml")


def with_sizes(rows: pl.DataFrame, ends: Sequence[float] = ()) -> pl.DataFrame:
    """The rows with the group of their target in ``size``, an Enum in the order of `names_of`; null: it has none.

    rows: with `TARGET` and ``target_ml``; a pixel counts as 0.001 ml. Without ends the groups are thirds of the targets
    with the same label in a data set; equal volumes belong to the same. A label with fewer than three targets has none.
    """
    targets = rows.filter(pl.col("target_ml").is_not_null()).group_by(TARGET).agg(pl.col("target_ml").first())
    names = names_of(ends)
    if ends:
        group = pl.sum_horizontal(pl.lit(0), *(pl.col("target_ml").ge(end).cast(pl.Int64) for end in ends))
    else:
        rank = pl.col("target_ml").rank("min") - 1
        targets = targets.filter(pl.len().over(_ALIKE) >= len(SIZES))
        group = (rank * len(SIZES) // pl.len()).cast(pl.Int64).over(_ALIKE)
    kind = pl.Enum(names)
    targets = targets.with_columns(size=group.replace_strict(dict(enumerate(names)), return_dtype=kind))
    return rows.join(targets.drop("target_ml"), on=TARGET, how="left", nulls_equal=True, maintain_order="left")


def found_by_size(scored: pl.DataFrame, ends: Sequence[float] = ()) -> pl.DataFrame:
    """By ``size`` the share ``found`` of targets with a Dice above 0, a mean over seeds, and the number of ``targets``.

    Of labels with several targets in a case, as lesions are: of others a miss is rare. scored: one line, with ``dice``.
    """
    several = pl.col("target").n_unique().over("dataset", "case", "label").max().over(_ALIKE) > 1
    sized = with_sizes(scored.drop_nulls("dice").filter(several), ends).drop_nulls("size")
    share = sized.group_by(*TARGET, "size").agg(found=(pl.col("dice") > 0).mean())
    return share.group_by("size").agg(pl.col("found").mean(), targets=pl.len()).sort("size")
