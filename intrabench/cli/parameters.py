"""The parameters of classes, as ``info`` and the documentation say them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from inspect import cleandoc
from textwrap import wrap
from typing import Any

from intrabench.specs import specs
from intrabench.specs.values import expected


def parameters_of(cls: type[Any]) -> list[str]:
    """The parameters of a class: name, what it takes in words, and its default."""
    return [f"{name}: {takes}; {default}" for name, (takes, default) in _words(cls).items()]


def taken_by(cls: type[Any]) -> dict[str, dict[str, str]]:
    """For programs: by the name of each parameter what it takes, its default and its meaning, in words."""
    return {
        name: {"takes": takes, "default": default, "meaning": meaning(cls, name)}
        for name, (takes, default) in _words(cls).items()
    }


def explained(cls: type[Any]) -> list[str]:
    """`parameters_of`, indented, each with its meaning below if the class's own description does not tell it."""
    lines = []
    for name, line in zip(_words(cls), parameters_of(cls), strict=True):
        inherited = "" if _labelled(cls, name) else _inherited(cls, name)
        lines += [f"  {line}", *wrap(inherited, 118, initial_indent=" " * 6, subsequent_indent=" " * 6)]
    return lines


def meaning(cls: type[Any], name: str) -> str:
    """What a parameter means, as the docstring of the class or of a base says it; empty if none does.

    It is what follows ``name:``, else the first sentence of the class's own docstring with the name.
    """
    return _labelled(cls, name) or _inherited(cls, name) or _mention(cls, name)


def _inherited(cls: type[Any], name: str) -> str:
    """What follows ``name:`` in the docstring of the nearest base that has it."""
    return next(filter(None, (_labelled(base, name) for base in cls.__mro__[1:])), "")


def _labelled(cls: type[Any], name: str) -> str:
    """What follows ``name:`` in a class's own docstring, up to the next name or the end of the paragraph."""
    for paragraph in _paragraphs(cls):
        _, *parts = _LABEL.split(paragraph)
        for label, text in zip(parts[::2], parts[1::2], strict=True):
            if name in re.findall(r"\w+", label):
                return text.strip()
    return ""


_LABEL = re.compile(r"(?:^|(?<=[.;] ))((?:`*[a-z]\w*`*(?:, | and ))*`*[a-z]\w*`*): ")
"""``name:`` or ``name, name:`` at the beginning of a sentence."""


def _mention(cls: type[Any], name: str) -> str:
    """The first sentence of a class's own docstring that has the name."""
    sentences = (sentence for text in _paragraphs(cls) for sentence in re.split(r"(?<=[.;]) ", text))
    return next((sentence for sentence in sentences if re.search(rf"\b{name}\b", sentence)), "")


def _paragraphs(cls: type[Any]) -> Iterator[str]:
    """Those of a class's own docstring, each as one line; not the signature that a dataclass without one gets."""
    text = cleandoc(vars(cls).get("__doc__") or "")
    if not text.startswith(f"{cls.__name__}("):
        yield from (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


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
