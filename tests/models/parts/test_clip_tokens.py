"""CLIP's tokens from a list of merges, against the library's own tokenizer on the same vocabulary."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.parts.clip_tokens import END, LETTERS, LONGEST, START, read, tokenizer, tokens_of

MERGES = "#version: 0.2\nl i\nv e\nli ve\nlive r</w>\na n\nan d</w>\n"
TEXTS = ("liver", "A Liver, and\tliving", "L3", "Leber (groß)", "日本 l-i", "it's 12 mm", "é")


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without it."""
    pytest.importorskip("transformers")


@pytest.fixture
def merges(tmp_path: Path) -> Path:
    path = tmp_path / "merges.txt"
    path.write_text(MERGES, encoding="utf-8")
    return path


def library(folder: Path, merges: str) -> Any:
    """The tokenizer that transformers makes of the two files that it expects."""
    from transformers import CLIPTokenizer
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    letters = list(bytes_to_unicode().values())
    words = [
        *letters,
        *(letter + "</w>" for letter in letters),
        *(line.replace(" ", "") for line in merges.split("\n")[1:-1]),
    ]
    vocabulary = {word: number for number, word in enumerate(words)} | {"<|startoftext|>": START, "<|endoftext|>": END}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (folder / "merges.txt").write_text(merges, encoding="utf-8")
    return CLIPTokenizer.from_pretrained(folder)


def test_tokens_are_those_of_the_library(merges: Path, tmp_path: Path) -> None:
    own, theirs = tokenizer(merges), library(tmp_path, MERGES)
    for text in TEXTS:
        assert tokens_of(text, own) == theirs(text)["input_ids"], text
    assert tokens_of("liver and", own) == [START, LETTERS + 3, LETTERS + 5, END]
    assert tokens_of("LIVER   and ", own) == tokens_of("liver and", own)


def test_without_merges_every_letter_is_a_token() -> None:
    letters = tokenizer(None)
    assert tokens_of("ab", letters) == [START, ord("a") - 0x21, 256 + ord("b") - 0x21, END]
    assert len(tokens_of("é", letters)) == 4  # of two bytes
    assert all(token < LETTERS for text in TEXTS for token in tokens_of(text, letters)[1:-1])


def test_a_text_of_too_many_tokens_is_refused(wording: SnapshotAssertion) -> None:
    letters = tokenizer(None)
    assert len(tokens_of("a" * (LONGEST - 2), letters)) == LONGEST
    with pytest.raises(ValueError) as caught:
        tokens_of("a" * (LONGEST - 1), letters)
    assert caught == wording


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"<html>\nno such file\n",
        b"#version: 0.2\n",
        b"#version: 0.2\na b c\n",
        b"#version: 0.2\n" + b"a b\n" * (START - LETTERS + 1),
    ],
)
def test_other_files_are_one_sentence(tmp_path: Path, content: bytes, wording: SnapshotAssertion) -> None:
    path = tmp_path / "merges.txt"
    path.write_bytes(content)
    with pytest.raises(IntraBenchError) as caught:
        read(path)
    assert caught == wording
    assert str(path) in str(caught.value)
    with pytest.raises(IntraBenchError, match="cannot be read"):
        read(tmp_path / "nowhere.txt")
