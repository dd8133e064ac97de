"""What specs reach: declared per parameter, also of parts, of specs within specs, and of classes that do not ship."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.registry import reach, registry
from intrabench.specs import specs
from intrabench.specs.specs import Reached

PLUGIN = """
from dataclasses import dataclass
from typing import Annotated, Literal
from intrabench import Reach
from intrabench.models.box_fill import BoxFill

@dataclass(eq=False)
class Mine(BoxFill):
    name = "mine"
    steps: int = 3
    mode: Literal["a", "b"] = "a"
    command: str = "ls"
    heading: Annotated[str, Reach()] = ""
    folder: Annotated[str, Reach("read")] = ""
"""


def found(room: registry.Room, spec: str) -> list[tuple[str, str]]:
    return [(one.kind, one.value) for one in reach.reaches(room, spec)]


@pytest.mark.parametrize(
    ("room", "spec", "expected"),
    [
        ("models", "box_fill", []),
        ("models", "random_walker:beta=50", []),
        ("models", "nninteractive_server", [("network", "http://127.0.0.1:1527")]),
        ("models", "nninteractive_server:url=http://10.0.0.1:1", [("network", "http://10.0.0.1:1")]),
        ("models", "http://10.0.0.1:1", [("network", "http://10.0.0.1:1")]),
        ("models", "box_fill+nninteractive_server:url=http://10.0.0.1:1", [("network", "http://10.0.0.1:1")]),
        ("models", "masks:folder=/etc+random_walker", [("read", "/etc")]),
        ("models", "npz:command='sh x.sh'", [("program", "sh x.sh")]),
        ("models", "gc:docker=them/it,options=-v /:/all", [("program", "them/it"), ("program", "-v /:/all")]),
        ("models", "isegm:repo=R,checkpoint=C,trust=true", [("program", "R"), ("program", "C")]),
        ("models", "hf:repo=ORG/NAME", [("repository", "ORG/NAME")]),
        ("models", "voxtell:bank=b.npz", [("repository", "Qwen/Qwen3-Embedding-4B"), ("read", "b.npz")]),
        ("models", "supervoxels:method=slic", []),
        ("models", "supervoxels:method='labels:folder=/etc'", [("read", "/etc")]),
        ("prompters", "oracle:method='labels:folder=/etc'", [("read", "/etc")]),
        ("prompters", "recorded:/somewhere", [("read", "/somewhere")]),
        ("prompters", "recorded:clicks.csv", [("read", "clicks.csv")]),
        ("prompters", "box_slice+clickability:model=mine.pth", [("read", "mine.pth")]),
        ("prompters", "box_slice+clickability:model=distance", []),
        ("prompters", "human:rater=ab", []),
        ("datasets", "phantom:shape=16x32x32", []),
        ("datasets", "spine_ct+noise:sigma=0.1", []),
        ("datasets", "/data/scans:label=/etc", [("read", "/data/scans:label=/etc")]),
        ("datasets", "no_such_name", [("read", "no_such_name")]),
        ("metrics", "nsd:tolerance_mm=1", []),
    ],
)
def test_what_a_spec_reaches(room: registry.Room, spec: str, expected: list[tuple[str, str]]) -> None:
    assert found(room, spec) == expected


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[None]:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    registry.add_plugin(path)
    yield
    registry._plugins["models"].clear()


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize(
    "spec",
    [
        "mine",
        "mine:steps=9,mode=b,heading=anything",
        "mine:command=ls",
        "mine:command='rm -r x'",
        "box_fill+mine:folder=/etc",
    ],
)
def test_any_text_of_a_class_that_does_not_ship_may_run_a_program(spec: str, wording: SnapshotAssertion) -> None:
    assert found("models", spec) == wording


@pytest.mark.parametrize("room", registry.ROOMS)
def test_every_text_of_what_ships_says_what_it_reaches(room: registry.Room) -> None:
    silent = {
        f"{name}:{parameter}"
        for name, entry in registry.entries(room).items()
        for parameter, stated in specs.reach_of(entry.load()).items()
        if stated is None
    }
    assert silent == set()


def test_what_reaches_something_is_not_made(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        reach.make("models", "masks:folder=/etc", "theirs")
    assert caught == wording
    Path("scans").mkdir()
    for name in ("scans", "./scans", str(Path("scans").resolve())):
        with pytest.raises(IntraBenchError, match="there is no data"):
            reach.make("datasets", name, "theirs")
    assert reach.make("models", "box_fill", "theirs").spec == registry.make("models", "box_fill").spec


def test_each_kind_is_said_once(wording: SnapshotAssertion) -> None:
    all_of_them = [Reached("network", "http://x"), Reached("read", "/y"), Reached("network", "http://x")]
    assert reach.refusal(all_of_them, "F") == wording
