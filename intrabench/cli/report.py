"""The command line's part about looking at results: table, compare, report, figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intrabench.cli.results import Out, tell_damage
from intrabench.cli.shared import Plugins, add_plugins
from intrabench.errors import IntraBenchError

if TYPE_CHECKING:
    import polars as pl

    from intrabench.reporting.table import Layout

Metric = Annotated[
    str,
    typer.Option(
        "--metric",
        help="One of `intrabench list metrics`; seconds (of the machine); "
        "auc, noc:threshold=0.9, nof, regressions, cvpr25_auc, rclicks_auc",
    ),
]
Round = Annotated[int | None, typer.Option("--round", help="State after this round. Default: the last.")]
How = Annotated[str, typer.Option("--aggregation", help="protocol, class-first, case, pooled; table: also matched")]
Failed = Annotated[str, typer.Option("--failed", help="What failures count as: worst or drop.")]
Empty = Annotated[str, typer.Option("--empty", help="What empty answers count as: worst or drop.")]


def add_reports(app: typer.Typer) -> None:
    """Give `app` the commands of this file."""
    for command in (table, compare, report, figures):
        app.command()(command)


def table(
    out: Out = None,
    metric: Metric = "dice",
    round: Round = None,
    per_round: Annotated[bool, typer.Option("--per-round", help="A line for every round, not the last alone.")] = False,
    by: Annotated[str, typer.Option(help="Columns that make lines, e.g. model or model,prompter.")] = "",
    columns: Annotated[str, typer.Option(help="The column that makes columns, e.g. label.")] = "dataset",
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    protocol: Annotated[str, typer.Option(help="Only sessions of this protocol, e.g. rclicks@1.")] = "",
    groups: Annotated[bool, typer.Option("--groups", help="How much it matters where people click.")] = False,
    interval: Annotated[bool, typer.Option("--interval", help="The 95 % interval of every cell.")] = False,
    counts: Annotated[bool, typer.Option("--counts", help="Cases/targets of every cell, and !failures.")] = False,
    reference: Annotated[str, typer.Option(help="Published numbers to set beside: paper.")] = "",
    format: Annotated[str, typer.Option(help="text, csv, markdown, latex or html")] = "text",
    csv: Annotated[bool, typer.Option("--csv", help="As --format csv.")] = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Tabulate effort against a metric."""
    from dataclasses import replace

    from intrabench.reporting.annotated import annotated_table
    from intrabench.reporting.table import effort_table, layout_of, referenced, round_table, stored_rows
    from intrabench.statistics.soundness import is_partial
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folder = results_folder(out)
    layout = replace(layout_of(metric, by, columns, round, aggregation, failed, empty), root=folder)
    rows, heading = stored_rows(folder, protocol), layout.told()
    published_clicks = reference == "paper" and protocol == "rclicks@1"
    if groups or published_clicks:
        ignored = {"--by": by, "--columns": columns != "dataset", "--aggregation": aggregation != "protocol"}
        ignored |= {"--per-round": per_round, "--interval": interval, "--counts": counts}
        ignored |= {"--reference": bool(reference) and not published_clicks}
        _refuse("--groups" if groups else "--reference of rclicks@1", ignored)
        frame, heading = _group_table(rows, layout, published_clicks)
    elif reference:
        frame = referenced(rows, layout, reference)
    elif interval or counts:
        frame = annotated_table(rows, layout, interval=interval, counts=counts)
    else:
        frame = round_table(rows, layout) if per_round else effort_table(rows, layout)
    _show(frame, heading, rows, "csv" if csv else format)
    if partial := is_partial(folder):
        typer.echo(partial, err=True)
    tell_damage(folder)


def _group_table(rows: pl.DataFrame, layout: Layout, published: bool) -> tuple[pl.DataFrame, str]:
    """What `--groups` shows, or the published table beside ours, and its heading."""
    from intrabench.reporting.reference.rclicks import PUBLISHED_METRIC, beside_published
    from intrabench.statistics.click_groups import group_table, groups_told

    metric = PUBLISHED_METRIC if published else layout.metric
    if published:
        _refuse(
            "--reference of rclicks@1",
            {"--metric": layout.metric not in ("dice", metric), "--round": layout.round is not None},
        )
    table = group_table(rows, metric, layout.round, layout.policy)
    return (beside_published(table) if published else table), groups_told(metric)


def _show(frame: pl.DataFrame, heading: str, rows: pl.DataFrame, format: str) -> None:
    """Print a table, and below it what was trained on the data."""
    from intrabench.cli.console import print_frame
    from intrabench.reporting.formats import formatted
    from intrabench.reporting.table import readable, seen_in_training

    frame = frame if format == "csv" else readable(frame)
    if format != "text":
        typer.echo(formatted(frame, format), nl=False)
        return
    print_frame(frame, heading)
    for told in seen_in_training(rows):
        typer.echo(told)


def _refuse(option: str, others: Mapping[str, object]) -> None:
    """Refuse options that would be ignored beside another."""
    given = [name for name, value in others.items() if value]
    if given:
        raise IntraBenchError(f"{option} does not go with {', '.join(given)}; leave one of them out")


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A results folder, a model or a prompter.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another of the same kind.")],
    out: Out = None,
    metric: Metric = "dice",
    round: Round = None,
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Compare two runs, models or prompters on the same targets. Exit code 1: B is significantly worse somewhere."""
    from intrabench.reporting.table import layout_of
    from intrabench.statistics.compare import Settings
    from intrabench.statistics.compare import compare as compared
    from intrabench.statistics.contests import contests
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    layout = layout_of(metric, "", "dataset", round, aggregation, failed, empty)
    settings = Settings(metric, round, layout.how, layout.policy)
    worse = False
    for contest in contests(results_folder(out), a, b):
        found = compared(contest.a, contest.b, settings)
        typer.echo("\n".join([f"== {contest.head}", *found.told(a, b)]))
        if found.worse:
            typer.echo(f"{b} is worse: the whole interval of the difference lies below 0")
        worse |= found.worse
    if worse:
        raise typer.Exit(1)


def report(
    file: Annotated[Path, typer.Argument(help="The HTML file.")] = Path("report.html"),
    out: Out = None,
    targets: Annotated[int, typer.Option("--targets", help="Targets to look at, per data set.")] = 3,
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Write one HTML file: tables, curves, ranking, failures, and a viewer of the worst, median and best targets."""
    from intrabench.reporting.page.page import write_report
    from intrabench.reporting.table import layout_of
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    layout = layout_of("dice", "", "dataset", None, aggregation, failed, empty)
    folder = results_folder(out)
    write_report(folder, file, targets=targets, how=layout.how, policy=layout.policy)
    typer.echo(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB)")
    tell_damage(folder)


def figures(
    folder: Annotated[Path, typer.Argument(help="Where the pictures go.")],
    out: Out = None,
    format: Annotated[list[str], typer.Option("--format", help="png, svg or pdf; several are fine.")] = ["png"],  # noqa: B006
) -> None:
    """Draw curves, ranking and sizes as pictures for papers."""
    from intrabench.reporting.figures import write_figures
    from intrabench.workspace import results_folder

    for path in write_figures(results_folder(out), folder, format):
        typer.echo(f"wrote {path}")
    tell_damage(results_folder(out))
