"""Runs that are killed at random moments lose, double and change nothing (`python -m tests.engine.kill_drill 100`)."""

from __future__ import annotations

import sys

import pytest

from tests.engine.kill_drill import COUNTED, drill


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_kills_lose_double_and_change_nothing() -> None:
    done, wrong = drill(6)
    assert sum(done.values()) - done["too late"] == 6
    assert wrong == dict.fromkeys(COUNTED, 0)
