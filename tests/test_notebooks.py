"""The notebooks run from top to bottom, and show what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tutorials import same

nbformat = pytest.importorskip("nbformat")
notebooks = pytest.importorskip("tests.notebooks")


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_shows_what_its_cells_give(path: Path, tmp_path: Path) -> None:
    stored = notebooks.shown(nbformat.read(path, as_version=4))
    now = notebooks.shown(notebooks.execute(path, tmp_path))
    assert len(stored) == len(now) > 3
    for before, after in zip(stored, now, strict=True):
        assert same(before, after), f"{before}\nis now\n{after}\nrun: make docs"
    assert "a picture" in stored
