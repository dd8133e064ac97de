"""Which sessions count: those of the newest versions."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from intrabench.results.current import current
from tests.results.made import rows

OLD = {"model_version": "1.aaaaaaaa", "written_at": 1}
NEW = {"model_version": "1.bbbbbbbb", "written_at": 2}


def test_the_newest_version_of_a_model_counts_and_others_are_told(wording: SnapshotAssertion) -> None:
    given = rows(
        *({**OLD, "case": case, "round": number} for case in "123" for number in (0, 1)),
        {**NEW, "case": "1"},
        {"model": "other", "written_at": 0},
    )
    found, told = current(given)
    assert found.select("model", "model_version", "case").rows() == [("m", "1.bbbbbbbb", "1"), ("other", "1", "1")]
    assert told == wording


def test_the_version_that_was_computed_last_is_the_newest() -> None:
    found, _ = current(rows({**OLD, "written_at": 9}, NEW))
    assert found["model_version"].to_list() == ["1.aaaaaaaa"]


def test_prompters_and_data_sets_too_and_no_session_is_told_twice(wording: SnapshotAssertion) -> None:
    given = rows(
        {**OLD, "prompter_version": "1.cc"},
        {**NEW, "prompter_version": "1.cc"},
        {**NEW, "prompter_version": "1.dd", "written_at": 3},
        {**NEW, "prompter_version": "1.dd", "dataset": "e", "dataset_version": "1", "written_at": 4},
        {**NEW, "prompter_version": "1.dd", "dataset": "e", "dataset_version": "2", "written_at": 5},
    )
    found, told = current(given)
    assert found["written_at"].to_list() == [3, 5]
    assert told == wording


def test_versions_that_make_lines_are_all_kept() -> None:
    given = rows(OLD, NEW)
    found, told = current(given, ["model", "model_version"])
    assert (found.height, told) == (2, [])
    assert current(given, ["model", "prompter_version"])[0].height == 1


def test_nothing_is_left_out_of_rows_of_one_version() -> None:
    given = rows({"case": "1"}, {"case": "2", "written_at": 2})
    found, told = current(given)
    assert found.equals(given)
    assert told == []


def test_all_specs_of_a_class_share_its_version(wording: SnapshotAssertion) -> None:
    given = rows({**OLD, "model": "m:a=1"}, {**NEW, "model": "m"}, {"model": "other:a=1", "written_at": 0})
    found, told = current(given)
    assert sorted(found["model"]) == ["m", "other:a=1"]
    assert told == wording


def test_each_part_of_a_prompter_has_its_version(wording: SnapshotAssertion) -> None:
    given = rows(
        {"prompter": "box:n=3+mine", "prompter_version": "1+1.aa", "written_at": 1},
        {"prompter": "point+mine:k=2", "prompter_version": "1+1.bb", "written_at": 2},
        {"prompter": "box:n=3", "prompter_version": "1", "written_at": 0},
    )
    found, told = current(given)
    assert sorted(found["prompter"]) == ["box:n=3", "point+mine:k=2"]
    assert told == wording


def test_classes_that_use_others_are_known_by_their_specs() -> None:
    given = rows(
        {"prompter": "clickability:model=bright", "prompter_version": "1/1.aa", "written_at": 1},
        {"prompter": "clickability:model=dark", "prompter_version": "1/1.bb", "written_at": 2},
    )
    found, told = current(given)
    assert (found.height, told) == (2, [])
