"""Scores are measured while other sessions are played; what they die of is blamed on their own session all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import intrabench
from intrabench.results.parts import read_rows

PLUGIN = '''
import os, sys, time
from dataclasses import dataclass

from intrabench.metrics.nsd import NormalisedSurfaceDice
from intrabench.models.box_fill import BoxFill

real = NormalisedSurfaceDice.measure


def measure(self, pair):
    if pair.target.id == "blob.3":
        HOW
    return real(self, pair)


if "intrabench.engine.executors.worker" in sys.modules:  # not in the process of the tests
    NormalisedSurfaceDice.measure = measure


@dataclass(eq=False)
class Plain(BoxFill):
    """Box fill."""

    name = "plain"
'''
MANY = "phantom:shape=16x48x56,instances=5"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("data"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.mark.parametrize(
    ("how", "status", "said"),
    [
        ("os._exit(3)", "error", "the worker process ended with exit code 3"),
        ("time.sleep(10**6)", "timeout", "1 session took longer than "),
    ],
)
def test_only_the_session_fails_whose_scores_are_fatal(how: str, status: str, said: str) -> None:
    Path("plain.py").write_text(PLUGIN.replace("HOW", how))
    intrabench.run(
        "plain", ["box_slice", "box_volume"], MANY, plugin=[Path("plain.py")], out="out", workers=1, timeout=4
    )
    rows = read_rows(Path("out")).sort("target", "prompter").select("target", "prompter", "status", "error").rows()
    assert len(rows) == 10
    bad = [row for row in rows if row[2] != "ok"]
    assert [row[:3] for row in bad] == [("blob.3", "box_slice", status), ("blob.3", "box_volume", status)]
    assert all(row[3].startswith(said) for row in bad)
