"""A small folder of weights, the model with them, and an open volume."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from intrabench.models.nninteractive import NnInteractive
from tests.models.nninteractive.played import (
    VOLUME,
    made,
)
from tests.models.nninteractive_folder import write_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("nnInteractive.inference.inference_session")
    return write_folder(tmp_path_factory.mktemp("weights") / "model", patch=32, bias=-0.8)


@pytest.fixture(scope="module")
def model(folder: Path) -> NnInteractive:
    return made(folder, autozoom=False)


@pytest.fixture
def image(model: NnInteractive) -> Iterator[Any]:
    with model.open(VOLUME) as opened:
        yield opened
