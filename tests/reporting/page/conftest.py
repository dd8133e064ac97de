"""A real run, small, for the viewer and for the browser; its report, and a browser that opens reports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import intrabench
from intrabench.reporting.page.page import write_report
from tests.reporting.page.browsing import until
from tests.tabs import Tabs

PHANTOM = "phantom:shape=24x48x48,instances=3,scans=2"


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``data`` and ``results``: two models, static prompts, clicks and corrections, with all masks."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # all workers have what one has played
    folder = shared / "played"
    with FileLock(shared / "played.lock"), pytest.MonkeyPatch.context() as patch:
        if not folder.exists():
            patch.setenv("INTRABENCH_DATA", str(folder / "data"))
            patch.setenv("INTRABENCH_WORKERS", "0")
            intrabench.run(
                ["box_fill", "random_walker"],
                ["box_slice", "box_interp:n=3", "points_volume:n=1+scribble"],
                PHANTOM,
                save_masks=True,
                rounds=2,
                out=folder / "results",
            )
    return folder


@pytest.fixture(scope="session")
def address(played: Path) -> str:
    """Where the report of `played` is."""
    path = played / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(played / "data"))
        write_report(played / "results", path)
    return path.as_uri()


@pytest.fixture
def opened(tabs: Tabs) -> Iterator[Any]:
    """Opens a report from disk; whatever the browser complains of, or asks for, fails the test."""

    def open(address: str, width: int = 1280, scheme: str = "light") -> Any:
        page = tabs.open(address, width, scheme)
        until(page, "document.querySelector('#explore [role=status]').textContent !== ''")
        return page

    yield open
    assert tabs.reset() == []
