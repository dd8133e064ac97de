"""What the models of a run leave in memory, and what rows say about it."""

from __future__ import annotations

import gc
import sys
import time
import weakref
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import intrabench
from intrabench.engine import player
from intrabench.engine.executors import make
from intrabench.models.base import Answer, Request
from intrabench.models.box_fill import BoxFill
from intrabench.models.parts.slice_model import SliceModel, SliceResult
from intrabench.play import lockstep
from intrabench.volume import Volume
from tests.processes import Process, script

DATASET = """
import sys, time
from dataclasses import dataclass
import numpy as np
from intrabench.datasets.phantom import Phantom

@dataclass(frozen=True)
class Heavy(Phantom):
    "A phantom whose first case takes much memory to be made, and which wants no torch beside it."

    name = "heavy"

    def load(self, case, files):
        assert "torch" not in sys.modules
        if case == "case-1":
            block = np.ones((1200, 2**20), np.uint8)
            time.sleep(30)
        return super().load(case, files)
"""
pytestmark = pytest.mark.usefixtures("data")


WASTEFUL = """
from dataclasses import dataclass
import numpy as np
import intrabench
from intrabench.engine import write_buffer
from intrabench.models.box_fill import BoxFill

answers = 0

@dataclass(eq=False)
class Wasteful(BoxFill):
    "Takes much memory for its first answer, which is a wave, and is written together with the waves after it."

    name = "wasteful"

    def segment_one(self, volume, request):
        global answers
        answers += 1
        if answers == 1:
            np.ones((300, 2**20), np.uint8)
        return super().segment_one(volume, request)

write_buffer.LEAST_SECONDS = 1e6
rows = intrabench.run(Wasteful(), "box_volume", "phantom:shape=8x16x16,instances=3,scans=2", out="results")
print(*rows.sort("case", "target")["peak_memory_mb"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
def test_the_peak_is_that_of_the_waves_that_are_written_together() -> None:
    Path("wasteful.py").write_text(WASTEFUL)
    code, said, told = Process(script, "wasteful.py").ended()  # that of many tests keeps freed memory, and gives it
    assert code == 0, told
    first, *_ = peaks = [float(peak) for peak in said.split()]
    assert len(peaks) == 6
    assert first > max(peaks[3:]) + 250


@dataclass(eq=False)
class Loading(BoxFill):
    """Has loaded something, and sees what others have loaded."""

    name = "loading"
    loaded: ClassVar[list[str]] = []
    seen: ClassVar[list[list[str]]] = []
    who: str = ""

    @cached_property
    def network(self) -> str:
        """Its network."""
        Loading.loaded.append(self.who)
        return self.who

    def unload(self) -> None:
        """Drop the network."""
        super().unload()
        Loading.loaded.remove(self.who)

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Fill the box."""
        assert self.network
        Loading.seen.append(list(Loading.loaded))
        return super().segment_one(volume, request)


def test_one_model_is_in_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loading, "loaded", [])
    monkeypatch.setattr(Loading, "seen", [])
    models = [Loading(who="first"), Loading(who="second")]
    rows = intrabench.run(models, "box_volume", "phantom:shape=8x16x16,instances=1,scans=2", out="results")
    assert set(rows["status"]) == {"ok"}
    assert Loading.seen == [["first"], ["first"], ["second"], ["second"]]


@dataclass(eq=False)
class Remembers(SliceModel):
    """Leaves 128 KiB of logits for each slice, as SAM does."""

    name = "remembers"
    accepts = frozenset({"point", "box2d"})
    encodes = False

    @property
    def feeds_back(self) -> bool:
        """It does."""
        return True

    def slice_images(self, volume: Volume) -> Any:
        """The slices."""
        return lambda z: volume.array[z]

    def encode(self, images: Any) -> Any:
        """Nothing."""
        return [np.zeros(1, np.float32) for _ in images]

    def decode(self, items: Any) -> Any:
        """Empty masks."""
        return [SliceResult(np.zeros(one.shape, bool), np.zeros((256, 256), np.float32)) for one in items]


@pytest.mark.parametrize(("memory", "most"), [(1, 2), (2, 3), (512, 8)])
def test_fewer_sessions_are_played_together_if_models_remember_much(
    memory: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[tuple[int, int]] = []

    def noted(sessions: Any, *others: Any) -> int:
        played.append((len(sessions), lockstep.play(sessions, *others)))
        return played[-1][1]

    monkeypatch.setattr(player, "play", noted)
    data = "phantom:shape=24x64x64,instances=6,scans=2"
    prompters = ["box_slice+click_slice", "center_slice+click_slice"]  # logits are for a further round
    rows = intrabench.run(Remembers(), prompters, data, memory=memory, rounds=1, out="results")
    assert set(rows["status"]) == {"empty"}
    assert sum(count for count, _ in played) == len(rows) / 2 == 24
    assert max(count for count, _ in played) == most
    assert all(size <= memory * 2**20 for count, size in played if count > 1)
    assert played[0] == (1, 6 * 2**17)  # of a target on 6 slices


def test_logits_go_with_the_sessions_that_they_are_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, not when Python happens to look for circles."""
    logits, alive = list[weakref.ref[Any]](), list[int]()

    def asked(*given: Any) -> Any:
        answers = ask(*given)
        logits.extend(weakref.ref(one) for answer in answers for one in (answer.memory or {}).values())
        return answers

    def noted(*given: Any) -> int:
        found = play(*given)
        until = time.monotonic() + 60
        while any(one() is not None for one in logits) and time.monotonic() < until:
            time.sleep(0.01)  # a scorer may be at the last round
        alive.append(sum(one() is not None for one in logits))
        return found

    ask, play = lockstep.ask, lockstep.play
    monkeypatch.setattr(lockstep, "ask", asked)
    monkeypatch.setattr(player, "play", noted)
    gc.disable()
    try:
        data = "phantom:shape=24x64x64,instances=6"
        intrabench.run(Remembers(), "box_slice+click_slice", data, rounds=1, out="results")
    finally:
        gc.enable()
    assert len(logits) > 30
    assert len(alive) > 1
    assert set(alive) == {0}


def test_what_a_request_and_its_answer_share_is_in_memory_once() -> None:
    old, new = np.zeros(10), np.zeros(100)
    request, answer = SimpleNamespace(memory={1: old, 2: old}), SimpleNamespace(memory={1: old, 2: new})
    assert lockstep._remembered([request, answer]) == old.nbytes + new.nbytes


@pytest.mark.parametrize(("dataset", "scans", "workers"), [("phantom", 4, 0), ("slow", 2, 1)])
def test_each_model_is_loaded_once_whatever_the_number_of_cases_and_data_sets(
    dataset: str, scans: int, workers: int
) -> None:
    """Also if cases become ready one by one, slower than they are played."""
    rows = intrabench.run(
        ["loads:who=a", "loads:who=b", "loads:who=c"],
        "box_volume",
        [f"{dataset}:shape=8x16x{width},instances=1,scans={scans}" for width in (16, 18)],
        plugin=Path(__file__).with_name("loads_plugin.py"),
        workers=workers,
        out="results",
    )
    assert (len(rows), set(rows["status"])) == (3 * scans * 2, {"ok"})
    noted = Path("loads.txt").read_text().splitlines()
    loads = ["load a", "load b", "load c"]  # a worker that has played such a model is replaced before another one
    assert noted == (loads if workers else ["load a", "drop a", "load b", "drop b", "load c"])


@pytest.mark.slow  # that it fails alone is in test_conversions.py
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what memory is in use")
def test_a_conversion_that_takes_too_much_memory_fails_alone_and_torch_is_not_loaded_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(make, "default_memory_limit_mb", lambda workers: 1000.0)
    Path("heavy.py").write_text(DATASET)
    given = {"model": ["box_fill", "scribbleprompt_unet"], "weights": "random", "plugin": "heavy.py", "workers": 1}
    with pytest.warns(UserWarning, match="2 of 4 sessions failed"):
        rows = intrabench.run(prompter="box_volume", dataset="heavy:shape=8x16x16,instances=1,scans=2", **given)
    found = rows.filter(model="box_fill").select("case", "status", "error").rows()
    said = "converting took more than 1.0 GB of memory, a worker's share; use fewer --workers or a machine with more"
    assert found == [("case-1", "no_data", said), ("case-2", "ok", "")]


def test_what_large_sessions_freed_is_given_back_before_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    returned = list[int]()
    monkeypatch.setattr(player, "return_freed_memory", lambda: returned.append(1))
    words = ("box_slice+click_center", "phantom:shape=8x24x24,instances=3")
    intrabench.run("grabcut", *words, rounds=1, workers=0, out="out")
    assert returned == []
    monkeypatch.setattr(player, "LARGE", 0)
    intrabench.run("grabcut", *words, rounds=1, workers=0, seed=1, out="out")
    assert len(returned) > 1
