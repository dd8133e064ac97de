"""Commands for superpixels: run, tune, table, compare, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from intrabench.cli import options as o
from intrabench.cli.console import echo, note
from intrabench.cli.results import Out, tell_lacking, tell_page
from intrabench.cli.run import options_of, play
from intrabench.cli.shared import Cases, Plugins, Targets, add_plugins, flag

if TYPE_CHECKING:
    import polars as pl

    from intrabench.reporting.superpixels import Table
    from intrabench.results.selection import Selection

superpixels_app = typer.Typer(
    help="Measure methods that divide images into superpixels, in volumes supervoxels.", no_args_is_help=True
)

Divides = Annotated[
    list[str],
    typer.Option("--method", "-m", help="Method, e.g. slic:compactness=5.", autocompletion=o.completes("superpixels")),
]
Intensity = Annotated[
    str, typer.Option("--intensity", help="How scans become grey values: modality, volume, slice, ct_soft, none.")
]
Workers = Annotated[
    str, typer.Option("--workers", metavar="N", help="Processes that compute: auto, a number, 0 for this one.")
]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="Limit for an image.")]
Methods = Annotated[list[str], typer.Option("--method", "-m", help="Only these methods, as in tables, or a glob.")]

PROTOCOL = "superpixels@1"
MOST_LINES = 40
"""A run prints averages instead of a longer table of numbers."""


@superpixels_app.command("run")
def superpixels_run(
    method: Divides = [],  # noqa: B006
    tuned: Annotated[
        list[Path], typer.Option("--tuned", metavar="FILE", help="Methods with the parameters that tune chose.")
    ] = [],  # noqa: B006
    dataset: o.Datasets = [],  # noqa: B006
    perturb: o.Perturb = [],  # noqa: B006
    segments: Annotated[
        str, typer.Option("--segments", help="Numbers of superpixels, e.g. 200,400. Default: 200 to 5200 by 200.")
    ] = "",
    cases: Cases = [],  # noqa: B006
    targets: Targets = [],  # noqa: B006
    metric: Annotated[list[str], o.metric] = [],  # noqa: B006
    intensity: Intensity = "modality",
    least_voxels: Annotated[
        int, typer.Option("--least-voxels", help="Smaller superpixels join the most similar neighbour.")
    ] = 1,
    out: Out = None,
    plugin: Plugins = [],  # noqa: B006
    workers: Workers = "auto",
    timeout: Timeout = 600.0,
) -> None:
    """Divide the images of data sets and measure the superpixels; repeat the command to continue it."""
    from intrabench.errors import IntraBenchError
    from intrabench.protocols.superpixels_paper import models_of

    add_plugins(plugin)
    chosen = [one for file in tuned for one in _read_tuned(file)]
    if not method and not chosen:
        raise IntraBenchError(
            "give a method, as in --method slic, or a file that intrabench superpixels tune wrote, --tuned"
        )
    models = models_of(method, segments, intensity, least_voxels)
    models += [spec for one, words in chosen for spec in models_of([one], segments, intensity, least_voxels, words)]
    arguments = {
        **{"model": models, "protocol": PROTOCOL},
        **{"dataset": dataset, "perturb": perturb, "cases": cases, "targets": targets, "metric": metric},
        **{"plugin": plugin, "workers": workers, "timeout": timeout, "cache_embeddings": False},
    }
    play(options_of(arguments), out, "intrabench superpixels table", _show)


@superpixels_app.command("tune")
def superpixels_tune(
    method: Divides,
    dataset: o.Datasets = [],  # noqa: B006
    grid: Annotated[
        list[str], typer.Option("--grid", metavar="NAME=VALUES", help="Values to try, e.g. compactness=5/10/20.")
    ] = [],  # noqa: B006
    segments: Annotated[str, typer.Option("--segments", help="Numbers of superpixels. Default: 400,1200,3600.")] = "",
    cases: Cases = [],  # noqa: B006
    file: Annotated[Path, typer.Option("--file", help="Where to write what was chosen.")] = Path("tuned.toml"),
    intensity: Intensity = "modality",
    out: Annotated[Path, typer.Option("--out", help="Folder of the results, apart from those to report.")] = Path(
        "tuning"
    ),
    plugin: Plugins = [],  # noqa: B006
    workers: Workers = "auto",
    timeout: Timeout = 600.0,
) -> None:
    """Choose parameters: the least 1 - Rec + UE of all combinations on training images, such as --cases subset:val.

    Settings that make less than half or more than twice the number asked for are out. Between the numbers parameters
    are linear, beyond them those of the nearest. `intrabench superpixels run --tuned FILE` uses them.
    """
    from intrabench.errors import IntraBenchError
    from intrabench.protocols.superpixels_paper import COMPARED, models_of, numbers_of
    from intrabench.registry import registry
    from intrabench.specs.specs import parse
    from intrabench.superpixels.tuned import settings

    add_plugins(plugin)
    names = [parse(one)[0] for one in method]
    if len(set(names)) < len(names) or (grid and len(names) > 1):
        raise IntraBenchError("--grid is of one method, and each method is tuned once; tune one after the other")
    numbers = numbers_of(segments) if segments.strip() else COMPARED
    values = dict(map(_values, grid))
    tried = {
        name: settings(registry.find("superpixels", name).load(), parse(one)[1], values)
        for name, one in zip(names, method, strict=True)
    }
    methods = list(dict.fromkeys(spec for each in tried.values() for spec in each))
    arguments = {
        **{"model": models_of(methods, ",".join(map(str, numbers)), intensity), "protocol": PROTOCOL},
        **{"dataset": dataset, "cases": cases, "plugin": plugin, "workers": workers, "timeout": timeout},
        "cache_embeddings": False,
    }
    show = partial(_write_tuned, tried=tried, numbers=numbers, intensity=intensity, file=file)
    play(options_of(arguments), out, "intrabench superpixels table", show)


def _values(text: str) -> tuple[str, list[float]]:
    """The values of a parameter in ``NAME=1/2/3``."""
    from intrabench.errors import IntraBenchError

    name, _, values = text.partition("=")
    try:
        return name.strip(), [float(one) for one in values.split("/")]
    except ValueError as error:
        raise IntraBenchError(f"--grid {text} is no list of numbers; write it as compactness=5/10/20") from error


def _write_tuned(
    rows: pl.DataFrame,
    tried: Mapping[str, Mapping[str, Mapping[str, Any]]],
    numbers: Sequence[int],
    intensity: str,
    file: Path,
) -> None:
    """Choose among what was tried, show it, and write the file.

    Raises:
        IntraBenchError: of no method anything could be chosen.
    """
    import polars as pl

    from intrabench.cli.console import print_frame
    from intrabench.errors import IntraBenchError, several
    from intrabench.files.atomic import atomically, writing
    from intrabench.files.documents import written_toml
    from intrabench.reporting.superpixels import IN_SLICES
    from intrabench.statistics.superpixel_tuning import choose, losses
    from intrabench.statistics.superpixels import superpixel_scores

    table, more = losses(superpixel_scores(rows)), "" if intensity == "modality" else f" (intensity={intensity})"
    choices = {
        name: choose(table, name, {f"{spec}{more}": each for spec, each in combinations.items()}, numbers)
        for name, combinations in tried.items()
    }
    content, lines = dict[str, Any](), list[dict[str, Any]]()
    for name, choice in choices.items():
        if choice.tuned:
            numbers_of_it = {str(n): {**one["parameters"], "loss": one["loss"]} for n, one in choice.by_number.items()}
            content[name] = {"tuned": choice.tuned, **numbers_of_it}
            lines += [
                {key: value for key, value in one.items() if key != "parameters"} for one in choice.by_number.values()
            ]
    missed = [sentence for choice in choices.values() for sentence in choice.missed]
    again = "repeat the command with more values in --grid, or other --segments; what was computed is kept"
    if not content:
        raise IntraBenchError(f"{'; '.join(missed)}; {again}")
    with writing(file), atomically(file) as part:
        part.write_text(written_toml(content), encoding="utf-8")
    shown = pl.DataFrame(lines).select(
        "method", "asked", "K", pl.col("rec").alias("Rec"), pl.col("ue_np").alias("UE"), "loss"
    )
    print_frame(shown, f"least 1 - Rec + UE of {several(sum(map(len, tried.values())), 'setting')}, {IN_SLICES}")
    echo(*missed, *([again] if missed else []), err=True)
    note(f"wrote {file}; `intrabench superpixels run --tuned {file}` uses it")


def _read_tuned(file: Path) -> list[tuple[str, str]]:
    """Methods and their parameters by number, of a file that `tune` wrote."""
    from intrabench.errors import IntraBenchError
    from intrabench.files.documents import read_toml

    try:
        found = read_toml(file, {})
    except FileNotFoundError as error:
        raise IntraBenchError(f"there is no file {file}; intrabench superpixels tune writes one") from error
    chosen = [(name, one["tuned"]) for name, one in found.items() if isinstance(one, dict) and "tuned" in one]
    if not chosen or not all(name.isidentifier() and isinstance(words, str) and words for name, words in chosen):
        raise IntraBenchError(f"{file} has no parameters that intrabench superpixels tune chose; run it again")
    return chosen


def _show(rows: pl.DataFrame) -> None:
    """Print the numbers of a run, or the averages if these are many."""
    from intrabench.cli.console import print_frame
    from intrabench.reporting.superpixels import AVERAGES, NUMBERS
    from intrabench.statistics.superpixels import superpixel_scores

    if not ("sp" in rows and rows["sp"].count()):
        return
    found = superpixel_scores(rows)
    table = NUMBERS if found.curves.height <= MOST_LINES else AVERAGES
    print_frame(table.make(found, ()), table.heading)


@superpixels_app.command("table")
@o.of_results("dataset", "cases", "targets")
def superpixels_table(
    out: Out = None,
    method: Methods = [],  # noqa: B006
    segments: Annotated[
        str, typer.Option("--segments", help="Only these numbers of superpixels, e.g. 400,1200. Default: all.")
    ] = "",
    by_number: Annotated[bool, flag("--by-number", help="A line per number of superpixels.")] = False,
    spread: Annotated[bool, flag("--spread", help="Min, max and SD over images, by number of superpixels.")] = False,
    stability: Annotated[bool, flag("--stability", help="Whether more superpixels are better.")] = False,
    correlation: Annotated[
        bool, flag("--correlation", help="How metrics correlate, at about 400, 1200 and 3600 or --segments.")
    ] = False,
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
    from intrabench.protocols.superpixels_paper import COMPARED, numbers_of
    from intrabench.reporting.formats import check_format, formatted
    from intrabench.reporting.superpixels import read_superpixel_scores, selected_words
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    format = "csv" if csv else format
    check_format(format)
    given = {"--by-number": by_number, "--spread": spread, "--stability": stability, "--correlation": correlation}
    given |= {"--interval": interval, f"--reference {reference}": bool(reference)}
    table = _table([name for name, on in given.items() if on], metric)
    folder = results_folder(out)
    found, left_out = read_superpixel_scores(folder, method, selection, annotations=correlation)
    if segments.strip():
        found = found.asked_for(numbers_of(segments))
    elif correlation:
        found = found.nearest_to(COMPARED)
    frame = table.make(found, metric)
    only = selected_words(method, selection)
    if format == "text":
        print_frame(frame, "; ".join(filter(None, [table.heading, only])), everything="--csv has everything")
    else:
        echo(*filter(None, [only]), err=True)
        echo(*formatted(frame, format).removesuffix("\n").split("\n"))
    echo(*left_out, *(found.notes() if table.averages else []), err=True)
    tell_lacking(folder)


def _table(given: Sequence[str], metric: Sequence[str]) -> Table:
    """The table that options ask for, with these metrics."""
    from intrabench.errors import IntraBenchError
    from intrabench.reporting.superpixels import AVERAGES, NUMBERS, TABLES

    if unknown := set(given) - TABLES.keys():
        raise IntraBenchError(f"{unknown.pop()} is unknown; give paper or paper-k20000")
    if len(given) > 1:
        raise IntraBenchError(f"{' and '.join(given)} are different tables; give one")
    if not given:
        return NUMBERS if metric else AVERAGES
    if metric and TABLES[given[0]].fixed:
        raise IntraBenchError(f"{given[0]} has columns of its own; omit --metric")
    return TABLES[given[0]]


@superpixels_app.command("compare")
@o.of_results("dataset", "cases", "targets")
def superpixels_compare(
    a: Annotated[str, typer.Argument(help="A method, as in tables, or a glob.")],
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
    from intrabench.reporting.formats import formatted
    from intrabench.reporting.superpixels import IN_SLICES, compared, read_superpixel_scores, two_methods
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    found, left_out = read_superpixel_scores(results_folder(out), (a, b), selection)
    a, b = two_methods(found, a, b)
    frame = compared(found, a, b, metric)
    if csv:
        echo(*formatted(frame, "csv").removesuffix("\n").split("\n"))
    else:
        print_frame(frame, f"{b} against {a}: above 0, {b} is better; {IN_SLICES}", everything="--csv has everything")
    echo(*left_out, err=True)


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
    tell_page(file)
    tell_lacking(folder)
