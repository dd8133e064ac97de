"""What `intrabench compare A B` compares, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.results.store import Store
from intrabench.statistics.contests import contests
from intrabench.statistics.statistic import Statistic
from tests.conftest import Said
from tests.results.made import rows
from tests.wording import line_with


def cases(offset: float, **shared: object) -> pl.DataFrame:
    """Ten cases whose Dice differ by case."""
    return rows(*({"case": str(number), "dice": 0.5 + 0.02 * number + offset} for number in range(10)), **shared)


def stored(folder: str, *frames: pl.DataFrame) -> Path:
    store = Store(Path(folder), folder)
    given = [{k: v for k, v in row.items() if v is not None} for frame in frames for row in frame.to_dicts()]
    store.write_part(given, [])
    return Path(folder)


@pytest.fixture
def results() -> Path:
    return stored(
        "intrabench-results",
        cases(0.0, model="old", prompter="p"),
        cases(-0.1, model="new", prompter="p"),
        cases(0.0, model="old", prompter="q"),
        cases(0.1, model="new", prompter="q"),
        rows({"status": "not_applicable"}, model="old", prompter="r"),
        cases(0.0, model="new", prompter="r"),
    )


def test_lines_of_one_side_and_names_that_a_selection_leaves_out_are_told(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    stored("intrabench-results", *(cases(0.0, model=m, prompter=p) for m, p in ("ap", "bp", "bq", "br", "bs", "bt")))
    (found,) = contests(Path("intrabench-results"), "a", "b", Statistic(""))
    assert [one for one in found.left_out if "only in" in one] == wording
    told = say("compare", "a", "b", "--model", "a")
    assert told.code == 2
    assert "(only model a)" in told.err


def test_models_are_compared_prompter_by_prompter(
    results: Path, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    found = contests(results, "old", "new", Statistic(""))
    assert [contest.head for contest in found] == ["p", "q"]
    assert [(set(one.a["model"]), set(one.b["model"])) for one in found] == [({"old"}, {"new"})] * 2
    said = say("compare", "old", "new")
    assert said.code == 1
    assert line_with(said.out, "old, positive") == wording
    lines = [line.replace("│", " ").split() for line in said.out.splitlines() if line.startswith("│")]
    assert [line for line in lines if line[1] == "d"][:2] == [
        ["p", "d", "-0.100", "*", "[-0.100,", "-0.100]", "1.000", "0.002", "0", "10", "10", "0.00"],
        ["q", "d", "+0.100", "*", "[+0.100,", "+0.100]", "0.000", "0.002", "10", "0", "10", "1.00"],
    ]
    assert [line for line in said.out.splitlines() if "is worse" in line] == wording
    assert line_with(said.out.splitlines(), "not applicable") == wording


def test_a_refused_correction_is_no_score_but_the_rounds_before_are(say: Callable[..., Said]) -> None:
    """As in tables: the last round of such a session has no value."""
    refused = [
        {"case": str(number), "session": f"s{number}", "round": round, "status": status, "dice": 0.0}
        for number in range(10)
        for round, status in ((0, "empty"), (1, "not_applicable"))
    ]
    news = cases(0.0, model="new", prompter="p"), cases(0.0, model="new", prompter="q")
    stored("out", rows(*refused, model="old", prompter="p"), cases(0.1, model="old", prompter="q"), *news)
    assert [contest.head for contest in contests(Path("out"), "old", "new", Statistic(""))] == ["q"]
    assert [contest.head for contest in contests(Path("out"), "old", "new", Statistic("", 0))] == ["p", "q"]
    told = "not compared: p, not applicable to old: it does not take the prompts"
    last, first = (say("compare", "old", "new", "--out", "out", *words).out for words in ((), ("--round", "0")))
    assert (told in last, "+0.590" in last) == (True, False)
    assert (told in first, "+0.590" in first) == (False, True)


def test_prompters_are_compared_model_by_model(results: Path, say: Callable[..., Said]) -> None:
    assert [contest.head for contest in contests(results, "p", "q", Statistic(""))] == ["new", "old"]
    assert say("compare", "p", "q").code == 0
    assert say("compare", "q", "p").code == 1


def test_runs_are_compared_line_by_line_whatever_the_version(say: Callable[..., Said]) -> None:
    stored("a", cases(0.0, model_version="1"), cases(0.0, prompter="only_a"))
    stored("b", cases(-0.05, model_version="2", weights_sha256="f" * 64))
    (contest,) = contests(Path("nowhere"), "a", "b", Statistic(""))
    assert (contest.head, set(contest.b["model_version"])) == ("p", {"2"})
    assert say("compare", "a", "b").code == 1
    assert say("compare", "b", "a").code == 0


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("old", "neww"),
        ("old", "p"),
    ],
)
def test_names_that_mean_nothing(results: Path, a: str, b: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        contests(results, a, b, Statistic(""))
    assert str(caught.value) == wording


def test_prompters_may_be_called_as_in_tables(say: Callable[..., Said]) -> None:
    stored(
        "intrabench-results",
        cases(0.0, protocol="intrabench@1", prompter="points_slice:n=1"),
        cases(0.1, protocol="intrabench@1", prompter="points_slice:n=2"),
        cases(0.3, protocol="basic@1", prompter="points_slice:n=1"),
    )
    named, full = (say("compare", *names) for names in (("1PPS", "2PPS"), ("points_slice:n=1", "points_slice:n=2")))
    found = [[line.split() for line in said.out.splitlines() if "+0.100" in line] for said in (named, full)]
    assert found[0] == found[1]
    assert len(found[0]) > 5
    twice = say("compare", "1PPS", "points_slice:n=1")
    told = "error: 1PPS and points_slice:n=1 are two names of one prompter; give two that differ\n"
    assert (twice.code, twice.err) == (2, told)
    assert "did you mean '2PPS'" in say("compare", "1PPS", "2PP").err
    assert "did you mean '2PPS'" in say("export", "masks", "folder", "--prompter", "2PP").err


def test_nothing_in_common(wording: SnapshotAssertion) -> None:
    stored("a", cases(0.0, prompter="p"))
    stored("b", cases(0.0, prompter="q"))
    with pytest.raises(IntraBenchError) as caught:
        contests(Path("nowhere"), "a", "b", Statistic(""))
    assert caught == wording


def test_the_same_thing_twice(results: Path, say: Callable[..., Said]) -> None:
    """A folder may be written in two ways."""
    for a, b in (("old", "old"), ("p", "p"), (str(results), f"./{results}/"), ("unknown", "unknown")):
        said = say("compare", a, b)
        told = f"error: {a} and {b} are the same; give two results folders, models or prompters that differ\n"
        assert (said.code, said.out, said.err) == (2, "", told)
