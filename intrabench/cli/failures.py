"""The command that lists what failed, and where in the code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from intrabench.cli.console import echo
from intrabench.cli.results import Out, tell_damage
from intrabench.cli.shared import Json, flag
from intrabench.errors import several

if TYPE_CHECKING:
    from intrabench.results.failures import Kind

MOST_NAMES = 3
"""So many models, data sets or cases of a failure are named."""


def failures(
    out: Out = None,
    traceback: Annotated[bool, flag("--traceback", help="Also where in the code each one happened.")] = False,
    json: Json = False,
) -> None:
    """List the distinct failures of a results folder, with their sessions; those of data (no_data) count in no mean."""
    from dataclasses import asdict

    from intrabench.cli.shared import show
    from intrabench.results.failures import kinds_of_failures
    from intrabench.statistics.soundness import some_rows
    from intrabench.workspace import results_folder

    folder = results_folder(out)
    found = kinds_of_failures(some_rows(folder), folder)
    if json:
        show([asdict(kind) for kind in found], json)
    elif not found:
        echo(f"no session in {folder} has failed")
    for kind in () if json else found:
        echo(*_lines(kind, traceback))
    tell_damage(folder)


def _lines(kind: Kind, traceback: bool) -> list[str]:
    """A failure, where it happened in the data, and in the code."""
    where = "; ".join(
        f"{what} {_some(names)}"
        for what, names in (("model", kind.models), ("data set", kind.datasets), ("case", kind.cases))
    )
    lines = [f"{several(kind.sessions, 'session')}: {kind.status}: {kind.error}", f"  {where}"]
    if traceback:
        kept = kind.traceback.split("\n") if kind.traceback else ["no traceback was kept"]
        lines += [f"  | {line}" for line in kept]
    return lines


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
