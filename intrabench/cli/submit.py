"""The command submit: a folder of results that a public board takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from intrabench.cli.console import echo
from intrabench.cli.results import Out
from intrabench.cli.shared import Plugins, add_plugins
from intrabench.errors import IntraBenchError, several


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
) -> None:
    """Make a folder of results that a public board takes, and check it as the board does."""
    from intrabench.publishing.board.statement import By
    from intrabench.publishing.board.submit import submit as make
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    made, notices = make(results_folder(out), folder, By(name, contact, licence, notes), sample)
    assert made.statement is not None
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    lines, masks = several(len(made.statement.lines), "line"), several(len(made.statement.masks), "session")
    rows = several(made.statement.rows, "row")
    echo(f"wrote {folder}: {rows} of {lines}, masks of {masks}, {size:.1f} MB; it passes the check")
    echo(*notices, err=True)
