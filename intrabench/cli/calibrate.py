"""The command `calibrate`: seconds and errors of the hand from what people did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from intrabench.cli.console import echo, note
from intrabench.cli.results import Out, tell_damage
from intrabench.cli.shared import Plugins, add_plugins, flag
from intrabench.errors import IntraBenchError


def calibrate(
    results: Annotated[
        Path | None, typer.Argument(help="Results folder, as --out. Default: that of `intrabench annotate`.")
    ] = None,
    out: Out = None,
    file: Annotated[Path, typer.Option("--file", help="The file to write, FILE.toml.")] = Path("calibration.toml"),
    name: Annotated[str, typer.Option("--name", help="Its name in results. Default: that of the file.")] = "",
    force: Annotated[bool, flag("--force", help="Replace a file that exists.")] = False,
    plugin: Plugins = [],  # noqa: B006
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
    found = measure(folder, name or file.stem)
    write(found, file, force)
    print_frame(found.frame(), f"{found.calibration.id}, {found.calibration.content['seconds']['source']}")
    echo(*found.notes, err=True)
    note(f"wrote {file}; use it: intrabench run --effort {file} --hand {file} ...")
    tell_damage(folder)
