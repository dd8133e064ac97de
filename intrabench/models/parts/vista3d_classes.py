"""Which of VISTA3D's classes a data set's word for a target means."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_suffix(".toml")


def class_of(label: str) -> int | None:
    """The index, from 1 to 132, of the class that a label such as ``kidney_left`` or ``Left Kidney`` means, or None.

    The words decide, not their order, capitals or what stands between them.
    """
    return _indices().get(_words(label))


def name_of(index: int) -> str:
    """The name of a class that `class_of` gives."""
    return next(name for name, value in _content()["classes"].items() if value == index)


def supported() -> frozenset[int]:
    """All that `class_of` gives."""
    return frozenset(_content()["classes"].values())


@cache
def _content() -> dict[str, dict[str, Any]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


@cache
def _indices() -> dict[frozenset[str], int]:
    return {_words(name): index for part in ("classes", "synonyms") for name, index in _content()[part].items()}


def _words(label: str) -> frozenset[str]:
    spellings = _content()["spellings"]
    return frozenset(spellings.get(word, word) for word in re.findall(r"[a-z]+\d*|\d+", label.lower()))
