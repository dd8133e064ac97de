"""Sentences with names and citations, written as plain text, Markdown or LaTeX.

In a sentence, a name stands between backquotes and citations in double brackets: ``models: `sam` [[kirillov2023]]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from intrabench.files.names import brief, one_line
from intrabench.reporting.formats import escaped

Format = Literal["text", "markdown", "latex"]

_PARTS = re.compile(r"`([^`]*)`| ?\[\[([^\]]*)\]\]")


def name(text: object) -> str:
    """A spec, a hash or another name, to stand in a sentence."""
    return f"`{plain(brief(str(text)))}`"


def plain(text: object) -> str:
    """Text of a card or a row, without what would be markup."""
    return re.sub(r"\[\[|\]\]", "", one_line(str(text)).replace("`", "'"))


def listed(parts: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def count(number: int, what: str) -> str:
    """``two data sets``: small numbers as words."""
    return f"{_WORDS[number] if number < len(_WORDS) else number} {what}{'s' * (number != 1)}"


def sentence(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def write(sentence: str, format: Format, numbers: Mapping[str, int]) -> str:
    """The sentence as `format`; numbers: of the citations, for plain text."""
    written, end, sentence = "", 0, one_line(sentence)  # a line end in a name would begin a paragraph, or a list
    for found in _PARTS.finditer(sentence):
        written += escaped(sentence[end : found.start()], format)
        written += _name(found[1], format) if found[2] is None else _citation(found[2].split(","), format, numbers)
        end = found.end()
    return written + escaped(sentence[end:], format)


def _name(text: str, format: Format) -> str:
    if format == "latex":
        return rf"\texttt{{{escaped(text, format)}}}"
    return f"`{text}`" if format == "markdown" else text


def _citation(keys: Sequence[str], format: Format, numbers: Mapping[str, int]) -> str:
    if format == "latex":
        return rf"~\cite{{{','.join(keys)}}}"
    if format == "markdown":
        return f" [{'; '.join(f'@{key}' for key in keys)}]"
    return f" [{', '.join(str(numbers[key]) for key in keys)}]"
