"""Commands for superpixels: run, tune, table, compare, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intrabench.cli import options as o
from intrabench.cli.console import echo, note
from intrabench.cli.results import Out, tell_lacking
from intrabench.cli.run import options_of, play
from intrabench.cli.shared import Cases, Plugins, Targets, add_plugins, flag

if TYPE_CHECKING:
    import polars as pl

    from intrabench.results.selection import Selection

superpixels_app = typer.Typer(
    help="Measure methods that divide images into superpixels, in volumes supervoxels.", no_args_is_help=True
)

Methods = Annotated[list[str], typer.Option("--method", "-m", help="Only these methods, as in tables, or a glob.")]

PROTOCOL = "superpixels@1"
IN_SLICES = "boundaries within slices"
NUMBERS = f"mean over images of the worst annotation, {IN_SLICES}"
AVERAGES = f"averages between 200 and 5200 superpixels, in %, {IN_SLICES}"
MOST_LINES = 40
"""A run prints averages instead of a longer table of numbers."""


@superpixels_app.command("run")
def superpixels_run(
    method: Annotated[
        list[str],
        typer.Option(
            "--method", "-m", help="Method, e.g. slic:compactness=5.", autocompletion=o.completes("superpixels")
        ),
    ],
    dataset: o.Datasets = [],  # noqa: B006
    perturb: o.Perturb = [],  # noqa: B006
    segments: Annotated[
        str, typer.Option("--segments", help="Numbers of superpixels, e.g. 200,400. Default: 200 to 5200 by 200.")
    ] = "",
    cases: Cases = [],  # noqa: B006
    targets: Targets = [],  # noqa: B006
    metric: Annotated[list[str], o.metric] = [],  # noqa: B006
    intensity: Annotated[
        str, typer.Option("--intensity", help="How scans become grey values: modality, volume, slice, ct_soft, none.")
    ] = "modality",
    least_voxels: Annotated[
        int, typer.Option("--least-voxels", help="Smaller superpixels join the most similar neighbour.")
    ] = 1,
    out: Out = None,
    plugin: Plugins = [],  # noqa: B006
    workers: Annotated[
        str, typer.Option("--workers", metavar="N", help="Processes that compute: auto, a number, 0 for this one.")
    ] = "auto",
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="Limit for an image.")] = 600.0,
) -> None:
    """Divide the images of data sets and measure the superpixels; repeat the command to continue it."""
    from intrabench.protocols.superpixels_paper import models_of

    add_plugins(plugin)
    arguments = {
        **{"model": models_of(method, segments, intensity, least_voxels), "protocol": PROTOCOL},
        **{"dataset": dataset, "perturb": perturb, "cases": cases, "targets": targets, "metric": metric},
        **{"plugin": plugin, "workers": workers, "timeout": timeout, "cache_embeddings": False},
    }
    play(options_of(arguments), out, "intrabench superpixels table", _show)


def _show(rows: pl.DataFrame) -> None:
    """Print the numbers of a run, or the averages if these are many."""
    from intrabench.cli.console import print_frame
    from intrabench.reporting.superpixels import number_table, summary_table
    from intrabench.statistics.superpixels import superpixel_scores

    if not ("sp" in rows and rows["sp"].count()):
        return
    found = superpixel_scores(rows)
    frame, heading = number_table(found), NUMBERS
    if frame.height > MOST_LINES:
        frame, heading = summary_table(found), AVERAGES
    print_frame(frame, heading)


@superpixels_app.command("table")
@o.of_results("dataset", "cases", "targets")
def superpixels_table(
    out: Out = None,
    method: Methods = [],  # noqa: B006
    by_number: Annotated[bool, flag("--by-number", help="A line per number of superpixels.")] = False,
    spread: Annotated[bool, flag("--spread", help="Min, max and SD over images, by number of superpixels.")] = False,
    stability: Annotated[bool, flag("--stability", help="Whether more superpixels are better.")] = False,
    correlation: Annotated[bool, flag("--correlation", help="How metrics correlate over images, at about 400.")] = False,
    metric: Annotated[list[str], o.metric] = [],  # noqa: B006
    interval: Annotated[bool, flag("--interval", help="Show the 95 % interval of every average.")] = False,
    reference: Annotated[str, typer.Option(help="Compare with published numbers: paper, paper-k20000.")] = "",
    format: Annotated[str, typer.Option(help="text, csv, markdown, latex or html")] = "text",
    csv: Annotated[bool, flag("--csv", help="Same as --format csv.")] = False,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Tabulate AMR, AUE and AUV, the averages between 200 and 5200 superpixels, in percent; lower is better."""
    from intrabench.cli.console import print_frame
    from intrabench.errors import IntraBenchError
    from intrabench.reporting.formats import check_format, formatted
    from intrabench.reporting.superpixels import (
        PAPER,
        beside_many,
        beside_published,
        correlation_table,
        number_table,
        read_superpixel_scores,
        selected_words,
        spread_table,
        stability_table,
        summary_table,
    )
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    format = "csv" if csv else format
    check_format(format)
    if reference not in ("", "paper", "paper-k20000"):
        raise IntraBenchError(f"--reference {reference} is unknown; give paper or paper-k20000")
    which = {"--by-number": by_number, "--spread": spread, "--stability": stability, "--correlation": correlation}
    chosen = [name for name, on in (which | {"--interval": interval, "--reference": reference}).items() if on]
    if len(chosen) > 1:
        raise IntraBenchError(f"{' and '.join(chosen)} are different tables; give one")
    if metric and (interval or reference):
        raise IntraBenchError(f"{chosen[0]} has columns of its own; omit --metric")
    folder = results_folder(out)
    found, notes = read_superpixel_scores(folder, method, selection)
    if spread:
        frame, heading = spread_table(found, metric), f"over images, of the worst annotation, {IN_SLICES}"
    elif stability:
        frame, heading = stability_table(found, metric), f"steps from one number of superpixels to the next, {IN_SLICES}"
    elif correlation:
        frame, heading = correlation_table(found, metric), f"Pearson's correlation over images, {IN_SLICES}"
    elif by_number or metric:
        frame, heading = number_table(found, metric), NUMBERS
    elif reference == "paper-k20000":
        frame, heading = beside_many(found), f"beside Table 2 of {PAPER} (BSDS500, tuned parameters)"
    elif reference:
        frame = beside_published(found)
        heading = f"beside Table 3 of {PAPER} (five data sets, tuned parameters); ranks are among these methods"
    else:
        frame, heading = summary_table(found, interval), AVERAGES
    only = selected_words(method, selection)
    if format == "text":
        print_frame(frame, "; ".join(filter(None, [heading, only])), everything="--csv has everything")
    else:
        echo(*filter(None, [only]), err=True)
        echo(*formatted(frame, format).removesuffix("\n").split("\n"))
    echo(*notes, err=True)
    tell_lacking(folder)


@superpixels_app.command("compare")
@o.of_results("dataset", "cases", "targets")
def superpixels_compare(
    a: Annotated[str, typer.Argument(help="A method, as in tables.")],
    b: Annotated[str, typer.Argument(help="Another one, such as another program of the same method.")],
    out: Out = None,
    metric: Annotated[list[str], o.metric] = [],  # noqa: B006
    csv: Annotated[bool, flag("--csv", help="Print CSV.")] = False,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Show by how much method B is better than A on the same images, by number of superpixels, with 95 % intervals."""
    from intrabench.cli.console import print_frame
    from intrabench.errors import IntraBenchError
    from intrabench.reporting.formats import formatted
    from intrabench.reporting.superpixels import compared, read_superpixel_scores
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    found, notes = read_superpixel_scores(results_folder(out), (a, b), selection)
    names = found.images["method"].unique().sort().to_list()
    if sorted([a, b]) != names:
        raise IntraBenchError(f"give two different methods, as tables print them; {a} and {b} are {', '.join(names)}")
    frame = compared(found, a, b, metric)
    if csv:
        echo(*formatted(frame, "csv").removesuffix("\n").split("\n"))
    else:
        print_frame(frame, f"{b} against {a}: above 0, {b} is better; {IN_SLICES}", everything="--csv has everything")
    echo(*(note for note in notes if "numbers of superpixels" not in note), err=True)


@superpixels_app.command("report")
@o.of_results("dataset", "cases", "targets")
def superpixels_report(
    file: Annotated[Path, typer.Argument(help="The HTML file.")] = Path("superpixels.html"),
    out: Out = None,
    method: Methods = [],  # noqa: B006
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Write one HTML file: averages with intervals, ranking, curves, and all numbers."""
    from intrabench.reporting.superpixels import write_superpixels
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folder = results_folder(out)
    write_superpixels(folder, file, method, selection)
    note(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB)")
    tell_lacking(folder)
