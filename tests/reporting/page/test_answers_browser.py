"""The answers in a real browser: the slider by pointer and keyboard, without anything below moving."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.reporting.page.page import write_report
from tests.reporting.page.page_of import store
from tests.results.made import curve


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two models with clicks, of which one is better at first, and a line that costs 15 at once."""
    folder = tmp_path_factory.mktemp("answers")
    clicks = (
        curve([value + 0.01 * (case % 4) for value in values], model=model, case=str(case), interactions=3.0)
        for model, values in (("good", [0.5, 0.7]), ("quick", [0.6, 0.6]))
        for case in range(8)
    )
    boxes = (curve([0.9], model="good", prompter="box_slice", case=str(case), interactions=15.0) for case in range(8))
    write_report(store(folder / "results", pl.concat([*clicks, *boxes])), folder / "report.html", views=0)
    return (folder / "report.html").as_uri()


@pytest.fixture(params=[("light", 1280), ("dark", 360)], ids=str)
def page(request: pytest.FixtureRequest, opened: Any, address: str) -> Any:
    """The report on a large screen, and on a phone in the dark."""
    scheme, width = request.param
    return opened(address, width, scheme)


def lead(page: Any) -> str:
    """The first sentences that are seen."""
    (seen,) = [one for one in page.locator("#answers [data-stop]").all() if one.is_visible()]
    return str(seen.locator("p").first.inner_text())


def board(page: Any) -> list[list[str]]:
    """The table's models, prompters and efforts, as seen."""
    found: list[list[str]] = page.evaluate(
        "[...document.querySelectorAll('#board tbody tr')].map(row => [1, 2, 6].map(n => row.cells[n].innerText))"
    )
    return found


def test_the_slider_goes_from_budget_to_budget_by_key(page: Any, wording: SnapshotAssertion) -> None:
    slider = page.locator("#answers").get_by_label("at most")
    assert slider.get_attribute("aria-valuetext") == "10"  # of three lines two play all their rounds within it
    slider.focus()
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    text = lead(page)
    assert "Dice 0.61" in text
    assert text == wording
    assert board(page)[0] == ["quick", "p", "3.0"]
    assert board(page)[2] == ["good", "box_slice", "15.0 at least"]
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    assert page.locator("#answers output").inner_text() == "10"
    text = lead(page)
    assert "Dice 0.71" in text
    assert text == wording
    assert page.locator("#answers [role=status]").inner_text().startswith("At 10 interactions good")
    slider.press("End")
    assert slider.get_attribute("aria-valuetext") == "no limit"
    text = lead(page)
    assert "Dice 0.90" in text
    assert text == wording
    assert [row[2] for row in board(page)] == ["15.0", "6.0", "6.0"]
    slider.press("Home")
    assert lead(page) == wording


def test_nothing_below_moves(page: Any) -> None:
    place = "document.getElementById('summary').getBoundingClientRect().top + scrollY"
    slider, before = page.locator("#answers").get_by_label("at most"), page.evaluate(place)
    slider.focus()
    for key in ("Home", "ArrowRight", "ArrowRight", "End"):
        slider.press(key)
        assert page.evaluate(place) == before, key
    page.get_by_label("Budget").get_by_label("seconds of the user").check()
    assert page.evaluate(place) == before


def test_another_effort(page: Any, wording: SnapshotAssertion) -> None:
    page.get_by_label("Budget").get_by_label("seconds of the user").check()
    assert lead(page) == wording  # most need 14
    assert page.locator("#answers .front svg").get_attribute("aria-label") == wording
    assert page.locator("#answers .front .chosen ul").first.inner_text() == wording


def test_the_best_is_bold_and_said_and_the_front_is_drawn(page: Any, wording: SnapshotAssertion) -> None:
    best = page.locator("#board td.best")
    assert best.count() == 1
    assert best.evaluate("node => node.textContent").startswith("0.715 best")
    assert best.evaluate("node => getComputedStyle(node).fontWeight") == "700"
    assert page.locator("#answers .front circle.on").count() == 3
    assert page.locator("#answers .front circle").count() == 5
    told = page.locator("#board svg.box").first.get_attribute("aria-label")
    assert "0.715, half from 0.708" in told
    assert "to 0.723" in told
    assert told == wording
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_bands_are_drawn_around_curves(page: Any) -> None:
    page.locator("#curves .series").first.wait_for(state="attached")
    assert page.locator("#curves .series .band").count() == 2  # of the lines with two points
    assert page.locator("#curves .series .bar").first.evaluate("node => getComputedStyle(node).visibility") == "visible"


def test_without_scripts_every_budget_is_read(chromium: Any, address: str) -> None:
    page = chromium.new_page(java_script_enabled=False)
    page.goto(address)
    shown = [one.inner_text() for one in page.locator("#answers [data-stop]").all() if one.is_visible()]
    assert len(shown) == page.locator("#answers [data-stop]").count()
    assert any(text.startswith("At 10 interactions good") for text in shown)
    page.close()
