"""The command submit."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from intrabench.clusters.script import SCRIPTS
from intrabench.errors import IntraBenchError


class NoJobs(TyperCommand):
    """A command that once printed job scripts, which another does now."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command.

        Raises:
            IntraBenchError: they ask for a job script.
        """
        if ["--", "run"] in [args[n : n + 2] for n in range(len(args))] or {f"--{name}" for name in SCRIPTS} & {*args}:
            raise IntraBenchError("job scripts are `intrabench job` now; write `intrabench job ... -- run ...`")
        return super().parse_args(ctx, args)


def add_submit(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command(cls=NoJobs, hidden=True)(submit)


def submit() -> None:
    """Job scripts are `intrabench job` now."""
    raise IntraBenchError("job scripts are `intrabench job` now; write `intrabench job ... -- run ...`")
