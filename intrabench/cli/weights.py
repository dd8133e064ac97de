"""The command line's part about weights."""

from __future__ import annotations

from typing import Annotated

import typer

from intrabench.cli.shared import Json, show
from intrabench.errors import IntraBenchError

weights_app = typer.Typer(help="Weights of models: fetch, list, verify.", no_args_is_help=True)


@weights_app.command("list")
def weights_list(json: Json = False) -> None:
    """List the weights that are known, and whether they are here."""
    from intrabench.models.weights import registry as weights

    show(weights.listing(), json)


@weights_app.command("get")
def weights_get(names: list[str]) -> None:
    """Download weights unless they are here, and check them; sources are tried in turn."""
    from intrabench.engine.progress import Downloads
    from intrabench.models.weights.fetch import fetch
    from intrabench.models.weights.registry import get

    failed = 0
    for entry in [get(name) for name in names]:
        typer.echo(f"{entry.id}: licence {entry.licence}", err=True)
        try:
            with Downloads() as downloads, downloads.watch(entry.file) as progress:
                path = fetch(entry.id, progress)
            typer.echo(f"{entry.id}: {path}")
        except IntraBenchError as error:
            typer.echo(f"{entry.id}: {error}", err=True)
            failed += 1
    if failed:
        raise typer.Exit(1)


@weights_app.command("verify")
def weights_verify(
    names: Annotated[list[str] | None, typer.Argument(help="Default: all that are here.")] = None,
) -> None:
    """Read files again and compare them with their published or first sha256."""
    from intrabench.models.weights import registry as weights

    failed = 0
    for name in names or [id for id in weights.entries() if weights.find(id)]:
        try:
            typer.echo(f"{name}: {weights.verify(name)}")
        except IntraBenchError as error:
            typer.echo(f"{name}: {error}", err=True)
            failed += 1
    if failed:
        raise typer.Exit(1)


@weights_app.command("path")
def weights_path(name: str) -> None:
    """Print where the file is here, checked."""
    from intrabench.models.weights import registry as weights

    typer.echo(weights.locate(name))
