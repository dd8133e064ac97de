"""The power of comparisons as a table: patients that a study needs, and the smallest difference that results show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.display import Part, Section
from intrabench.reporting.footnotes import Footnotes, infinite_marks
from intrabench.reporting.table import names_in
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.statistics.compare import Settings, paired
from intrabench.statistics.contests import Contest, contests, contests_of_models, folders_of
from intrabench.statistics.coverage import unequal
from intrabench.statistics.difficulty import PARTS
from intrabench.statistics.evaluation import about
from intrabench.statistics.infinite import Infinite, signed
from intrabench.statistics.measures import described, summary
from intrabench.statistics.notes import mean_of
from intrabench.statistics.power import CAUTIOUS, DIFFERENCE, Question, plan
from intrabench.statistics.resample import AVERAGE, FEW
from intrabench.statistics.scores import UNIT
from intrabench.statistics.scores import metric as metric_called
from intrabench.statistics.soundness import check_round
from intrabench.statistics.statistic import Statistic, averaged_otherwise, statistic_of

FOUND = "found"
"""The word for the difference that the results have."""

VARIANCE = "variance %"
"""Heading of the shares of variance."""

RIGHT = ("difference", "sd", "needed", "smallest", VARIANCE)
"""Columns of texts that are numbers."""


@dataclass(frozen=True)
class PowerTable:
    """What results tell about the size of the next study.

    frame: all numbers with all digits, a row per pair of lines and data set. readable: the same for people, without
    what all rows have in common; of many pairs only the averages over data sets. keys: the columns of it that say what
    a line is. said: what the numbers mean and assume. left_out: which sessions do not count. folders: those read.
    """

    frame: pl.DataFrame
    readable: pl.DataFrame
    heading: str
    keys: Sequence[str]
    notes: Footnotes
    said: Sequence[str]
    left_out: Sequence[str]
    folders: Sequence[Path]

    @property
    def parts(self) -> list[Part]:
        """What people see first."""
        return [Section(self.heading, self.readable, self.notes, self.keys, RIGHT), *self.said]


def make_power(
    folder: Path,
    a: str = "",
    b: str = "",
    *,
    metric: str,
    round: int | None,
    difference: str,
    alpha: float,
    power: float,
    aggregation: str,
    failed: str,
    empty: str,
    by: str = "",
    selection: Selection = EVERYTHING,
) -> PowerTable:
    """The power of comparisons of A and B, as `contests` has them; without these, of every two models of a folder.

    difference: a number; `FOUND`; or empty, 0.02 if the metric is a score from 0 to 1.

    Raises:
        IntraBenchError: a name or an option is unknown, or nothing is in common.
    """
    asked = statistic_of(metric, aggregation, failed, empty, round)
    if bool(a) != bool(b):
        raise IntraBenchError(
            f"{a or b} alone is no comparison; give two results folders, models or prompters, or none"
        )
    parts = names_in(by)
    pairs, left_out = _pairs(folder, a, b, asked, selection, parts)
    played = pl.concat((side for *_, one in pairs for side in (one.a, one.b)), how="diagonal_relaxed")
    folders = folders_of(folder, a, b) if a else [folder]
    check_round(played, round, *folders)
    statistic = asked.of_protocols(played["protocol"])
    question = Question(_difference(difference, statistic.metric), alpha, power)
    settings = Settings(statistic.metric, round, statistic.how, statistic.policy)
    frame, uneven = _frame(pairs, settings, question)
    shown = frame if a else _averages(frame)
    keys = shown.columns[: shown.columns.index("patients")]
    common = {name: str(shown[name][0]) for name in keys if shown[name].n_unique() == 1}
    if len(common) == len(keys):  # a line needs a name
        del common["dataset"]
    readable = _readable(shown).drop(common).rename({"a": "A", "b": "B"}, strict=False)
    return PowerTable(
        frame,
        readable,
        "; ".join(filter(None, [_heading(settings, question, common), about(selection, settings.metric, parts)])),
        readable.columns[: readable.columns.index("needed")],
        infinite_marks([*map(_infinite, shown.iter_rows(named=True))], "difference", signed),
        [*_said(frame, shown, question), *uneven],
        [*dict.fromkeys([*left_out, *averaged_otherwise(played["protocol"], settings.how)])],
        folders,
    )


def _pairs(
    folder: Path, a: str, b: str, asked: Statistic, selection: Selection, by: Sequence[str]
) -> tuple[list[tuple[str, str, Contest]], list[str]]:
    """The pairs of lines with the names of both, and what is left out."""
    if not a:
        return contests_of_models(folder, asked, selection, by)
    found = contests(folder, a, b, asked, selection, by)
    return [(a, b, one) for one in found], [text for one in found for text in one.left_out]


def _difference(words: str, metric: str) -> float | None:
    """The difference to see; None: the one that is found."""
    if words == FOUND:
        return None
    if words:
        try:
            return float(words)
        except ValueError:
            raise IntraBenchError(f"--difference {words}: give a number in units of the metric, or {FOUND}") from None
    if summary(metric) is None and getattr(metric_called(metric), "bounds", None) == (0, 1):
        return DIFFERENCE
    raise IntraBenchError(
        f"{metric} is no score from 0 to 1, so say which difference matters: --difference and a number in its unit, "
        f"or --difference {FOUND}"
    )


def _frame(
    pairs: Sequence[tuple[str, str, Contest]], settings: Settings, question: Question
) -> tuple[pl.DataFrame, list[str]]:
    """`PowerTable.frame`, in the order of what pairs have in common, then of their names; and pairs of few targets."""
    heads = [*dict.fromkeys(name for *_, one in pairs for name in one.shared)]
    parts = [name for name in heads if name in PARTS]
    frames, compared = [], []
    for a, b, one in pairs:
        units = paired(one.a, one.b, settings)
        if not units.is_empty():
            keys = {name: one.shared.get(name, "") for name in heads} | {"a": a, "b": b}
            found = plan(units, settings.how, question)
            apart = {name: pl.lit(keys[name]) for name in parts}
            pair = pl.lit(f"{one.head}, {a} and {b}")
            compared.append(units.select(*UNIT, "value").with_columns(pair=pair, **apart))
            frames.append(found.select(*(pl.lit(text).alias(name) for name, text in keys.items()), pl.all()))
    if not frames:
        raise IntraBenchError("no two lines have a target and seed in common; run them on the same data and seeds")
    few = unequal(pl.concat(compared), ["pair", *parts]).select("pair", "dataset", "note").sort(pl.all())
    uneven = [f"{pair}: {mean_of(note)} (of {dataset})" for pair, dataset, note in few.iter_rows()]
    return pl.concat(frames).sort(heads, maintain_order=True), uneven


def _averages(frame: pl.DataFrame) -> pl.DataFrame:
    """Of each pair only the average over data sets, if that has all numbers."""
    keys = frame.columns[: frame.columns.index("dataset")]
    average = (pl.col("dataset") == AVERAGE) & pl.col("sd").is_not_null()
    return frame.filter(average | ~average.any().over(keys))


def _infinite(row: Mapping[str, Any]) -> Infinite:
    """What is infinite among the differences of a row of `plan`."""
    both = row["both_infinite"]
    median = row["median"] if row["median"] is not None and isfinite(row["median"]) else None
    return Infinite(row["infinite"], row["units"] - both, row["others"], both=both, median=median)


def _readable(frame: pl.DataFrame) -> pl.DataFrame:
    """The numbers as people read them."""

    def text(name: str, form: str) -> pl.Expr:
        return pl.col(name).map_elements(lambda value: format(value, form), pl.String).fill_null("-")

    shares = [
        (100 * pl.col(name)).map_elements(lambda share: f"{share:.0f}", pl.String).fill_null("-")
        for name in ("of_patients", "of_targets", "of_seeds")
    ]
    known = pl.col("of_patients").is_not_null()
    return frame.select(
        *frame.columns[: frame.columns.index("patients")],
        pl.format("{} to {}", "needed", "needed_high").fill_null("-").alias("needed"),
        text("smallest", ".3f"),
        pl.col("patients"),
        text("difference", "+.3f"),
        text("sd", ".3f"),
        pl.when(known).then(pl.concat_str(shares, separator="/")).otherwise(pl.lit("-")).alias(VARIANCE),
    )


def _heading(settings: Settings, question: Question, common: Mapping[str, str]) -> str:
    """What the numbers are of, with what all pairs have in common."""
    what = "the difference found" if question.difference is None else f"a difference of {question.difference:g}"
    a, b = (common.get(name, name.upper()) for name in "ab")
    named = (text for name, text in common.items() if name not in "ab")
    among = ", ".join("average over data sets" if text == AVERAGE else text for text in named)
    return (
        f"patients to see {what} with probability {question.power:g} (paired t test, two-sided, alpha "
        f"{question.alpha:g}): {described(settings.metric)} of {b} minus {a}{f' ({among})' if among else ''}, positive "
        f"if {b} is better: {settings.how.description}; {settings.policy.describe()}"
    )


def _said(frame: pl.DataFrame, shown: pl.DataFrame, question: Question) -> list[str]:
    """What the columns mean and assume, and what is left out of them."""
    several = AVERAGE in frame["dataset"]
    lines = [
        "needed: patients of a new study if they are drawn as these were, have as many targets and seeds, and if their "
        f"mean differences are about normal with sd; to: for the upper {100 * CAUTIOUS:.0f} % limit of sd, which is "
        "itself an estimate from these patients"
        + ("; of the average: of all data sets together, the same number of each" if several else ""),
        "smallest: the smallest true difference that as many patients as these show with that probability",
        f"{VARIANCE}: of single differences, between patients/targets/seeds; more targets or seeds per patient lessen "
        "only their shares; -: one in each, so that the share before has both",
        "one comparison is assumed; for several, give a smaller --alpha",
    ]
    if question.difference is None:
        lines.append("a difference that was found is itself uncertain; better plan for the smallest that matters")
    if len(shown) < len(frame):
        lines.append("single data sets: give two models, or --csv")
    single = frame.filter(pl.col("dataset") != AVERAGE)
    few = single.filter(pl.col("patients") < FEW).group_by("dataset").agg(pl.col("patients").min()).sort("dataset")
    if not few.is_empty():
        told = ", ".join(f"{name} ({patients})" for name, patients in few.iter_rows())
        lines.append(f"fewer than {FEW} patients, too few to say how much they differ: {told}")
    if single["infinite"].sum():
        lines.append("infinite differences are left out of all numbers but the difference")
    if shown["sd"].eq(0).any():
        lines.append("sd 0: all patients differ alike, so that no number can be computed")
    return lines
