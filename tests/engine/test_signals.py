"""Signals that ask a run to end: exit code 75, whenever they come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Said
from tests.processes import Process, command

ASKED = """
import os
from pathlib import Path

from intrabench.datasets.phantom import Phantom


class Asked(Phantom):
    name = "asked"

    def cases(self):
        if not Path("asked").exists():
            Path("asked").touch()
            os.kill(os.getpid(), {number})
        return super().cases()
"""


@pytest.mark.parametrize("number", [pytest.param(1, marks=pytest.mark.slow), 15])
def test_a_run_that_still_plans_has_more_to_do(
    number: int, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    Path("asked.py").write_text(ASKED.format(number=number))
    words = ["run", "-m", "box_fill", "-p", "box_slice", "-d", "asked:shape=16x32x32", "--plugin", "asked.py"]
    code, _, told = Process(command, *words).ended()
    assert code == 75, told
    assert told == wording
    again = say(*words)
    assert again.code == 0, again.err
