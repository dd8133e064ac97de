"""No built-in component changes what it does under the same version (tests/versions.py)."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.identity.versions import version_of
from intrabench.registry import registry
from tests.versions import NETWORKS, SESSIONS, behaviour, components, difference, guard, known

COMPONENTS = {f"{room}: {spec}": (room, spec) for room, spec in components()}


@pytest.mark.parametrize("name", COMPONENTS)
def test_what_changes_its_behaviour_changes_its_version(name: str) -> None:
    room, spec = COMPONENTS[name]
    if spec in NETWORKS:
        pytest.importorskip("torch")
    made = registry.make(room, spec)
    guard(name, version_of(made), behaviour(made))


def test_only_what_is_there_is_in_the_file() -> None:
    written = {name for name in known() if not name.startswith("datasets: ") and name != SESSIONS}
    assert written <= COMPONENTS.keys()


def test_what_is_said_of_changes(wording: SnapshotAssertion) -> None:
    one, other, third = ({"version": version, "behaviour": digest} for version, digest in ("1a", "1b", "2b"))
    assert not difference("models: x", one, one)
    assert [difference("models: x", one, other), difference(SESSIONS, one, other)] == wording
    assert [difference("models: x", then, third) for then in (one, None)] == wording
