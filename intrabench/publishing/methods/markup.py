"""Sentences with names and citations, written as plain text, Markdown or LaTeX; and the citations as BibTeX.

In a sentence, a name stands between backquotes and citations in double brackets: ``models: `sam` [[kirillov2023]]``.
Cards hold citations as text, which is kept whole: no author or title is guessed from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
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


_DOI, _ARXIV = re.compile(r"doi:(10\.[^\s;,]*[^\s;,.)])"), re.compile(r"arXiv[ :](\d{4}\.\d{5})")
# A year is not the beginning of an arXiv number, such as 2011.04450.
_YEAR = re.compile(r"\b(?:19|20)\d\d\b(?!\.\d)")
_CITATION = re.compile(r"et al\.|doi:|arXiv|\((?:19|20)\d\d\)|https?://")
_ROLE = re.compile(r"^[a-z ]+: ")
"""What a citation is of, such as ``data:``."""

_ESCAPED = {letter: f"\\{letter}" for letter in "&%$#_"}


@dataclass
class Bibliography:
    """Citations by key, in the order in which they were first cited."""

    entries: dict[str, str] = field(default_factory=dict)

    def cite(self, texts: Iterable[str]) -> str:
        """A mark such as ``[[clark2013,lambin2017]]`` for citations; several in one text stand between semicolons."""
        keys = [self._key(part) for text in texts for part in _parts(text)]
        return f" [[{','.join(dict.fromkeys(keys))}]]" if keys else ""

    def _key(self, text: str) -> str:
        for key, entry in self.entries.items():
            if entry == text:
                return key
        stem = key_of(text)
        key = next(name for name in (stem + letter for letter in ("", *ascii_lowercase)) if name not in self.entries)
        self.entries[key] = text
        return key

    def bibtex(self) -> str:
        """All entries as the content of a .bib file."""
        return "\n".join(_entry(key, text) for key, text in self.entries.items())


def _parts(text: str) -> list[str]:
    """The citations in a text; what is said of one after a semicolon stays with it."""
    found: list[str] = []
    for part in filter(None, (one_line(part).strip() for part in text.split(";"))):
        if _CITATION.search(part):
            found.append(_ROLE.sub("", part))
        elif found:
            found[-1] += f"; {part}"
    return found


def key_of(text: str) -> str:
    """A key from the first surname and the year of a citation: ``clark2013``."""
    first = re.split(r" et al\.|,| and ", text, maxsplit=1)[0]
    words = re.findall(r"[^\W\d_]+", first) or ["source"]
    years = _YEAR.findall(text)
    surname = "".join(letter for letter in words[-1].lower() if letter.isascii()) or "source"
    arxiv = _ARXIV.search(text)
    year = years[-1] if years else f"20{arxiv[1][:2]}" if arxiv else ""
    return surname + year


def _entry(key: str, text: str) -> str:
    braces = re.sub(r"[{}]", "", text)
    title = "".join(_ESCAPED.get(letter, letter) for letter in braces)
    fields = {"title": f"{{{title}}}"}
    if doi := _DOI.search(text):
        fields["doi"] = doi[1]
    if arxiv := _ARXIV.search(text):
        fields |= {"eprint": arxiv[1], "archiveprefix": "arXiv"}
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{{key},\n{lines}\n}}\n"


INTRABENCH = (
    "IntraBench{version}, a benchmark of promptable segmentation models, https://github.com/intrabench/intrabench"
)

RADIOACTIVE = (
    "C. Ulrich et al., RadioActive: 3D Radiological Interactive Segmentation Benchmark (first version: IntRaBench, "
    "Interactive Radiological Benchmark), arXiv 2411.07885"
)
RCLICKS = (
    "A. Antonov et al., RClicks: Realistic Click Simulation for Benchmarking Interactive Segmentation, NeurIPS 2024, "
    "arXiv 2410.11722"
)
EXTREME = "D. P. Papadopoulos et al., Extreme clicking for efficient object annotation, ICCV 2017, arXiv 1708.02750"
BCA = (
    "B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993)",
    "T. C. Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69, 371 (2015), "
    "doi:10.1080/00031305.2015.1089789",
)
CLAIMS = "Claims Reloaded, arXiv 2505.04720"

_PAPER = (
    *("box_interp", "box_prop", "box_slice", "box_volume", "point_interp", "point_prop", "points_slice"),
    *("points_volume", "scribble", "click_slice", "click_volume"),
)
_OF_PROMPTERS = {"clickability": RCLICKS, **dict.fromkeys(_PAPER, RADIOACTIVE)}


def of_prompters(name: str) -> list[str]:
    """The citations of a prompter by the name of its class."""
    return [_OF_PROMPTERS[name]] if name in _OF_PROMPTERS else []
