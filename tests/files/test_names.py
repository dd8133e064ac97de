"""Names of any characters as parts of paths and as lines of text."""

from __future__ import annotations

import os.path
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.files.names import LONGEST, check_utf8, file_name, one_line

ANY = st.text(st.characters(), max_size=300) | st.text("._ %~A", max_size=8)  # also lone surrogates
NAMES = {
    "": "%",
    "p 1": "p 1",
    "p_1": "p_1",
    "p%201": "p%25201",
    "..": "%2E%2E",
    ".hidden": "%2Ehidden",
    "end.": "end%2E",
    " ": "%20",
    "a/b\\c": "a%2Fb%5Cc",
    "con": "%63on",
    "NUL.x": "%4EUL.x",
    "aux .x": "%61ux .x",
    "contour": "contour",
    "lesion [left].1": "lesion [left].1",
    'a:b"c*?<>|\n\0': "a%3Ab%22c%2A%3F%3C%3E%7C%0A%00",
    "é\udce9": "%C3%A9%ED%B3%A9",
}


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_what_is_unsafe_is_quoted(name: str, expected: str) -> None:
    assert file_name(name) == expected


def test_parts_are_joined_so_that_they_can_be_told_apart() -> None:
    assert file_name("liver.1", "sam", "box_slice", "seed0_round0") == "liver.1__sam__box_slice__seed0_round0"
    assert file_name("a__b", "c") == "a_%5Fb__c"
    assert file_name("a_", "_b") == "a%5F__%5Fb"
    assert file_name("..", "") == "%2E.__"


def test_long_names_keep_their_beginning() -> None:
    one, other = (file_name("a" * 300 + end) for end in "xy")
    assert one != other
    assert one[:166] == other[:166] == "a" * 166
    assert len(one) == len(other) == LONGEST


@given(ANY, ANY)
def test_distinct_names_are_distinct_files_in_the_folder(one: str, other: str) -> None:
    folder = Path("/folder")
    for name in (one, other):
        path = folder / file_name(name)
        assert Path(os.path.normpath(path)).parent == folder
        assert path.name[0] != "."
        assert len(os.fsencode(path.name)) <= LONGEST
    assert (file_name(one) == file_name(other)) == (one == other)


@given(st.tuples(ANY, ANY), st.tuples(ANY, ANY))
def test_distinct_pairs_of_names_are_distinct_files(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (file_name(*one) == file_name(*other)) == (one == other)


def test_one_line_shows_what_cannot_be_seen() -> None:
    assert one_line("lesion [left] é\\n | 肝") == "lesion [left] é\\n | 肝"
    assert one_line("a\u202egpj.exe\u202c \u2066b\u2069") == "a\\u202egpj.exe\\u202c \\u2066b\\u2069"
    assert one_line("\u200fשלום\u200d\U0001f468") == "\u200fשלום\u200d\U0001f468"  # scripts and emoji need these marks
    assert one_line("a\nb\tc\x1b[31m\x85\u2028\udce9") == "a\\nb\\tc\\x1b[31m\\x85\\u2028\\udce9"


@given(ANY)
def test_one_line_is_one_line_of_utf8(name: str) -> None:
    assert one_line(name).encode().decode().splitlines() == ([one_line(name)] if name else [])


def test_names_that_are_not_utf8_are_refused(wording: SnapshotAssertion) -> None:
    assert check_utf8("é", "the file") == "é"
    with pytest.raises(IntraBenchError) as caught:
        check_utf8("caf\udce9", "the file")
    assert caught == wording
