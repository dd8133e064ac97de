"""Parts of figures: their style, panels, legends, scales and notes, and how they are saved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from math import ceil, inf, log10
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.files.names import one_line
from intrabench.protocols import PROTOCOLS
from intrabench.statistics.measures import summary
from intrabench.statistics.scores import metric as metric_of

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours for colour-blind readers, without yellow, which is hard to see on white."""


_MARKS, _DASHES = "os^Dv", ("-", "--", ":")


def style() -> Any:
    """Small type, no frames; text in SVG and PDF stays text, and dollars in names are no formulas."""
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise IntraBenchError("figures need matplotlib; run: pip install 'intrabench[report]'") from error
    return rc_context(
        {
            "font.size": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 9,
            "legend.frameon": False,
            "lines.markersize": 4,
            "figure.constrained_layout.use": True,
            "text.parse_math": False,
            "svg.fonttype": "none",
            "svg.hashsalt": "intrabench",
            "pdf.fonttype": 42,
        }
    )


def metric_head(metric: str) -> str:
    """What a metric is called on an axis: as its protocols call it, if they do."""
    if metric == "dice":
        return "Dice"
    called = {spec: head for preset in PROTOCOLS.values() for head, spec in preset.numbers if summary(spec)}
    return called.get(metric) or (metric if summary(metric) else metric_of(metric).head)


def panels_for(titles: Sequence[str], shared: bool) -> tuple[Any, Sequence[Any]]:
    """A figure with a panel for each title, up to three side by side. shared: they have the same axes."""
    from matplotlib.figure import Figure

    columns = max(1, min(len(titles), 3))
    rows, texts = max(1, ceil(len(titles) / columns)), [folded(one_line(title), _TITLE) for title in titles]
    figure = Figure(figsize=(2.6 * columns + 0.4, rows * (2.06 + 0.14 * most_lines(texts)) + 0.3))
    panels = figure.subplots(rows, columns, sharex=shared, sharey=shared, squeeze=False).ravel()
    for panel, title in zip(panels, texts, strict=False):
        panel.set(title=title)
    for panel in panels[len(titles) :]:
        panel.remove()
    return figure, panels[: len(titles)].tolist()


def panel_beside(names: Sequence[str], margin: float) -> tuple[Any, Any]:
    """A figure with a panel that has room for names beside it (`listed`), and `margin` inches besides."""
    from matplotlib.figure import Figure

    texts = [folded(one_line(name), LISTED) for name in names]
    longest = max((len(line) for name in texts for line in name.split("\n")), default=0)
    height = len(texts) * (0.07 + 0.13 * most_lines(texts)) + margin
    figure = Figure(figsize=(max(5.5, 3 + longest / (_LETTERS_PER_INCH * _SMALL / 8)), height))
    return figure, figure.subplots()


def add_legend(figure: Any, handles: Mapping[str, Any], names: Sequence[str]) -> None:
    """A legend below the panels, in as many columns as fit, with room of its own."""
    letters = int(figure.get_figwidth() * _LETTERS_PER_INCH * _SMALL / 8)
    texts = [folded(name, letters - _KEY) for name in names]
    widest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    columns = max(1, min(letters // (widest + _KEY), 4, len(texts)))
    figure.set_figheight(figure.get_figheight() + 0.17 * ceil(len(texts) / columns) * most_lines(texts))
    figure.legend([handles[name] for name in names], texts, loc="outside lower left", ncols=columns)


def in_legend(name: str) -> str:
    name = one_line(name)
    return f" {name}" if name.startswith("_") else name  # matplotlib leaves such names out of legends


def folded(text: str, letters: int) -> str:
    """The text in lines of at most so many letters, broken after the signs of a spec where that is possible."""
    lines = [""]
    for part in _AFTER.sub(r"\1\n", text).split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > letters:
            lines.append("")
        lines[-1] += part
        while len(lines[-1]) > letters:
            lines[-1:] = [lines[-1][:letters], lines[-1][letters:]]
    return "\n".join(lines)


def most_lines(texts: Iterable[str]) -> int:
    return max((text.count("\n") + 1 for text in texts), default=1)


_AFTER = re.compile(r"([:,+/ ])(?=\S)")


_TITLE, LISTED, _KEY = 28, 60, 8
"""Letters of a line of a panel's title, of a name beside a panel, and of the space that a legend's mark takes."""


def listed(panel: Any, names: Sequence[str]) -> None:
    """Names on the vertical axis, the first on top."""
    panel.set_yticks(range(len(names)), [folded(one_line(name), LISTED) for name in names])
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="x", linewidth=0.5, alpha=0.4)


def look(number: int) -> dict[str, Any]:
    """A colour, a marker and a dash pattern, whose combination identifies a line."""
    looks: tuple[Sequence[str], ...] = (_COLOURS, _MARKS, _DASHES)
    colour, mark, dash = (look[number % len(look)] for look in looks)
    return {"color": colour, "marker": mark, "linestyle": dash, "markerfacecolor": "white"}


def logarithmic(panel: Any, which: Literal["x", "y"] = "x", steps: Sequence[int] = ()) -> None:
    """A scale of 1, 2, 5, 10, ..., written as such; without `steps`, fewer numbers the more powers of ten there are."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullLocator

    class Fewer(LogLocator):
        def tick_values(self, low: float, high: float) -> Any:
            # How far the scale reaches is known only when the figure is drawn, so what is written is chosen here.
            # Without so many ticks, matplotlib would leave powers of ten out.
            powers = log10(max(high, low) / min(high, low)) if min(high, low) > 0 else 0
            self.set_params(subs=steps or next(subs for most, subs in _SUBS if powers <= most), numticks=99)
            return super().tick_values(low, high)

    panel.set(**{f"{which}scale": "log"})
    axis = {"x": panel.xaxis, "y": panel.yaxis}[which]
    axis.set_major_locator(Fewer())
    axis.set_major_formatter(FormatStrFormatter("%g"))
    axis.set_minor_locator(NullLocator())
    panel.grid(axis="y", linewidth=0.5, alpha=0.4)


_SUBS = ((0.7, range(1, 10)), (1.5, (1, 2, 5)), (2.5, (1, 3)), (inf, (1,)))
"""What is written of each power of ten, by the most powers that a scale spans."""


_SMALL = 6


_LETTERS_PER_INCH = 20  # of the type of notes; on average 22 fit, and lines of wide letters must, too


def add_note(figure: Any, note: str, *, beside_legend: bool) -> None:
    """The figure with a sentence in small type at its foot; above the legend, if that is there, too."""
    if note:
        letters = int(figure.get_figwidth() * _LETTERS_PER_INCH)
        lines = wrap(one_line(note), letters, break_on_hyphens=False)
        if beside_legend:
            (legend,) = figure.legends
            legend.set_title("\n".join(lines), {"size": _SMALL})
            legend.set_alignment("left")
        else:
            figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=_SMALL)
        figure.set_figheight(figure.get_figheight() + 0.13 * len(lines))


def as_svg(figure: Any) -> str:
    """A figure as SVG, to stand in a page."""
    content = BytesIO()
    with style():
        figure.savefig(content, format="svg", metadata={"Date": None})
    text = content.getvalue().decode()
    return text[text.index("<svg") :]


def save(figure: Any, folder: Path, name: str, formats: Sequence[str]) -> list[Path]:
    paths = [folder / f"{name}.{format}" for format in formats]
    for path in paths:  # without the date, so that equal results give equal files
        dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        content = BytesIO()  # where writing a PDF fails, matplotlib hides why
        figure.savefig(content, format=path.suffix[1:], dpi=200, metadata=dated.get(path.suffix))
        with writing(path), atomically(path, durable=False) as part:
            part.write_bytes(content.getbuffer())
    return paths
