"""Writes the lists of models.md from the classes of the models and the registry of weights; `make docs` runs it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from itertools import product
from typing import Any, get_args, get_type_hints

from short_pages import prose, short, store, table

from intrabench.models.installing import caution, install_command
from intrabench.models.parts.recipe import Recipe
from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import Weights
from intrabench.registry import registry
from intrabench.registry.registry import Entry

PAGE = "models.md"


def index() -> str:
    """The page in git."""
    return short(PAGE, table(("model", "what it is"), ((f"`{entry.name}`", entry.summary) for entry in _entries())))


def pages() -> dict[str, str]:
    """The page of the site."""
    models = [entry.load() for entry in _entries()]
    lines = [prose(PAGE), *_overview(models), *(line for model in models for line in _section(model))]
    return {PAGE: "\n".join(lines)}


def _entries() -> list[Entry]:
    return [entry for entry in registry.entries("models").values() if entry.origin == "intrabench"]


def _overview(models: list[Any]) -> Iterator[str]:
    yield "| model | works in | answers for | takes | install | weights |"
    yield "|---|---|---|---|---|---|"
    for model in models:
        files = weights_of(model)
        install = f"`{install_command(model.extra)}`" if model.extra else ""
        none = "of the repository" if hasattr(model, "repository") else "none"
        size = none if not files else ", ".join(f"{file.megabytes} MB" for file in files)
        prompts = ", ".join(sorted(model.accepts))
        yield f"| [{model.name}](#{model.name}) | {model.dims}D | {model().covers} | {prompts} | {install} | {size} |"
    yield ""


def _section(model: type[Any]) -> Iterator[str]:
    yield from [f"## {model.name}", "", inspect.cleandoc(model.__doc__ or ""), ""]
    if parameters := list(_parameters(model)):
        yield from ["Parameters: " + ", ".join(parameters) + ".", ""]
    recipes: dict[str, Recipe] = getattr(model, "recipes", {})
    if recipes:
        yield "| policy | intensity | resize | multimask | feedback | threshold | predicted again |"
        yield "|---|---|---|---|---|---|---|"
        for name, r in recipes.items():
            again = "all prompted slices" if r.predicts_all else "slices with a new prompt"
            resize = "of its own" if "resize" in getattr(model, "lacks", ()) else r.resize
            steps = f"{r.intensity} | {resize} | {r.multimask} | {r.feedback} | {r.threshold:g}"
            yield f"| {name} | {steps} | {again} |"
        yield ""
    if model.extra and (known := caution(model.extra)):
        yield from [f"{known[0].upper()}{known[1:]}: see [installing](installing.md#extras).", ""]
    for file in weights_of(model):
        yield from _weights(file)


def _parameters(model: type[Any]) -> Iterator[str]:
    hints = get_type_hints(model)
    for field in fields(model):
        choices = [choice for choice in get_args(hints[field.name]) if isinstance(choice, str)]
        choices = list(getattr(model, "recipes", choices)) if field.name == "policy" else choices
        shown = f" ({', '.join(choices)})" if choices else ""
        if not field.metadata.get("switch"):
            yield f"`{field.name}={field.default}`{shown}"


def _weights(file: Weights) -> Iterator[str]:
    yield f"- Weights `{file.id}`: `{file.file}`, about {file.megabytes} MB. Licence: {file.licence}. {file.citation}."
    if not file.pinned:
        yield "  Not pinned: no sha256 is published, so that of the first download counts."
    yield f"  Training data: {file.training_data}."
    if file.trained_on:
        yield f"  Trained on: {', '.join(file.trained_on)}."
    if file.held_out:
        yield f"  Held out: {', '.join(file.held_out)}."
    yield ""


def weights_of(model: type[Any]) -> list[Weights]:
    """The registered files of a model, of all its sizes, versions and checkpoints."""
    hints = get_type_hints(model)
    kinds = [field.name for field in fields(model) if field.name in ("size", "release", "checkpoint")]
    made = [
        model(**dict(zip(kinds, values, strict=True))) for values in product(*(get_args(hints[kind]) for kind in kinds))
    ]
    return [weights.get(id) for id in dict.fromkeys(one.weights for one in made) if id]


if __name__ == "__main__":
    store(PAGE, index())
