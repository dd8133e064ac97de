"""A metric of one's own that cannot work is refused before anything is played; one that may need real scans is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine import metric_trial
from intrabench.engine.metric_trial import try_out
from intrabench.errors import IntraBenchError
from intrabench.metrics.lookup import metric
from intrabench.registry import registry
from tests.conftest import Said

MINE = """
import signal, time
from dataclasses import dataclass
from intrabench import Metric

@dataclass(frozen=True)
class Mine(Metric):
    name = "mine"
    bounds = (0.0, 1.0)
    needs = frozenset({"mask", "image", "before"})

    def measure(self, pair):
        return VALUE
"""
EVERYTHING = "pair.image_array.mean() * 0 + pair.before.voxels * 0 + pair.overlap_on(pair.prompted).dice"


def mine(value: str) -> intrabench.Metric:
    Path("mine.py").write_text(MINE.replace("VALUE", value))
    registry.add_plugins([Path("mine.py")])
    return metric("mine")


@pytest.mark.parametrize("value", ["1 / 0", "2.0", "{}", "float('nan')", "pair.trth.voxels", "exit()"])
def test_what_never_works_is_refused(value: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        try_out([mine(value)])
    assert caught == wording


@pytest.mark.parametrize(
    "value", ["1.0", EVERYTHING, "1 / pair.overlap.answer", "1.0 if pair.overlap.dice == 1 else 1 / 0"]
)
def test_what_works_on_some_pair_is_not(value: str) -> None:
    assert try_out([metric("assd"), mine(value)]) == []


def test_what_numpy_warns_of_is_not_told(recwarn: pytest.WarningsRecorder) -> None:
    assert try_out([mine("1.0 - float(pair.before.array.mean() / pair.before.array[:0].mean() > 0)")]) == []
    assert not recwarn.list


@pytest.mark.parametrize(
    "value", ["time.sleep(600)", "[1 for _ in iter(int, 1)]", "1.0 if pair.answer.any() else time.sleep(600)"]
)
def test_what_hangs_is_refused(value: str, wording: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it hangs on a single pair, and where Python has nothing to do."""
    monkeypatch.setattr(metric_trial, "SECONDS", 0.2)
    started = time.monotonic()
    with pytest.raises(IntraBenchError) as caught:
        try_out([mine(value)])
    assert time.monotonic() - started < 60
    assert caught == wording
    assert try_out([mine("1.0")]) == []


def test_ctrl_c_is_the_users_own() -> None:
    with pytest.raises(KeyboardInterrupt):
        try_out([mine("signal.raise_signal(signal.SIGINT)")])


def test_what_has_no_value_is_told(wording: SnapshotAssertion) -> None:
    assert try_out([mine("None")]) == wording


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_nothing_is_played(say: Callable[..., Said], data: Path, more: tuple[str, ...]) -> None:
    Path("mine.py").write_text(MINE.replace("VALUE", "pair.trth.voxels"))
    words = ("-m", "box_fill", "-p", "box_slice", "-d", "phantom:shape=16x32x32", "--plugin", "mine.py")
    said = say("run", *words, "--metric", "mine", "--out", "out", *more)
    assert said.code == 2
    assert said.err.count("in line 13 of mine.py") == 1
    assert not Path("out").exists()


def test_a_metric_is_tried_before_masks_are_scored(data: Path) -> None:
    intrabench.run("box_fill", "box_slice", "phantom:shape=16x32x32", save_masks=True, out="out", workers=0)
    mine("1 / 0")
    with pytest.raises(IntraBenchError, match=r"in line 13 of mine\.py"):
        intrabench.score("out", metric="mine")
