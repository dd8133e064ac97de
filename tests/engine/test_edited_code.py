"""Results of one's own classes: whoever edits one gets fresh numbers, and tables say what they leave out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.results.current import current
from intrabench.results.parts import read_rows
from tests.conftest import Said
from tests.processes import Process, script

SMALL = "phantom:shape=8x32x32,instances=2"
OUT = Path("intrabench-results")

MODEL = """
from dataclasses import dataclass
import numpy as np
from intrabench import Answer, Mask, VolumeModel
IMPORT

@dataclass(eq=False)
class Mine(VolumeModel):
    "Fills the first slices of a box."
    name = "mine"
    accepts = frozenset({"box3d"})

    def segment_one(self, volume, request):
        z0, y0, x0, z1, y1, x1 = (int(edge) for edge in request.given[-1].prompts.box3d)
        return Answer(Mask.of(np.ones((SLICES, y1 - y0, x1 - x0), dtype=bool), (z0, y0, x0)))
"""

PROMPTER = """
from dataclasses import dataclass
from intrabench import DrawBox3D, Prompter, Turn, box3d

@dataclass(frozen=True)
class Mybox(Prompter):
    "A box."
    name = "mybox"

    def interact(self, user):
        z0, y0, x0, z1, y1, x1 = user.target.mask.box
        yield Turn(box3d((z0, y0, x0, END, y1, x1)), (DrawBox3D(),))
"""

DATASET = """
from dataclasses import dataclass
import intrabench
from intrabench import Dataset, DatasetCard

@dataclass(frozen=True)
class Own(Dataset):
    "Scans of a phantom."
    name = "own"
    version = "1"
    card = DatasetCard("Own", "CT")

    def cases(self):
        return ("a",)

    def load(self, case, files):
        phantom = intrabench.dataset("SPEC")
        return phantom.load(phantom.cases()[0], files)
"""


def write(path: str, text: str, **words: object) -> Path:
    """Write a class; words stand for those that it has in capitals."""
    for name, word in words.items():
        text = text.replace(name, str(word))
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text)
    return Path(path)


def run(*, fresh: bool = False, **options: object) -> pl.DataFrame:
    """The rows of a run, in the usual folder or in a new one."""
    given = {"model": "box_fill", "prompter": "box_volume", "dataset": SMALL, **options}
    found = intrabench.run(**given, out="fresh" if fresh else None)  # type: ignore[arg-type]
    return found.sort("target")


def dice(rows: pl.DataFrame) -> list[float]:
    return [round(value, 6) for value in rows["dice"]]


def parts() -> int:
    return len(list(OUT.glob("rows/*.parquet")))


def test_an_edited_model_of_a_plugin_file_gives_fresh_numbers(data: Path, wording: SnapshotAssertion) -> None:
    options = {"model": "mine", "plugin": [write("mine.py", MODEL, IMPORT="", SLICES=1)]}
    first = run(**options)
    assert run(**options)["session"].to_list() == first["session"].to_list()
    written = parts()
    write("mine.py", MODEL, IMPORT="", SLICES="z1 - z0")
    second = run(**options)
    assert parts() > written
    assert dice(second) == dice(run(model="box_fill")) != dice(first)
    write("mine.py", MODEL, IMPORT="", SLICES=1)  # as it was: what was computed then is there
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("intrabench.engine.player.play", None)
        assert dice(run(**options)) == dice(first)
        written = parts()
        assert dice(run(**options)) == dice(first)
    assert parts() == written
    found, told = current(read_rows(OUT).filter(pl.col("model") == "mine"))
    assert dice(found.sort("target")) == dice(first)
    assert told == wording


def test_an_edited_prompter_of_a_workspace_on_the_command_line(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    Path("intrabench.toml").write_text('results = "out"\n')
    write("prompters/mybox.py", PROMPTER, END="z0 + 1")
    words = ("run", "-m", "box_fill", "-p", "mybox", "-d", SMALL)
    assert say(*words).code == 0
    first = read_rows(Path("out"))
    write("prompters/mybox.py", PROMPTER, END="z1")
    assert say(*words).code == 0
    rows = read_rows(Path("out"))
    newer = rows.filter(pl.col("prompter_version") != first["prompter_version"][0])
    assert (len(first), len(newer), rows["prompter_version"].n_unique()) == (2, 2, 2)
    assert dice(newer.sort("target")) == dice(run(fresh=True)) != dice(first.sort("target"))
    table = say("table")
    assert table.err == wording
    assert f"{newer['dice'].mean():.3f}" in table.out
    every = say("table", "--by", "prompter,prompter_version", "--csv")
    assert "left out" not in every.err
    assert [line.split(",")[:3] for line in every.out.splitlines()[1:]] == [
        ["mybox", version, "2"] for version in sorted(set(rows["prompter_version"]))
    ]


def test_an_edited_module_that_a_model_imports(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    write("depth_of_mine.py", "def depth(low, high):\n    return 1\n")
    lines = {"IMPORT": "from depth_of_mine import depth", "SLICES": "depth(z0, z1)"}
    options = {"model": "mine", "plugin": [write("mine.py", MODEL, **lines)]}
    first = run(**options)
    write("depth_of_mine.py", "def depth(low, high):\n    return high - low\n")
    assert dice(run(**options)) == dice(run()) != dice(first)
    assert run(**options)["model_version"][0] != first["model_version"][0]


def test_an_edited_data_set_is_converted_anew(data: Path) -> None:
    path = write("own.py", DATASET, SPEC="phantom:shape=8x32x32,instances=1")
    options = {"dataset": "own", "plugin": [path]}
    assert len(run(**options)) == 1
    index = next(data.glob("cases/own-1*/a/case.json"))
    before = index.stat().st_mtime_ns
    assert len(run(**options)) == 1
    assert index.stat().st_mtime_ns == before
    write("own.py", DATASET, SPEC="phantom:shape=8x32x32,instances=2")
    rows = run(**options)
    assert rows["target"].to_list() == ["blob.1", "blob.2"]
    assert dice(rows) == dice(run(dataset="phantom:shape=8x32x32,instances=2", fresh=True))
    assert len(list(data.glob("cases/own*"))) == 1  # in place of what the old code made


def test_a_data_set_that_says_something_else_of_the_same_scans_is_played_anew(data: Path) -> None:
    options = {"dataset": "own", "plugin": [write("own.py", DATASET, SPEC=SMALL)]}
    first = run(**options)
    write("own.py", DATASET.replace('"CT"', '"MR"'), SPEC=SMALL)  # models may prepare the two differently
    second = run(**options)
    assert not set(first["session"]) & set(second["session"])
    assert second["dataset_version"][0] != first["dataset_version"][0]
    assert dice(second) == dice(first)


def test_what_was_not_applicable_by_mistake_is_played_once_it_is_mended(data: Path) -> None:
    text = MODEL.replace('{"box3d"}', '{"point"}')
    options = {"model": "mine", "plugin": [write("mine.py", text, IMPORT="", SLICES="z1 - z0")], "strict": True}
    assert set(run(**options)["status"]) == {"not_applicable"}
    write("mine.py", MODEL, IMPORT="", SLICES="z1 - z0")
    rows = run(**options)
    assert set(rows["status"]) == {"ok"}
    assert dice(rows) == dice(run())


def test_abilities_are_part_of_the_key_whatever_the_version_says(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from intrabench.models.box_fill import BoxFill

    with monkeypatch.context() as patch:
        patch.setattr(BoxFill, "accepts", frozenset({"point"}))
        assert set(run(strict=True)["status"]) == {"not_applicable"}
    assert set(run(strict=True)["status"]) == {"ok"}


def test_a_class_of_a_script_counts_by_its_own_source(data: Path) -> None:
    """Nothing else in the script does, and what the class uses there does."""
    tail = "\nimport intrabench\nrows = intrabench.run(Mine(), 'box_volume', '{}')\nprint(rows['model_version'][0])\n"

    def version(depth: str, comment: str = "") -> str:
        function = f"def depth(low, high): return {depth}"
        text = MODEL.replace("SLICES", "depth(z0, z1)").replace("IMPORT", function)
        Path("script.py").write_text(text + tail.format(SMALL) + comment)
        code, said, told = Process(script, "script.py").ended()
        assert code == 0, told
        return said.split()[-1]

    first = version("1")
    assert version("1", "# a comment\n") == first
    assert version("high - low") != first
