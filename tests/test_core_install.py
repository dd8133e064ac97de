"""What needs no network runs without torch, and what needs it says so in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import Said

WITHOUT = """
import contextlib, io, json, sys
from importlib.machinery import PathFinder
from intrabench.cli.main import main
found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name == "torch" else found(name, *more)
for words in json.loads(sys.argv[1]):
    sys.argv = ["intrabench", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            main()
        except SystemExit as end:
            code = end.code
    print(json.dumps([code or 0, out.getvalue(), err.getvalue()]))
"""
"""Commands, one after the other, in a process that finds no torch."""
RUN = ["run", "-m", "box_fill", "-m", "random_walker", "-m", "supervoxels:method=grid", "-p", "box_interp:n=3+scribble"]
FORMATS = ("eee", "croissant", "ro-crate")
NEEDED = {
    "run -m scribbleprompt_unet -p box_slice -d phantom --weights random": (
        "model scribbleprompt_unet needs torch, which is not installed; run: pip install 'intrabench[torch]'"
    ),
    "run -m box_fill -p clickability:model=rclicks -d phantom": (
        "'clickability:model=rclicks' needs torch, which is not installed; run: pip install torch"
    ),
    "clickability train --clicks clicks.csv -d phantom --folder trained": (
        "this command needs torch, which is not installed; run: pip install torch"
    ),
}
"""What needs torch, and what it says."""
COMMANDS = {
    "run": [*RUN, "-d", "phantom:shape=8x32x40", "--workers", "0", "--out", "results"],
    "rows": ["export", "rows", "results/rows.csv", "--out", "results"],
    "report": ["report", "results/report.html", "--out", "results"],
    "verify": ["verify", "results", "--sample", "3"],
    **{format: ["export", format, f"results/{format}", "--out", "results"] for format in FORMATS},
    **{words: words.split() for words in NEEDED},
    "list": ["list", "models", "--json"],
    "info": ["info", "sam2"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("core")


@pytest.fixture(scope="module")
def said(folder: Path) -> dict[str, Said]:
    """What each command ended with and printed."""
    words = [sys.executable, "-c", WITHOUT, json.dumps(list(COMMANDS.values()))]
    env = {**os.environ, "INTRABENCH_DATA": str(folder / "data")}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    return {name: Said(*json.loads(line)) for name, line in zip(COMMANDS, done.stdout.splitlines(), strict=True)}


def test_models_without_a_network_run(said: dict[str, Said], folder: Path) -> None:
    assert said["run"].code == 0, said["run"].err
    assert said["rows"].code == 0, said["rows"].err
    rows = pl.read_csv(folder / "results" / "rows.csv", infer_schema_length=None)
    assert set(rows["status"]) <= {"ok", "not_applicable"}
    first = (
        rows.filter((pl.col("round") == 0) & (pl.col("status") == "ok")).group_by("model").agg(pl.col("dice").mean())
    )
    assert dict(first.iter_rows())["random_walker"] > 0.5


def test_reports_and_replays_need_no_torch_either(said: dict[str, Said]) -> None:
    assert said["report"].code == 0, said["report"].err
    assert (said["verify"].code, said["verify"].out.splitlines()[-1]) == (0, "3 ok")


@pytest.mark.parametrize("format", FORMATS)
def test_exports_need_no_torch(said: dict[str, Said], format: str) -> None:
    assert (said[format].code, said[format].out[:5]) == (0, "wrote"), said[format].err


@pytest.mark.parametrize(("words", "sentence"), NEEDED.items())
def test_what_needs_torch_says_so(said: dict[str, Said], words: str, sentence: str) -> None:
    assert (said[words].code, said[words].err) == (2, f"error: {sentence}\n")


def test_what_is_listed_needs_no_torch(said: dict[str, Said]) -> None:
    assert {"sam", "sam2", "random_walker"} <= {model["name"] for model in json.loads(said["list"].out)}
    assert said["info"].code == 0
