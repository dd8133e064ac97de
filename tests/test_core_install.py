"""What needs no network runs without torch, and what needs it says so in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

WITHOUT = """
from importlib.machinery import PathFinder
from intrabench.cli.main import main
found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *more: None if name == "torch" else found(name, *more)
main()
"""
"""A command in a process that finds no torch."""


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("core") / "results"
    words = ("-m", "box_fill", "-m", "random_walker", "-m", "supervoxels:method=grid", "-p", "box_interp:n=3+scribble")
    run = command("run", *words, "-d", "phantom:shape=8x32x40", "--workers", "0", "--out", str(folder))
    assert run.returncode == 0, run.stderr
    return folder


def test_models_without_a_network_run(results: Path) -> None:
    shown = command("export", "rows", str(results / "rows.csv"), "--out", str(results))
    assert shown.returncode == 0, shown.stderr
    rows = pl.read_csv(results / "rows.csv", infer_schema_length=None)
    assert set(rows["status"]) <= {"ok", "not_applicable"}
    first = (
        rows.filter((pl.col("round") == 0) & (pl.col("status") == "ok")).group_by("model").agg(pl.col("dice").mean())
    )
    assert dict(first.iter_rows())["random_walker"] > 0.5


def test_reports_and_replays_need_no_torch_either(results: Path) -> None:
    report = command("report", str(results / "report.html"), "--out", str(results))
    assert report.returncode == 0, report.stderr
    verified = command("verify", str(results), "--sample", "3")
    assert (verified.returncode, verified.stdout.splitlines()[-1]) == (0, "3 ok")


def test_exports_need_no_torch(results: Path) -> None:
    for format in ("eee", "croissant", "ro-crate"):
        told = command("export", format, str(results / format), "--out", str(results))
        assert (told.returncode, told.stdout[:5]) == (0, "wrote"), told.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("run", "-m", "scribbleprompt_unet", "-p", "box_slice", "-d", "phantom", "--weights", "random"),
            "model scribbleprompt_unet needs torch, which is not installed; run: pip install 'intrabench[torch]'",
        ),
        (
            ("run", "-m", "box_fill", "-p", "clickability:model=rclicks", "-d", "phantom"),
            "'clickability:model=rclicks' needs torch, which is not installed; run: pip install torch",
        ),
        (
            ("clickability", "train", "--clicks", "clicks.csv", "-d", "phantom", "--folder", "trained"),
            "this command needs torch, which is not installed; run: pip install torch",
        ),
    ],
)
def test_what_needs_torch_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found = command(*words)
    assert (found.returncode, found.stderr) == (2, f"error: {sentence}\n")


def test_what_is_listed_needs_no_torch() -> None:
    listed = command("list", "models", "--json")
    assert {"sam", "sam2", "random_walker"} <= {model["name"] for model in json.loads(listed.stdout)}
    assert command("info", "sam2").returncode == 0
