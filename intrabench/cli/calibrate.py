"""The command `calibrate`: seconds and errors of the hand from what people did."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from intrabench.cli.console import echo
from intrabench.cli.shared import Plugins, add_plugins, flag


def calibrate(
    results: Annotated[
        Path | None, typer.Argument(help="Results folder. Default: that of `intrabench annotate`.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="The file to write, FILE.toml.")] = Path("calibration.toml"),
    name: Annotated[str, typer.Option("--name", help="Its name in results. Default: that of the file.")] = "",
    force: Annotated[bool, flag("--force", help="Replace a file that exists.")] = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Measure on recordings of people how long actions take and how exactly they hit, for `run --effort --hand`."""
    from intrabench.cli.console import print_frame
    from intrabench.cli.results import tell_damage
    from intrabench.people.calibrating.calibrate import calibrate as measure
    from intrabench.people.calibrating.calibrate import write
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folder = results_folder(results)
    found = measure(folder, name or out.stem)
    write(found, out, force)
    print_frame(found.frame(), f"{found.calibration.id}, {found.calibration.content['seconds']['source']}")
    echo(*found.notes, err=True)
    echo(f"wrote {out}; use it: intrabench run --effort {out} --hand {out} ...")
    tell_damage(folder)
