"""Commands for weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from intrabench.cli.shared import Json, show
from intrabench.errors import IntraBenchError

weights_app = typer.Typer(help="Download, list and verify weights of models.", no_args_is_help=True)


@weights_app.command("list")
def weights_list(json: Json = False) -> None:
    """List all known weights, and whether they are available locally."""
    from intrabench.models.weights import registry as weights

    show(weights.listing(), json)


@weights_app.command("get")
def weights_get(names: list[str]) -> None:
    """Download missing weights and verify them; sources are tried in turn."""
    from intrabench.engine.progress import Downloads
    from intrabench.models.weights.fetch import fetch
    from intrabench.models.weights.registry import get

    known = {name: get(name) for name in names}

    def fetched(name: str) -> object:
        typer.echo(f"{name}: licence {known[name].licence}", err=True)
        with Downloads() as downloads, downloads.watch(known[name].file) as progress:
            return fetch(name, progress)

    _each(known, fetched)


@weights_app.command("verify")
def weights_verify(
    names: Annotated[list[str] | None, typer.Argument(help="Default: all local weights.")] = None,
) -> None:
    """Read files again and compare their sha256 with the published or first one."""
    from intrabench.models.weights import registry as weights

    _each(names or [id for id in weights.entries() if weights.find(id)], weights.verify)


@weights_app.command("path")
def weights_path(name: str) -> None:
    """Print the local path of the verified file."""
    from intrabench.models.weights import registry as weights

    typer.echo(weights.locate(name))


def _each(names: Iterable[str], work: Callable[[str], object]) -> None:
    """Print the result of `work` for each name; a failure does not stop the others, but sets exit code 1."""
    failed = False
    for name in names:
        try:
            typer.echo(f"{name}: {work(name)}")
        except IntraBenchError as error:
            typer.echo(f"{name}: {error}", err=True)
            failed = True
    if failed:
        raise typer.Exit(1)
