"""Data sets whose files have no published checksum say so."""

from __future__ import annotations

import pytest

from intrabench.cli.describe import describe
from intrabench.registry import registry

SHIPPED = [name for name, entry in registry.entries("datasets").items() if entry.origin == "intrabench"]


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_not_pinned_is_told(name: str) -> None:
    dataset = registry.make("datasets", name)
    loose = [source.title for source in dataset.sources() if not source.pinned]
    assert ("not pinned: " in describe(name)) == bool(loose)
    assert all(title in describe(name) for title in loose)
    assert any("no checksum" in caveat for caveat in dataset.card.caveats) == bool(loose)
