"""Numbers that mean nothing are refused for every parameter of everything that ships, by its type alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.cli.describe import describe, described
from intrabench.cli.parameters import meaning, parameters_of, taken_by
from intrabench.errors import IntraBenchError
from intrabench.models.random_walker import RandomWalker
from intrabench.prompters.base import Refinement
from intrabench.protocols import PROTOCOLS, stopping
from intrabench.registry import registry
from intrabench.registry.objects import make_metric, make_model, make_prompter
from intrabench.specs import specs
from intrabench.specs.values import expected
from intrabench.statistics.measures import SUMMARIES
from tests.wording import line_with

FREE = {"seed", "threshold", "level", "degrees", "share", "x", "y"}
"""Parameters that may have any sign."""


def numbers() -> Iterator[tuple[Any, str, str, int]]:
    """Room, class name, parameter, and how many numbers it takes, of all numeric parameters that ship."""
    for room in registry.ROOMS:
        for name, entry in registry.entries(room).items():
            cls = entry.load()
            hints = specs.types_of(cls) if entry.origin == "intrabench" else {}
            for one in fields(cls) if hints else ():
                words = expected(hints[one.name])
                if one.init and " number" in f" {words}":
                    yield room, name, one.name, 3 if words.startswith("three") else 1


def test_no_number_of_anything_that_ships_is_nan_or_infinite_or_below_its_range() -> None:
    found = list(numbers())
    assert len(found) > 80
    for room, name, parameter, count in found:
        for value in ("nan", "inf", "1e999", "-inf", *(() if parameter in FREE else ("-1",))):
            with pytest.raises(IntraBenchError, match=rf"{parameter}.* does not fit|connectivity"):
                registry.make(room, f"{name}:{parameter}={'x'.join([value] * count)}")


@pytest.mark.parametrize(
    "spec",
    [
        *("random_walker:beta=-1", "random_walker:reach_mm=0", "random_walker:seed_mm=1000000000"),
        *("random_walker:max_voxels=0", "random_walker:time_limit_s=0", "graph_cut:sigma=0", "graph_cut:middle=0"),
        *("grabcut:iterations=1000000000", "supervoxels:segments=0", "supervoxels:method='slic:sigma=1e9'"),
    ],
)
def test_models_that_would_compute_nonsense_or_for_ever(spec: str) -> None:
    with pytest.raises(IntraBenchError, match="does not fit"):
        make_model(spec)


def test_objects_of_python_are_asked_as_specs_are(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        make_model(RandomWalker(beta=-1.0))
    assert caught == wording
    with pytest.raises(IntraBenchError, match="does not fit"):
        make_metric("nsd:tolerance_mm=1e999")
    with pytest.raises(IntraBenchError, match="does not fit"):
        make_prompter("box_interp+hand:jitter_mm=nan")


def test_info_tells_the_range(wording: SnapshotAssertion) -> None:
    told = parameters_of(RandomWalker)
    assert line_with(told, "beta: a") == wording
    assert line_with(told, "reach_mm: a") == wording


def test_a_stop_rule_may_be_infinite_but_no_nan() -> None:
    basic = PROTOCOLS["basic@1"]
    assert stopping(basic, "dice=inf,interactions=5").stop.interactions == 5
    for words in ("dice=nan", "interactions=nan", "seconds=-1", "dice=2"):
        with pytest.raises(IntraBenchError, match=r"dice|does not fit"):
            stopping(basic, words)


def classes() -> Iterator[tuple[str, Any]]:
    """Room and class of everything that ships and has parameters, and of the summaries of sessions."""
    yield from (("summaries", cls) for cls in SUMMARIES.values())
    for room in registry.ROOMS:
        entries = [entry for entry in registry.entries(room).values() if entry.origin == "intrabench"]
        yield from ((room, entry.load()) for entry in entries)


def test_every_parameter_of_everything_that_ships_is_explained() -> None:
    told = [
        (room, cls.__name__, name, about["meaning"]) for room, cls in classes() for name, about in taken_by(cls).items()
    ]
    assert len(told) > 300
    assert [one[:3] for one in told if not one[3]] == []


def test_info_tells_what_parameters_of_a_base_mean_where_they_are_listed() -> None:
    for name, parameters in (("scribble", ("undo", "previous", "reachable")), ("sam2", ("feedback", "multimask"))):
        [(room, entry)] = registry.named(name)
        _, listed = describe(name).split("\nparameters:\n")
        assert "one_slice" in listed or room == "models"
        for parameter in parameters:
            assert meaning(entry.load(), parameter) in " ".join(listed.split())
    own = meaning(registry.find("prompters", "scribble").load(), "one_slice")
    assert " ".join(describe("scribble").split()).count(own) == 1  # the description above has it


def test_programs_read_what_parameters_mean() -> None:
    facts = json.loads(described("scribble"))["parameters"]
    assert facts["previous"]["meaning"] == meaning(Refinement, "previous")
    assert "undo:" not in facts["reachable"]["meaning"]
