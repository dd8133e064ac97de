"""Commands for weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from intrabench.cli.console import echo, echo_sentences, note
from intrabench.cli.options import completes
from intrabench.cli.shared import Json, show
from intrabench.cli.verbosity import quiet
from intrabench.errors import IntraBenchError

weights_app = typer.Typer(help="Download, list and verify weights of models.", no_args_is_help=True)


def _names(incomplete: str) -> list[tuple[str, str]]:
    """Completes ids of weights, and models."""
    from intrabench.models.weights.registry import entries

    ids = [(id, entry.file) for id, entry in entries().items() if id.startswith(incomplete)]
    return ids + [found for found in completes("models")(incomplete) if found[0] not in dict(ids)]


@weights_app.command("list")
def weights_list(json: Json = False) -> None:
    """List all known weights, and whether they are available locally."""
    from intrabench.models.weights import registry as weights

    rows = weights.listing()
    if not json:
        rows = [row | {"here": _in_short(row["here"])} for row in rows]
    show(rows, json, heading=True, spared=("file",))
    if not json:
        echo_sentences("`intrabench weights get ID` gets what is not here; --json has the command or the way for each")


def _in_short(here: str) -> str:
    """Whether weights are here or how they get here, in a word or two."""
    ways = {"intrabench weights get ": "no", "pip ": "by pip"}
    return next((word for way, word in ways.items() if here.startswith(way)), here.partition(",")[0])


NAMES = "Ids of weights or models, e.g. sam_vit_h, sam:size=h or paper:sam."


def weights_id(name: str) -> str:
    """The id of weights that were asked for by their id, or by a model (``sam``, ``sam:size=h``, ``paper:sam``).

    Raises:
        IntraBenchError: there is nothing of this name, or the model has no weights.
    """
    from intrabench.models.weights.registry import entries, get
    from intrabench.registry import registry

    if name in entries() or not (":" in name or name in registry.entries("models")):
        return get(name).id
    found = registry.make("models", name).weights
    if found is None:
        raise IntraBenchError(f"model {name} has no weights; `intrabench weights list` shows all")
    return found


@weights_app.command("get")
def weights_get(names: Annotated[list[str], typer.Argument(help=NAMES, autocompletion=_names)]) -> None:
    """Download missing weights and verify them; sources are tried in turn."""
    from intrabench.engine.progress.display import reporting
    from intrabench.models.weights.fetch import described, fetch

    def fetched(name: str) -> object:
        entry = described(name)
        note(f"{name}: licence {entry.licence}", err=True)
        with reporting(quiet=quiet()) as reporter, reporter.watch(entry.file) as progress:
            return fetch(name, progress)

    _for_each(dict.fromkeys(map(weights_id, names)), fetched)


@weights_app.command("verify")
def weights_verify(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"{NAMES} Default: all local weights.", autocompletion=_names)
    ] = None,
) -> None:
    """Read files again and compare their sha256 with the published or first one."""
    from intrabench.models.weights import registry as weights

    local = (id for id in weights.entries() if weights.find(id))
    _for_each(names or local, lambda name: weights.verify(weights_id(name)))


@weights_app.command("path")
def weights_path(
    name: Annotated[str, typer.Argument(help="Id of weights, or a model, e.g. paper:sam.", autocompletion=_names)],
) -> None:
    """Print the local path of the verified file."""
    from intrabench.models.weights import registry as weights

    echo(str(weights.locate(weights_id(name))))


def _for_each(names: Iterable[str], work: Callable[[str], object]) -> None:
    """Note the result of `work` for each name; a failure does not stop the others, but sets exit code 1."""
    failed = False
    for name in names:
        try:
            note(f"{name}: {work(name)}")
        except IntraBenchError as error:
            echo(f"{name}: {error}", err=True)
            failed = True
    if failed:
        raise typer.Exit(1)
