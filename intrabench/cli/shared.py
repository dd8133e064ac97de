"""What several parts of the command line share: options, lists, columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from intrabench.errors import IntraBenchError

Plugins = Annotated[list[Path], typer.Option("--plugin", help="A Python file with classes of your own.")]
Cases = Annotated[list[str], typer.Option("--cases", help="Name, glob, first:N, subset:NAME or @FILE.")]
Targets = Annotated[
    list[str],
    typer.Option("--targets", help="Glob of ids or labels, e.g. 'vertebra.2*'; bounds, e.g. 'ml>=1', 'slices>5'."),
]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


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
        show(rows, json)
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        origin = "" if row["origin"] == "intrabench" else f"  [{row['origin']}]"
        typer.echo(f"{row['name']:<{width}}  {row['summary']}{origin}")


def show_table(rows: Sequence[Mapping[str, Any]], json: bool) -> None:
    """Print rows as JSON, or as columns under their names."""
    show(rows if json or not rows else [{name: name for name in rows[0]}, *rows], json)


def show(rows: Sequence[Mapping[str, Any]], json: bool) -> None:
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
