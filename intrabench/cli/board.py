"""Commands for a public board: build its site from submissions, check submissions."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intrabench.cli.console import echo
from intrabench.cli.shared import CheckTimeout, Json, Plugins, Trusts, add_plugins, show
from intrabench.errors import IntraBenchError, several

if TYPE_CHECKING:
    from intrabench.publishing.board.check import Checked
    from intrabench.publishing.board.copies import Common

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
    from intrabench.publishing.board.site import build

    refused, tables = build(submissions, site, title, checks)
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
    from intrabench.publishing.board.check import check
    from intrabench.publishing.board.check_result import result_of, write_result
    from intrabench.publishing.board.copies import common

    if replay < 0:
        raise IntraBenchError(f"--replay {replay} is not a number of sessions; give 0 for none, or more")
    add_plugins(plugin)
    chosen = secrets.randbelow(2**32) if seed is None else seed
    found = [check(folder, replay, chosen, Trust(plugin, None, trust), timeout) for folder in submissions]
    twice = list(common([one.submission for one in found]))
    for one in found:
        if checks is not None and replay and not one.submission.problems:
            write_result(checks, one.submission.name, result_of(one.submission.folder, one.verdicts))
    if json:
        show([_plain(one, twice) for one in found], json)
    else:
        for one in found:
            _tell(one)
        echo(*(f"note: {one.words}" for one in twice))
        if replay:
            echo(f"--seed {chosen} chooses the same sessions again")
    if any(one.problems for one in found):
        raise typer.Exit(1)


def _tell(checked: Checked) -> None:
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
    said = f"refused for {several(len(checked.problems), 'problem')}" if checked.problems else "ok"
    echo(f"{name}: {said}" + (f"; {played}{unknown}" if checked.verdicts else ""))


def _plain(checked: Checked, twice: Sequence[Common]) -> dict[str, object]:
    return {
        "submission": checked.submission.name,
        "ok": not checked.problems,
        "problems": checked.problems,
        "notes": [*checked.notes, *(one.words for one in twice if checked.submission.name in (one.one, one.other))],
        "replayed": [vars(one) for one in checked.verdicts],
    }
