"""A spec is a spec, however it is written: names that people give and those in rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.engine.make_job import make_job
from intrabench.engine.options import Options
from intrabench.errors import IntraBenchError
from intrabench.publishing.exports.evidence import pairs
from intrabench.registry.canonical import Column, meant
from intrabench.results.labels import rows_named
from tests.conftest import Said

OWN = '''
from dataclasses import dataclass
from intrabench import Click, Mask, Refinement, Turn, User, points
from intrabench.prompters.box_slice import BoxSlice


@dataclass(frozen=True)
class Triage(BoxSlice):
    """Boxes."""

    name = "triage"
    part: float = 0.5


@dataclass(frozen=True)
class EdgeFix(Refinement):
    """Clicks."""

    name = "edge_fix"
    width: int = 2
    kind: str = "a"

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """A click."""
        missed = user.target.mask.without(mask)
        return Turn(points(missed.coordinates()[0]), actions=(Click(),)) if missed.any() else None
'''
ROW = "triage:part=0.5+edge_fix:width=2,kind=a"
SPELLINGS = (
    ROW,
    "triage+edge_fix",
    "triage:part=.50+edge_fix:kind=a,width=2",
    "triage+edge_fix:kind='a'",
    'triage : part = "0.5" +edge_fix',
)


@pytest.fixture
def own() -> None:
    """A workspace with a prompter and a refinement, and a folder that rows name."""
    Path("intrabench.toml").write_text("")
    Path("prompters").mkdir()
    Path("prompters/own.py").write_text(OWN)
    Path("clicks").mkdir()


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_prompter_is_the_same_however_it_is_written(own: None, text: str) -> None:
    assert meant("prompter", text, ["box_slice", ROW, "triage:part=0.4+edge_fix:width=2,kind=a"]) == [ROW]


@pytest.mark.parametrize(
    ("column", "text", "row"),
    [
        ("model", "random_walker:derived=none", "random_walker"),
        ("model", "random_walker:seed_mm=5.0,beta=7", "random_walker:beta=7,seed_mm=5"),
        ("model", "sam:size=b (random weights)", "sam (random weights)"),
        ("model", "masks:folder=./m", "masks:folder=m"),
        ("model", "masks:folder='m'", "masks:folder=m"),
        ("model", "masks:folder={cwd}/m", "masks:folder=m"),
        ("model", "masks:folder=m+random_walker:derived=none", "masks:folder=m+random_walker"),
        ("model", "theirs:b=2,a='1'", "theirs:a=1,b=2"),  # a class that is not here
        ("dataset", "phantom:scans=3,instances=3", "phantom:scans=3"),
    ],
)
def test_models_and_data_sets_too(column: Column, text: str, row: str) -> None:
    assert meant(column, text.format(cwd=os.getcwd()), ["box_fill", row]) == [row]


@pytest.mark.parametrize(
    ("column", "text"),
    [("model", "random_walker:beta=8"), ("prompter", "triage"), ("prompter", "triage:part=0.4+edge_fix")],
)
def test_what_differs_is_another(own: None, column: Column, text: str) -> None:
    assert meant(column, text, ["random_walker", "random_walker:beta=7", ROW]) == []


def test_two_spellings_in_rows_are_two_lines(wording: SnapshotAssertion) -> None:
    rows = ["masks:folder=m", f"masks:folder={os.getcwd()}/m"]
    assert meant("model", rows[0], rows) == [rows[0]]
    with pytest.raises(IntraBenchError) as caught:
        meant("model", "masks:folder=./m", [rows[0], "masks:folder=x/../m"])
    assert caught == wording


def test_nothing_is_made_of_what_rows_name(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(text: str) -> str:
        made.append(text)
        return text

    monkeypatch.setattr("intrabench.registry.canonical._SPECS", {"model": make})
    assert meant("model", "a:x=1,b=2", ["program:command=rm", "a:b=2,x=1"]) == ["a:b=2,x=1"]
    assert made == ["a:x=1,b=2"]


def test_names_of_published_rows_and_specs_select_rows() -> None:
    rows = pl.DataFrame(
        {
            "protocol": ["intrabench@1", "basic@1", "basic@1"],
            "prompter": ["points_slice:n=1", "points_slice:n=1", "box_slice"],
        }
    )
    assert rows_named(rows, "prompter", "1PPS").height == 1
    for spec in ("points_slice", "points_slice:n=1"):
        assert rows_named(rows, "prompter", spec).height == 2
    assert rows_named(rows, "prompter", "points_slice:n=2").is_empty()


def test_options_that_name_models_and_data_sets_take_any_spec() -> None:
    names = ["random_walker", "random_walker:beta=7"]
    assert pairs("--model-id", ["random_walker:derived=none=a/b"], names, "M=ID", "model") == {names[0]: "a/b"}
    assert pairs("--model-id", ["random_walker:beta=7.0=a/b"], names, "M=ID", "model") == {names[1]: "a/b"}
    with pytest.raises(IntraBenchError, match="names nothing in these results"):
        pairs("--model-id", ["random_walker:beta=8=a/b"], names, "M=ID", "model")


def test_only_takes_the_spec_of_a_row_as_well() -> None:
    def chosen(*only: str) -> set[str]:
        options = Options(model=["box_fill"], dataset=["phantom"], protocol="intrabench@1", only=only)
        return {row.name for row in make_job(options).rows.values()}

    assert chosen("box_interp:n=3") == chosen("3B Inter") != chosen("3B*")


def test_what_was_run_can_be_compared_exported_and_verified(own: None, say: Callable[..., Said]) -> None:
    phantom = "phantom:shape=8x24x24"
    words = ("-p", "triage+edge_fix", "-p", "box_slice", "-m", "box_fill", "-d", phantom, "--rounds", "1")
    assert say("run", *words, "--save-masks", "--workers", "0", "--out", "out").code == 0
    for number, spec in enumerate(SPELLINGS):
        said = say("compare", spec, "box_slice", "--out", "out", "--json")
        assert said.code in (0, 1), said.err
        assert json.loads(said.out)
        assert say("export", "masks", f"masks{number}", "-p", spec, "--out", "out").code == 0
    twice = say("compare", SPELLINGS[0], SPELLINGS[1], "--out", "out")
    assert (twice.code, "are two names of one prompter" in twice.err) == (2, True)
    assert "cannot be verified" not in say("verify", "out", "--sample", "20").out
