"""Commands to export results in the formats of others: Every Eval Ever, Hugging Face, Croissant, RO-Crate."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from intrabench.cli.console import echo
from intrabench.cli.options import completes
from intrabench.cli.results import Out, tell_damage
from intrabench.cli.shared import Plugins, add_plugins
from intrabench.errors import IntraBenchError, several

Folder = Annotated[Path, typer.Argument(help="The new folder.")]
Licence = Annotated[
    str, typer.Option("--licence", help="Of what is exported, e.g. CC-BY-4.0. Default: nothing is said.")
]


def add_exports(app: typer.Typer) -> None:
    """Add the commands of this file to ``intrabench export``."""
    for name, command in (("eee", eee), ("hf", hugging_face), ("croissant", croissant), ("ro-crate", ro_crate)):
        app.command(name)(command)


def eee(
    folder: Folder,
    out: Out = None,
    model_id: Annotated[
        list[str], typer.Option("--model-id", metavar="MODEL=ORG/NAME", help="A model's name at the Hugging Face hub.")
    ] = [],  # noqa: B006
    organization: Annotated[str, typer.Option("--organization", help="Who evaluated.")] = "unknown",
    relationship: Annotated[
        str,
        typer.Option("--relationship", help="To the models: first_party, third_party, collaborative or other."),
    ] = "other",
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Every Eval Ever: a JSON file per model, protocol and data set, with intervals, and a line for each session."""
    from typing import get_args

    from intrabench.publishing.exports.eee import Evaluator, Relationship, export_eee
    from intrabench.workspace import results_folder

    if relationship not in get_args(Relationship):
        known = ", ".join(get_args(Relationship))
        raise IntraBenchError(f"--relationship {relationship} is unknown; give one of {known}")
    add_plugins(plugin)
    root, by = results_folder(out), Evaluator(organization, relationship)  # type: ignore[arg-type]
    written, notes = export_eee(root, folder, by, model_id, now=datetime.now(UTC))
    _tell(root, f"wrote {several(written, 'evaluation')} to {folder}", notes)


def hugging_face(
    folder: Folder,
    out: Out = None,
    benchmark: Annotated[
        list[str],
        typer.Option("--benchmark", metavar="DATASET=ORG/NAME/TASK", help="The benchmark at the hub that it is."),
    ] = [],  # noqa: B006
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="A metric, or noc:threshold=0.9, auc, ... Default: what leads in the protocol, else dice.",
            autocompletion=completes("metrics"),
        ),
    ] = "",
    source_url: Annotated[str, typer.Option("--source-url", help="Where readers find these results.")] = "",
    source_name: Annotated[str, typer.Option("--source-name", help="What that place is called.")] = "",
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Hugging Face: .eval_results/*.yaml for the repository of each model."""
    from intrabench.publishing.exports.hugging_face import Source, export_hugging_face
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    root = results_folder(out)
    written, notes = export_hugging_face(root, folder, benchmark, metric, Source(source_url, source_name))
    _tell(root, f"wrote {several(written, 'file')} to {folder}", notes)


def croissant(
    folder: Folder,
    out: Out = None,
    dataset: Annotated[
        list[str],
        typer.Option("--dataset", "-d", help="Only the cards of these.", autocompletion=completes("datasets")),
    ] = [],  # noqa: B006
    licence: Licence = "",
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Croissant with RAI fields: the card of each data set, and the prompts of the results as a data set."""
    from intrabench.publishing.exports.croissant import export_croissant
    from intrabench.registry import registry
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    root = results_folder(out)
    written, notes = export_croissant(root, folder, [registry.make("datasets", one) for one in dataset], licence)
    text = f"wrote {', '.join(written)} to {folder}"
    echo(text) if dataset else _tell(root, text, notes)


def ro_crate(folder: Folder, out: Out = None, licence: Licence = "", plugin: Plugins = []) -> None:  # noqa: B006
    """RO-Crate: rows, prompts and records of the runs, with data sets, models and software described."""
    from intrabench.publishing.exports.ro_crate import export_ro_crate
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    root = results_folder(out)
    written, notes = export_ro_crate(root, folder, licence, now=datetime.now(UTC))
    _tell(root, f"wrote {several(written, 'run')} to {folder}", notes)


def _tell(root: Path, text: str, notes: Sequence[str]) -> None:
    echo(text)
    echo(*notes, err=True)
    tell_damage(root)
