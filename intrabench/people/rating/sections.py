"""The tables of a study in the order in which they are read, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.people.rating.analysis import Analysis
from intrabench.results.spreadsheet import write_csv

Section = tuple[str, pl.DataFrame]
_SUFFIXES = (".csv", ".parquet")


def sections(found: Analysis) -> Iterator[Section]:
    """Headings with their tables; those without content are left out."""
    answers = found.answers
    if answers["score"].count():
        yield "Mean scores, with 95 % intervals over patients", found.means()
        yield "Differences on the same inputs (p: Wilcoxon, over patients; p_holm: corrected)", found.differences()
        yield "How often each score was given", found.histogram()
        agreed = found.agreement()
        yield (
            "Agreement of raters",
            pl.DataFrame(
                {"measure": list(agreed), "value": list(agreed.values())}, schema_overrides={"value": pl.Float64}
            ),
        )
        yield "Correlation of mean scores with metrics", found.correlations()
        yield "Masks whose score and Dice disagree most", found.disagreeing()
    if answers["pair"].count():
        yield "Which mask is better", found.pairs()
    if answers["clinical"].count():
        yield "Clinical question, shares of answers", found.clinical()
    yield "Raters: median seconds, mean scores of anchors, second looks", found.raters()


def export_answers(answers: pl.DataFrame, file: Path) -> None:
    """Write all answers, one line each, as CSV or Parquet.

    Raises:
        IntraBenchError: the file has another ending, or cannot be written.
    """
    if file.suffix not in _SUFFIXES:
        raise IntraBenchError(f"{file} must end in {' or '.join(_SUFFIXES)}")
    joined = answers.with_columns(pl.col("errors").list.join(" "))
    with writing(file), atomically(file) as part:
        write_csv(joined, part) if file.suffix == ".csv" else joined.write_parquet(part)
