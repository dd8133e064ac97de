"""The command `gap`: people and simulated users on the same targets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intrabench.cli import options as o
from intrabench.cli.console import echo, note
from intrabench.cli.shared import Plugins, add_plugins

if TYPE_CHECKING:
    import polars as pl


def gap(
    results: Annotated[
        list[Path], typer.Argument(help="Results folders of people and of runs. Default: that of `intrabench run`.")
    ] = [],  # noqa: B006
    model: Annotated[
        str, typer.Option("--model", "-m", help="Only this model.", autocompletion=o.completes("models"))
    ] = "",
    metric: Annotated[str, typer.Option("--metric", help="Score to compare.")] = "dice",
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write the table to this file.")] = None,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Compare simulated users with people on the same targets and models: scores at equal effort, and their clicks."""
    from intrabench.cli.console import print_frame
    from intrabench.cli.results import tell_damage
    from intrabench.files.atomic import atomically, writing
    from intrabench.people.gap.gap import gap as compare
    from intrabench.results.spreadsheet import write_csv
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    folders = list(results) or [results_folder(None)]
    found = compare(folders, metric, model)
    for (name, prompter), part in found.frame.partition_by("model", "prompter", as_dict=True).items():
        print_frame(_readable(part), f"{prompter}, {name}: simulated minus people, 95 % intervals over patients")
    echo(*found.notes, err=True)
    if csv is not None:
        with writing(csv), atomically(csv) as part_file:
            write_csv(found.frame, part_file)
        note(f"wrote {csv}")
    tell_damage(*folders)


def _readable(part: pl.DataFrame) -> pl.DataFrame:
    """One simulated user, with the interval as text."""
    import polars as pl

    numbers = [pl.col(name).round(3) for name in ("people", "simulated", "difference")]
    interval = pl.format("{} to {}", pl.col("low").round(3), pl.col("high").round(3)).fill_null("-")
    return part.select("measure", *numbers, interval.alias("95 %"), "targets", "patients")
