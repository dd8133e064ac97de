"""A person clicks on what was shown, in a real browser; what is collected trains and evaluates clickability models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from intrabench.clickability.clicks_csv import read_clicks
from intrabench.people.clicking.displays import DISPLAYS
from tests.people.browsing import Person, serious
from tests.people.served import running
from tests.tabs import Tabs

Browsers = tuple[Tabs, Tabs]
PHANTOM = "phantom:shape=12x40x44,instances=2"
ALONE = "phantom:shape=12x40x44,instances=1"


def collecting(display: str, *more: str, data: str = PHANTOM) -> Any:
    words = ["annotate", "--first-clicks", display, "-d", data, "--cases", "first:1", "--out", "out"]
    return running([*words, "--rater", "r1", "--rater", "r2", *more], ["r1", "r2"])


def person(tabs: Tabs, link: str, **more: Any) -> Person:
    found = Person(tabs, link, "light", name="clicking", **more)
    found.until("document.querySelector('#note[open]')")
    return found


def phase(one: Person, name: str) -> None:
    one.until(f"window.clicking.state().phase === '{name}'")


def click(one: Person, y: float, x: float) -> None:
    """Once a click counts, at a pixel of the picture."""
    phase(one, "click")
    left = one.state()["left"]
    at: list[float] = one.page.evaluate(f"window.clicking.where({y}, {x})")
    one.page.mouse.click(*at)
    one.until(f"window.clicking.state().left === {left - 1}")


def test_clicks_of_people_become_a_file_for_clickability_models(
    browsers: Browsers, axe: Any, data: Path, say: Any
) -> None:
    with collecting("cutout") as server:
        one = person(browsers[0], server.links["r1"])
        assert serious(axe, one.page) == []
        one.press("Enter")
        phase(one, "image")
        one.page.mouse.click(640, 400)  # too early: it does not count
        phase(one, "target")
        assert one.page.evaluate("getComputedStyle(document.getElementById('picture')).cursor") == "crosshair"
        click(one, 12, 30)
        phase(one, "click")
        assert serious(axe, one.page) == []
        assert one.page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        one.page.reload()
        one.until("document.querySelector('#note[open]')")
        assert one.state()["done"] == 1  # what was clicked is on the disk
        one.press("Enter")
        click(one, 20, 22)
        one.until("document.querySelector('#note[open]')")
        assert one.state()["phase"] == "end"
        assert one.leaves() == []
    file = Path("out/people/clicks/clicks.csv")
    rows = pl.read_csv(file)
    assert rows.select("dataset", "click_type", "device", "display", "rater").unique().rows() == [
        ("slices", "first", "pc", "cutout", "r1")
    ]
    assert rows.select("y", "x", "h", "w").rows() == [(12, 30, 40, 44), (20, 22, 40, 44)]
    assert (rows["seconds"] > 0).all()
    assert [one.clicks.tolist() for one in read_clicks(file)] == [[[12, 30]], [[20, 22]]]
    told = say(
        *("clickability", "evaluate", "--clicks", str(file), "-d", "out/people/clicks/slices", "--model", "uniform"),
        *("--format", "csv"),
    )
    assert "slices" in told.out


@pytest.mark.parametrize("display", DISPLAYS)
def test_each_display_shows_what_it_should(browsers: Browsers, data: Path, display: str) -> None:
    with collecting(display, "--targets", "*.1", data=ALONE if display == "text" else PHANTOM) as server:
        one = person(browsers[0], server.links["r2"], size=(820, 1180))
        one.press("Enter")
        phase(one, "target")
        shown = one.page.evaluate("[document.getElementById('picture').hidden, document.getElementById('name').hidden]")
        assert shown == ([True, False] if display == "text" else [False, True])
        assert bool(one.state()["name"]) is (display == "text")
        client = server.client("r2")
        _, about = client.ask("api/clicking")
        (code,) = about["left"]
        status, scene = client.ask(f"api/scene/{code}")
        assert (status, "mask" in scene, "shown" in scene) == (200, False, display != "text")
        beside = {"code": code, "id": "12345678", "y": 50, "x": 0, "seconds": 1, "device": "pc"}
        assert client.ask("api/click", beside)[0] == 422
        assert client.ask("api/scene/nothing")[0] == 422
        click(one, 12, 30)
        assert one.leaves() == []


def test_a_wrong_display_is_told(say: Any, wording: Any) -> None:
    assert say("annotate", "--first-clicks", "sound", "-d", PHANTOM).err == wording
    assert say("annotate", "--first-clicks", "text").err == wording
    assert say("annotate", "--first-clicks", "text", "-d", PHANTOM, "--cases", "first:1").err == wording
    assert say("annotate", "--first-clicks", "text", "-d", PHANTOM, "--model", "random_walker").err == wording
