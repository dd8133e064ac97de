"""CLIP's tokens of a text, from the list of merges that its authors published.

Radford et al., "Learning Transferable Visual Models From Natural Language Supervision", ICML 2021,
https://github.com/openai/CLIP. The vocabulary follows from the merges: first the 256 bytes, then each at the end of a
word, then what the merges make, in their order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError

START, END = 49406, 49407
"""The tokens around a text, the last of the vocabulary."""
LETTERS = 512
"""Tokens of single bytes, within a word and at its end."""
LONGEST = 77
"""Tokens that a text may have, both of these included."""
_SHOWN = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
"""Bytes that stand for themselves in the file; the others are written as letters from 0x100 on."""


def tokenizer(merges: Path | None) -> Any:
    """The tokenizer of transformers with these merges; None: without merges, so that every letter is a token.

    Raises:
        IntraBenchError: the file is not a list of merges.
        ImportError: transformers is not installed.
    """
    from transformers import CLIPTokenizer

    pairs: Any = [] if merges is None else read(merges)
    hidden = [byte for byte in range(256) if byte not in _SHOWN]
    letters = [chr(byte) for byte in _SHOWN] + [chr(0x100 + number) for number in range(len(hidden))]
    words = [*letters, *(f"{letter}</w>" for letter in letters), *(first + second for first, second in pairs)]
    vocabulary = {word: number for number, word in enumerate(words)}
    return CLIPTokenizer(vocab=vocabulary | {"<|startoftext|>": START, "<|endoftext|>": END}, merges=pairs)


def tokens_of(text: str, by: Any) -> list[int]:
    """The tokens of a text between `START` and `END`.

    Raises:
        ValueError: there are too many.
    """
    tokens: list[int] = by(text)["input_ids"]
    if len(tokens) > LONGEST:
        raise ValueError(f"the text has {len(tokens)} tokens of CLIP, and {LONGEST} is the most; shorten it")
    return tokens


def read(path: Path) -> list[tuple[str, str]]:
    """The pairs of a file of merges, one a line, below its head.

    Raises:
        IntraBenchError: it is none.
    """
    try:
        head, *lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise IntraBenchError(f"{path} cannot be read ({type(error).__name__}); give the merges.txt of CLIP") from error
    pairs = [tuple(line.split(" ")) for line in lines if line]
    if not head.startswith("#version") or not pairs or any(len(pair) != 2 for pair in pairs):
        raise IntraBenchError(f"{path} is no list of merges, pairs of tokens below #version; give CLIP's merges.txt")
    if len(pairs) > START - LETTERS:
        raise IntraBenchError(f"{path} has {len(pairs)} merges, and CLIP has {START - LETTERS}; give its merges.txt")
    return [(first, second) for first, second in pairs]
