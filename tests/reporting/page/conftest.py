"""A real run, small, for the viewer and for the browser."""

from __future__ import annotations

from pathlib import Path

import pytest

import intrabench

PHANTOM = "phantom:shape=24x48x48,instances=3,scans=2"


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``data`` and ``results``: two models, static prompts, clicks and corrections, with all masks."""
    folder = tmp_path_factory.mktemp("played")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        intrabench.run(
            ["box_fill", "random_walker"],
            ["box_slice", "box_interp:n=3", "points_volume:n=1+scribble"],
            PHANTOM,
            save_masks=True,
            rounds=2,
            out=folder / "results",
        )
    return folder
