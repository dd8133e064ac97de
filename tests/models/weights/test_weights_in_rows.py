"""What rows and keys say of a model's weights: which they are, and whether they have seen the scans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from intrabench.engine.session_spec import ModelRunner
from intrabench.identity.versions import version_of
from intrabench.models.base import Answer, Request, Runtime, VolumeModel
from intrabench.models.weights import registry as weights
from intrabench.volume import Volume
from tests.models.conftest import Own

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of b"abc"
ABD = "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9"  # of b"abd"


@dataclass(eq=False)
class Some(VolumeModel):
    """As much of a model as the registry looks at."""

    name: ClassVar[str] = "some"
    accepts = frozenset({"point"})
    weights: ClassVar[str | None] = "own"  # type: ignore[assignment]
    size: str = "s"

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        raise NotImplementedError


class Without(Some):
    weights = None


def model(cls: type[Some] = Some, **runtime: Any) -> Any:
    made: Any = cls()
    made.runtime = Runtime(**runtime)
    return made


SEEN: list[tuple[dict[str, Any], Sequence[str], str]] = [
    ({}, ("amos",), "unknown"),
    ({"trained_on": ("amos",)}, ("amos",), "yes"),
    ({"trained_on": ("amos",)}, ("verse", "amos"), "yes"),
    ({"trained_on": ("amos",)}, ("verse",), "unknown"),
    ({"trained_on": ("amos",)}, (), "unknown"),
    ({"held_out": ("lnq",)}, ("lnq",), "no"),
    ({"held_out": ("lnq",)}, ("lnq", "verse"), "unknown"),
    ({"held_out": ("lnq",)}, (), "unknown"),
    ({"held_out": ("lnq",), "trained_on": ("amos",)}, ("lnq", "amos"), "yes"),
    ({"natural": True}, ("amos",), "no"),
    ({"natural": True}, (), "no"),
]


@pytest.mark.parametrize(("entry", "part_of", "expected"), SEEN)
def test_whether_scans_were_trained_on(own: Own, entry: dict[str, Any], part_of: Sequence[str], expected: str) -> None:
    own(**entry)
    assert weights.seen(model(), part_of) == expected
    assert weights.seen(model(random=True), part_of) == "no"
    assert weights.seen(model(Without), part_of) == "no"


def test_those_who_trained_on_natural_images_may_have_seen_any_photo(own: Own) -> None:
    own(natural=True)
    assert weights.seen(model(), ("GrabCut",)) == "no"
    assert weights.seen(model(), ("GrabCut",), natural=True) == "unknown"
    own(natural=True, trained_on=("coco",), held_out=("davis",))
    assert [weights.seen(model(), (name,), natural=True) for name in ("coco", "davis")] == ["yes", "no"]


@pytest.fixture
def brought(own: Own, tmp_path: Path) -> tuple[Path, Path]:
    """Files brought by hand: the registered one under another name, and another."""
    own(natural=True, held_out=("lnq",), trained_on=("amos",), sha256=ABC)
    (tmp_path / "same.pth").write_bytes(b"abc")
    (tmp_path / "other.pth").write_bytes(b"abd")
    return tmp_path / "same.pth", tmp_path / "other.pth"


def test_of_foreign_weights_nothing_is_known(brought: tuple[Path, Path]) -> None:
    same, other = (model(weights=path) for path in brought)
    assert [weights.seen(same, [name]) for name in ("amos", "lnq", "verse")] == ["yes", "no", "no"]
    assert [weights.seen(other, [name]) for name in ("amos", "lnq", "verse")] == ["unknown"] * 3


def test_weights_are_called_by_their_sha256_or_random_or_nothing(brought: tuple[Path, Path]) -> None:
    same, other = (model(weights=path) for path in brought)
    made = [model(Without), model(random=True), model(), same, other]
    assert [weights.identity(each) for each in made] == ["", "random", ABC, ABC, ABD]


def test_unpublished_weights_are_called_by_the_file_that_is_here(own: Own, folder: Path) -> None:
    own()
    (folder / "own.pth").write_bytes(b"abd")
    assert weights.identity(model()) == ABD
    assert weights.is_registered("own", ABD)
    assert not weights.is_registered("own", ABC)


def test_other_weights_than_the_registered_belong_to_the_name_and_the_key(brought: tuple[Path, Path]) -> None:
    same, other = (ModelRunner(model(weights=path)) for path in brought)
    random, plain, without = ModelRunner(model(random=True)), ModelRunner(model()), ModelRunner(model(Without))
    runners = (plain, same, other, random, without)
    assert [runner.label for runner in runners] == [
        "some",
        "some",
        "some (weights a52d159f)",
        "some (random weights)",
        "some",
    ]
    takes = (3, "point", "none", False, "one_negative")  # no derived prompts, not its own last answer
    assert [runner.identity for runner in runners] == [
        ("some:size=s", version_of(Some), sha256, "float32", *takes) for sha256 in (ABC, ABC, ABD, "random", "")
    ]
