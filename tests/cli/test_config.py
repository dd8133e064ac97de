"""A run file: what stands in it, what is typed beside it, and the record of a run as one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.results.parts import read_rows
from intrabench.results.runs import read_records
from tests.conftest import Said
from tests.test_effort_files import written
from tests.wording import line_with

RUN = """\
model = ["box_fill", "random_walker"]
prompter = "box_slice"
dataset = ["phantom:shape=16x32x32,instances=1"]
seed = "0..2"
save_masks = true
workers = "0"
"""


def test_a_file_has_the_options_of_a_run(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    Path("run.toml").write_text(RUN)
    say("data", "get", "phantom:shape=16x32x32,instances=1")
    said = say("run", "--config", "run.toml", "--dry-run")
    assert said.out.splitlines()[:2] == wording
    assert say("run", "--config", "run.toml", "-m", "box_fill", "--seed", "7", "--out", "out", "-q").code == 0
    rows = read_rows(Path("out"))
    assert rows.select("model", "seed", "prompter").rows() == [("box_fill", 7, "box_slice")]  # what is typed counts
    assert list(Path("out/masks").iterdir()) != []


def test_the_record_of_a_run_repeats_it(say: Callable[..., Said]) -> None:
    words = (
        "-m",
        "box_fill",
        "-p",
        "box_slice+scribble",
        "-d",
        "phantom:shape=16x32x32,instances=1",
        "--rounds",
        "1",
        "--seed",
        "4",
    )
    say("run", *words, "--workers", "0", "--out", "out")
    (record,) = Path("out/runs").glob("*.json")
    assert say("run", "--config", str(record), "--out", "again").code == 0
    first, second = (read_rows(Path(name)) for name in ("out", "again"))
    kept = ["session", "round", "status", "dice", "prompts_hash"]
    assert first.select(kept).equals(second.select(kept))
    assert len(first) == 2
    assert read_records(Path("out"))[0]["work"] == read_records(Path("again"))[0]["work"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("none.toml", None),
        ("none.json", None),
        ("no.json", "{}"),
        ("bad.toml", "modle = 'x'"),
    ],
)
def test_files_that_are_none(say: Callable[..., Said], name: str, text: str | None, wording: SnapshotAssertion) -> None:
    if text is not None:
        Path(name).write_text(text)
    said = say("run", "--config", name)
    assert (said.code, said.err) == (2, wording)


def test_a_record_with_a_calibration_is_told(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    intrabench.run("box_fill", "box_slice", "phantom:shape=16x32x32,instances=1", effort=written(), out="out")
    (record,) = Path("out/runs").glob("*.json")
    said = say("run", "--config", str(record))
    assert said.code == 2
    assert line_with(said.err, "options into") == wording


def test_what_only_a_record_names_is_not_run(say: Callable[..., Said]) -> None:
    words = ("-m", "box_fill", "-p", "box_slice", "-d", "phantom:shape=16x32x32,instances=1", "--workers", "0")
    say("run", *words, "--out", "out")
    (record,) = Path("out/runs").glob("*.json")
    Path("theirs.py").write_text("from pathlib import Path\nPath('executed').write_text('')\n")
    changes = {
        "plugin": (["theirs.py"], "run theirs.py"),
        "python": ("/their/python", "run /their/python"),
        "dask": ("tcp://10.0.0.1:8786", "contact tcp://10.0.0.1:8786"),
        "weights": ("/their/file.pth", "read /their/file.pth"),
        "model": (["npz:command='touch executed'"], "run touch executed"),
        "dataset": (["/their/scans"], "read /their/scans"),
        "prompter": (["recorded:/their/results"], "read /their/results"),
    }
    content = json.loads(record.read_text())
    for name, (value, reached) in changes.items():
        record.write_text(json.dumps({**content, "options": {**content["options"], name: value}}))
        said = say("run", "--config", str(record), "--out", "again", "--dry-run")
        assert said.code == 2, name
        assert f"it would {reached}, which only {record} names; type --{name} to allow it" in said.err
        assert not Path("executed").exists()
    assert say("run", "--config", str(record), *words, "--out", "again").code == 0  # what is typed counts
