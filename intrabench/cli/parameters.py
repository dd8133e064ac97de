"""The parameters of classes, as ``info`` and the documentation say them."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from intrabench.specs import specs
from intrabench.specs.values import expected


def parameters_of(cls: type[Any]) -> list[str]:
    """The parameters of a class: name, what it takes in words, and its default."""
    return [f"{name}: {takes}; {default}" for name, (takes, default) in _words(cls).items()]


def taken_by(cls: type[Any]) -> dict[str, dict[str, str]]:
    """The same for programs: by the name of each parameter what it takes and its default, in words."""
    return {name: {"takes": takes, "default": default} for name, (takes, default) in _words(cls).items()}


def _words(cls: type[Any]) -> dict[str, tuple[str, str]]:
    """By the name of each parameter what it takes and its default, in words; a network's missing steps are left out."""
    types, known = specs.types_of(cls), specs.default_words(cls)
    lacks = getattr(cls, "lacks", ()) if known else ()
    return {
        one.name: (expected(types[one.name]), f"default {known[one.name]}" if one.name in known else _default(one))
        for one in fields(cls)
        if one.name not in lacks
    }


def _default(parameter: Field[Any]) -> str:
    """The value of a parameter that is not given, as specs write it."""
    if parameter.default is not MISSING:
        return f"default {specs.written(parameter.default) or 'empty'}"
    return "has to be given" if parameter.default_factory is MISSING else "has a default"
