"""`intrabench check`: every promise that a model can break is found broken, and by its own finding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.base import Files
from intrabench.engine import check as module
from intrabench.engine.check import SCAN, Finding, _equal, check, prompt
from intrabench.engine.session_spec import ModelRunner
from intrabench.mask import Mask
from intrabench.models.base import Answer, Model, Request
from intrabench.models.random_walker import RandomWalker
from intrabench.prompts import PromptKind
from intrabench.volume import Volume
from tests import broken_models as models
from tests.conftest import Said
from tests.processes import Process, command
from tests.wording import line_with, without_reasons

RAS, LPI, AIL = "prompt box3d", "file in LPI, 5x1x1.5 mm", "file in AIL, 5x1x1.5 mm"
TIMES = ("time", "time per round")
ALL = [
    *("load", RAS, "determinism", "time", "batch", "feedback", "time per round", LPI, AIL),
    *("prompt outside", "no prompts", "memory", "scan"),
]


def findings(model: Model) -> dict[str, Finding]:
    return {finding.name: finding for finding in check(ModelRunner(model))}


def broken(model: Model) -> dict[str, str]:
    """The messages of the findings that are not ok."""
    return {name: finding.message for name, finding in findings(model).items() if finding.ok is False}


def test_a_sound_model_passes_everything(wording: SnapshotAssertion) -> None:
    found = findings(models.Filling())
    assert list(found) == ALL
    assert {name: finding.ok for name, finding in found.items()} == dict.fromkeys(ALL, True) | dict.fromkeys(TIMES)
    assert found["prompt outside"].message == found["no prompts"].message == "ValueError: the box lies outside"
    assert found["feedback"].message == wording
    assert found["batch"].message == wording
    assert found["memory"].message.endswith(" MiB over 50 targets")


def test_every_kind_of_prompt_is_tried() -> None:
    found = findings(RandomWalker())
    kinds = [name for name in found if name.startswith("prompt ")]
    assert kinds == ["prompt box2d", "prompt box3d", "prompt point", "prompt scribble", "prompt outside"]
    assert all(finding.ok is not False for finding in found.values())


def test_a_truthful_prompt_that_empties_the_answer_is_a_warning() -> None:
    class Emptying(RandomWalker):
        accepts = frozenset({"point", "box3d"})

        def segment_one(self, volume: Volume, request: Request) -> Answer:
            kinds = [turn.prompts.kinds for turn in request.turns]
            return Answer(Mask.empty()) if {"box3d"} in kinds[1:] else super().segment_one(volume, request)

    found = findings(Emptying())["mixtures"]
    assert found.ok is None
    assert found.message.startswith("Warning")
    assert "box3d after point" in found.message
    assert "point after box3d" not in found.message
    assert findings(RandomWalker())["mixtures"].ok


def test_memory_is_replayed_with_turns_of_the_user() -> None:
    """Models may treat turns without actions as a part of the turn before: ``policy=radioactive`` does."""
    asked: list[tuple[int, bool]] = []

    class Listening(models.Filling):
        def segment_one(self, volume: Volume, request: Request) -> Answer:
            asked.append((len(request.turns), all(turn.actions for turn in request.turns)))
            return super().segment_one(volume, request)

    assert findings(Listening())["feedback"].ok
    assert set(asked) >= {(1, True), (2, True)}
    assert (2, False) not in asked


def test_memories_are_compared_to_the_last_bit_on_any_device() -> None:
    torch = pytest.importorskip("torch")
    one, other = torch.zeros(3), torch.tensor([0.0, 0, 1e-7])
    for first, second in ((one, other), (one.numpy(), other.numpy())):
        assert _equal({1: first}, {1: first.copy() if isinstance(first, np.ndarray) else first.clone()})
        assert not _equal({1: first}, {1: second})


@pytest.mark.parametrize("kind", ["point", "box2d", "box3d", "scribble", "lasso"])
def test_prompts_of_the_check_are_of_their_kind_and_on_their_target(kind: PromptKind) -> None:
    _, targets = SCAN.load("case-1", Files(None, None))  # type: ignore[arg-type]
    for target in targets:
        given = prompt(kind, target)
        assert given.kinds == {kind}
        inside = target.mask.to_array(SCAN.shape)
        rows = [*given.points[:, :3], *(p for s in given.scribbles for p in s.points)]
        assert all(inside[tuple(row)] for row in rows)
        for z, y0, x0, y1, x1 in given.boxes2d:
            there = np.argwhere(inside[z])
            assert (*there.min(axis=0), *there.max(axis=0) + 1) == (y0, x0, y1, x1)


def name(model: Model) -> str:
    return model.answers.__name__ if isinstance(model, models.Together) else type(model).__name__.lower()


SAME = "a different prompt gets the same answer"
NOWHERE = {"prompt outside": "a 3D box outside the scan", "no prompts": "a turn without prompts"}
MASKED = {name: f"{what} got a mask; raise an exception or return an empty one" for name, what in NOWHERE.items()}


def spoils(reason: str) -> dict[str, str]:
    return {
        name: f"{what} spoils the other requests, of which none may fail ({reason})" for name, what in NOWHERE.items()
    }


BROKEN: list[tuple[Model, dict[str, str]]] = [
    (models.Deaf(), {RAS: SAME, **MASKED}),
    (
        models.Fickle(),
        {
            "determinism": "the same request got two answers",
            "batch": "answers depend on other requests",
            "feedback": "the answer without memory differs from the one with it",
            LPI: "the answer differs from that in RAS",
            AIL: "the answer differs from that in RAS",
            **MASKED,
        },
    ),
    (models.Reaching(), dict.fromkeys([LPI, AIL], "the answer extends outside of the volume")),
    (models.Filed(), dict.fromkeys([LPI, AIL], "the answer differs from that in RAS")),
    (models.Greedy(), MASKED),
    (models.Remembering(), {"feedback": "the answer without memory differs from the one with it"}),
    (models.Together(answers=models.joined), {"batch": "answers depend on other requests"}),
    (models.Together(answers=models.spoiled), spoils("one was bad")),
    (models.Together(answers=models.raising), spoils("ValueError: the box lies outside")),
    (
        models.Raising(),
        {"prompts": "KeyError: 'no such layer'"}
        | dict.fromkeys(["repeated", "together", "feedback", "orientations", *NOWHERE, "memory"], "the same exception"),
    ),
]


@pytest.mark.parametrize(("model", "expected"), BROKEN, ids=[name(model) for model, _ in BROKEN])
def test_each_broken_promise_is_found_by_its_own_finding(model: Model, expected: dict[str, str]) -> None:
    assert broken(model) == expected


def test_a_model_that_cannot_be_loaded_is_a_finding(wording: SnapshotAssertion) -> None:
    assert broken(models.Unloadable()) == {"load": wording}


PLUGIN = """
from dataclasses import dataclass
from intrabench.mask import Mask
from intrabench.models.base import Answer, VolumeModel


@dataclass(eq=False)
class Deaf(VolumeModel):
    name = "deaf"
    accepts = frozenset({"box3d"})

    def segment_one(self, volume, request):
        return Answer(Mask.empty())


class Absent(Deaf):
    name = "absent"
    weights = "sam_vit_b"


class Leaky(Deaf):
    name = "leaky"
    kept = []

    def segment_one(self, volume, request):
        self.kept.append(b"x" * (5 << 20))
        return super().segment_one(volume, request)
"""


def test_the_command_ends_with_0_1_or_2(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    Path("deaf.py").write_text(PLUGIN)
    monkeypatch.setenv("INTRABENCH_WEIGHTS", "nothing")
    sound = say("check", "box_fill")
    assert (sound.code, sound.err) == (0, "")
    assert [line[:40].split("  ")[0].strip() for line in sound.out.splitlines() if line[:3] != "   "] == ["ok"] * 13
    assert line_with(sound.out, "prompt box2d").partition("; ")[0] == wording  # then come times
    deaf = say("check", "deaf", "--plugin", "deaf.py")
    assert (deaf.code, deaf.err) == (1, "")
    assert line_with(deaf.out, "different prompt") == wording
    assert deaf.out.count("FAILED") == 1
    absent = say("check", "absent", "--plugin", "deaf.py")
    assert (absent.code, absent.out) == (2, "")
    assert absent.err == wording
    refused = say("check", "absent", "--plugin", "deaf.py", "--random-weights")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == wording
    assert "did you mean 'box_fill'" in say("check", "box_fil").err


def test_the_command_tries_networks_untrained(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setenv("INTRABENCH_WEIGHTS", "nothing")
    words = ["check", "tiny", "--plugin", str(Path(__file__).parents[1] / "models" / "tiny_network.py")]
    assert say(*words).code == 2
    untrained = say(*words, "--random-weights")
    assert (untrained.code, untrained.err) == (0, "")
    assert line_with(untrained.out, "feedback  ") == wording
    assert say(*words, "--weights", "random").code == 0
    Path("mine.pth").write_bytes(b"no checkpoint")
    foreign = say(*words, "--weights", "mine.pth")
    assert (foreign.code, without_reasons(foreign.err)) == (2, wording)


def test_slow_models_are_asked_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.2)
    told = findings(models.Slow())["memory"].message
    assert 1 <= int(told.removesuffix(" targets").split()[-1]) <= 11


def test_a_leak_is_found() -> None:
    Path("deaf.py").write_text(PLUGIN)
    code, said, _ = Process(command, "check", "leaky", "--plugin", "deaf.py").ended()  # what others left is not here
    assert code == 1
    (line,) = [line for line in said.splitlines() if line.startswith("FAILED  memory ")]
    assert 240 < int(line.split()[2]) < 300
    assert line.endswith(" MiB over 50 targets")
