"""What a method of one's own must not give is told on the terminal: which method, what it gave, what was expected."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Said
from tests.own_classes import SOUND, in_workspace

PHANTOM = "phantom:shape=16x32x32,instances=2"
OPENED = """
    def open(self, volume):
        from contextlib import nullcontext
        return nullcontext(Opened())
"""
PREDICTOR = """
from intrabench import Predictor

class Opened(Predictor):
    def segment(self, requests):
        return WHAT

"""

MODELS = [
    ("np.zeros(3)", "returned ndarray, expected an Answer, such as Answer(Mask.of(array))"),
    ("None", "returned None, expected an Answer, such as Answer(Mask.of(array))"),
    (
        "Answer(np.zeros((2, 2, 2)))",
        "returned an Answer whose update is ndarray, expected a Mask, such as Mask.of(array)",
    ),
]
PREDICTORS = [
    ("{}", "returned dict, expected a list with one Answer or Failure for each request"),
    ("[]", "returned list of 0, expected a list with one Answer or Failure for each request"),
    ("[1 for _ in requests]", "returned int, expected an Answer, such as Answer(Mask.of(array))"),
]
OPENINGS = [
    (
        "return 3",
        "returned int, expected a context manager that gives a Predictor; write @contextmanager above it and ",
    ),
    (
        "yield 3",
        "returned generator, expected a context manager that gives a Predictor; write @contextmanager above it ",
    ),
    ("from contextlib import nullcontext; return nullcontext()", "gave None, expected a Predictor"),
]
CLICK = "Turn(points([(0, 0, 0)]), (Click(),))"
TURNS = [
    ("points([(0, 0, 0)])", "gave Prompts, expected a Turn, such as Turn(prompts, actions=(Click(),))"),
    ("Turn([(0, 0, 0)], (Click(),))", "gave a Turn whose prompts are list, expected Prompts, such as points(rows)"),
    (
        "Turn(points([(0, 0, 0)]), Click())",
        "gave a Turn whose actions are Click, expected a tuple of them, such as (Click(),)",
    ),
    (
        "Turn(points([(0, 0, 0)]), (Click,))",
        "gave a Turn whose actions are the class Click, expected a tuple of them, such as (Click(),)",
    ),
]
CASES = [
    ("'case'", "str"),
    ("[1, 2]", "list with int"),
    ("7", "int"),
    ("(name for name in 'ab')", "generator"),
]
SCAN = "Volume.from_canonical(np.zeros((3, 3, 3)))"
LOADS = [
    ("np.zeros((3, 3, 3))", "returned ndarray, expected two things: the Volume and the list of its targets"),
    ("(1, 2, 3)", "returned a tuple of 3, expected two things: the Volume and the list of its targets"),
    (
        "np.zeros((3, 3, 3)), []",
        "returned ndarray for the scan, expected a Volume, as from read_image or "
        "Volume.from_canonical(array, spacing_mm)",
    ),
    (
        f"{SCAN}, [np.zeros(3)]",
        "returned list with ndarray for the targets, expected a list of Target, as from targets_of",
    ),
    (f"{SCAN}, {{}}", "returned dict for the targets, expected a list of Target, as from targets_of"),
]


def failures(say: Callable[..., Said], model: str, prompter: str, dataset: str = PHANTOM, *more: str) -> list[str]:
    """The failures that a run prints after its table."""
    said = say("run", "-m", model, "-p", prompter, "-d", dataset, *more)
    assert said.code == 1
    *_, failures, last = said.err.splitlines()
    assert last.endswith(
        "; see `intrabench failures --traceback`; the same command plays them once the cause is mended"
    )
    return failures


@pytest.mark.parametrize(("given", "sentence"), MODELS)
def test_segment_one(say: Callable[..., Said], given: str, sentence: str) -> None:
    text = SOUND["model"][1].replace("return Answer(Mask.empty())", f"import numpy as np\n        return {given}")
    in_workspace("models", text)
    assert failures(say, "mine", "box_volume") == f"2 sessions: error: mine.segment_one {sentence}"
    checked = say("check", "mine")
    assert (checked.code, f" prompts                          mine.segment_one {sentence}\n" in checked.out) == (
        1,
        True,
    )


@pytest.mark.parametrize(("given", "sentence"), PREDICTORS)
def test_segment(say: Callable[..., Said], given: str, sentence: str) -> None:
    in_workspace("models", PREDICTOR.replace("WHAT", given) + SOUND["model"][1] + OPENED)
    assert failures(say, "mine", "box_volume") == f"2 sessions: error: Opened.segment {sentence}"
    assert f" prompts                          Opened.segment {sentence}\n" in say("check", "mine").out


@pytest.mark.parametrize(("body", "sentence"), OPENINGS)
def test_open(say: Callable[..., Said], body: str, sentence: str) -> None:
    in_workspace("models", SOUND["model"][1] + f"\n    def open(self, volume):\n        {body}\n")
    assert failures(say, "mine", "box_volume").startswith(f"2 sessions: error: mine.open {sentence}")
    assert f" prompts                          mine.open {sentence}" in say("check", "mine").out


@pytest.mark.parametrize(("given", "sentence"), TURNS)
def test_interact_and_correct(say: Callable[..., Said], given: str, sentence: str) -> None:
    file = in_workspace("prompters", SOUND["prompter"][1].replace(f"yield {CLICK}", f"yield {given}"))
    correcting = SOUND["refinement"][1].replace("return None", f"return {given}").replace('"mine"', '"after"')
    file.with_name("after.py").write_text(correcting.replace("Refinement\n", "Click, Refinement, Turn, points\n", 1))
    assert failures(say, "random_walker", "mine") == f"2 sessions: error: mine.interact {sentence}"
    assert failures(say, "random_walker", "mine+after") == f"2 sessions: error: mine.interact {sentence}"
    assert failures(say, "random_walker", "box_slice+after") == f"2 sessions: error: after.correct {sentence}"


def test_interact_without_yield(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    in_workspace("prompters", SOUND["prompter"][1].replace(f"yield {CLICK}", f"return [{CLICK}]"))
    sentence = "mine.interact returned list, expected a generator; give each turn by yield"
    assert failures(say, "random_walker", "mine") == f"2 sessions: error: {sentence}"
    drawn = say("preview", "-p", "mine", "-d", PHANTOM)
    assert (drawn.code, drawn.err) == (2, wording)


@pytest.mark.parametrize(("given", "got"), CASES)
def test_cases(say: Callable[..., Said], given: str, got: str) -> None:
    in_workspace("datasets", SOUND["data set"][1].replace('("a",)', given))
    for words in (("run", "-m", "box_fill", "-p", "box_slice", "-d", "mine"), ("data", "list", "mine")):
        said = say(*words)
        expected = "expected a tuple of names, such as ('case-1', 'case-2')"
        assert (said.code, said.err) == (2, f"error: mine.cases returned {got}, {expected}\n")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("7", "mine.patient returned int for case a, expected a name, such as 'a'"),
        ("''", "mine.patient returned an empty text for case a, expected a name, such as 'a'"),
        ("case[9]", "mine.patient failed for case a (IndexError: string index out of range, in line"),
    ],
)
def test_patient(say: Callable[..., Said], given: str, sentence: str) -> None:
    in_workspace("datasets", SOUND["data set"][1] + f"\n    def patient(self, case):\n        return {given}\n")
    said = say("run", "-m", "box_fill", "-p", "box_slice", "-d", "mine")
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith(f"error: {sentence}")


@pytest.mark.parametrize(("given", "sentence"), LOADS)
def test_load(say: Callable[..., Said], given: str, sentence: str) -> None:
    returned = f"import numpy as np\n        from intrabench import Volume\n        return {given}"
    in_workspace("datasets", SOUND["data set"][1].replace("raise NotImplementedError", returned))
    assert failures(say, "box_fill", "box_slice", "mine") == f"1 session: no_data: mine.load {sentence}"
    assert f"mine.load {sentence}" in say("data", "check", "mine").out


def test_probability(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    probability = "    def probability(self, image, target, error, spacing_mm=(1, 1)):\n        return error[0] * 1.0\n"
    in_workspace("clickability", f"{SOUND['clickability model'][1]}\n{probability}")
    sentence = failures(say, "random_walker", "clickability:model=mine", "phantom:shape=16x32x32,instances=1")
    assert sentence == wording


def test_segment_one_of_crops(say: Callable[..., Said]) -> None:
    methods = ("load(self)", "build(self)", "encode(self, crop)")
    more = "".join(f"\n    def {method}:\n        ...\n" for method in methods)
    text = SOUND["model"][1].replace("VolumeModel", "CropModel").replace("return Answer(Mask.empty())", "return 7")
    in_workspace("models", text + more)
    sentence = "mine.segment_one returned int, expected an Answer, such as Answer(Mask.of(array))"
    assert failures(say, "mine", "box_volume") == f"2 sessions: error: {sentence}"
