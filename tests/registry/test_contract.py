"""What is wrong with a class of one's own is said in one sentence, before anything is run with it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.prompters.hand import Hand
from intrabench.registry import registry
from intrabench.registry.contract import BASES, TAKEN, Room, check_class
from intrabench.statistics.measures import SUMMARIES
from intrabench.statistics.scores import MachineTime, valued
from tests.conftest import Said
from tests.own_classes import MODEL, PROMPTER, SOUND, in_workspace

KINDS = "point, box2d, box3d, scribble, lasso, text"
TAKES = f'write accepts = frozenset({{"point"}}) with those it takes of {KINDS}'


def test_which_bases_are_public() -> None:
    names = {name for bases in BASES.values() for name in bases}
    assert names - set(intrabench.__all__) == {"SamFamily", "Saliency"}


@pytest.mark.parametrize(("room", "text"), SOUND.values(), ids=SOUND)
def test_sound_classes_are_taken(say: Callable[..., Said], room: str, text: str) -> None:
    in_workspace(room, text)
    assert "mine" in [line.partition(" ")[0] for line in say("list", room).out.splitlines()]
    assert registry.find(room, "mine").load().__name__ == "Mine"  # type: ignore[arg-type]


WRONG = [
    ("model", "@dataclass(eq=False)", "", "is not a dataclass; write @dataclass(eq=False) above it"),
    ("prompter", "@dataclass(frozen=True)", "", "is not a dataclass; write @dataclass(frozen=True) above it"),
    (
        "data set",
        '@dataclass(frozen=True)\nclass Mine(Dataset):\n    "My own."',
        "class Mine(Dataset):\n    root: str = 'there'",
        "has the parameter root, but is not a dataclass itself; write @dataclass(frozen=True) above it",
    ),
    (
        "refinement",
        '    name = "mine"',
        '    name = "mine"\n    n: int = 1',
        "has the parameter n, but is not a dataclass itself; write @dataclass(frozen=True) above it",
    ),
    (
        "model",
        'name = "mine"',
        'name: str = "mine"',
        "gives name a type, which makes it a parameter of specs; write name = ... without the type",
    ),
    ("model", 'frozenset({"box3d"})', '"box3d"', f"has accepts = 'box3d', expected a set of prompts; {TAKES}"),
    ("model", 'frozenset({"box3d"})', "frozenset()", f"has accepts = frozenset(), expected a set of prompts; {TAKES}"),
    ("model", '"box3d"', '"box3d", "scribbel"', f"accepts 'scribbel', did you mean 'scribble'?; {TAKES}"),
    ("model", 'accepts = frozenset({"box3d"})', "", f"does not say which prompts it accepts; {TAKES}"),
    (
        "model",
        'name = "mine"',
        'name = "mine"\n    dims = 4',
        "has dims = 4; write dims = 2 for a model of slices, or dims = 3 for a model of volumes",
    ),
    (
        "model",
        'name = "mine"',
        'name = "mine"\n    derived = "al"',
        'has derived = \'al\'; write derived = "none" or "all", the derived prompts that it gets',
    ),
    (
        "model",
        'name = "mine"',
        'name = "mine"\n    derived: str = "some"',
        'has derived = \'some\'; write derived = "none" or "all", the derived prompts that it gets',
    ),
    (
        "model",
        'name = "mine"',
        'name = "mine"\n    feeds_back = "no"',
        "has feeds_back = 'no'; write feeds_back = True if it takes its own last answer, else False",
    ),
    (
        "model",
        'name = "mine"',
        'name = "mine"\n    unprompted = 1',
        "has unprompted = 1; write unprompted = True if it needs no prompts, else False",
    ),
    (
        "model",
        'name = "mine"',
        'name = "mine"\n    threads = 0',
        "has threads = 0, expected a whole number; write threads = 1, or more cores",
    ),
    ("model", 'name = "mine"', 'name = "mine"\n    covers = 3', 'has covers = 3, expected text; write covers = "..."'),
    ("model", 'name = "mine"', 'name = "mine"\n    version = 2', 'has version = 2, expected text; write version = "1"'),
    ("data set", 'version = "1"', "", 'has no version; write version = "1"'),
    (
        "data set",
        'card = DatasetCard("Mine", "CT")',
        "",
        'has no card; write card = DatasetCard("Title", "CT", ...)',
    ),
    (
        "data set",
        'DatasetCard("Mine", "CT")',
        '("Mine", "CT")',
        "has card = ('Mine', 'CT'), expected a DatasetCard; write card = DatasetCard(\"Title\", \"CT\", ...)",
    ),
    ("prompter", "interact(self, user)", "interact(self)", "defines interact(self); write def interact(self, user)"),
    ("prompter", "def interact", "def interakt", "does not define interact; write def interact(self, user)"),
    (
        "refinement",
        "correct(self, user, mask)",
        "correct(self, mask)",
        "defines correct(self, mask); write def correct(self, user, mask)",
    ),
    (
        "model",
        "segment_one(self, volume, request)",
        "segment_one(self, volume, request, more)",
        "defines segment_one(self, volume, request, more); write def segment_one(self, volume, request)",
    ),
    (
        "model",
        "    def segment_one",
        "    def open(self):\n        ...\n\n    def segment_one",
        "defines open(self); write def open(self, volume)",
    ),
    (
        "model",
        "    def segment_one",
        "    def weights(self):\n        ...\n\n    def segment_one",
        "defines weights as a method; write @property above it",
    ),
    (
        "data set",
        'def cases(self):\n        return ("a",)',
        'cases = ("a",)',
        "has cases = ('a',), expected a method; write def cases(self)",
    ),
    (
        "data set",
        "load(self, case, files)",
        "load(self, case)",
        "defines load(self, case); write def load(self, case, files)",
    ),
    (
        "clickability model",
        "    def saliency",
        "    def probability(self, image, target, error):\n        ...\n\n    def saliency",
        "defines probability(self, image, target, error); "
        "write def probability(self, image, target, error, spacing_mm)",
    ),
    (
        "metric",
        "measure(self, pair)",
        "measure(self, a, b)",
        "defines measure(self, a, b); write def measure(self, pair)",
    ),
    (
        "metric",
        'best = "low"',
        'best = "lowest"',
        'has best = \'lowest\'; write best = "high", "low" or "zero", the values that are best',
    ),
    (
        "metric",
        "worst = 9.0",
        "",
        "counts failed sessions as 0, its best value; write for example worst = math.inf",
    ),
    (
        "metric",
        "worst = 9.0",
        "worst = None",
        "has worst = an object of NoneType, expected a number; write the value that failed sessions count as",
    ),
    (
        "metric",
        "worst = 9.0",
        'worst = 9.0\n    needs = {"imag"}',
        "needs 'imag', did you mean 'image'?; "
        'write needs = frozenset({"mask"}) with what it looks at of mask, surface, spacing, image, before',
    ),
    (
        "metric",
        "worst = 9.0",
        'worst = 9.0\n    needs = "mask"',
        "has needs = 'mask', expected a set; write needs = frozenset({\"mask\"}) with what it looks at of "
        "mask, surface, spacing, image, before",
    ),
    (
        "metric",
        "worst = 9.0",
        'worst = 9.0\n    default_column = "status"',
        "has default_column = 'status', which already names a column that all rows have; choose another name",
    ),
    (
        "prompter",
        "class Mine(Prompter)",
        "class Mine",
        "does not inherit from Prompter or Refinement, as everything in prompters must; write class Mine(Prompter)",
    ),
    (
        "model",
        "eq=False",
        "frozen=True",
        "is frozen, but a run tells a model its device and weights; write @dataclass(eq=False) above it",
    ),
    (
        "model",
        'name = "mine"',
        'name = "mine"\n    devices = "cuda"',
        "has devices = 'cuda', expected a tuple of texts; write devices = (\"...\",)",
    ),
    ("metric", "worst = 9.0", "worst = 9.0\n    title = 3", 'has title = 3, expected text; write title = "..."'),
    (
        "metric",
        "worst = 9.0",
        "worst = 9.0\n    unit = None",
        'has unit = an object of NoneType, expected text; write unit = "..."',
    ),
    (
        "metric",
        "worst = 9.0",
        "worst = 9.0\n    bounds = (1.0, 0.0)",
        "has bounds = (1.0, 0.0), expected the least and the greatest value; write bounds = (0.0, 1.0)",
    ),
    (
        "metric",
        "worst = 9.0",
        "worst = True",
        "has worst = True, expected a number; write the value that failed sessions count as",
    ),
]


@pytest.mark.parametrize(("kind", "old", "new", "sentence"), WRONG, ids=[words[3] for words in WRONG])
def test_a_class_that_breaks_the_contract_is_refused(
    say: Callable[..., Said], kind: str, old: str, new: str, sentence: str
) -> None:
    room, text = SOUND[kind]
    assert old in text
    file = in_workspace(room, text.replace(old, new))
    option = {"models": "-m", "prompters": "-p", "datasets": "-d", "metrics": "--metric"}
    words = {"-m": "box_fill", "-p": "box_slice", "-d": "phantom"}
    words |= {"-p": "clickability:model=mine"} if room == "clickability" else {option[room]: "mine"}
    said = say("run", *(word for pair in words.items() for word in pair))
    assert (said.code, said.out, said.err) == (2, "", f"error: {file}: class Mine {sentence}\n")


@pytest.mark.parametrize(("room", "text"), SOUND.values(), ids=SOUND)
def test_a_class_without_a_name_is_refused_wherever_classes_are_listed(
    say: Callable[..., Said], room: str, text: str
) -> None:
    file = in_workspace(room, text.replace('    name = "mine"', "    n = 1"))
    sentence = 'has no name of its own; write name = "..." in it as plain text, or call it _Mine if it is only a base'
    said = say("list", room)
    assert (said.code, said.err) == (1, f"left out: {file}: class Mine {sentence}\n")
    plugged = say("run", "-m", "box_fill", "-p", "box_slice", "-d", "phantom", "--plugin", str(file.rename("plug.py")))
    assert (plugged.code, plugged.err) == (2, f"error: plug.py: class Mine {sentence}\n")
    file.write_text(text.replace('"mine"', '"my:own"'))
    bad = "has the name 'my:own', which cannot be written in a spec; use only letters, digits, underscores, hyphens "
    assert say("list", room).err == f"left out: {file}: class Mine {bad}and dots\n"


def test_a_data_set_that_fails_is_still_listed(say: Callable[..., Said]) -> None:
    in_workspace("datasets", SOUND["data set"][1].replace('return ("a",)', "raise OSError('away')"))
    said = say("list", "datasets")
    assert said.code == 0
    assert ["mine", "-", "CT", "?"] in [line.split()[:4] for line in said.out.splitlines()]


def test_a_data_set_that_cannot_be_loaded_is_listed_with_the_others(say: Callable[..., Said]) -> None:
    in_workspace("datasets", f"import nothing_like_this\n{SOUND['data set'][1]}")
    said = say("list", "datasets")
    assert (said.code, said.err) == (0, "")
    lines = [line.split(maxsplit=7) for line in said.out.splitlines()]
    assert ["mine", *"??????", "? (see `intrabench info mine`)"] in lines
    assert "spine_ct" in [line[0] for line in lines]
    assert "cannot be imported (ModuleNotFoundError" in say("info", "mine").err


@pytest.mark.parametrize(
    "base",
    [
        "class _Base(Prompter):\n    pass",
        "class Base(Prompter, ABC):\n    pass",
        "class Base(Prompter):\n    @abc.abstractmethod\n    def more(self):\n        ...",
        "class Base(Prompter):\n    pass\n\nclass Other(Base):\n    name = 'other'",
        "class Turned(Turn):\n    pass",
    ],
)
def test_what_is_only_a_base_needs_no_name(say: Callable[..., Said], base: str) -> None:
    in_workspace("prompters", f"import abc\nfrom abc import ABC\n{PROMPTER}\n\n{base}\n")
    assert say("list", "prompters").code == 0


def test_a_class_without_a_name_is_found_through_other_named_ones(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    file = in_workspace("prompters", f"{PROMPTER}\n\nclass Next(Mine):\n    pass\n")
    assert say("list", "prompters").err == wording
    file.write_text("from intrabench.prompters.box_slice import BoxSlice as Base\n\nclass Next(Base):\n    pass\n")
    assert say("list", "prompters").err == wording


def test_a_plugin_with_one_wrong_class_is_refused_when_that_is_used(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    wrong = 'class Wrong(Mine):\n    name = "wrong"\n    dims = 1\n'
    Path("plug.py").write_text(f"{MODEL}\n\n{wrong}")
    words = ("-p", "box_volume", "-d", "phantom:shape=16x32x32", "--plugin", "plug.py")
    assert say("run", "-m", "mine", *words).code == 0
    assert say("run", "-m", "wrong", *words).err == wording
    assert say("check", "wrong", "--plugin", "plug.py").err == wording


def test_classes_of_packages_are_checked(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    def offered(value: str) -> None:
        point = importlib.metadata.EntryPoint("theirs", value, "intrabench.models")
        monkeypatch.setattr(registry, "_entry_points", lambda: dict.fromkeys(registry.ROOMS, ()) | {"models": [point]})

    offered("intrabench.prompters.box_slice:BoxSlice")
    with pytest.raises(IntraBenchError) as caught:
        registry.find("models", "theirs").load()
    assert caught == wording
    offered("no_such_package:Mine")
    with pytest.raises(IntraBenchError) as caught:
        registry.find("models", "theirs").load()
    assert caught == wording


@pytest.mark.parametrize("room", registry.ROOMS)
def test_all_that_is_built_in_keeps_to_the_contract(room: Room) -> None:
    classes = [entry.load() for entry in registry.entries(room).values()]
    assert len(classes) > 2
    for cls in classes:
        if cls is not Hand:  # a modifier of prompters
            check_class(cls, room, "intrabench")


@pytest.mark.parametrize(
    "name",
    [
        "auc",
        "seconds",
        "value",
        "nsd_2mm",
        "label",
    ],
)
def test_a_metric_cannot_have_a_name_that_means_something_else(name: str, wording: SnapshotAssertion) -> None:
    Path("mine.py").write_text(SOUND["metric"][1].replace('name = "mine"', f'name = "{name}"'))
    registry.add_plugin(Path("mine.py"))
    with pytest.raises(IntraBenchError) as caught:
        registry.make("metrics", name)
    assert caught == wording


def test_the_names_that_are_taken_are_those_in_use() -> None:
    rows = pl.DataFrame({"status": ["ok"], "dice": [0.5]})
    assert set(TAKEN["a summary of sessions"]) == set(SUMMARIES)
    assert set(TAKEN["machine time"]) == {MachineTime.name, MachineTime.column}
    assert set(TAKEN["a column of tables"]) == set(valued(rows).columns) - set(rows.columns)
    shipped = [entry.load() for entry in registry.entries("metrics").values() if entry.origin == "intrabench"]
    assert set(TAKEN["the column of a built-in metric"]) == {cls.default_column for cls in shipped} - {""}


def test_a_class_of_a_notebook_needs_a_name_that_specs_can_hold(wording: SnapshotAssertion) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SOUND["metric"][1].replace('name = "mine"', 'name = "my metric"'), names)
    with pytest.raises(IntraBenchError) as caught:
        registry.introduce("metrics", names["Mine"])
    assert caught == wording


def test_a_metric_that_is_not_frozen_is_refused_before_python_does(say: Callable[..., Said]) -> None:
    file = in_workspace("metrics", SOUND["metric"][1].replace("@dataclass(frozen=True)", "@dataclass"))
    sentence = f"{file}: write @dataclass(frozen=True) above class Mine, as its base has it"
    assert say("list", "metrics").err == f"left out: {sentence}\n"


@pytest.mark.parametrize(
    ("kind", "base"),
    [("metric", "Metric"), ("prompter", "Prompter"), ("refinement", "Refinement"), ("model", "VolumeModel")],
)
def test_a_forgotten_base_is_named(kind: str, base: str, wording: SnapshotAssertion) -> None:
    Path("plug.py").write_text(SOUND[kind][1].replace(f"class Mine({base})", "class Mine"))
    with pytest.raises(IntraBenchError) as caught:
        registry.add_plugin(Path("plug.py"))
    assert str(caught.value) == wording
