"""Commands to look at results: table, compare, report, figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intrabench.cli.console import echo
from intrabench.cli.options import completes
from intrabench.cli.results import Out, tell_damage
from intrabench.cli.shared import Json, Plugins, add_plugins, flag, show
from intrabench.errors import IntraBenchError

if TYPE_CHECKING:
    import polars as pl

    from intrabench.reporting.make_table import Table
    from intrabench.statistics.compare import Comparison

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


def add_reports(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    for command in (table, compare, report, figures):
        app.command()(command)


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
    protocol: Annotated[
        str, typer.Option(help="Only sessions of this protocol, e.g. rclicks@1, or of several, separated by commas.")
    ] = "",
    groups: Annotated[bool, flag("--groups", help="Robustness to the position of clicks.")] = False,
    users: Annotated[bool, flag("--users", help="Real first clicks beside simulated ones.")] = False,
    interval: Annotated[bool, flag("--interval", help="Show the 95 % interval of every cell.")] = False,
    counts: Annotated[bool, flag("--counts", help="Show cases/targets of every cell, and !failures.")] = False,
    reference: Annotated[str, typer.Option(help="Compare with published numbers: paper.")] = "",
    format: Annotated[str, typer.Option(help="text, csv, markdown, latex, html or json")] = "text",
    csv: Annotated[bool, flag("--csv", help="Same as --format csv.")] = False,
    json: Annotated[bool, flag("--json", help="Same as --format json.")] = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Tabulate effort against a metric."""
    given = {name: value for name, value in locals().items() if name not in ("out", "format", "csv", "json", "plugin")}
    from intrabench.reporting.make_table import make_table
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folder = results_folder(out)
    found = make_table(folder, **given)
    show_table(found, "csv" if csv else "json" if json else format)
    echo(*found.left_out, err=True)
    _tell_lacking(folder)


def _tell_lacking(*folders: Path, unread: Sequence[str] = ()) -> None:
    """Print what results folders lack, and what else was not read; damaged parts end the command with exit code 1."""
    from intrabench.statistics.soundness import is_partial

    echo(*filter(None, map(is_partial, folders)), err=True)
    tell_damage(*folders, unread=unread)


def show_table(table: Table, format: str = "text", everything: str = "--csv has everything") -> None:
    """Print a table with its footnotes, and below it the models that were trained on the data."""
    from intrabench.cli.console import print_frame
    from intrabench.reporting.formats import formatted
    from intrabench.reporting.table import readable, seen_in_training

    frame = table.frame if format in ("csv", "json") else readable(table.frame)
    notes = table.notes.of(frame.columns)
    if format != "text":
        echo(*formatted(frame, format, notes).removesuffix("\n").split("\n"))
        echo(*filter(None, [table.lost]), err=True)
        return
    numbers = [name for name, kind in table.frame.schema.items() if kind.is_numeric()]  # some are texts by now
    print_frame(
        frame, "; ".join(filter(None, [table.heading, table.lost])), notes, right=numbers, everything=everything
    )
    for warning in seen_in_training(table.rows):
        echo(warning)


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A results folder, a model or a prompter.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one of the same kind.")],
    out: Out = None,
    metric: Metric = "",
    round: Round = None,
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    csv: Annotated[bool, flag("--csv", help="All digits, as CSV.")] = False,
    json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Compare two runs, models or prompters on the same targets. Exit code 1: B is significantly worse somewhere."""
    given = {name: value for name, value in locals().items() if name not in ("out", "plugin", "csv", "json")}
    from intrabench.reporting.comparison import as_json, long
    from intrabench.reporting.formats import formatted
    from intrabench.reporting.make_comparison import make_comparison
    from intrabench.statistics.contests import folders_of
    from intrabench.workspace import results_folder

    if csv and json:
        raise IntraBenchError("--csv and --json are different outputs; give one of them")
    add_plugins(plugin)
    folder = results_folder(out)
    found = make_comparison(folder, **given)
    if json:
        show(as_json(found, a, b), json)
    elif csv:
        echo(*formatted(long(found), "csv").removesuffix("\n").split("\n"))
    else:
        _show_comparison(found, a, b)
    _tell_lacking(*folders_of(folder, a, b))
    if any(one.worse for one in found.values()):
        raise typer.Exit(1)


def _show_comparison(found: Mapping[str, Comparison], a: str, b: str) -> None:
    """Print the tables of a comparison, each definition once, and what to know of single pairs."""
    from intrabench.cli.console import echo_sentences, print_frame
    from intrabench.reporting.comparison import RIGHT, definitions, heading, remarks, shown

    echo_sentences(heading(found, a, b))
    for table in shown(found, a, b):
        print_frame(table.frame, table.heading, keys=table.keys, right=RIGHT, everything="--csv has everything")
    echo_sentences(*definitions(found, b), *remarks(found, a, b))


def report(
    file: Annotated[Path, typer.Argument(help="The HTML file.")] = Path("report.html"),
    out: Out = None,
    targets: Annotated[int, typer.Option("--targets", help="Number of targets in the viewer, per data set.")] = 3,
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    ratings: Annotated[
        Path | None, typer.Option("--ratings", metavar="STUDY", help="Also show what people said in this rating study.")
    ] = None,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Write one HTML file: tables, curves, ranking, failures, and a viewer of the worst, median and best targets."""
    from intrabench.reporting.page.page import write_report
    from intrabench.reporting.table import layout_of
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folder, layout = results_folder(out), layout_of("dice", "", "dataset", None, aggregation, failed, empty)
    said = list(_said(ratings)) if ratings else []
    unread = write_report(folder, file, targets=targets, how=layout.how, policy=layout.policy, ratings=said)
    echo(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB)")
    _tell_lacking(folder, unread=unread)


def _said(study: Path) -> Iterator[tuple[str, pl.DataFrame]]:
    """The tables of a rating study."""
    from intrabench.people.rating.analysis import Analysis, long
    from intrabench.people.rating.sections import sections
    from intrabench.people.rating.study import Study

    yield from sections(Analysis(long(Study.open(study))))


def figures(
    folder: Annotated[Path, typer.Argument(help="Folder for the pictures.")],
    out: Out = None,
    metric: Metric = "",
    format: Annotated[list[str], typer.Option("--format", help="png, svg or pdf; several are fine.")] = ["png"],  # noqa: B006
) -> None:
    """Draw curves, ranking and scores by target size as pictures for papers."""
    from intrabench.reporting.figures import write_figures
    from intrabench.workspace import results_folder

    for path in write_figures(results_folder(out), folder, format, metric=metric):
        echo(f"wrote {path}")
    _tell_lacking(results_folder(out))
