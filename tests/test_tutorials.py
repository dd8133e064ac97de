"""The tutorials are carried out, and their pages show what comes out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import intrabench
from intrabench.datasets.cases import store
from intrabench.fetch.download import DownloadError
from tests import tutorials
from tests.conftest import Said
from tests.tutorials import Save, Type, carry_out, from_wheel, pictures, same, steps


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of all tutorials, with their scan, as a reader would have it after the first."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder))
        try:
            store.prepare(intrabench.dataset("spine_ct"), "ct-22")
        except DownloadError as error:
            pytest.skip(f"no package index here: {error}")
    return folder


@pytest.mark.parametrize("page", tutorials.PAGES, ids=lambda page: page.stem)
def test_the_tutorial_shows_what_its_commands_print_and_draw(
    page: Path, scans: Path, say: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(scans))
    monkeypatch.setenv("COLUMNS", "120")

    def execute(words: list[str], here: Path) -> str:
        monkeypatch.chdir(here)
        if words[0] == "python":
            exec((here / words[1]).read_text(encoding="utf-8"), {"__name__": "__main__"})
            return ""
        assert words[0] == "intrabench", words
        said = say(*words[1:])
        assert said.code == 0, f"{words}\n{said.out}{said.err}"
        return said.out.replace(str(scans), "~/data")

    folder = tmp_path / "reader"
    folder.mkdir()
    _, differ = carry_out(page, folder, execute)
    assert not differ, "\n".join([*differ, "run: make docs"])
    for shown, drawn in pictures(page, folder).items():
        ours, now = (np.asarray(Image.open(path).convert("RGB"), int) for path in (shown, drawn))
        assert ours.shape == now.shape
        assert abs(ours - now).mean() < 4, f"{shown.name} shows something else; run: make docs"
        assert shown.stat().st_size < 350_000


def test_a_page_is_read_as_files_and_commands_with_their_outputs(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Save it as `a/b.py`:\n\n```python\nx = 1\n```\n\nNot saved:\n\n```python\ny\n```\n"
        "\n```sh\npip install x\n```\n\n```console\n$ one 'a b'\nprinted\n\nmore\n$ two\n$ cd a\n$ three\n?\n```\n"
    )
    found = list(steps(page.read_text()))
    assert found[0] == Save("a/b.py", "x = 1\n")
    assert [(step.line, step.shown) for step in found if isinstance(step, Type)] == [
        ("one 'a b'", "printed\n\nmore\n"),
        ("two", ""),
        ("cd a", ""),
        ("three", "?\n"),
    ]
    (tmp_path / "a").mkdir()
    told: list[tuple[list[str], Path]] = []

    def execute(words: list[str], here: Path) -> str:
        told.append((words, here))
        return f"new, in {tmp_path}/a\n"

    text, differ = carry_out(page, tmp_path, execute)
    assert told == [(["one", "a b"], tmp_path), (["two"], tmp_path), (["three"], tmp_path / "a")]
    assert "$ one 'a b'\nnew, in ~/a\n$ two\n$ cd a\n$ three\nnew, in ~/a\n```\n" in text
    assert [one.splitlines()[0] for one in differ] == ["$ one 'a b'", "$ three"]
    assert (tmp_path / "a" / "b.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(
    ("said", "equal"),
    [
        ("Dice 0.801 after 3.2 s", True),
        ("Dice 0.800 after 0.1 s", True),
        ("Dice 0.810 after 3.2 s", False),
        ("IoU 0.801 after 3.2 s", False),
        ("Dice 0.801 after 3.2 s\n+ a line", False),
    ],
)
def test_only_times_and_the_last_digit_may_differ(said: str, equal: bool) -> None:
    assert same("Dice 0.801 after 12.0 s\n", said) is equal


@pytest.mark.slow
def test_the_tutorials_work_from_a_wheel_in_a_fresh_environment(tmp_path: Path) -> None:
    assert sys.prefix != sys.base_prefix, "run it in a virtual environment"
    assert from_wheel(tmp_path) == []
