"""Writes models.md from the classes of the models and the registry of weights; `make docs` runs it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_type_hints

from intrabench.models.installing import caution, install_command
from intrabench.models.parts.recipe import Recipe
from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import Weights
from intrabench.registry import registry

FOLDER = Path(__file__).parent
HEAD = """# Models

<!-- Written by `make docs` from the classes and from the registry of weights. Do not edit it. -->

`intrabench run --model NAME:key=value ...` sets the parameters below. `intrabench info NAME` shows the same on the
terminal, and `intrabench check NAME` tries a model on a synthetic scan.

`intrabench weights get ID` downloads weights. They are stored where `INTRABENCH_WEIGHTS` says, and `--weights PATH`
takes a file of yours. Each file is compared with its sha256, and its content key by key with the network. `--weights
random` runs the untrained network, and every row says so.

Weights that are **not pinned** are the one exception to "every download is compared with what is published": nobody
publishes their sha256. Their download may not be redirected from https to http, and the sha256 of the first one is
written beside the file, into `FILE.json`. Later downloads, and the file each time that it is used, must equal it. If
the change is wanted, delete `FILE.json`. `intrabench info NAME` says what is pinned, and what was recorded.

If a model does not take a prompt, one table for all models converts it (`intrabench/play/adapt.py`), and the column
`adapted` records it. For example, scribbles become points, and a 2D box becomes its centre for a 3D model that takes
only points. [How results are defined](results.md#conversions) has the table.

Models that work in 3D get only the prompts that the hand gave, not those interpolated between them. They have the
parameter `derived=all`, as in `sammed3d:derived=all`, to get them all.

If a prompt lies where a model does not answer, `adapted` says `outside crop`. Refinements with `reachable=true` stay
where it does, as in `points_volume+click_volume:reachable=true`.

**Policies** are named sets of steps around a network. `policy=official` does what the authors do, `policy=radioactive`
what the code behind the IntRaBench paper does. Single steps can be replaced: `sam:threshold=0.5,feedback=none`. The
steps are explained in `intrabench/models/parts/intensity.py` (intensity), `intrabench/models/parts/resize.py` (resize)
and `intrabench/models/parts/recipe.py` (multimask, feedback). The authors of SAM, SAM 2 and SAM-Med2D say nothing about
the intensities of scans; for these, official means the percentiles of the volume.

`--model paper:sam` is SAM as the IntRaBench paper ran it, with its size and policy. `intrabench info intrabench@1`
lists the seven models of the paper, which are what `--protocol intrabench@1` runs without `--model`.

**Trained on** lists the data sets known to IntraBench that the authors say they trained on. A model may have seen other
data sets, too. The column `seen_in_training` of a row says yes, no or unknown.
"""


def page() -> str:
    """The text of models.md."""
    entries = registry.entries("models").values()
    models = [entry.load() for entry in entries if entry.origin == "intrabench"]
    return "\n".join([HEAD, *_overview(models), *(line for model in models for line in _section(model))])


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
    (FOLDER / "models.md").write_text(page(), encoding="utf-8")
