"""The report in a real browser: everything that can be used is used, by pointer and by keyboard, without an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.reporting.page.page import write_report
from tests.reporting.page.browsing import until, wait_for_viewer
from tests.reporting.page.conftest import PHANTOM
from tests.tabs import Tabs


@pytest.fixture(params=[("light", 1280), ("dark", 360)], ids=str)
def page(request: pytest.FixtureRequest, opened: Any, address: str) -> Any:
    """The report on a large screen, and on a phone in the dark."""
    scheme, width = request.param
    return opened(address, width, scheme)


def drawn(page: Any, axis: int = 0) -> Any:
    """The pixels of a plane."""
    return page.evaluate("axis => document.querySelectorAll('.planes canvas')[axis].toDataURL()", axis)


def test_it_fits_its_window(page: Any) -> None:
    wait_for_viewer(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    assert (ground < ink) == dark or (ground, ink) == ("rgb(255, 255, 255)", "rgb(27, 29, 32)")


def test_tables_sort_by_pointer_and_by_key(page: Any) -> None:
    column = "[...document.querySelectorAll('#effort tbody tr')].map(row => row.lastElementChild.dataset.value)"
    head = page.locator("#effort thead th").last
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    falling = page.evaluate(column)
    known = [float(value) for value in falling if value is not None]
    assert known == sorted(known, reverse=True)
    assert falling[-1] is None  # what has no value stays last
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert page.evaluate(column) == [*falling[-2::-1], None]
    page.locator("#effort thead th button").nth(1).press("Space")
    assert head.get_attribute("aria-sort") is None
    models = page.locator("#effort tbody tr th:nth-child(2)").all_inner_texts()
    assert models == ["box_fill"] * 3 + ["random_walker"] * 3


def test_curves_tell_their_values(page: Any) -> None:
    tip = page.locator("#curves .tip")
    assert not tip.is_visible()
    page.locator("#curves svg .point").last.hover(force=True)
    assert "Dice 0." in tip.inner_text()
    assert page.locator("#curves .series.lit").count() == 1
    page.mouse.move(0, 0)
    assert not tip.is_visible()
    figure = page.locator("#curves figure > svg").last
    figure.focus()
    figure.press("ArrowRight")
    told = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert tip.inner_text() == told
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == tip.inner_text() != told
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_curves_can_be_drawn_against_other_efforts_and_by_prompter(page: Any) -> None:
    page.locator("#curves h3").nth(1).wait_for()  # on a slow day they are drawn later
    assert page.locator("#curves h3").all_inner_texts() == ["box_fill", "random_walker"]
    page.locator("#curves").get_by_role("radio", name="seconds of the user").check()
    assert "seconds of the user" in page.locator("#curves figure > svg").first.text_content()
    page.get_by_label("A panel per").select_option("prompter")
    assert page.locator("#curves h3").first.inner_text() == "box_interp:n=3"
    assert page.evaluate(
        "[...document.querySelectorAll('#curves figure > svg text')].every(text =>"
        " text.getBoundingClientRect().right <= text.ownerSVGElement.getBoundingClientRect().right + 1)"
    )


def test_the_viewer_scrolls_and_goes_from_round_to_round(page: Any) -> None:
    wait_for_viewer(page)
    slider = page.get_by_label("axial slice")
    first, start = drawn(page), int(slider.input_value())
    slider.focus()
    slider.press("ArrowRight")
    assert int(slider.input_value()) == start + 1
    assert drawn(page) != first
    canvas = page.locator(".planes canvas").first
    canvas.hover()
    page.mouse.wheel(0, 100)
    until(page, "document.querySelectorAll('.planes input')[0].value === given", str(start))
    assert drawn(page) == first
    canvas.click(position={"x": 20, "y": 20})
    assert drawn(page, axis=1) != ""
    assert "slice" in slider.evaluate("node => node.closest('label').textContent")
    assert page.evaluate("document.activeElement.type") == "range"  # so that arrow keys go on from a click

    scribbled = [
        text for text in page.get_by_label("Answer of").locator("option").all_inner_texts() if "scribble" in text
    ]
    page.get_by_label("Answer of").select_option(label=scribbled[0])
    told = page.locator("#state")
    assert "after 2 corrections" in told.inner_text()
    rounds = page.locator("[name=round]")
    last = [drawn(page, axis) for axis in range(3)]
    rounds.focus()
    rounds.press("Home")
    assert "after the first prompts" in told.inner_text()
    assert [drawn(page, axis) for axis in range(3)] != last
    page.get_by_role("button", name="Next prompt").click()
    rounds.press("End")
    assert "after 2 corrections" in told.inner_text()


def test_the_viewer_toggles_windows_outlines_and_targets(page: Any) -> None:
    wait_for_viewer(page)
    first = drawn(page)
    page.get_by_label("Window").select_option(index=1)
    assert drawn(page) != first
    page.get_by_label("Window").select_option(index=0)
    assert drawn(page) == first
    for name in ("target", "answer", "prompts", "cross-hair"):
        box = page.locator("#viewer").get_by_label(name, exact=True)
        before = drawn(page), drawn(page, 1), drawn(page, 2)
        box.uncheck()
        assert (drawn(page), drawn(page, 1), drawn(page, 2)) != before, name
        box.check()
    page.locator("[name=target]").select_option("view2")
    until(page, "document.querySelector('.planes canvas').toDataURL() !== given", first)
    assert page.locator(".planes canvas").first.get_attribute("aria-label").startswith("axial")


def test_pictures_of_targets_are_filtered_and_open_them(page: Any) -> None:
    wait_for_viewer(page)
    pictures = page.locator(".thumbnails li")
    values = [float(value) for value in page.locator(".thumbnails strong").all_inner_texts()]
    limit = page.get_by_label("Mean Dice at most")
    limit.fill(str(values[1] + 0.0005))
    left = sum(value <= values[1] for value in values)
    assert [pictures.nth(n).is_visible() for n in range(len(values))] == [n < left for n in range(len(values))]
    assert page.locator("#thumbnail-filters [role=status]").inner_text() == f"{left} of {len(values)}"
    assert "pictures-limit" in page.evaluate("new Promise(done => setTimeout(() => done(location.hash), 300))")
    name = pictures.nth(1).locator("img").get_attribute("alt").removeprefix("the largest slice of ").split(" of ")
    pictures.nth(1).get_by_role("link").click()
    until(page, "location.hash.includes(given)", f"target={PHANTOM.split(':')[0]}")
    chosen = page.locator("[name=target] option:checked").inner_text()
    assert f"{name[1]}, {name[0]} " in chosen
    until(page, "document.querySelector('.chosen-target').getBoundingClientRect().top < innerHeight")
    limit.fill("")
    assert all(pictures.nth(n).is_visible() for n in range(len(values)))


def test_everything_can_be_reached_by_tab_and_is_seen_to_be(page: Any) -> None:
    wait_for_viewer(page)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.evaluate(
        """() => {
          window.reached = [];
          addEventListener("focusin", ({ target }) => reached.push([
            target.id || target.name || target.textContent.trim().slice(0, 30) || target.tagName,
            getComputedStyle(target).outlineStyle]));
        }"""
    )
    for _ in range(150):
        page.keyboard.down("Tab")  # held
    reached = page.evaluate("reached")
    assert [name for name, outline in reached if outline == "none"] == []
    assert {"target", "session", "range", "show-answer", "dataset", "facet", "Next prompt"} <= {
        name for name, _ in reached
    }


def test_pairs_unfold_and_sort(page: Any) -> None:
    table = page.locator("#pairs")
    assert not table.is_visible()
    page.get_by_text("All pairs of lines").click()
    assert table.locator("tbody tr").count() == 10  # of the five lines with values
    column = "[...document.querySelectorAll('#pairs tbody tr')].map(row => Number(row.cells[{}].dataset.value))"
    assert page.evaluate(column.format(5)) == sorted(page.evaluate(column.format(5)))  # as written
    table.get_by_role("button", name="Rank-biserial").click()
    effects = page.evaluate(column.format(4))
    assert effects == sorted(effects, reverse=True)
    assert max(map(abs, effects)) <= 1


def test_a_longer_table_than_its_frame_scrolls_inside_it(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(
        "[...document.querySelectorAll('.wide')].every(frame => frame.getBoundingClientRect().right <= innerWidth"
        " && frame.getBoundingClientRect().height <= 0.86 * innerHeight)"
    )


def test_it_prints(page: Any, wording: SnapshotAssertion) -> None:
    until(page, "document.getElementById('state').textContent !== ''")  # without anyone having scrolled there
    unfolded = "[...document.querySelectorAll('details')].map(part => part.open)"
    page.get_by_text("Other metrics").click()
    before = page.evaluate(unfolded)
    page.emulate_media(media="print", color_scheme="light")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert all(page.evaluate(unfolded))
    assert not page.locator("nav").is_visible()
    assert not any(page.locator(".controls").nth(n).is_visible() for n in range(2))
    assert page.locator("#curves .paper").inner_text().startswith("Data set: phantom:")
    shown = page.locator("#viewer .paper").inner_text()
    assert shown.startswith("Target: worst: ")
    assert shown == wording
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    heads = "[...document.querySelectorAll('th button')].map(head => getComputedStyle(head).display)"
    assert set(page.evaluate(heads)) == {"contents"}  # a button in a head is not repeated on the next page
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(unfolded) == before


def test_no_table_is_wider_than_the_paper(page: Any) -> None:
    page.emulate_media(media="print", color_scheme="light")
    page.set_viewport_size({"width": 1031, "height": 700})  # 273 mm, A4 on its side without margins
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("[...document.querySelectorAll('table')].every(table => table.offsetWidth <= innerWidth)")


def test_the_answers_for_other_targets_are_drawn_in_joint_sessions_only(
    tabs: Tabs, address: str, played: Path, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(played / "data"))
        options = {"joint": "others=ignore,overlap=keep", "save_masks": True, "out": tmp_path / "out"}
        intrabench.run("box_fill", "box_volume", PHANTOM, **options)  # type: ignore[arg-type]
        write_report(tmp_path / "out", tmp_path / "joint.html")
    for where, joint in ((address, False), ((tmp_path / "joint.html").as_uri(), True)):
        page = tabs.open(where)
        wait_for_viewer(page)
        box = page.locator("[name=show-others]")
        assert box.is_visible() == page.locator(".key .others").is_visible() == joint
        assert ("Prompted together with" in page.locator("#state").inner_text()) == joint
        if joint:
            before = drawn(page), drawn(page, 1), drawn(page, 2)
            box.uncheck()
            assert (drawn(page), drawn(page, 1), drawn(page, 2)) != before
    assert tabs.reset() == []
