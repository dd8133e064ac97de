"""`make_methods`: the methods of a results folder as text, Markdown or LaTeX, with a checklist and a .bib file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from intrabench.publishing.methods.checklist import Item, paragraphs
from intrabench.publishing.methods.markup import Bibliography, Format, count, listed, name, write
from intrabench.publishing.methods.outcomes import measure
from intrabench.publishing.methods.provenance import Provenance, provenance
from intrabench.reporting.figures import drawn_figures
from intrabench.reporting.footnotes import COMMON, Footnotes, Place, few_patients, footnotes
from intrabench.reporting.formats import escaped, formatted
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.statistics.coverage import unequal
from intrabench.statistics.measures import summary
from intrabench.statistics.statistic import averaged_otherwise, statistic_of


@dataclass(frozen=True)
class Methods:
    """What a paper says of a results folder.

    paragraphs: by title, sentences with marks (`markup`). table: first and last values of each line, with `notes` at
    numbers of few patients or targets. checklist: what is reported where, and what is not reported. figures: the files
    that ``intrabench figures`` draws. left_out: older sessions that do not count, and protocols that average otherwise.
    """

    paragraphs: dict[str, str]
    caption: str
    table: pl.DataFrame
    notes: Footnotes
    checklist: Sequence[Item]
    figures: Sequence[str]
    bibliography: Bibliography
    left_out: Sequence[str]

    @property
    def bibtex(self) -> str:
        """The citations as the content of a .bib file."""
        return self.bibliography.bibtex()

    def written(self, format: Format = "text") -> str:
        """All of it; citations are numbers in text, ``[@key]`` in Markdown and ``\\cite{key}`` in LaTeX."""
        parts = [*self._paragraphs(format), *self._results(format), *self._checklist(format)]
        return "\n\n".join([*parts, *(self._references() if format == "text" else ())]) + "\n"

    def _paragraphs(self, format: Format) -> list[str]:
        numbers = {key: number for number, key in enumerate(self.bibliography.entries, 1)}
        texts = {title: write(text, format, numbers) for title, text in self.paragraphs.items()}
        return [_heading("Methods", format), *(_titled(title, text, format) for title, text in texts.items() if text)]

    def _results(self, format: Format) -> list[str]:
        drawn = f"`intrabench figures` draws {listed([name(one) for one in self.figures])}."
        shown = "csv" if format == "text" else format
        table = _plain(self.table, self.notes) if format == "text" else formatted(self.table, shown, self.notes)
        return [
            _heading("Results", format),
            write(self.caption, format, {}),
            table.rstrip("\n"),
            write(drawn, format, {}),
        ]

    def _checklist(self, format: Format) -> list[str]:
        return [
            _heading("Reporting checklist", format),
            _list([(one.what, one.reported) for one in self.checklist], format),
        ]

    def _references(self) -> list[str]:
        texts = self.bibliography.entries.values()
        return [_heading("References", "text"), "\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))]


def make_methods(
    folder: Path,
    *,
    metric: str = "",
    aggregation: str = "protocol",
    failed: str,
    empty: str,
    selection: Selection = EVERYTHING,
) -> Methods:
    """The methods of a results folder.

    metric: empty is the number that leads in the protocols of the rows, averaged as they do, if they agree; else dice.

    Raises:
        IntraBenchError: there are no results of prompted models, or an option is unknown.
    """
    found = provenance(folder, statistic_of(metric, aggregation, failed, empty), selection)
    bibliography = Bibliography()
    left_out = [*found.left_out, *averaged_otherwise(found.rows["protocol"], found.statistic.how)]
    texts, items = paragraphs(found, bibliography)
    table, notes = _table(found)
    figures = [f"{one}.png" for one in drawn_figures(found)]
    return Methods(texts, _caption(found), table, notes, items, figures, bibliography, left_out)


def _caption(of: Provenance) -> str:
    sets = of.counts.height
    over = "on the data set" if sets == 1 else f"on average over {count(sets, 'data set')}"
    ends = "after the first prompts (initial) and after the last correction (final)" if of.corrections else "(final)"
    ends = ends if summary(of.statistic.metric) is None else "(value)"
    return (
        f"Mean {measure(of.statistic.metric)} {over} {ends}, with intervals of 95 % over patients, and the means over "
        "sessions of interactions, estimated seconds of the user and seconds of the machine."
    )


def _table(of: Provenance) -> tuple[pl.DataFrame, Footnotes]:
    """First and last values as texts, and marks at those of few patients, or of fewer targets than others."""
    found = of.results
    columns = {
        "prompter": pl.col("shown"),
        "model": pl.col("label"),
        "notes": pl.col("notes"),
        "patients": pl.col("patients"),
    }
    if of.corrections and "first" in found.columns:
        columns["initial"] = _with_interval("first")
    heading = "final" if summary(of.statistic.metric) is None else "value"
    columns[heading] = _with_interval("last")
    cost = {"interactions": "interactions", "seconds": "human s", "machine_s": "machine s"}
    columns |= {heading: pl.col(column) for column, heading in cost.items()}
    table = found.select(value.alias(heading) for heading, value in columns.items())
    table = table.drop("notes") if table["notes"].eq("").all() else table
    valued = of.scored.join(found.filter(pl.col("last").is_not_null()), on="line", how="semi")
    fewer = footnotes(found, [Place(unequal(valued, ["line"]), ["line"], [heading])])
    fewer = replace(fewer, texts={mark: text.removesuffix(COMMON) for mark, text in fewer.texts.items()})
    few = few_patients(found.select(pl.when(pl.col("last").is_not_null()).then("fewest"))["fewest"], [heading])
    return table, fewer.with_marks(few)


def _with_interval(column: str) -> pl.Expr:
    """``0.512 [0.401, 0.623]``; a dash where there are too few patients for an interval; what is infinite or a miss."""
    ends = [
        pl.col(f"{column}{end}").map_elements(lambda value: f"{value:.3f}", pl.String) for end in ("", "_low", "_high")
    ]
    cell = pl.when(ends[1].is_not_null()).then(pl.format("{} [{}, {}]", *ends)).otherwise(pl.format("{} [-]", ends[0]))
    misses, infinite = (pl.col(f"{column}_{name}") for name in ("misses", "words"))
    cell = pl.when(misses != "").then(pl.format("{}, {}", cell, misses)).otherwise(cell)
    return pl.when(infinite != "").then(infinite).otherwise(cell)


def _plain(frame: pl.DataFrame, notes: Footnotes) -> str:
    """The table with columns of equal width."""
    from intrabench.reporting.formats import texts

    columns = []
    for heading in frame.columns:
        marks = notes.marks.get(heading, [""] * frame.height)
        cells = zip(texts(frame[heading].to_list()), marks, strict=True)
        columns.append([heading, *(f"{text} {mark}".rstrip() for text, mark in cells)])
    widths = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in zip(*columns, strict=True)
    ]
    return "\n".join([*(line.rstrip() for line in lines), *notes.lines()])


def _heading(text: str, format: Format) -> str:
    return {"text": text.upper(), "markdown": f"## {text}", "latex": rf"\section*{{{text}}}"}[format]


def _titled(title: str, text: str, format: Format) -> str:
    if format == "latex":
        return rf"\paragraph{{{title}.}} {text}"
    return f"**{title}.** {text}" if format == "markdown" else f"{title}. {text}"


def _list(items: Sequence[tuple[str, str]], format: Format) -> str:
    texts = [f"{what}: {word}" for what, word in items]
    if format == "latex":
        lines = "\n".join(rf"\item {escaped(text.replace('`', ''), format)}" for text in texts)
        return f"\\begin{{itemize}}\n{lines}\n\\end{{itemize}}"
    return "\n".join(f"- {write(text, format, {})}" for text in texts)
