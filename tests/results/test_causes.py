"""Sentences about one cause are one group, whatever numbers, paths and addresses they name."""

from __future__ import annotations

import time

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import cause
from intrabench.results.causes import by_cause, with_causes


@pytest.mark.parametrize(
    ("error", "masked"),
    [
        ("out of memory (tried 12 slices)", "out of memory (tried N slices)"),
        ("tried to allocate 2.50 GiB of 1,024 at -3e-07", "tried to allocate N GiB of N at N"),
        ("shape (1, 3, 512) is no 1x3x256", "shape (N, N, N) is no NxNxN"),
        ("/data/a b.nii.gz: no space left", "PATH b.nii.gz: no space left"),
        ("'/data/a b.nii.gz' is missing (~/x/y.npz)", "PATH is missing (PATH)"),
        ("pics/images/c1.png cannot be read: it is truncated", "PATH cannot be read: it is truncated"),
        ("see ./a, ../b and x/y/z.", "see PATH, PATH and PATH."),
        (r"C:\data\x.nii is damaged", "PATH is damaged"),
        ("cannot reach tcp://127.0.0.1:8786: refused", "cannot reach ADDRESS: refused"),
        ("<Grid object at 0x7f3a11c0>", "<Grid object at ADDRESS>"),
        ("session 0123456789abcdef01234567 differs", "session N differs"),
        ("neither empty/none nor and/or is a path", "neither empty/none nor and/or is a path"),
        ("effaced facade", "effaced facade"),
        ("it would contact http://a/1; --trust allows that", "it would contact http://a/1; --trust allows that"),
        ("KeyError: 3, in line 10 of sick.py", "KeyError: N, in line 10 of sick.py"),
        ("", ""),
    ],
)
def test_what_differs_between_sessions_is_masked(error: str, masked: str) -> None:
    assert cause(error) == masked
    assert cause(cause(error)) == masked


def test_lines_of_code_are_different_causes() -> None:
    assert cause("KeyError: 3, in line 10 of a.py") != cause("KeyError: 3, in line 11 of a.py")


def test_groups_have_a_sentence_and_an_example_where_sentences_differ(wording: SnapshotAssertion) -> None:
    found = by_cause({"gone": 3, "oom: tried 2": 2, "oom: tried 1": 4})
    assert [(one.count, one.distinct, one.sentence, one.example) for one in found] == [
        (6, 2, "oom: tried N", "oom: tried 1"),
        (3, 1, "gone", ""),
    ]
    assert [*found[0].lines("6 sessions"), *found[1].lines("3 sessions")] == wording


def test_rows_get_the_same_causes() -> None:
    rows = pl.DataFrame({"error": ["tried 1", "tried 2", None, ""]}, schema={"error": pl.String})
    assert with_causes(rows)["cause"].to_list() == ["tried N", "tried N", None, ""]
    assert with_causes(rows.head(0)).columns == ["error", "cause"]


@pytest.mark.parametrize("piece", ["a-", "a/", "/:", "a.", "0-", "f", "/", "a/a.", ".", "'/", "1:", "a+", "\\"])
def test_sentences_of_others_take_no_longer_than_their_length(piece: str) -> None:
    start = time.process_time()
    cause(piece * 100_000)
    assert time.process_time() - start < 5  # minutes, if a pattern goes back
