"""The command line's parts about files: data sets and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from intrabench.errors import IntraBenchError

data_app = typer.Typer(help="Data sets: fetch, list, verify.", no_args_is_help=True)
weights_app = typer.Typer(help="Weights of models: fetch, list, verify.", no_args_is_help=True)

Plugins = Annotated[list[Path], typer.Option("--plugin", help="A Python file with classes of your own.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


@data_app.command("get")
def data_get(names: list[str], plugin: Plugins = []) -> None:  # noqa: B006
    """Fetch and convert data sets."""
    from intrabench import registry
    from intrabench.datasets import store
    from intrabench.plan import select_cases

    add_plugins(plugin)
    failed = 0
    for name in names:
        dataset = registry.make("datasets", name)
        for source in store.to_download(dataset):
            typer.echo(f"{name}: downloading {source.filename} ({source.size / 1e6:.1f} MB)", err=True)
        for case in select_cases(dataset, []):
            try:
                index = store.prepare(dataset, case)
            except Exception as error:  # any file may be broken in any way; the other cases go on
                told = error if isinstance(error, IntraBenchError) else f"{type(error).__name__}: {error}"
                typer.echo(f"{name}, case {case}: {told}", err=True)
                failed += 1
            else:
                typer.echo(f"{name}, case {case}: {len(index.targets)} targets")
    if failed:
        raise typer.Exit(1)


@data_app.command("list")
def data_list(
    name: Annotated[str | None, typer.Argument()] = None,
    json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """List data sets, or the cases and targets of one."""
    from intrabench.describe import targets_of

    if name is None:
        show_names(listing("datasets", plugin), json)
        return
    add_plugins(plugin)
    _show(targets_of(name), json)


@data_app.command("verify")
def data_verify(names: list[str], plugin: Plugins = []) -> None:  # noqa: B006
    """Check the stored files of data sets against their checksums."""
    from intrabench import registry
    from intrabench.datasets import store

    add_plugins(plugin)
    problems = [f"{name}: {text}" for name in names for text in store.verify(registry.make("datasets", name))]
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{', '.join(names)}: all files are as they should be")


@weights_app.command("list")
def weights_list(json: Json = False) -> None:
    """List the weights that are known, and whether they are here."""
    from intrabench.models import weights

    _show(weights.listing(), json)


@weights_app.command("get")
def weights_get(names: list[str]) -> None:
    """Download weights unless they are here, and check them; sources are tried in turn."""
    from intrabench.console import downloading
    from intrabench.models.fetch_weights import fetch
    from intrabench.models.weights import get

    failed = 0
    for entry in [get(name) for name in names]:
        typer.echo(f"{entry.id}: licence {entry.licence}", err=True)
        try:
            with downloading(entry.file) as progress:
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
    from intrabench.models import weights

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
    from intrabench.models import weights

    typer.echo(weights.locate(name))


def listing(what: str, plugins: list[Path]) -> list[dict[str, str]]:
    """Name, summary and origin of all models, prompters, data sets or protocols."""
    from intrabench import registry
    from intrabench.specs import nearest

    add_plugins(plugins)
    if what == "protocols":
        from intrabench.protocols import PROTOCOLS

        return [{"name": p.id, "summary": p.summary, "origin": "intrabench"} for p in PROTOCOLS.values()]
    if what not in registry.ROOMS:
        known = (*registry.ROOMS, "protocols")
        raise IntraBenchError(f"there is no list of {what!r}{nearest(what, known)}; give one of {', '.join(known)}")
    found = registry.entries(what)
    return [{"name": entry.name, "summary": entry.summary, "origin": entry.origin} for entry in found.values()]


def add_plugins(plugins: list[Path]) -> None:
    """Make the classes of files known by name."""
    if plugins:
        from intrabench import registry

        for path in plugins:
            registry.add_plugin(path)


def show_names(rows: Sequence[Mapping[str, str]], json: bool) -> None:
    """Print the rows of `listing`."""
    if json:
        _show(rows, json)
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        origin = "" if row["origin"] == "intrabench" else f"  [{row['origin']}]"
        typer.echo(f"{row['name']:<{width}}  {row['summary']}{origin}")


def _show(rows: Sequence[Mapping[str, Any]], json: bool) -> None:
    """Print rows as JSON, or as columns as wide as they need to be."""
    if json:
        import json as writer

        typer.echo(writer.dumps(rows, indent=1))
        return
    widths = [max(len(str(value)) for value in column) for column in zip(*(row.values() for row in rows), strict=True)]
    for row in rows:
        typer.echo(
            "  ".join(str(value).ljust(width) for value, width in zip(row.values(), widths, strict=True)).rstrip()
        )
