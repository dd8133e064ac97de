"""Commands for people: blind ratings, calibration, and people beside simulated users."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intrabench.cli import options as o
from intrabench.cli.console import echo, note
from intrabench.cli.results import Out, tell_lacking, tell_selection
from intrabench.cli.shared import Json, Plugins, add_plugins, flag, show
from intrabench.errors import IntraBenchError, several

if TYPE_CHECKING:
    import polars as pl

    from intrabench.people.gap import Gap
    from intrabench.people.rating.study import Study
    from intrabench.reporting.footnotes import Footnotes
    from intrabench.results.selection import Selection

rate_app = typer.Typer(help="Have people rate masks blindly, in the browser.", no_args_is_help=True)

Host = Annotated[str, typer.Option("--host", help="Address to listen at; 0.0.0.0 for all. Default: only this machine.")]
Port = Annotated[int, typer.Option("--port", help="0: any free one.")]
Folder = Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.")]


@rate_app.command("design")
@o.of_results()
def rate_design(
    folder: Folder,
    out: Out = None,
    title: Annotated[str, typer.Option("--title", help="What raters see at the top; no names of patients.")] = "",
    inputs: Annotated[int, typer.Option("--inputs", help="How many targets with their prompts are rated.")] = 20,
    rater: Annotated[list[str], typer.Option("--rater", help="Code of a rater, e.g. r1; give each.")] = ["r1", "r2"],  # noqa: B006
    each: Annotated[int, typer.Option("--each", help="Raters of each input. Default: all.")] = 0,
    anchors: Annotated[
        float, typer.Option("--anchors", help="Share of inputs whose truth and a damaged mask are hidden among them.")
    ] = 0.2,
    repeats: Annotated[float, typer.Option("--repeats", help="Share of masks that a rater gets twice.")] = 0.1,
    training: Annotated[int, typer.Option("--training", help="Masks with feedback at the beginning.")] = 4,
    pairs: Annotated[bool, flag("--pairs", help="Ask which of two masks is better, instead of scores.")] = False,
    clinical: Annotated[bool, flag("--clinical", help="Also ask: accept, minor edit, major edit or reject?")] = False,
    round: Annotated[int | None, typer.Option("--round", help="State after this round. Default: the last.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Chooses which inputs are rated, and by whom.")] = 0,
    window: o.Window = "",
    orientation: o.Orientation = "radiological",
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Make a study from a run with --save-masks: who rates which masks, in which order."""
    from intrabench.people.rating.design import Plan, Question, design
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    questions: tuple[Question, ...] = (("pair" if pairs else "score"), *(("clinical",) if clinical else ()))
    plan = Plan(
        **({"title": title} if title else {}),
        inputs=inputs,
        raters=tuple(rater),
        each=each,
        anchors=anchors,
        repeats=repeats,
        training=training,
        questions=questions,
        round=round,
        seed=seed,
        window=window,
        orientation=orientation,
    )
    study, notes = design(results_folder(out), folder, plan, selection)
    for code in study.raters:
        note(f"{code} rates {several(len(study.order(code)), 'mask')}")
    tell_selection(selection)
    echo(*notes, err=True)
    note(f"wrote {folder}; next: intrabench rate serve {folder}")


@rate_app.command("serve")
def rate_serve(folder: Folder, host: Host = "127.0.0.1", port: Port = 8750) -> None:
    """Serve a study, and print the link of each rater; Ctrl-C ends it, and no answer is lost."""
    from intrabench.people.servers.run_server import announce, serve

    study = _study(folder)
    from intrabench.people.rating.server import make_app

    serve(
        lambda hosts: make_app(study, hosts), *(host, port, lambda address: announce(address, study.tokens, host, echo))
    )


@rate_app.command("bundle")
def rate_bundle(
    folder: Folder,
    to: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write, to be copied to the rater.")],
    rater: Annotated[str, typer.Option("--rater", help="Code of the rater.")],
) -> None:
    """Write the study for a rater without a network: a folder whose index.html opens in a browser."""
    from intrabench.people.rating.bundle import write_bundle

    write_bundle(_study(folder), rater, to)
    note(f"wrote {to}; open {to / 'index.html'}, and read what it saves: intrabench rate import {folder} FILE")


@rate_app.command("import")
def rate_import(
    folder: Folder, file: Annotated[Path, typer.Argument(help="File that the page of a bundle saved.")]
) -> None:
    """Read the answers that a rater saved from a bundle; the same file again changes nothing."""
    from intrabench.people.rating.bundle import import_answers

    stored, problems = import_answers(_study(folder), file)
    note(f"{several(stored, 'answer')} of {file} in {folder}")
    echo(*problems, err=True)
    if problems:
        raise typer.Exit(1)


@rate_app.command("status")
def rate_status(folder: Folder, json: Json = False) -> None:
    """Say how far each rater is, how long it took, and whether the study is closed."""
    import polars as pl

    from intrabench.cli.console import print_frame
    from intrabench.engine.progress.tally import lasting
    from intrabench.people.rating.analysis import status

    found, closed = status(_study(folder))
    if json:
        show([{**line, "closed": closed} for line in found.iter_rows(named=True)], json)
        return
    shown = found.with_columns(
        pl.format("{} of {}", "answered", "of").alias("answered"), pl.col("first", "last").str.head(16)
    )
    shown = shown.drop("of").rename({"minutes": "time", "seconds_each": "each"})
    times = [
        pl.Series(name, [None if one is None else lasting(one * unit) for one in shown[name]], pl.String)
        for name, unit in (("time", 60), ("each", 1))
    ]
    right = ("answered", "time", "each")
    print_frame(shown.with_columns(times), f"Raters of {folder}; times without pauses; UTC", right=right)
    echo(f"closed since {closed}" if closed else "open: answers are taken")


@rate_app.command("close")
def rate_close(
    folder: Folder,
    reopen: Annotated[bool, flag("--reopen", help="Take answers again.")] = False,
) -> None:
    """Take no more answers of a study, not even changes of the last one."""
    from intrabench.files.atomic import writing
    from intrabench.people.rating.answers import Answers

    answers = Answers(_study(folder).answers_file)
    try:
        with writing(folder):
            answers.set_closed(not reopen)
    finally:
        answers.close()
    note(f"{folder} takes answers again" if reopen else f"{folder} is closed; --reopen takes it back")


@rate_app.command("table")
def rate_table(
    folder: Folder,
    format: Annotated[str, typer.Option(help="text, csv, markdown, latex or html")] = "text",
    finished: Annotated[bool, flag("--finished", help="Only raters who have finished.")] = False,
) -> None:
    """Tabulate what raters said: means, differences, agreement, anchors, correlation with Dice."""
    from intrabench.cli.console import print_frame
    from intrabench.people.rating.analysis import Analysis, sections
    from intrabench.reporting.formats import check_format, formatted
    from intrabench.reporting.table import readable

    check_format(format)
    for heading, frame in sections(Analysis.of(_study(folder), finished)):
        if frame.is_empty():
            continue
        if format == "text":
            print_frame(readable(frame), heading, everything="--format csv has everything")
        else:
            echo(f"# {heading}", *formatted(frame, format).removesuffix("\n").split("\n"), "")


@rate_app.command("export")
def rate_export(folder: Folder, file: Annotated[Path, typer.Argument(help="FILE.csv or FILE.parquet")]) -> None:
    """Write all answers with what each mask was, one line each."""
    from intrabench.people.rating.analysis import export_answers, long

    answers = long(_study(folder))
    export_answers(answers, file)
    note(f"wrote {several(len(answers), 'answer')} to {file}")


def need_people(what: str) -> None:
    """Refuse a command whose extra is not installed."""
    from intrabench.errors import IntraBenchError

    try:
        import starlette  # noqa: F401
    except ImportError as error:
        raise IntraBenchError(f"{what} needs starlette; run: pip install 'intrabench[people]'") from error


def _study(folder: Path) -> Study:
    need_people("rating")
    from intrabench.people.rating.study import Study

    return Study.open(folder)


@o.of_results()
def calibrate(
    results: Annotated[
        Path | None, typer.Argument(help="Results folder, as --out. Default: that of `intrabench annotate`.")
    ] = None,
    out: Out = None,
    file: Annotated[Path, typer.Option("--file", help="The file to write, FILE.toml.")] = Path("calibration.toml"),
    name: Annotated[str, typer.Option("--name", help="Its name in results. Default: that of the file.")] = "",
    force: Annotated[bool, flag("--force", help="Replace a file that exists.")] = False,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Measure on recordings of people how long actions take and how exactly they hit, for `run --effort --hand`."""
    from intrabench.cli.console import print_frame
    from intrabench.people.calibrating.calibrate import calibrate as measure
    from intrabench.people.calibrating.calibrate import write
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    if results is not None and out is not None:
        raise IntraBenchError(f"{results} and --out {out} are two results folders; give one, and the file as --file")
    folder = results_folder(results or out)
    found = measure(folder, name or file.stem, selection)
    write(found, file, force)
    print_frame(found.frame(), f"{found.calibration.id}, {found.calibration.content['seconds']['source']}")
    echo(*found.notes, err=True)
    note(f"wrote {file}; use it: intrabench run --effort {file} --hand {file} ...")
    tell_lacking(folder)


@o.of_results()
def gap(
    results: Annotated[
        list[Path], typer.Argument(help="Results folders of people and of runs. Default: that of `intrabench run`.")
    ] = [],  # noqa: B006
    metric: Annotated[str, typer.Option("--metric", help="Score to compare.")] = "dice",
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write the table to this file.")] = None,
    json: Json = False,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Compare simulated users with people on the same targets and models: scores at equal effort, clicks, nearness."""
    from intrabench.cli.results import tell_lacking
    from intrabench.files.atomic import atomically, writing
    from intrabench.people.gap import gap as compare
    from intrabench.reporting.formats import plain
    from intrabench.results.spreadsheet import write_csv
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folders = list(results) or [results_folder(None)]
    found = compare(folders, metric, selection)
    if json:
        tables = {"measures": found.frame, "ranking": found.ranking}
        show(
            [
                {"model": name} | {what: plain(table.filter(model=name)) for what, table in tables.items()}
                for name in found.frame["model"].unique().sort()
            ],
            json,
        )
    else:
        _show_gap(found, metric)
    echo(*found.notes, err=True)
    if csv is not None:
        with writing(csv), atomically(csv) as part_file:
            write_csv(found.frame, part_file)
        note(f"wrote {csv}")
    tell_lacking(*folders)


def _show_gap(found: Gap, metric: str) -> None:
    """Print the table of each simulated user, and below them all by their nearness to people."""
    import polars as pl

    from intrabench.cli.console import print_frame
    from intrabench.people.gap import AT_INTERACTIONS, AT_SECONDS
    from intrabench.statistics.scores import metric as scale_of

    more = "--json has everything"
    for (name, prompter), part in found.frame.partition_by("model", "prompter", as_dict=True).items():
        title = f"{prompter}, {name}: simulated minus people, 95 % intervals over patients"
        notes = _infinite(shown := _lines_shown(part), "difference")
        print_frame(_gap_frame(shown), title, notes, keys=("measure", "rater"), right=_NUMBERS, everything=more)
    efforts = {"interactions": (AT_INTERACTIONS, "interactions"), "seconds_human": (AT_SECONDS, "s")}
    for (name, against), part in found.ranking.partition_by("model", "against", as_dict=True).items():
        at, of = efforts[str(against)]
        title = (
            f"{name}, nearness to people: mean absolute difference of {metric} of two sessions on a target, over "
            f"{', '.join(map(str, at))} {of}; 95 % intervals over patients"
        )
        unit = scale_of(metric).unit
        notes = _infinite(part.with_columns(unit=pl.lit(unit)), "apart")
        print_frame(
            _ranking_frame(part, unit), title, notes, keys=("rank", "prompter"), right=_NUMBERS, everything=more
        )


_NUMBERS = ("ranks", "people", "simulated", "difference", "apart", "95 % interval", "targets")
"""Columns of texts that are numbers."""


def _infinite(part: pl.DataFrame, column: str) -> Footnotes:
    """A letter at each mean of infinite values, with what is infinite. part: a line each, with its `unit`."""
    from functools import partial

    from intrabench.reporting.footnotes import text_marks
    from intrabench.reporting.formats import in_unit
    from intrabench.statistics.infinite import Infinite

    lines = part.iter_rows(named=True)
    found = [
        (
            Infinite(one["infinite"] or 0, one["of"] or 0, one["others"], both=one.get("both_infinite") or 0),
            partial(in_unit, unit=one["unit"]),
        )
        for one in lines
    ]
    return text_marks([one.words(text) if one else "" for one, text in found], column)


def _lines_shown(part: pl.DataFrame) -> pl.DataFrame:
    """The lines of one simulated user; of a single person nothing twice."""
    import polars as pl

    from intrabench.people.gap import EVERYBODY

    return part if part["rater"].n_unique() > 2 else part.filter(pl.col("rater") == EVERYBODY)


def _gap_frame(part: pl.DataFrame) -> pl.DataFrame:
    """The lines of one simulated user, each number with the decimals of its unit."""
    import polars as pl

    from intrabench.reporting.formats import in_unit, interval_in_unit

    lines = [
        {
            **{name: line[name] for name in ("measure", "rater")},
            **{name: in_unit(line[name], line["unit"]) for name in ("people", "simulated", "difference")},
            "95 % interval": interval_in_unit(line["low"], line["high"], line["unit"]),
            "targets": f"{line['targets']}{f' of {many}' if line['targets'] < (many := line['of_targets']) else ''}",
            "patients": line["patients"],
        }
        for line in part.iter_rows(named=True)
    ]
    return pl.DataFrame(lines)


def _ranking_frame(part: pl.DataFrame, unit: str) -> pl.DataFrame:
    """The simulated users by one kind of effort, with people among themselves, who have no rank."""
    import polars as pl

    from intrabench.reporting.formats import in_unit, interval_in_unit

    lines = [
        {
            "rank": line["rank"],
            "prompter": line["prompter"],
            "ranks": None if line["rank_low"] is None else f"{line['rank_low']} to {line['rank_high']}",
            "apart": in_unit(line["apart"], unit),
            "95 % interval": interval_in_unit(line["low"], line["high"], unit),
            **{name: line[name] for name in ("targets", "patients")},
        }
        for line in part.iter_rows(named=True)
    ]
    frame = pl.DataFrame(lines, infer_schema_length=None)
    return frame if frame["ranks"].count() else frame.drop("ranks")
