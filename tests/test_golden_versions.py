"""No built-in component changes what it does under the same version (tests/versions.py)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.identity.versions import version_of
from intrabench.registry import registry
from tests.versions import NETWORKS, SESSIONS, behaviour, components, difference, guard, known, sessions

COMPONENTS = {f"{room}: {spec}": (room, spec) for room, spec in components()}


@pytest.mark.parametrize("name", COMPONENTS)
def test_what_changes_its_behaviour_changes_its_version(name: str) -> None:
    room, spec = COMPONENTS[name]
    if spec in NETWORKS:
        pytest.importorskip("torch")
    made = registry.make(room, spec)
    guard(name, version_of(made), behaviour(made))


def test_sessions_mean_the_same_under_the_same_contract(data: Path) -> None:
    guard(SESSIONS, *sessions())


def test_the_file_has_all_data_sets_and_nothing_that_is_gone() -> None:
    names = {name for name in known() if name != SESSIONS}
    cases = {name for name in names if " of test_" in name}
    assert names - cases <= COMPONENTS.keys()
    text = "".join(file.read_text(encoding="utf-8") for file in (Path(__file__).parent / "datasets").rglob("test_*.py"))
    assert [name for name in cases if f"def test_{name.partition(' of test_')[2].partition('[')[0]}(" not in text] == []
    shipped = {name for name, entry in registry.entries("datasets").items() if entry.origin == "intrabench"}
    assert shipped == {re.split("[ :]", name)[2] for name in names if name.startswith("datasets: ")}


def test_what_is_said_of_changes(wording: SnapshotAssertion) -> None:
    one, other, third = ({"version": version, "behaviour": digest} for version, digest in ("1a", "1b", "2b"))
    assert not difference("models: x", one, one)
    assert [difference("models: x", one, other), difference(SESSIONS, one, other)] == wording
    assert [difference("models: x", then, third) for then in (one, None)] == wording
