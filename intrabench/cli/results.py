"""Commands to share results: export, merge, score, verify; and what failed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intrabench.cli.console import echo, note
from intrabench.cli.options import completes, of_results
from intrabench.cli.shared import CheckTimeout, Json, Plugins, Trusts, add_plugins, flag, show
from intrabench.cli.verbosity import quiet
from intrabench.errors import several

if TYPE_CHECKING:
    from intrabench.results.failures import Kind
    from intrabench.results.run_status import Status
    from intrabench.results.selection import Selection

Out = Annotated[
    Path | None,
    typer.Option("--out", help="Results folder. Default: results/ of a workspace, else intrabench-results/."),
]

Metrics = Annotated[
    list[str], typer.Option("--metric", help="Metric to measure, e.g. assd.", autocompletion=completes("metrics"))
]


def add_results(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.add_typer(export_app, name="export")
    app.command()(status)
    app.command()(merge)
    app.command()(compact)
    app.command()(score)
    app.command()(verify)


export_app = typer.Typer(
    help="Export results in common formats: rows and masks, and as others read them.", no_args_is_help=True
)


def status(
    results: Annotated[Path | None, typer.Argument(help="Results folder. Default: as of --out.")] = None,
    json: Json = False,
) -> None:
    """Say how far runs are, from outside: done, left, failed, rate, and which members go on."""
    import time
    from dataclasses import asdict

    from intrabench.results.run_status import run_status
    from intrabench.workspace import results_folder

    folder = results_folder(results)
    found = run_status(folder, time.time())
    if json:
        show([asdict(one) | {"left": one.left, "minutes_left": one.minutes_left} for one in found], json)
        return
    for one in found:
        echo(*_status_lines(one))
    done, total = (sum(getattr(one, name) for one in found) for name in ("done", "total"))
    if len(found) > 1:
        running = sum(one.running for one in found)
        echo(f"all: {done} of {several(total, 'session')} done, {several(running, 'run')} going on")
    if not found:
        echo(f"no run has written to {folder} yet")


def _status_lines(one: Status) -> list[str]:
    """What a work has done, and its members."""
    from intrabench.engine.progress.tally import lasting

    more = f", and those of {several(one.open_cases, 'case')} that must be prepared first" if one.open_cases else ""
    failed = f", {one.failed} failed" if one.failed else ""
    lines = [one.command, f"  {one.done} of {several(one.total, 'session')} done{failed}, {one.left} left{more}"]
    if one.last_s is not None and one.running:
        ends = f", about {lasting(60 * one.minutes_left)} left" if one.minutes_left else ""
        lines.append(f"  {one.per_minute:.3g} a minute{ends}; the newest is {lasting(one.last_s)} old")
    for member in one.members:
        note = f": {member.note}" if member.note else ""
        lines.append(f"  {member.run_id} {member.state}, {several(member.sessions, 'session')}{note}")
    return lines


@export_app.command("rows")
@of_results()
def export_rows(
    file: Annotated[Path, typer.Argument(help="FILE.csv, FILE.parquet or FILE.jsonl")],
    out: Out = None,
    turns: Annotated[bool, flag("--turns", help="Also write the prompts of all turns, to FILE.turns.csv.")] = False,
    all: Annotated[bool, flag("--all", help="Also sessions that later ones replaced.")] = False,
    *,
    selection: Selection,
) -> None:
    """Write the rows as CSV, Parquet or JSON lines, one per session and round, of the sessions that count in tables."""
    from intrabench.results.export_rows import export_rows as write
    from intrabench.workspace import results_folder

    folder = results_folder(out)
    written, left_out = write(folder, file, turns=turns, all=all, selection=selection)
    for path, count in written.items():
        note(f"wrote {several(count, 'line')} to {path}")
    for notice in left_out:
        echo(notice, err=True)
    tell_selection(selection)
    if left_out:
        echo("--all writes these, too", err=True)
    tell_lacking(folder)


Seed = Annotated[int | None, typer.Option("--seed", help="Only of this seed. Default: of all.")]
Round = Annotated[
    int | None,
    typer.Option(
        "--round", min=0, help="Only the state after this round; of sessions that ended before, the last. Default: all."
    ),
]


@export_app.command("masks")
@of_results()
def export_masks(
    folder: Annotated[Path, typer.Argument(help="Folder for the NIfTI files.")],
    out: Out = None,
    seed: Seed = None,
    round: Round = None,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Write the masks of a run with --save-masks as NIfTI on the grid of each scan's own files.

    Of one model, prompter, seed and round, `run --model masks:folder=FOLDER/DATASET,instances=files` reads them.
    """
    add_plugins(plugin)
    from intrabench.engine.progress.display import showing_steps
    from intrabench.results.export import export as write
    from intrabench.workspace import results_folder

    with showing_steps(quiet=quiet()):
        exported = write(results_folder(out), folder, seed=seed, round=round, selection=selection)
    note(f"wrote {several(exported.written, 'mask')} to {folder}", *(f"note: {line}" for line in exported.notes))
    tell_selection(selection)
    for notice in exported.left_out:
        echo(notice, err=True)
    tell_lacking(results_folder(out), unread=exported.unread)


@export_app.command("lesions")
@of_results()
def export_lesions(
    file: Annotated[Path, typer.Argument(help="FILE.csv, FILE.parquet or FILE.jsonl")],
    out: Out = None,
    iou: Annotated[
        float, typer.Option("--iou", min=0, max=1, help="Overlap at which a lesion is found; 0: one common voxel.")
    ] = 0.0,
    matching: Annotated[
        str, typer.Option("--matching", help="What becomes of several, as in `info lesion_recall`.")
    ] = "any",
    connectivity: Annotated[
        int,
        typer.Option("--connectivity", help="Voxels that share a face (6), edge (18) or corner (26) are one lesion."),
    ] = 26,
    seed: Seed = None,
    round: Round = None,
    plugin: Plugins = [],  # noqa: B006
    *,
    selection: Selection,
) -> None:
    """Write what became of each lesion in a run with --save-masks: found, missed or false, with size and overlap.

    Lesions are the connected components of a target. A line has the session and round that it is of.
    """
    add_plugins(plugin)
    from intrabench.engine.progress.display import showing_steps
    from intrabench.metrics.lesion_rows import LesionRows
    from intrabench.results.export_lesions import export_lesions as write
    from intrabench.specs.specs import build
    from intrabench.workspace import results_folder

    given = {"iou": str(iou), "matching": matching, "connectivity": str(connectivity)}
    lesions = build(LesionRows, given, "export lesions")
    with showing_steps(quiet=quiet()):
        exported = write(results_folder(out), file, lesions, seed=seed, round=round, selection=selection)
    note(f"wrote {several(exported.written, 'line')} to {file}")
    tell_selection(selection)
    for notice in exported.left_out:
        echo(notice, err=True)
    tell_lacking(results_folder(out), unread=exported.unread)


def merge(
    sources: Annotated[
        list[Path], typer.Argument(metavar="FROM...", help="Results folders, e.g. of several machines.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Results folder to merge into.")],
    newest: Annotated[bool, flag("--newest", help="If results contradict each other, the newest count.")] = False,
) -> None:
    """Copy the rows, turns, masks and records of several results folders into one; nothing is overwritten.

    Results that contradict each other are listed. Without --newest nothing is then copied (exit code 1).
    """
    from intrabench.api.results import merge as copy

    merged = copy(sources, out, newest=newest)
    for head, lines in (
        ("contradiction", merged.conflicts),
        ("rounding", merged.rounding),
        ("package versions differ", merged.versions),
        ("columns", merged.columns),
        ("damaged", merged.damaged),
    ):
        for line in lines[:LISTED]:
            echo(f"{head}: {line}", err=True)
        if len(lines) > LISTED:
            echo(f"{head}: {len(lines) - LISTED} more", err=True)
    if merged.conflicts and not newest:
        echo(f"nothing was copied to {out}; with --newest the newest results count", err=True)
    else:
        note(f"copied {several(merged.copied, 'file')} to {out}, {merged.skipped} existed already")
        if merged.packed:
            note(merged.packed)
    if merged.damaged or (merged.conflicts and not newest):
        raise typer.Exit(1)


def compact(out: Out = None) -> None:
    """Put the many small files of a results folder together into few; everything reads the same afterwards.

    Runs may go on meanwhile. Runs, at their beginning and end, and merge do it by themselves from 256 small files on.
    """
    from intrabench.api.results import compact as put_together
    from intrabench.workspace import results_folder

    folder = results_folder(out)
    done = put_together(folder)
    if done.packs:
        note(f"put {several(done.parts, 'small file')} of rows together in {done.packs}, and their turns")
    else:
        note(f"{folder} has nothing to put together")
    tell_damage(folder)


LISTED = 20
"""Maximum number of lines of each kind that `merge` prints."""


@of_results()
def score(
    results: Annotated[Path | None, typer.Argument(help="Results folder. Default: that of `intrabench run`.")] = None,
    metric: Metrics = [],  # noqa: B006
    plugin: Plugins = [],  # noqa: B006
    trust: Trusts = False,
    *,
    selection: Selection,
) -> None:
    """Measure further metrics of the masks that runs with --save-masks stored; nothing is played.

    A run with these metrics then finds the sessions finished. Scans must be here, models' weights need not be. Exit
    code 1: some sessions were not scored.
    """
    from intrabench.engine.score import score as measure
    from intrabench.engine.summary import Summary
    from intrabench.engine.verify import Trust
    from intrabench.registry.objects import make_metric
    from intrabench.results.causes import by_cause
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    metrics, permission = [make_metric(one) for one in metric], Trust(plugin, None, trust)
    found = measure(results_folder(results), metrics, permission, selection)
    note(f"{several(found.scored, 'session')} scored; {found.already} had the metrics before")
    for line in Summary(unmeasured=found.unmeasured).valueless:
        echo(line)
    if found.without_masks:
        have = "session has" if found.without_masks == 1 else "sessions have"
        echo(f"{found.without_masks} {have} no stored masks; `intrabench run --save-masks` with the metric plays again")
    for group in by_cause(found.left):
        echo(*group.lines(f"{several(group.count, 'session')} not scored"))
    tell_selection(selection)
    if found.without_masks or found.left:
        raise typer.Exit(1)


@of_results()
def verify(
    results: Annotated[Path | None, typer.Argument(help="Results folder. Default: that of `intrabench run`.")] = None,
    sample: Annotated[int, typer.Option("--sample", help="Number of sessions.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Chooses them.")] = 0,
    plugin: Plugins = [],  # noqa: B006
    python: Annotated[
        str | None, typer.Option("--python", metavar="PATH", help="Interpreter for the sessions of runs with --python.")
    ] = None,
    trust: Trusts = False,
    timeout: CheckTimeout = 3600.0,
    json: Json = False,
    *,
    selection: Selection,
) -> None:
    """Compute random finished sessions again and compare them. Exit code 1: some differ, or none could be verified.

    Rows of training-free models must be equal; those of networks up to 0.001 Dice or one voxel. Nothing is downloaded,
    and what only the folder names is neither contacted, opened nor run, unless you --trust it.
    """
    from collections import Counter
    from dataclasses import asdict

    from intrabench.engine.options import interpreter
    from intrabench.engine.verify import Trust
    from intrabench.engine.verify import verify as verdicts
    from intrabench.results.causes import by_cause
    from intrabench.results.masks import damaged_masks
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folder = results_folder(results)
    words = {"equal": "ok", "rounding": "ok, up to rounding", "differs": "DIFFERS", "unknown": "cannot be verified"}
    counts: Counter[str] = Counter()
    records = []
    permission = Trust(plugin, interpreter(python) if python else None, trust)
    for verdict in verdicts(folder, sample, seed, permission, timeout, selection):
        counts[verdict.found] += 1
        records.append(asdict(verdict))
        if not json and not verdict.reason:
            say = echo if verdict.found in ("differs", "unknown") else note
            say(f"{words[verdict.found]:<18}  {verdict.message}")
    if json:
        show(records, json)
    else:
        for group in by_cause(Counter(one["reason"] for one in records if one["reason"])):
            echo(*group.lines(f"{words['unknown']:<18}  {several(group.count, 'session')}"))
        echo(", ".join(f"{counts[found]} {word}" for found, word in words.items() if counts[found]))
    tell_selection(selection)
    tell_lacking(folder, unread=damaged_masks(folder))
    if counts["differs"] or not counts["equal"] + counts["rounding"]:
        raise typer.Exit(1)


def tell_selection(selection: Selection) -> None:
    """Say which sessions an output is of that has no place for it, such as a file or a list."""
    echo(*filter(None, [selection.words]), err=True)


def tell_page(file: Path) -> None:
    """Say how large a page is, and at which address a browser finds it."""
    note(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB): {file.absolute().as_uri()}")


def tell_lacking(*folders: Path, unread: Sequence[str] = ()) -> None:
    """Print what results folders lack, and what else was not read; damaged parts end the command with exit code 1."""
    from intrabench.statistics.soundness import is_partial

    echo(*filter(None, map(is_partial, folders)), err=True)
    tell_damage(*folders, unread=unread)


def tell_damage(*folders: Path, unread: Sequence[str] = ()) -> None:
    """Print the damaged parts of results folders, and what else was not read; if there is any, exit with code 1.

    Columns that are left out are named, too, and change no exit code.
    """
    from intrabench.results.parts import damaged_parts, left_out_columns

    echo(*(f"{folder}: {text}" for folder in folders for text in left_out_columns(folder)), err=True)
    lines = [*unread, *(part for folder in folders for part in damaged_parts(folder))]
    for line in lines:
        echo(line, err=True)
    if lines:
        raise typer.Exit(1)


MOST_NAMES = 3
"""So many models, data sets or cases of a failure are named."""


@of_results()
def failures(
    out: Out = None,
    traceback: Annotated[bool, flag("--traceback", help="Also where in the code each one happened.")] = False,
    json: Json = False,
    *,
    selection: Selection,
) -> None:
    """List the causes of failures in a results folder, with their sessions; those of data (no_data) count in no mean.

    Failures whose messages differ only in numbers, paths and addresses have one cause.
    """
    from dataclasses import asdict

    from intrabench.cli.shared import show
    from intrabench.results.failures import kinds_of_failures
    from intrabench.statistics.soundness import some_rows
    from intrabench.workspace import results_folder

    folder = results_folder(out)
    found, left_out = kinds_of_failures(some_rows(folder), folder, selection)
    if json:
        show([asdict(kind) for kind in found], json)
    elif not found:
        echo(f"no session in {folder} has failed")
    for kind in () if json else found:
        echo(*_lines(kind, traceback))
    tell_selection(selection)
    echo(*left_out, err=True)
    tell_lacking(folder)


def _lines(kind: Kind, traceback: bool) -> list[str]:
    """A failure, where it happened in the data, and in the code."""
    from intrabench.results.causes import Group

    where = "; ".join(
        f"{what} {_first_names(names)}"
        for what, names in (("model", kind.models), ("data set", kind.datasets), ("case", kind.cases))
    )
    group = Group(kind.cause, kind.sessions, kind.error, kind.distinct)
    lines = [*group.lines(f"{several(kind.sessions, 'session')}: {kind.status}"), f"  {where}"]
    if traceback:
        kept = kind.traceback.split("\n") if kind.traceback else ["no traceback was kept"]
        lines += [f"  | {line}" for line in kept]
    return lines


def _first_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
