"""Exceptions in words: where the user's own code raised them."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError, in_words
from intrabench.identity.loading import import_file

MINE = """
import json

def read():
    return json.loads("{")

def refuse():
    raise ValueError
"""


def said(name: str) -> str:
    Path("mine.py").write_text(MINE)
    try:
        getattr(import_file(Path("mine.py")), name)()
    except Exception as error:
        return in_words(error)
    raise AssertionError


def test_an_exception_in_the_users_file_ends_in_its_line() -> None:
    assert said("refuse") == "ValueError, in line 8 of mine.py"
    assert said("read").endswith("double quotes: line 1 column 2 (char 1), in line 5 of mine.py")


def test_an_exception_of_a_notebook_ends_in_its_line(wording: SnapshotAssertion) -> None:
    names = {"__name__": "__main__"}
    exec(compile(MINE, "<cell>", "exec"), names)
    with pytest.raises(ValueError) as caught:
        names["refuse"]()  # type: ignore[operator]
    assert in_words(caught.value) == wording


def test_other_exceptions_have_no_place() -> None:
    with pytest.raises(KeyError) as caught:
        {}["a"]
    assert in_words(caught.value) == "KeyError: 'a'"
    assert in_words(IntraBenchError("as it is")) == "as it is"


def test_a_file_that_cannot_be_imported_says_where() -> None:
    Path("mine.py").write_text("import math\n\nimport nothing_like_this\n")
    sentence = "mine.py cannot be imported .*'nothing_like_this', in line 3 of mine.py.; repair it"
    with pytest.raises(IntraBenchError, match=sentence):
        import_file(Path("mine.py"))
