"""Browsers for two people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.tabs import Tabs


@pytest.fixture(scope="module")
def two(chromium: Any) -> tuple[Tabs, Tabs]:
    """Two browsers that know nothing of each other."""
    return Tabs(chromium), Tabs(chromium)


@pytest.fixture
def browsers(two: tuple[Tabs, Tabs]) -> Iterator[tuple[Tabs, Tabs]]:
    """The same, without what a test left there."""
    yield two
    for tabs in two:
        tabs.reset()
