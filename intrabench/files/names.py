"""Names of cases, labels and data sets: as parts of paths, and as one line of text."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from urllib.parse import quote

from intrabench.errors import IntraBenchError

LONGEST = 200
"""Bytes of a `file_name`; file systems allow 255, of which suffixes and unfinished files need some."""

MOST_SHOWN = 500
"""Characters of a name in tables."""

_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d) *(\.|$)", re.IGNORECASE)


_TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""They let a text be read backwards, ``gpj.exe``."""


def file_name(*parts: str) -> str:
    """Names as one part of a path, ``A__B``: two differ whenever as many names differ, and none leaves its folder.

    What is unsafe on any system is quoted as in URLs: separators, dots at either end, devices of Windows (``con``), and
    what is not ASCII. A long name ends in a hash. Upper and lower case stay, so names may differ by case alone.
    """
    text = "__".join(map(_divisible, parts) if len(parts) > 1 else map(_quoted, parts))
    for end in (0, -1):
        if text[end:][:1] in (".", " ") or (end == 0 and _RESERVED.match(text)):
            text = _at(text, end)
    if len(text) <= LONGEST:
        return text or "%"
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    return f"{text[: LONGEST - 34]}%~{digest}"  # no quoted character begins with ~


def one_line(text: str) -> str:
    r"""The text, but what cannot be printed as Python writes it, ``\n``.

    That is control characters, line ends, bytes that are not UTF-8, and marks that turn the direction of the rest.
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def brief(text: str) -> str:
    """The text as a table shows it: `one_line`, and cut at `MOST_SHOWN` characters. Anybody may have written it."""
    return one_line(text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…")


def check_utf8(text: str, what: str) -> str:
    """The text, unless it cannot be stored.

    Raises:
        IntraBenchError: it is not UTF-8; files on Linux may have any bytes in their names.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise IntraBenchError(f"{what} '{one_line(text)}' is not UTF-8; rename it") from None
    return text


def _quoted(name: str) -> str:
    return quote(name, safe=" ()+,=@[]", errors="surrogatepass")


def _divisible(name: str) -> str:
    """Quoted, without the mark that divides parts: no two underscores, and none at either end."""
    text = _quoted(name).replace("__", "_%5F")
    for end in (0, -1):
        text = _at(text, end) if text[end:][:1] == "_" else text
    return text


def _at(text: str, end: int) -> str:
    """The text with its first or last (-1) character as URLs quote any."""
    letter = f"%{ord(text[end]):02X}"
    return letter + text[1:] if end == 0 else text[:-1] + letter


def _visible(letter: str) -> str:
    hidden = unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") or letter in _TURNS
    return ascii(letter)[1:-1] if hidden else letter
