"""Weights of one's own, in the registry and in an empty folder of weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import Weights

Own = Callable[..., Weights]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of weights."""
    path = tmp_path / "weights"
    path.mkdir()
    monkeypatch.setenv("INTRABENCH_WEIGHTS", str(path))
    return path


@pytest.fixture
def own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    """Adds an entry to the registry, ``own(id, field=value, ...)``."""
    known = weights.entries()
    monkeypatch.setattr(weights, "_entries", lambda: known)

    def add(id: str = "own", **fields: Any) -> Weights:
        told = {"licence": "MIT", "citation": "nobody", "training_data": "nothing"}
        known[id] = Weights(id, **{"file": "own.pth", "megabytes": 7, **told, **fields})
        return known[id]

    return add
