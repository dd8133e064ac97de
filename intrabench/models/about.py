"""What a model says about itself as plain data: for `intrabench info --json`, and for clients of `intrabench serve`."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import Any

from intrabench.errors import IntraBenchError, foreign, in_words
from intrabench.identity.versions import version_of
from intrabench.models.base import Model
from intrabench.models.weights import registry as weights
from intrabench.specs import specs
from intrabench.specs.values import expected

UNITS = {
    "axes": "z, y, x; indices grow towards Superior, Anterior, Right",
    "points": "voxels; whole numbers are centres",
    "boxes": "voxels; half-open",
    "spacing": "mm",
    "times": "seconds",
}


def about(model: Model) -> dict[str, Any]:
    """Version, what it takes and needs, its weights and units, and its parameters with their values.

    What cannot be known now, such as what a server that is off would take, is None, and `problem` says why.
    """
    facts = {
        "name": model.name,
        "spec": model.spec,
        "summary": inspect.cleandoc(type(model).__doc__ or "").partition("\n")[0],
        "version": None,
        "dims": model.dims,
        "accepts": None,
        "derived": None,
        "strokes": None,
        "feeds_back": None,
        "answers_for": model.covers,
        "grey_only": model.grey_only,
        "joint": model.joint,
        "devices": list(model.devices),
        "dtypes": list(model.dtypes),
        "needs": f"intrabench[{model.extra}]" if model.extra else None,
        "weights": weights.facts(model),
        "parameters": parameters(model),
        "units": UNITS,
        "problem": None,
    }
    try:
        with foreign():
            takes = model.abilities
            facts |= {"version": version_of(model), "dims": takes.dims, "accepts": sorted(takes.accepts)}
            facts |= {"derived": takes.derived, "strokes": takes.strokes, "feeds_back": takes.feeds_back}
    except IntraBenchError as error:
        facts["problem"] = in_words(error)
    return facts


def parameters(model: Model) -> dict[str, Any]:
    """What can be set in the spec: for each parameter what it takes in words, its default and its value here.

    default_means: what a default of None stands for, in words.
    """
    types, found, words = specs.types_of(type(model)), dict[str, Any](), specs.default_words(type(model))
    for field in fields(model):  # type: ignore[arg-type]
        if field.init:
            default = None if field.default is MISSING else specs.written(field.default)
            value = specs.written(getattr(model, field.name))
            found[field.name] = {"takes": expected(types[field.name]), "default": default, "value": value}
            found[field.name] |= {"default_means": words[field.name]} if field.name in words else {}
    return found
