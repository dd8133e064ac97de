"""Which sessions options choose: names, specs, globs, cases and targets of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.results.current import current
from intrabench.results.selection import EVERYTHING, selection
from intrabench.results.store import Store
from intrabench.statistics.evaluation import counted_rows
from intrabench.statistics.statistic import Statistic
from tests.results.made import rows

ROOT = Path("results")
PHANTOM = "phantom:shape=8x24x24,scans=4"


def given() -> pl.DataFrame:
    """Sessions of two data sets, in which cases have the same names, and a case without data."""
    made: list[dict[str, Any]] = [
        {"dataset": PHANTOM, "case": "case-1", "label": "node", "target_ml": 0.5, "target_voxels": 50},
        {"dataset": PHANTOM, "case": "case-3", "label": "node", "target_ml": 2.0, "target_voxels": 200},
        {"dataset": PHANTOM, "case": "case-1", "label": "liver", "target_ml": 90.0, "target_voxels": 9000},
        {"dataset": "e", "case": "case-1", "label": "node", "target_ml": 3.0, "target_voxels": 300},
        {"dataset": "e", "case": "x[1]", "label": "node", "target_ml": 3.0, "target_voxels": 300, "model": "sam"},
        {"dataset": "e", "case": "x1", "model": "sam:variant=b", "weights": "random"},
        {
            "dataset": "e",
            "case": "x1",
            "prompter": "box_interp:n=3,every=0",
            "protocol": "overlap@1",
        },
        {"dataset": "e", "case": "gone", "target": "*", "status": "no_data", "target_ml": None, "target_voxels": None},
    ]
    return rows(*(one | {"dice": n / 10} for n, one in enumerate(made)))


def chosen(**words: object) -> list[float | None]:
    """The Dice of what is selected, which number the rows above, in tenths."""
    counted, _ = current(given())
    return selection(**words).of(counted, ROOT)["dice"].to_list()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, range(8)),
        ({"dataset": "e"}, range(3, 8)),
        ({"dataset": "phantom:scans=4,shape=8x24x24"}, range(3)),  # in another order
        ({"dataset": ["e", "phantom*"]}, range(8)),
        ({"model": "sam"}, [4]),
        ({"model": "sam (random weights)"}, []),
        ({"model": "sam:variant=b (random weights)"}, [5]),
        ({"model": "sam:variant=b"}, [5]),  # no line is called so, but its model is
        ({"model": ["sam*"]}, [4, 5]),
        ({"prompter": "box_interp:every=0,n=3"}, [6]),
        ({"protocol": "overlap@1"}, [6]),
        ({"protocol": "overlap@1,basic@1"}, range(8)),
        ({"cases": "case-1"}, [0, 2, 3]),
        ({"cases": "x[1]"}, [4]),  # a name comes before a glob
        ({"cases": "x?*"}, [4, 5, 6]),
        ({"cases": "first:1", "dataset": PHANTOM}, [0, 2]),  # of the data set, not of the rows
        ({"cases": "first:3", "dataset": PHANTOM}, [0, 1, 2]),
        ({"targets": "node", "dataset": PHANTOM}, [0, 1]),
        ({"targets": ["node", "ml>=1"], "dataset": PHANTOM}, [1]),
        ({"targets": ["node.1", "liver", "voxels<1000"], "dataset": PHANTOM}, [0, 1]),
        ({"targets": "liver"}, [2, 7]),  # nobody knows the targets of a case without data
        ({"model": "m", "dataset": "e", "cases": "case-1", "targets": "ml=3"}, [3]),
    ],
)
def test_what_is_chosen(words: dict[str, object], expected: list[int]) -> None:
    if not expected:
        with pytest.raises(IntraBenchError):
            chosen(**words)
    else:
        assert chosen(**words) == [n / 10 for n in expected]


def test_cases_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "cases.txt").write_text("case-3  # of the phantom\nx1\n")
    assert chosen(cases=f"@{tmp_path / 'cases.txt'}") == [0.1, 0.5, 0.6]


@pytest.mark.parametrize(
    "words",
    [
        {"model": "san"},
        {"prompter": "box_interp"},
        {"dataset": "f"},
        {"protocol": "basic@9"},
        {"cases": "case-2"},
        {"cases": "first:0", "dataset": PHANTOM},
        {"cases": "first:2"},
        {"cases": "subset:big", "dataset": PHANTOM},
        {"targets": "kidney"},
        {"targets": "ml>100"},
        {"targets": "slices>5"},
        {"model": "sam", "dataset": PHANTOM},
        {"model": [""]},
    ],
)
def test_what_chooses_nothing_is_one_sentence(words: dict[str, object], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        chosen(**words)
    assert str(caught.value) == wording


def test_a_bound_is_of_the_target_as_it_is_now() -> None:
    """Else it would bring back an earlier session, of a mask that has changed since."""
    earlier = {"case": "1", "dice": 0.1, "target_ml": 5.0, "session": "old", "written_at": 1}
    later = {"case": "1", "dice": 0.2, "target_ml": 0.5, "session": "new", "written_at": 2}
    other = {"case": "2", "dice": 0.3, "target_ml": 5.0, "written_at": 2}
    counted, _ = current(rows(earlier, later, other))
    assert selection(targets="ml>=1").of(counted, ROOT)["dice"].to_list() == [0.3]
    assert sorted(selection(targets="ml<1").of(counted, ROOT)["dice"]) == [0.1, 0.2]


def test_versions_do_not_change_with_what_is_chosen() -> None:
    """The newest version of a class is that of its newest row, also if that row is not chosen."""
    old = {"case": "1", "dice": 0.1, "model": "own:a=1", "model_version": "1", "written_at": 1}
    new = {"case": "1", "dice": 0.2, "model": "own:a=2", "model_version": "2", "written_at": 2}
    counted, left_out = current(rows(old, new))
    assert len(left_out) == 1
    with pytest.raises(IntraBenchError, match="no model"):
        selection(model="own:a=1").of(counted, ROOT)


def test_words_for_headings(wording: SnapshotAssertion) -> None:
    found = selection(model=["a", "b*"], cases="first:3", targets=["node", "ml>=1"], protocol="x@1,y@1")
    assert found.words == wording
    assert (EVERYTHING.words, selection()) == ("", EVERYTHING)


def test_rows_of_a_store_have_what_is_needed(tmp_path: Path) -> None:
    Store(tmp_path, "run").write_part(given().drop_nulls("target_ml").to_dicts(), [])
    assert counted_rows(tmp_path, Statistic(), selection(model="sam*"))[0].height == 2
