"""Whether a model of volumes gets derived prompts is part of its spec, also for models of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

import intrabench
from intrabench.engine.session_spec import ModelRunner
from intrabench.registry import registry

MODELS = """
from dataclasses import dataclass
from intrabench import Answer, Derived, Mask, VolumeModel, switch

@dataclass(eq=False)
class Counting(VolumeModel):
    "Says how many points it got."
    name = "counting"
    accepts = frozenset({"point"})
    derived: Derived = switch("none")

    def segment_one(self, volume, request):
        points = request.turns[-1].prompts.points
        return Answer(Mask((0, 0, 0), volume.array[:1] > 1e9), notes=(f"{len(points)} points",))

@dataclass(eq=False)
class Greedy(Counting):
    "Always takes all."
    name = "greedy"
    derived: Derived = "all"

@dataclass(eq=False)
class Plain(VolumeModel):
    "Says nothing about derived prompts."
    name = "plain"
    accepts = frozenset({"point"})
    segment_one = Counting.segment_one
"""
SMALL = "phantom:shape=16x32x32,instances=1"


@pytest.fixture(autouse=True)
def plugin() -> Path:
    Path("counting.py").write_text(MODELS)
    registry.add_plugin(Path("counting.py"))
    return Path("counting.py")


def test_a_model_of_ones_own_has_the_parameter(plugin: Path, data: Path) -> None:
    models = ["counting", "counting:derived=all", "greedy", "greedy:derived=none", "plain"]
    rows = intrabench.run(models, "point_interp:n=3", SMALL, plugin=[plugin])
    slices = len(intrabench.dataset(SMALL).load("case-1", None)[1][0].mask.occupied_slices)
    told = {row["model"]: (row["adapted"], row["interactions"]) for row in rows.iter_rows(named=True)}
    assert told == {
        "counting": ("3 points,derived->drawn", 3),
        "counting:derived=all": (f"{slices} points", 3),
        "greedy": (f"{slices} points", 3),
        "greedy:derived=none": ("3 points,derived->drawn", 3),
        "plain": ("3 points,derived->drawn", 3),
    }
    assert rows["session"].n_unique() == len(models)


def test_what_an_object_takes_is_part_of_its_identity() -> None:
    """A class may decide it in code, so the spec alone does not tell."""
    seen = set()
    for derived, feeds_back in (("none", False), ("all", False), ("none", True)):
        model = registry.make("models", "plain")
        own = type("Plain", (type(model),), {"derived": derived, "feeds_back": feeds_back})
        seen.add(ModelRunner(own()).identity[4:])
    assert len(seen) == 3
