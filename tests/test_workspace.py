"""The workspace at the repository's root, and the copies of it that `intrabench init` makes."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import workspace
from intrabench.cli.options import completes
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.conftest import Said
from tests.wording import line_with

ROOT = Path(__file__).parents[1]
PLACE = "https://github.com/intrabench/intrabench/blob/main/docs/"


def files_in(folder: Path) -> dict[str, bytes]:
    """What a folder holds, by path, without what Python leaves behind."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def expected() -> dict[str, bytes]:
    """What a new workspace holds: the files of this repository's root."""
    rooms = {f"{room}/{path}": body for room in registry.ROOMS for path, body in files_in(ROOT / room).items()}
    return rooms | {path: (ROOT / path).read_bytes() for path in ("intrabench.toml", "results/README.md")}


def test_init_copies_the_workspace_at_the_root(say: Callable[..., Said]) -> None:
    assert say("init", "bench").code == 0
    assert files_in(Path("bench")) == expected()


@pytest.mark.parametrize("there", [False, True])
def test_init_on_a_full_disk_leaves_nothing(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, there: bool, wording: SnapshotAssertion
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    Path("bench").mkdir() if there else None
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full)  # after the folders of classes
        said = say("init", "bench")
    assert (said.code, Path("bench").exists()) == (2, there)
    assert said.err == wording
    assert say("init", "bench").code == 0
    assert files_in(Path("bench")) == expected()


@pytest.mark.parametrize("room", registry.ROOMS)
def test_every_room_has_an_example_and_a_page_with_a_command_that_works(room: str, say: Callable[..., Said]) -> None:
    workspace.make_workspace(Path("bench"))
    os.chdir("bench")
    (example,) = Path(room).glob("*.py")
    page = Path(room, "README.md").read_text()
    (command,) = re.findall(r"```sh\n(intrabench run .*)\n```", page)
    (name,) = re.findall(r'    name = "(\w+)"', example.read_text())
    assert name in command
    said = say(*shlex.split(command)[1:])
    assert said.code == 0, said.err
    rows = pl.read_parquet("results/rows/*.parquet")
    assert set(rows["target"]) == {"ball.1", "ball.2"}
    assert set(rows["status"]) == {"ok"}
    for link in re.findall(r"\]\((.*?)\)", page):
        assert (ROOT / "docs" / link.removeprefix(PLACE)).is_file(), link


def test_a_wheel_is_to_carry_the_workspace() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["include"] == ["/intrabench", *(f"/{part}" for part in workspace.PARTS)]
    folders = [part.partition("/")[0] for part in workspace.PARTS]
    assert wheel["sources"] == {folder: f"intrabench/template/{folder}" for folder in folders}


@pytest.mark.slow
def test_init_of_an_installed_wheel(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", "dist", str(ROOT)], check=True)
    (wheel,) = Path("dist").glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", "site", str(wheel)], check=True)
    there = os.environ | {"PYTHONPATH": str(Path("site").resolve())}
    subprocess.run([sys.executable, "-m", "intrabench", "init", "bench"], check=True, env=there)
    assert files_in(Path("bench")) == expected()


def test_a_current_folder_that_was_deleted_is_told(say: Callable[..., Said]) -> None:
    Path.cwd().rmdir()
    sentence = "the current folder was deleted; go to another one (cd), and try again"
    for words in ("list models", "run -m box_fill -p box_slice", "data get phantom", "table", "nonsense"):
        assert say(*words.split()) == Said(2, "", f"error: {sentence}\n")
    assert say("--version").code == 0
    assert completes("models")("box") == []
    with pytest.raises(IntraBenchError, match=re.escape(sentence)):
        intrabench.run("box_fill", "box_slice", "phantom:shape=4x8x8")


@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        os.mkdir,
        partial(os.symlink, "nowhere"),
    ],
)
def test_settings_that_are_no_file_are_told(
    say: Callable[..., Said], make: Callable[[str], None], wording: SnapshotAssertion
) -> None:
    make("intrabench.toml")
    for words in (("list", "models"), ("table",)):
        said = say(*words)
        assert (said.code, said.err) == (2, wording)


def test_a_workspace_is_found_from_its_subfolders(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    say("init", "bench")
    root, below = Path("bench").absolute(), Path("bench/notes/today").absolute()
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    found = workspace.current()
    assert found is not None
    assert (found.root, workspace.results_folder()) == (root, root / "results")
    assert line_with(say("list", "prompters").out, "this workspace") == wording
    said = say("run", "-m", "box_fill", "-p", "box_slice", "-d", "phantom:shape=8x16x16", "-q")
    assert (said.code, (root / "results" / "rows").is_dir()) == (0, True)
    (below / "intrabench.toml").write_text('results = "own"\n')
    assert workspace.results_folder() == below / "own"  # the nearest


def test_a_workspace_of_somebody_else_above_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("intrabench.toml").write_text('results = "results"\n')
    Path("below").mkdir()
    monkeypatch.chdir("below")
    assert workspace.current() is not None
    real = os.lstat

    def lstat(path: str | Path, **how: Any) -> os.stat_result:
        found = real(path, **how)
        its = Path(path).name == "intrabench.toml"
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:])) if its else found

    monkeypatch.setattr(os, "lstat", lstat)
    assert workspace.current() is None
    monkeypatch.chdir("..")
    assert workspace.current() is not None  # as before: whoever works in a folder trusts it
