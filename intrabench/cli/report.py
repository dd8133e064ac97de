"""Commands to look at results: table, compare, power, report, figures."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from intrabench.cli.console import echo, note
from intrabench.cli.options import completes, of_results
from intrabench.cli.results import Out, tell_lacking, tell_page, tell_selection
from intrabench.cli.shared import Json, Plugins, add_plugins, flag, show
from intrabench.cli.verbosity import quiet
from intrabench.errors import IntraBenchError

if TYPE_CHECKING:
    import polars as pl

    from intrabench.reporting.make_table import Table
    from intrabench.reporting.reference.claims import PublishedClaims
    from intrabench.results.selection import Selection

Metric = Annotated[
    str,
    typer.Option(
        "--metric",
        help="A metric of `intrabench list metrics`; seconds (machine time); "
        "auc, noc:threshold=0.9, nof, regressions, cvpr25_auc, rclicks_auc. Default: what "
        "the protocol of the results reports, else dice",
        autocompletion=completes("metrics"),
    ),
]
Round = Annotated[int | None, typer.Option("--round", help="State after this round. Default: the last.")]
How = Annotated[str, typer.Option("--aggregation", help="protocol, class-first, case, pooled; table: also matched")]
Failed = Annotated[
    str, typer.Option("--failed", help="How failures count: worst (value), all (also those of data) or drop.")
]
Empty = Annotated[str, typer.Option("--empty", help="How empty answers count: worst (value) or drop.")]

SizeBins = Annotated[
    str,
    typer.Option("--size-bins", metavar="ML", help="Groups by size, cut there: 1,10,100. Default: thirds by label."),
]

Parts = Annotated[str, typer.Option("--by", help="Pairs apart by label, difficulty or difficulty_in_label.")]

Correlate = Annotated[
    list[str],
    typer.Option(
        "--correlate",
        help="Pearson and Spearman over models between numbers of the table (dsb), metrics (noc), and numbers of other "
        "tables (rclicks_auc.dsb); all: of groups what RClicks shows, else everything.",
    ),
]


def add_reports(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    for command in (table, compare, power, report, figures):
        app.command()(command)


@of_results()
def table(
    out: Out = None,
    metric: Metric = "",
    round: Round = None,
    per_round: Annotated[bool, flag("--per-round", help="A line per round, not only the last.")] = False,
    by: Annotated[str, typer.Option(help="Columns that define lines, e.g. model or model,prompter.")] = "",
    columns: Annotated[str, typer.Option(help="Column that defines the columns, e.g. label.")] = "dataset",
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    groups: Annotated[bool, flag("--groups", help="Robustness to the position of clicks.")] = False,
    users: Annotated[bool, flag("--users", help="Real first clicks beside simulated ones.")] = False,
    spread: Annotated[
        str, typer.Option(help="How much targets vary, and how bad they get, over: seed, hand or group (of clicks).")
    ] = "",
    correlate: Correlate = [],  # noqa: B006
    difficulty: Annotated[
        bool,
        flag("--difficulty", help="Targets from the hardest on; --by dataset, label or difficulty puts them together."),
    ] = False,
    interval: Annotated[bool, flag("--interval", help="Show the 95 % interval of every cell.")] = False,
    counts: Annotated[bool, flag("--counts", help="Show cases/targets of every cell, and !failures.")] = False,
    common: Annotated[bool, flag("--common", help="Only the targets that all lines have.")] = False,
    reference: Annotated[str, typer.Option(help="Compare with published numbers: paper.")] = "",
    format: Annotated[str, typer.Option(help="text, csv, markdown, latex, html or json")] = "text",
    csv: Annotated[bool, flag("--csv", help="Same as --format csv.")] = False,
    json: Annotated[bool, flag("--json", help="Same as --format json.")] = False,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Tabulate effort against a metric."""
    # At the beginning, where nothing is local but the arguments.
    asked = {name: value for name, value in locals().items() if name not in ("out", "format", "csv", "json", "plugin")}
    from intrabench.reporting.make_table import TableQuery, make_table
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folder = results_folder(out)
    found = make_table(folder, TableQuery(**asked))
    kind = "csv" if csv else "json" if json else format
    show_table(found, kind)
    if kind != "text":  # whose heading says it
        tell_selection(selection)
    echo(*found.left_out, err=True)
    tell_lacking(folder)


def show_table(table: Table, format: str = "text", everything: str = "--csv has everything") -> None:
    """Print a table with its footnotes, and below it the models that were trained on the data."""
    from intrabench.cli.console import print_parts
    from intrabench.reporting.formats import formatted
    from intrabench.reporting.table import readable

    if format == "text":
        print_parts(table.parts, everything)
        return
    frame = table.frame if format in ("csv", "json") else readable(table.frame)
    echo(*formatted(frame, format, table.notes.of(frame.columns)).removesuffix("\n").split("\n"))
    echo(*filter(None, [table.lost]), err=True)


@of_results()
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A results folder, a model or a prompter.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one of the same kind.")],
    out: Out = None,
    metric: Metric = "",
    round: Round = None,
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    by: Parts = "",
    size_bins: SizeBins = "",
    reference: Annotated[
        str, typer.Option(help="Published numbers: paper. A is one of its models, such as SAM2 or paper:sam2.")
    ] = "",
    correlation: Annotated[
        str, typer.Option(help="With --reference: the correlations of both scores that are assumed.")
    ] = "0.5,0.7,0.9",
    csv: Annotated[bool, flag("--csv", help="All digits, as CSV.")] = False,
    json: Json = False,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Compare two runs, models or prompters on the same targets. Exit code 1: B is significantly worse somewhere."""
    names = ("a", "b", "metric", "round", "aggregation", "failed", "empty", "selection")
    arguments: dict[str, Any] = {name: value for name, value in locals().items() if name in names}
    from intrabench.cli.console import print_parts
    from intrabench.reporting.comparison import as_json, long, make_comparison, make_published_comparison
    from intrabench.reporting.formats import formatted
    from intrabench.statistics.contests import folders_of
    from intrabench.workspace import results_folder

    if csv and json:
        raise IntraBenchError("--csv and --json are different outputs; give one of them")
    add_plugins(plugin)
    folder = results_folder(out)
    if reference:
        for option, given in (("--by", by), ("--size-bins", size_bins)):
            if given:
                raise IntraBenchError(f"{option} {given} cannot be combined with --reference; omit one of them")
        claims = make_published_comparison(folder, **arguments, reference=reference, correlation=_numbers(correlation))
        _show_published(claims, a, b, "csv" if csv else "json" if json else "text")
        if csv or json:
            tell_selection(selection)
        tell_lacking(folder)
        return
    found = make_comparison(folder, **arguments, by=by, size_bins=size_bins)
    if json:
        show(as_json(found, a, b), json)
    elif csv:
        echo(*formatted(long(found), "csv").removesuffix("\n").split("\n"))
        tell_selection(selection)
    else:
        print_parts(found.parts, everything="--csv has everything")
    tell_lacking(*folders_of(folder, a, b))
    if any(one.worse for one in found.values()):
        raise typer.Exit(1)


@of_results()
def power(
    a: Annotated[str, typer.Argument(metavar="A", help="A results folder, a model or a prompter.")] = "",
    b: Annotated[
        str, typer.Argument(metavar="B", help="Another one of the same kind. Default: every two models.")
    ] = "",
    out: Out = None,
    metric: Metric = "",
    round: Round = None,
    difference: Annotated[
        str,
        typer.Option(
            "--difference",
            help="The true difference to see, in units of the metric; found: the one of the results. "
            "Default: 0.02 of scores from 0 to 1.",
        ),
    ] = "",
    alpha: Annotated[float, typer.Option("--alpha", help="Level of the two-sided test.")] = 0.05,
    power: Annotated[float, typer.Option("--power", help="Probability of seeing the difference.")] = 0.8,
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    by: Parts = "",
    format: Annotated[str, typer.Option(help="text, csv, markdown, latex, html or json")] = "text",
    csv: Annotated[bool, flag("--csv", help="Same as --format csv.")] = False,
    json: Annotated[bool, flag("--json", help="Same as --format json.")] = False,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Say how many patients a comparison needs, the smallest difference it can see, and where differences vary."""
    apart = ("out", "format", "csv", "json", "plugin")
    given: dict[str, Any] = {name: value for name, value in locals().items() if name not in ("apart", *apart)}
    from intrabench.cli.console import print_parts
    from intrabench.reporting.footnotes import Footnotes
    from intrabench.reporting.formats import formatted
    from intrabench.reporting.power import make_power
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    found, kind = make_power(results_folder(out), **given), "csv" if csv else "json" if json else format
    if kind == "text":
        print_parts(found.parts, everything="--csv has everything")
    else:
        frame = found.frame if kind in ("csv", "json") else found.readable
        notes = Footnotes() if kind in ("csv", "json") else found.notes
        echo(*formatted(frame, kind, notes).removesuffix("\n").split("\n"))
        tell_selection(selection)
    echo(*found.left_out, err=True)
    tell_lacking(*found.folders)


def _numbers(words: str) -> list[float]:
    try:
        return [float(word) for word in words.split(",")]
    except ValueError:
        raise IntraBenchError(
            f"--correlation {words}: give numbers with commas between them, such as 0.5,0.9"
        ) from None


def _show_published(claims: PublishedClaims, a: str, b: str, format: str) -> None:
    """Print our numbers beside published ones, and what the probabilities assume."""
    from intrabench.cli.console import print_parts
    from intrabench.reporting.comparison import published_parts
    from intrabench.reporting.formats import formatted

    if format != "text":
        echo(*formatted(claims.frame, format).removesuffix("\n").split("\n"))
        return
    print_parts(published_parts(claims, a, b))


@of_results()
def report(
    file: Annotated[Path, typer.Argument(help="The HTML file.")] = Path("report.html"),
    out: Out = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="The score that leads: a metric, noc:threshold=0.9, auc, ... Default: that of the protocol, else dice",
            autocompletion=completes("metrics"),
        ),
    ] = "",
    title: Annotated[str, typer.Option("--title", help="The heading of the page.")] = "",
    open: Annotated[bool, flag("--open", help="Open the page in a browser.")] = False,
    views: Annotated[
        int,
        typer.Option("--views", help="Number of targets in the viewer, per data set; very many are shown coarser."),
    ] = 12,
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    size_bins: SizeBins = "",
    ratings: Annotated[
        Path | None, typer.Option("--ratings", metavar="STUDY", help="Also show what people said in this rating study.")
    ] = None,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Write one HTML file: which model is best at a budget, tables, curves, failures, and a viewer of targets."""
    from intrabench.engine.progress.display import showing_steps
    from intrabench.reporting.page.page import write_report
    from intrabench.reporting.page.render import is_html
    from intrabench.statistics.statistic import statistic_of
    from intrabench.workspace import results_folder

    if out and is_html(out):
        raise IntraBenchError(f"--out {out}: that is the results folder; name the file without an option: report {out}")
    add_plugins(plugin)
    if number := next((one for one in selection.targets if one.isdecimal()), ""):
        raise IntraBenchError(f"--targets {number} is no name; the number of targets shown is --views {number}")
    folder, statistic = results_folder(out), statistic_of(metric, aggregation, failed, empty, size_bins=size_bins)
    tables = list(_rating_tables(ratings)) if ratings else []
    with showing_steps(quiet=quiet()) as say:
        unread = write_report(folder, file, views, statistic, tables, title, selection, say)
    tell_page(file)
    tell_lacking(folder, unread=unread)
    if open and not webbrowser.open(file.absolute().as_uri()):
        echo(f"no browser could be opened; open {file} yourself", err=True)


def _rating_tables(study: Path) -> Iterator[tuple[str, pl.DataFrame]]:
    """The tables of a rating study."""
    from intrabench.people.rating.analysis import Analysis, sections
    from intrabench.people.rating.study import Study

    yield from sections(Analysis.of(Study.open(study)))


@of_results()
def figures(
    folder: Annotated[Path, typer.Argument(help="Folder for the pictures.")],
    out: Out = None,
    metric: Metric = "",
    format: Annotated[list[str], typer.Option("--format", help="png, svg or pdf; several are fine.")] = ["png"],  # noqa: B006
    correlate: Correlate = [],  # noqa: B006
    size_bins: SizeBins = "",
    *,
    selection: Selection,
) -> None:
    """Draw curves, ranking, scores by target size and correlations over models as pictures for papers."""
    from intrabench.reporting.figures import write_figures
    from intrabench.workspace import results_folder

    written, left_out = write_figures(results_folder(out), folder, format, metric, selection, correlate, size_bins)
    for path in written:
        note(f"wrote {path}")
    echo(*left_out, err=True)
    tell_lacking(results_folder(out))
