"""Models in another interpreter (the same one, in a process of its own): same rows, and what its death costs."""

from __future__ import annotations

import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import progress
from intrabench.datasets.cases import store as cases
from intrabench.engine.executors import remote_model
from intrabench.engine.executors.remote_model import RemoteModel
from intrabench.files.grid import Original
from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, Request, Runtime
from intrabench.prompts import box3d
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.conftest import Said
from tests.engine.conftest import Started
from tests.engine.test_run import lasting

PYTHON = Path(sys.executable)
PLUGIN = Path(__file__).with_name("remote_plugin.py")
NETWORK = Path(__file__).parents[1] / "models" / "tiny_network.py"
SMALL = "phantom:shape=16x32x32,instances=5,spacing=3x1x2,orientation=LPI"
pytestmark = pytest.mark.usefixtures("started")
Remotely = Callable[[str], RemoteModel]
GONE = "the worker process ended with signal 9, perhaps out of memory: last words; the next request gets a fresh one"


def run(model: str, prompter: str | list[str] = "box_volume", out: str = "remote", **options: Any) -> pl.DataFrame:
    """Rows of a run, in the other process unless told otherwise."""
    return intrabench.run(model, prompter, SMALL, out=out, **{"python": PYTHON, "plugin": [PLUGIN], **options})


def here(model: str, prompter: str | list[str] = "box_volume", **options: Any) -> pl.DataFrame:
    return run(model, prompter, out="here", python=None, **options)


def target_rows() -> list[int]:
    """The row at which the box of each target begins."""
    cases.prepare(intrabench.dataset(SMALL), "case-1")
    return [target.mask.box[1] for target in cases.open_case(intrabench.dataset(SMALL), "case-1").targets()]


def test_a_model_of_volumes_gives_the_same_rows(started: Started) -> None:
    expected = here("random_walker", "box_volume+scribble", rounds=2)
    assert started == []
    assert lasting(run("random_walker", "box_volume+scribble", rounds=2)).equals(lasting(expected))
    assert set(expected["round"]) == {0, 1, 2}
    assert len(started) == 1
    assert started[0].returncode == 0


def test_a_network_with_a_memory_gives_the_same_rows_even_if_it_is_killed(started: Started) -> None:
    words = ("mortal", ["points_slice:n=2+click_slice", "points_slice:n=3+click_slice"])
    options = {"rounds": 2, "weights": Path("random"), "plugin": [NETWORK]}
    expected = here(*words, **options)
    assert set(expected["model"]) == {"mortal"}
    assert set(expected["weights"]) == {"random"}
    Path("mortal").write_text("8")  # in a call with two requests, which are asked again
    killed = run(*words, **options)
    assert [process.returncode for process in started] == [-9, 0]
    assert lasting(killed).equals(lasting(expected))
    forgetful = here("mortal:remembers=false", words[1], **options)
    assert forgetful["dice"].to_list()[2::3] != expected["dice"].to_list()[2::3]  # so memories do matter


def test_a_request_that_kills_the_process_is_one_failed_row() -> None:
    rows = target_rows()
    place = next(place for place, row in enumerate(rows) if place > 1 and rows.count(row) == 1)
    found, expected = run(f"killer:row={rows[place]}"), here("box_fill")
    assert found["error"].to_list() == ["" if other != place else GONE for other in range(5)]
    assert found["status"].to_list() == ["ok" if other != place else "error" for other in range(5)]
    others = pl.int_range(5) != place
    assert found.filter(others)["dice"].equals(expected.filter(others)["dice"])


def test_how_a_process_ended_is_told_with_its_last_words(wording: SnapshotAssertion) -> None:
    rows = run("killer:row=-1,code=3", targets=["blob.1"])
    assert rows["error"].to_list() == wording


def asked(row: int) -> Request:
    return Request(f"row {row}", (Turn(box3d((0, row, 0, 4, row + 4, 4))),))


@pytest.fixture
def remotely() -> Iterator[Callable[[str], RemoteModel]]:
    """Models of the plugin, each in a process of its own."""
    models: list[RemoteModel] = []

    def make(spec: str) -> RemoteModel:
        models.append(RemoteModel(PYTHON, spec, Runtime(), [PLUGIN]))
        return models[-1]

    yield make
    for model in models:
        model.close()


def scan(depth: int = 4) -> Volume:
    return Volume.from_canonical(np.zeros((depth, 16, 16), dtype=np.int16))


def test_a_model_that_always_dies_is_started_three_times_for_a_batch(remotely: Remotely) -> None:
    with remotely("killer:row=-1").open(scan()) as image:
        answers = image.segment([asked(row) for row in range(8)])
        assert [answer.message for answer in answers] == [GONE] * 8
        assert len(Path("starts").read_text().split()) == 3
        assert image.segment([asked(0)])[0].message == GONE
        assert len(Path("starts").read_text().split()) == 4


def test_requests_before_the_second_death_are_answered(remotely: Remotely) -> None:
    with remotely("killer:row=1").open(scan()) as image:
        answers = image.segment([asked(row) for row in (0, 1, 2, 1, 3)])
        assert [isinstance(answer, Answer) for answer in answers] == [True, False, True, False, False]
        assert isinstance(image.segment([asked(3)])[0], Answer)


def test_an_interruption_is_not_kept_waiting_for_the_answer(remotely: Remotely, started: Started) -> None:
    def interrupt() -> None:
        while not Path("asleep").exists():
            time.sleep(0.05)
        time.sleep(0.5)  # by now it waits for the answer
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with remotely("sleeping").open(scan()) as image:
        threading.Thread(target=interrupt).start()
        before = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            image.segment([asked(0)])
        assert started[-1].poll() is not None, "nobody waits for its answer any more"
    assert time.monotonic() - before < 60


def test_memories_are_forgotten_over_there_when_they_are_no_longer_needed_here(remotely: Remotely) -> None:
    with remotely("counting").open(scan()) as image:
        first, second = image.segment([asked(0), asked(1)])
        assert isinstance(first.memory, remote_model.Remembered)
        later = Request("row 0", asked(0).turns * 2, Mask.empty(), first.memory)
        (first,) = image.segment([later])  # the session's earlier memory is needed no longer
        del later, second
        (first,) = image.segment([Request("row 0", asked(0).turns * 3, Mask.empty(), first.memory)])
        gone = weakref.ref(first.memory)
        del first
        assert gone() is None
        image.segment([asked(2)])
    assert Path("alive").read_text().splitlines() == ["0 none", "1 none", "2 Memory", "1 Memory", "0 none"]


def test_a_memory_of_a_process_that_died_stands_for_none(remotely: Remotely, started: Started) -> None:
    with remotely("counting").open(scan()) as image:
        old, dropped = image.segment([asked(0), asked(5)])
        started[-1].kill()
        (failed,) = image.segment([asked(1)])
        assert failed.message.startswith("the worker process ended with signal 9, perhaps out of memory: xxx")
        del dropped
        new, newer = image.segment([asked(1), asked(2)])  # their memories have the numbers that the others had
        image.segment([Request("row 0", asked(0).turns * 2, Mask.empty(), old.memory)])
        image.segment([Request("row 1", asked(1).turns * 2, Mask.empty(), new.memory)])
        assert newer.memory is not None
    assert Path("alive").read_text().splitlines() == ["0 none", "1 none", "0 none", "1 none", "2 none", "2 Memory"]


def test_one_image_is_open_at_a_time_and_takes_its_memories_along(remotely: Remotely) -> None:
    model = remotely("counting")
    with model.open(scan()) as image:
        kept = image.segment([asked(0)])
    with model.open(scan()) as image:
        image.segment([asked(0)])
    assert kept
    assert Path("alive").read_text().splitlines() == ["0 none", "0 none"]
    model = remotely("exhausted")
    for depth in (4, 5):
        with model.open(scan(depth)):
            pass
    assert Path("images").read_text().splitlines() == ["open 4", "close 4", "open 5"]
    model.close()


def test_steps_that_are_taken_there_count_here(remotely: Remotely) -> None:
    """So the clock of a wave stands still while slices are encoded there."""
    heard: list[tuple[str, str, str]] = []
    model = remotely("stepping")
    playing, encoding = ("playing", "playing 1 session", "a case"), ("encoding", "encoding slice 1 of 2", "a case")
    with progress.listen(lambda *now: heard.append(now)), model.open(scan()) as image, progress.step(*playing):
        image.segment([asked(0)])
    steps = [now for before, now in zip([None, *heard], heard, strict=False) if now != before]
    inside = [playing, encoding, playing, ("loading", "loading stepping", "a case"), playing, encoding, playing]
    assert steps == [*inside, ("", "", "")]


def test_memories_do_not_outlive_their_sessions() -> None:
    run("counting", "box_volume+click_center", rounds=2, seed=list(range(4)))
    lines = [line.split() for line in Path("alive").read_text().splitlines()]
    assert len(lines) == 20 * 3
    assert [lines[place][1] for place in range(3)] == ["none", "Memory", "Memory"]  # the first wave: one session
    begun = [lines[place][0] for place in range(1, 60) if lines[place - 1][1] == "Memory" and lines[place][1] == "none"]
    assert len(begun) >= 2
    assert set(begun) == {"0"}  # nothing is left when a wave begins


def test_the_scan_and_the_failure_are_the_same_there() -> None:
    rows, expected = run("looking"), here("looking")
    assert rows.select("status", "error").equals(expected.select("status", "error"))
    assert set(rows["status"]) == {"timeout"}
    assert expected["error"][0].startswith("TimeoutError: ((16, 32, 32), (3.0, 1.0, 2.0), 'int16', ")
    assert "'synthetic, CT-like intensities', 'case-1', (), None)" in expected["error"][0]


def test_the_grid_of_the_files_is_known_there(remotely: Remotely) -> None:
    original = Original.of(scan().grid, [0, 1, 3])
    with remotely("looking").open(replace(scan(), original=original)) as image:
        (failed,) = image.segment([asked(0)])
    assert isinstance(failed, Failure)
    assert str(original) in failed.message


@pytest.mark.parametrize("spec", ["exhausted", "exhausted:opening=true"])
def test_running_out_of_memory_as_a_whole_is_the_same_there(spec: str) -> None:
    rows, expected = run(spec), here(spec)
    assert rows.select("status", "error").equals(expected.select("status", "error"))


def test_a_check_finds_the_same(started: Started, say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    """Apart from times and memory."""
    measured = ("load", "time", "memory", "prompt ")
    here, there = ({one.name: one for one in intrabench.check("box_fill", python=python)} for python in (None, PYTHON))
    del here["cost"]  # of the model in this process
    assert list(here) == list(there)
    assert {name: one.ok for name, one in here.items()} == {name: one.ok for name, one in there.items()}
    told = [name for name in here if not name.startswith(measured)]
    assert [here[name].message for name in told] == [there[name].message for name in told]
    assert there["load"].message == f"in {PYTHON}"
    assert [process.returncode for process in started] == [0]
    said = say("check", "box_fill", "--python", "nowhere/python")
    assert (said.code, said.out) == (2, "")
    assert said.err == wording
