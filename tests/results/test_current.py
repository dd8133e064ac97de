"""Which sessions count: those of the newest versions."""

from __future__ import annotations

from intrabench.results.current import current
from tests.results.made import rows

OLD = {"model_version": "1.aaaaaaaa", "written_at": 1}
NEW = {"model_version": "1.bbbbbbbb", "written_at": 2}


def test_the_newest_version_of_a_model_counts_and_others_are_told() -> None:
    given = rows(
        *({**OLD, "case": case, "round": number} for case in "123" for number in (0, 1)),
        {**NEW, "case": "1"},
        {"model": "other", "written_at": 0},
    )
    found, told = current(given)
    assert found.select("model", "model_version", "case").rows() == [("m", "1.bbbbbbbb", "1"), ("other", "1", "1")]
    assert told == ["3 older sessions of m are left out: its code has changed since"]


def test_the_version_that_was_computed_last_is_the_newest() -> None:
    found, _ = current(rows({**OLD, "written_at": 9}, NEW))
    assert found["model_version"].to_list() == ["1.aaaaaaaa"]


def test_prompters_and_data_sets_too_and_no_session_is_told_twice() -> None:
    given = rows(
        {**OLD, "prompter_version": "1.cc"},
        {**NEW, "prompter_version": "1.cc"},
        {**NEW, "prompter_version": "1.dd", "written_at": 3},
        {**NEW, "prompter_version": "1.dd", "dataset": "e", "dataset_version": "1", "written_at": 4},
        {**NEW, "prompter_version": "1.dd", "dataset": "e", "dataset_version": "2", "written_at": 5},
    )
    found, told = current(given)
    assert found["written_at"].to_list() == [3, 5]
    assert told == [f"1 older session of {name} is left out: its code has changed since" for name in ("m", "p", "e")]


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
