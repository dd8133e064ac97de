"""Commands to publish results: exports in the formats of others, the methods of a paper, submissions, a board."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from intrabench.cli.console import echo, echo_sentences
from intrabench.cli.options import completes, of_results
from intrabench.cli.report import Empty, Failed, How, Metric
from intrabench.cli.results import Out, tell_lacking
from intrabench.cli.shared import CheckTimeout, Json, Plugins, Trusts, add_plugins, flag, show
from intrabench.cli.verbosity import quiet
from intrabench.errors import IntraBenchError, several

if TYPE_CHECKING:
    from intrabench.publishing.board.check import CheckedSubmission
    from intrabench.publishing.board.submission import SharedSessions
    from intrabench.results.selection import Selection

Folder = Annotated[Path, typer.Argument(help="The new folder.")]
Licence = Annotated[
    str, typer.Option("--licence", help="Of what is exported, e.g. CC-BY-4.0. Default: nothing is said.")
]


def add_exports(app: typer.Typer) -> None:
    """Add the commands of this file to ``intrabench export``."""
    commands = {"eee": eee, "hf": hugging_face, "croissant": croissant, "ro-crate": ro_crate, "clicks": clicks}
    for name, command in commands.items():
        app.command(name)(command)


@of_results()
def eee(
    folder: Folder,
    out: Out = None,
    model_id: Annotated[
        list[str], typer.Option("--model-id", metavar="MODEL=ORG/NAME", help="A model's name at the Hugging Face hub.")
    ] = [],  # noqa: B006
    organization: Annotated[str, typer.Option("--organization", help="Who evaluated.")] = "unknown",
    relationship: Annotated[
        str, typer.Option("--relationship", help="To the models: first_party, third_party, collaborative or other.")
    ] = "other",
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Every Eval Ever: a JSON file per model, protocol and data set, with intervals, and a line for each session."""
    from typing import get_args

    from intrabench.publishing.exports.eee import Evaluator, Relationship, export_eee
    from intrabench.workspace import results_folder

    if relationship not in get_args(Relationship):
        choices = ", ".join(get_args(Relationship))
        raise IntraBenchError(f"--relationship {relationship} is unknown; give one of {choices}")
    add_plugins(plugin)
    root, by = results_folder(out), Evaluator(organization, relationship)  # type: ignore[arg-type]
    written, notes = export_eee(root, folder, by, model_id, now=datetime.now(UTC), selection=selection)
    _show_written(root, f"wrote {several(written, 'evaluation')} to {folder}", notes)


@of_results()
def hugging_face(
    folder: Folder,
    out: Out = None,
    benchmark: Annotated[
        list[str],
        typer.Option("--benchmark", metavar="DATASET=ORG/NAME/TASK", help="The benchmark at the hub that it is."),
    ] = [],  # noqa: B006
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="A metric, or noc:threshold=0.9, auc, ... Default: what leads in the protocol, else dice.",
            autocompletion=completes("metrics"),
        ),
    ] = "",
    source_url: Annotated[str, typer.Option("--source-url", help="Where readers find these results.")] = "",
    source_name: Annotated[str, typer.Option("--source-name", help="What that place is called.")] = "",
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Hugging Face: .eval_results/*.yaml for the repository of each model."""
    from intrabench.publishing.exports.hugging_face import Source, export_hugging_face
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    root = results_folder(out)
    written, notes = export_hugging_face(root, folder, benchmark, metric, Source(source_url, source_name), selection)
    _show_written(root, f"wrote {several(written, 'file')} to {folder}", notes)


@of_results()
def croissant(
    folder: Folder,
    out: Out = None,
    card: Annotated[
        list[str],
        typer.Option(
            "--card",
            metavar="DATASET",
            help="Only the cards of these; no results are read.",
            autocompletion=completes("datasets"),
        ),
    ] = [],  # noqa: B006
    licence: Licence = "",
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Croissant with RAI fields: the card of each data set, and the prompts of the results as a data set."""
    from intrabench.publishing.exports.croissant import export_croissant
    from intrabench.registry import registry
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    if card and selection.words:
        raise IntraBenchError(f"--card reads no results, so there is nothing to choose from: {selection.words}")
    root, cards = results_folder(out), [registry.make("datasets", one) for one in card]
    written, notes = export_croissant(root, folder, cards, licence, selection)
    text = f"wrote {', '.join(written)} to {folder}"
    echo(text) if card else _show_written(root, text, notes)


@of_results()
def ro_crate(
    folder: Folder,
    out: Out = None,
    licence: Licence = "",
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """RO-Crate: rows, prompts and records of the runs, with data sets, models and software described."""
    from intrabench.publishing.exports.ro_crate import export_ro_crate
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    root = results_folder(out)
    written, notes = export_ro_crate(root, folder, licence, now=datetime.now(UTC), selection=selection)
    _show_written(root, f"wrote {several(written, 'run')} to {folder}", notes)


@of_results()
def clicks(
    folder: Folder,
    out: Out = None,
    called: Annotated[
        str,
        typer.Option("--names", help="What points are called, by the order of the targets: Left_IAC,Right_IAC."),
    ] = "",
    order: Annotated[str, typer.Option("--order", help="Of the indices of a point: xyz, or zyx as in arrays.")] = "xyz",
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """grand-challenge: for each case and round a JSON file with all points so far, in voxels of the scan's file."""
    from typing import get_args

    from intrabench.models.grand_challenge import PointOrder
    from intrabench.publishing.exports.clicks import export_clicks
    from intrabench.workspace import results_folder

    if order not in get_args(PointOrder):
        raise IntraBenchError(f"--order {order} is unknown; give {' or '.join(get_args(PointOrder))}")
    add_plugins(plugin)
    root, names = results_folder(out), [name.strip() for name in called.split(",") if name.strip()]
    written, notes = export_clicks(root, folder, names, order, selection)  # type: ignore[arg-type]
    _show_written(root, f"wrote {several(written, 'file')} to {folder}", notes)


def _show_written(root: Path, text: str, notes: Sequence[str]) -> None:
    echo(text)
    echo(*notes, err=True)
    tell_lacking(root)


board_app = typer.Typer(help="A leaderboard as a static site, made from submissions.", no_args_is_help=True)


@board_app.command("build")
def board_build(
    submissions: Annotated[Path, typer.Argument(help="Folder of submissions, each made by `intrabench submit`.")],
    site: Annotated[Path, typer.Argument(help="Folder for the site; an earlier site there is replaced.")],
    title: Annotated[str, typer.Option("--title", help="Name of the board.")] = "IntraBench board",
    checks: Annotated[
        Path | None, typer.Option("--checks", help="Folder of `board check --checks`: lines show what was verified.")
    ] = None,
) -> None:
    """Make the site of all submissions in a folder. Exit code 1: some were refused, and are not on it."""
    from intrabench.engine.progress.display import showing_steps
    from intrabench.publishing.board.site import build

    with showing_steps(quiet=quiet()) as say:
        refused, tables = build(submissions, site, title, checks, say)
    for one in refused:
        echo(*(f"{one.folder.name} is refused: {problem}" for problem in one.problems), err=True)
    if not tables:
        raise IntraBenchError(f"no submission in {submissions} is sound, so there is no site")
    echo(f"wrote {site / 'index.html'} with {several(len(tables), 'table')}")
    if refused:
        raise typer.Exit(1)


@board_app.command("check")
def board_check(
    submissions: Annotated[list[Path], typer.Argument(metavar="SUBMISSION...", help="Folders of submissions.")],
    replay: Annotated[int, typer.Option("--replay", help="Random sessions to play again, of each submission.")] = 5,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Chooses them. Default: nobody knows before, but it is printed.")
    ] = None,
    plugin: Plugins = [],  # noqa: B006
    checks: Annotated[
        Path | None, typer.Option("--checks", help="Folder for the results of checks, for `board build --checks`.")
    ] = None,
    trust: Trusts = False,
    timeout: CheckTimeout = 3600.0,
    json: Json = False,
) -> None:
    """Check submissions: files, rows, means, and some sessions again. Exit code 1: some are refused.

    Nothing is downloaded, and what only a submission names is neither contacted, opened nor run, unless you --trust it:
    such sessions are said to be unverified.
    """
    from intrabench.engine.verify import Trust
    from intrabench.publishing.board.check import check, result_of, write_result
    from intrabench.publishing.board.submission import shared_sessions

    if replay < 0:
        raise IntraBenchError(f"--replay {replay} is not a number of sessions; give 0 for none, or more")
    add_plugins(plugin)
    chosen = secrets.randbelow(2**32) if seed is None else seed
    found = [check(folder, replay, chosen, Trust(plugin, None, trust), timeout) for folder in submissions]
    twice = list(shared_sessions([one.submission for one in found]))
    for one in found:
        if checks is not None and replay and not one.submission.problems:
            write_result(checks, one.submission.name, result_of(one.submission.folder, one.verdicts))
    if json:
        show([_check_facts(one, twice) for one in found], json)
    else:
        for one in found:
            _show_check(one)
        echo(*(f"note: {one.words}" for one in twice))
        if replay:
            echo(f"--seed {chosen} chooses the same sessions again")
    if any(one.problems for one in found):
        raise typer.Exit(1)


def _show_check(checked: CheckedSubmission) -> None:
    name, count = checked.submission.name, checked.count()
    for problem in checked.problems:
        echo(f"{name}: {problem}")
    for note in checked.notes:
        echo(f"{name}: note: {note}")
    for one in checked.verdicts:
        echo(*([f"{name}: unverified: {one.message}"] if one.found == "unknown" else []))
    again = count.get("equal", 0) + count.get("rounding", 0)
    played = f"{again} of {several(len(checked.verdicts), 'session')} played again with equal results"
    unknown = f", {count['unknown']} unverified" if count.get("unknown") else ""
    outcome = f"refused for {several(len(checked.problems), 'problem')}" if checked.problems else "ok"
    echo(f"{name}: {outcome}" + (f"; {played}{unknown}" if checked.verdicts else ""))


def _check_facts(checked: CheckedSubmission, twice: Sequence[SharedSessions]) -> dict[str, object]:
    return {
        "submission": checked.submission.name,
        "ok": not checked.problems,
        "problems": checked.problems,
        "notes": [*checked.notes, *(one.words for one in twice if checked.submission.name in (one.one, one.other))],
        "replayed": [vars(one) for one in checked.verdicts],
    }


@of_results()
def methods(
    out: Out = None,
    metric: Metric = "",
    aggregation: How = "protocol",
    failed: Failed = "worst",
    empty: Empty = "worst",
    markdown: Annotated[bool, flag("--markdown", help="As Markdown, with citations as \\[@key].")] = False,
    latex: Annotated[bool, flag("--latex", help=r"As LaTeX, with citations as \cite{key}.")] = False,
    bib: Annotated[
        Path | None, typer.Option("--bib", metavar="FILE", help="Also write the citations to FILE.bib, for BibTeX.")
    ] = None,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Write the methods for a paper: paragraphs, initial and final values, a reporting checklist, and citations.

    What the results do not tell is listed as "not reported".
    """
    if markdown and latex:
        raise IntraBenchError("--markdown and --latex are different outputs; give one of them")
    from intrabench.files.atomic import atomically, writing
    from intrabench.publishing.methods.methods import make_methods
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folder = results_folder(out)
    how = {"metric": metric, "aggregation": aggregation, "failed": failed, "empty": empty}
    found = make_methods(folder, **how, selection=selection)
    if bib is not None:
        with writing(bib), atomically(bib, durable=False) as part:
            part.write_text(found.bibtex, encoding="utf-8")
    for block in found.written("markdown" if markdown else "latex" if latex else "text").rstrip("\n").split("\n\n"):
        lines = block.split("\n")
        if markdown or latex or len(lines) > 1:
            echo(*lines, "")
        else:
            echo_sentences(block)
            echo("")
    if bib is not None:
        echo(f"wrote {len(found.bibliography.entries)} citations to {bib}", err=True)
    echo(*found.left_out, err=True)
    tell_lacking(folder)


class NoJobs(TyperCommand):
    """A command that once printed job scripts, which another does now."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command.

        Raises:
            IntraBenchError: they ask for a job script.
        """
        from intrabench.engine.clusters.script import SCRIPTS

        if ["--", "run"] in [args[n : n + 2] for n in range(len(args))] or {f"--{name}" for name in SCRIPTS} & {*args}:
            raise IntraBenchError("job scripts are `intrabench job` now; write `intrabench job ... -- run ...`")
        return super().parse_args(ctx, args)


def add_submit(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command(cls=NoJobs)(submit)


@of_results()
def submit(
    folder: Annotated[Path, typer.Argument(help="New folder for the submission; its name is part of addresses.")],
    name: Annotated[str, typer.Option("--name", help="Who submits.")],
    contact: Annotated[str, typer.Option("--contact", help="Address of mail or of a page.")],
    licence: Annotated[str, typer.Option("--licence", help="Licence of these results, e.g. CC-BY-4.0.")],
    notes: Annotated[str, typer.Option("--notes", help="What readers should know.")] = "",
    out: Out = None,
    sample: Annotated[
        int, typer.Option("--sample", help="Sessions whose prompts, and masks if kept, are part of it.")
    ] = 20,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Make a folder of results that a public board takes, and check it as the board does."""
    from intrabench.publishing.board.files import Submitter
    from intrabench.publishing.board.submit import submit as make
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    made, notices = make(results_folder(out), folder, Submitter(name, contact, licence, notes), sample, selection)
    assert made.statement is not None
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    lines, masks = several(len(made.statement.lines), "line"), several(len(made.statement.masks), "session")
    rows = several(made.statement.rows, "row")
    echo(f"wrote {folder}: {rows} of {lines}, masks of {masks}, {size:.1f} MB; it passes the check")
    echo(*notices, err=True)
