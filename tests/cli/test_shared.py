"""Lists: what ships by its kind, then the user's own classes by the folder that they are in."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.cli.headings import HEADINGS
from intrabench.cli.run import run
from intrabench.cli.run_options import PANELS
from intrabench.workspace import make_workspace
from tests.conftest import Said

SHIFT = '''
from dataclasses import dataclass, replace
from intrabench import Modifier, Turn, User


@dataclass(frozen=True)
class Shift(Modifier):
    """Every click lands some pixels too far to the right."""

    name = "shift"
    pixels: int = 1

    def move(self, turn: Turn, user: User) -> Turn:
        points = turn.prompts.points.copy()
        points[:, 2] += self.pixels
        return replace(turn, prompts=replace(turn.prompts, points=points))
'''


def headings(text: str) -> dict[str, list[str]]:
    """The names under each heading."""
    found: dict[str, list[str]] = {}
    for block in text.strip().split("\n\n"):
        heading, *lines = block.splitlines()
        found[heading] = [line.split()[0] for line in lines]
    return found


def test_kinds_of_prompters_have_headings(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    make_workspace(Path("bench"))
    Path("bench/prompters/shift.py").write_text(SHIFT)
    Path("plugin.py").write_text(SHIFT.replace('"shift"', '"push"'))
    monkeypatch.chdir("bench")
    found = headings(say("list", "prompters", "--plugin", "../plugin.py").out)
    assert list(found) == wording
    prompters, refinements, modifiers, own, plugin = found.values()
    assert {"box_interp", "point_prop"} <= set(prompters)
    assert {"scribble", "click_deepest", "clickability"} <= set(refinements)
    assert modifiers == ["hand"]
    assert own == ["middle_box", "shift"]
    assert plugin == ["push"]
    kinds = {row["name"]: row["kind"] for row in json.loads(say("list", "prompters", "--json").out)}
    assert (kinds["box_slice"], kinds["scribble"], kinds["shift"]) == ("prompter", "refinement", "modifier")


def test_kinds_of_superpixels_have_headings_in_the_plural(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    make_workspace(Path("bench"))
    monkeypatch.chdir("bench")
    metrics, superpixels = (list(headings(say("list", what).out)) for what in ("metrics", "superpixels"))
    assert metrics == wording
    assert superpixels == wording


def test_a_list_with_one_group_needs_no_heading(say: Callable[..., Said]) -> None:
    assert say("list", "protocols").out.startswith("basic@1  ")


def test_a_modifier_of_ones_own_moves_the_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    make_workspace(Path("bench"))
    Path("bench/prompters/shift.py").write_text(SHIFT)
    monkeypatch.chdir("bench")
    plain, shifted = (
        intrabench.run("random_walker", spec, "phantom:shape=4x24x24,instances=1", protocol="overlap@1")
        for spec in ("point_interp:n=1", "point_interp:n=1+shift:pixels=2")
    )
    assert shifted["prompter"].to_list() == ["point_interp:n=1+shift:pixels=2"]
    assert shifted["interactions"].to_list() == plain["interactions"].to_list() == [1.0]
    assert shifted["prompts_hash"].to_list() != plain["prompts_hash"].to_list()


def test_a_flag_shows_no_type_in_its_help(say: Callable[..., Said]) -> None:
    (line,) = [line for line in say("table", "--help").out.splitlines() if "--per-round" in line]
    assert "<" not in line
    assert "A line per round" in line
    for words in ([], ["list"], ["data", "list"]):
        assert "<bool>" not in say(*words, "--help").out


def test_commands_are_under_headings(say: Callable[..., Said]) -> None:
    lines = say("--help").out.splitlines()
    assert [line.split("─")[1].strip() for line in lines if line.startswith("╭")] == ["Options", *HEADINGS]
    found = [line.split()[1] for line in lines if line.startswith("│ ") and line[2].isalpha()]
    assert found == [name for names in HEADINGS.values() for name in names]


def test_short_names_of_help_and_version(say: Callable[..., Said]) -> None:
    assert say("-V").out == say("--version").out == f"intrabench {intrabench.__version__}\n"
    for words in ([], ["run"], ["data", "get"], ["export", "rows"], ["superpixels", "run"]):
        said = say(*words, "-h")
        assert said == say(*words, "--help")
        assert said.out


def test_the_options_of_a_run_are_under_headings(say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    assert {name for panel in PANELS.values() for name in panel} == {*inspect.signature(run).parameters} - {"context"}
    monkeypatch.setenv("COLUMNS", "100")
    found = [line.split("─")[1].strip() for line in say("run", "-h").out.splitlines() if line.startswith("╭")]
    assert found == ["Options", *PANELS]


def test_seeds_of_a_run(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    words = ("run", "-m", "box_fill", "-p", "box_slice", "-d", "phantom:shape=8x16x16,instances=1", "--dry-run")
    say(*words[:-1])
    for seeds in (("--seed", "0..9"), ("--seed", "0,1", "--seed", "5")):
        assert re.sub(r"; about \d+ s as .* in each worker", "", say(*words, *seeds).out) == wording
    assert (said := say(*words, "--seed", "many")).code == 2
    assert said.err == wording


def test_out_is_the_results_folder_everywhere(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("preview", "-p", "box_slice", "-d", "phantom:shape=8x16x16", "--out", "a.png")
    assert (said.code, "No such option: --out" in said.err) == (2, True)
    said = say("calibrate", "--out", "nothing", "--file", "mine.toml")
    assert (said.code, said.err.startswith("error: nothing has no ")) == (2, True)
    said = say("calibrate", "one", "--out", "two")
    assert said.err == wording


def test_rounds_that_nobody_plays_are_refused(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("run", "-m", "box_fill", "-p", "box_slice", "--rounds", "3", "--dry-run")
    assert said.code == 2
    assert said.err == wording
