"""A whole study in a real browser: two raters, one by keyboard alone, in light and dark, without a complaint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from intrabench.people.rating.answers import Answers
from intrabench.people.rating.study import Study
from tests.conftest import Said
from tests.people.browsing import Person, serious
from tests.people.rating.conftest import rating
from tests.tabs import Tabs

Browsers = tuple[Tabs, Tabs]


class Rater(Person):
    """A person who rates."""

    def __init__(self, tabs: Tabs, link: str, scheme: str, size: tuple[int, int] = (1280, 800)) -> None:
        super().__init__(tabs, link, scheme, size)
        self.until("document.querySelector('dialog[open]')")

    def see_all(self) -> None:
        """By the key for the next unseen slice."""
        for _ in range(60):
            before = self.state()["left"]
            if not before:
                return
            self.press("n")
            self.until(f"window.rating.state().left < {before} || !window.rating.state().left")
        raise AssertionError("slices are left")


def answers_of(study: Study) -> list[dict[str, Any]]:
    base = Answers(study.answers_file)
    found = base.all()
    base.close()
    return found


@pytest.fixture
def short(study: Study) -> Study:
    """The study with six masks for each of two raters."""
    path = study.folder / "study.json"
    content = json.loads(path.read_text())
    content["orders"] = {rater: order[:6] for rater, order in content["orders"].items()}
    path.write_text(json.dumps(content))
    return Study.open(study.folder)


def test_two_raters_rate_a_whole_study(browsers: Browsers, short: Study, axe: Any) -> None:
    with rating(short.folder) as server:
        one = Rater(browsers[0], server.links["r1"], "light")
        other = Rater(browsers[1], server.links["r2"], "dark", (820, 1180))
        assert "#" not in one.page.url  # the secret does not stay in the address bar
        for rater in (one, other):
            assert serious(axe, rater.page) == []
            rater.press("Enter")  # start
            rater.until("window.rating.state().job && !document.querySelector('dialog[open]')")
        _train(one, short)
        _train(other, short)
        for place in range(6):
            _rate_by_keys(one, place)
            _rate_by_pointer(other, place)
            if place == 1:
                assert serious(axe, one.page) == serious(axe, other.page) == []
                for rater in (one, other):
                    assert rater.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
                assert one.page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        for rater in (one, other):
            rater.until("window.rating.state().finished && !window.rating.state().waiting")
            assert rater.leaves() == []
    found = answers_of(short)
    assert [(row["rater"], row["place"]) for row in found if row["rater"] == "r1"] == [("r1", n) for n in range(6)]
    by_keys = {row["place"]: row for row in found if row["rater"] == "r1"}
    assert [by_keys[place]["score"] for place in range(6)] == [1, 2, 3, 10, None, 6]
    assert by_keys[0]["errors"] == ["extra", "holes"]
    assert (by_keys[4]["skip"], by_keys[4]["errors"]) == ("target", [])
    assert [by_keys[place]["comment"] for place in range(3)] == ["", "bone, not seen: 3", ""]
    by_pointer = {row["place"]: row for row in found if row["rater"] == "r2"}
    assert [by_pointer[place]["score"] for place in range(6)] == [8] * 6
    assert by_pointer[2]["errors"] == ["edges"]
    assert all(row["seconds"] > 0 for row in found)
    assert all(row["views"] > 0 for row in found if row["skip"] is None)


def _train(rater: Rater, study: Study) -> None:
    """Score each, read the feedback, go on."""
    for place in range(len(study.training("r1"))):
        rater.until(
            f"window.rating.state().training && window.rating.state().place === {place} && window.rating.state().loaded"
        )
        rater.see_all()
        rater.press("9", "Enter")
        rater.until("window.rating.state().teaching")
        text = rater.page.locator("#feedback").inner_text()
        assert "Your score is 9" in text
        assert "its Dice with the reference is" in text
        rater.press("Enter")
    rater.until("document.querySelector('dialog[open]')")
    rater.press("Enter")


def _ready(rater: Rater, place: int) -> None:
    rater.until(
        f"(s => !s.training && s.place === {place} && s.loaded && !document.querySelector('dialog[open]'))"
        "(window.rating.state())"
    )


def _rate_by_keys(rater: Rater, place: int) -> None:
    _ready(rater, place)
    if place == 4:
        rater.press("s", "2")
        return
    rater.press("5", "Enter")  # too early
    if rater.state()["left"]:
        assert "not seen yet" in rater.page.locator("#message").inner_text()
    rater.see_all()
    if place == 0:
        rater.press(
            "q", "w", "w", "r", "m", "m", "m", "p", "]", ".", "=", "x", "c", "v", "o", "l", "ArrowRight", "ArrowUp"
        )
    if place == 1:
        rater.press("/")
        rater.page.keyboard.type("bone, not seen: 3")  # letters that are keys elsewhere
        rater.press("Escape")
    if place == 5:
        rater.press("4", "Enter")
        rater.until("window.rating.state().finished && !window.rating.state().waiting")
        rater.press("Backspace")  # and once more
        _ready(rater, 5)
        rater.press("6", "Enter")
        return
    rater.press(str((place + 1) % 10 if place < 3 else 0), "Enter")


def _rate_by_pointer(rater: Rater, place: int) -> None:
    _ready(rater, place)
    page = rater.page
    while rater.state()["left"]:
        before = rater.state()["left"]
        page.locator("#unseen").click()
        rater.until(f"window.rating.state().left < {before} || !window.rating.state().left")
    page.locator("#score label", has_text="8").first.click()
    if place == 2:
        page.locator("#errors label", has_text="poor edges").click()
    page.locator("#send").click()


def test_the_keyboard_alone_reaches_everything(browsers: Browsers, short: Study) -> None:
    with rating(short.folder) as server:
        rater = Rater(browsers[0], server.links["r1"], "light")
        rater.press("Enter")
        rater.until("window.rating.state().loaded")
        rater.press("h")
        assert rater.page.locator("#helping").get_attribute("open") is not None
        listed = rater.page.locator("#keys").inner_text()
        for text in (
            "score 1 to 9, 10",
            "skip, with a reason",
            "next slice not seen yet",
            "pause",
            "mask: outline, fill, off",
        ):
            assert text in listed
        rater.press("Escape")
        rater.until("!document.querySelector('dialog[open]')")
        rater.press(" ")
        rater.until("document.getElementById('note').open")
        before = rater.page.locator("#time").inner_text()
        rater.page.evaluate("(now => performance.now = () => now() + 60_000)(performance.now.bind(performance))")
        rater.page.wait_for_timeout(700)  # it looks at the clock twice a second
        assert rater.page.locator("#time").inner_text() == before
        rater.press("Enter")
        first = rater.state()["at"]
        rater.press("ArrowUp")
        assert rater.state()["at"] != first
        modes = []
        for _ in range(3):
            rater.press("m")
            modes.append(rater.state()["mode"])
        assert modes == ["fill", "off", "outline"]
        assert rater.leaves() == []


def test_answers_survive_a_killed_server_and_a_closed_browser(browsers: Browsers, short: Study) -> None:
    import signal

    with rating(short.folder) as server:
        port = server.port
        rater = Rater(browsers[0], server.links["r1"], "light")
        rater.press("Enter")
        rater.until("window.rating.state().loaded")
        _train(rater, short)
        _ready(rater, 0)
        rater.see_all()
        rater.press("3", "Enter")
        _ready(rater, 1)
        rater.until("!window.rating.state().waiting")
        rater.see_all()
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        rater.press("7", "Enter")
        rater.until("window.rating.state().waiting === 1")
        rater.tabs.close(rater.page)
    with rating(short.folder, port) as server:
        rater.open(server.links["r1"])  # in the same browser: what is kept is there
        rater.until("window.rating.state().job")
        rater.until("!window.rating.state().waiting")
        found = answers_of(short)
        assert [(row["place"], row["score"]) for row in found] == [(0, 3), (1, 7)]
        assert rater.state()["place"] == 2
        assert [text for text in rater.leaves() if "ERR_CONNECTION" not in text] == []


def test_two_tabs_of_one_rater_do_not_answer_twice(browsers: Browsers, short: Study) -> None:
    with rating(short.folder) as server:
        one = Rater(browsers[0], server.links["r1"], "light")
        one.press("Enter")
        one.until("window.rating.state().loaded")
        _train(one, short)
        _ready(one, 0)
        other = Rater(browsers[1], server.links["r1"], "light")  # in another browser, with the same link
        other.press("Enter")
        _ready(other, 0)
        for rater in (one, other):
            rater.see_all()
            rater.press("4" if rater is one else "9", "Enter")
            rater.until("!window.rating.state().waiting && window.rating.state().place === 1")
        assert [(row["place"], row["score"]) for row in answers_of(short)] == [(0, 4)]
        other.until("document.body.innerText.includes('another tab')")
        assert one.leaves() == []
        assert all("409" in text for text in other.leaves())


def test_a_bundle_is_rated_from_a_disk(browsers: Browsers, short: Study, say: Any, tmp_path: Path) -> None:
    said: Said = say("rate", "bundle", str(short.folder), str(tmp_path / "bundle"), "--rater", "r1")
    assert said.code == 0, said.err
    rater = Rater(browsers[0], (tmp_path / "bundle" / "index.html").as_uri(), "light")
    rater.press("Enter")
    rater.until("window.rating.state().loaded")
    _train(rater, short)
    for place in range(6):
        _ready(rater, place)
        rater.see_all()
        rater.press("6", "Enter")
    rater.until("window.rating.state().finished")
    with rater.page.expect_download() as saved:
        rater.page.locator("#save").click()
    saved.value.save_as(tmp_path / "answers.json")
    assert rater.leaves() == []
    said = say("rate", "import", str(short.folder), str(tmp_path / "answers.json"))
    assert (said.code, "6 answers" in said.out) == (0, True), said.err
    assert [row["score"] for row in answers_of(short)] == [6] * 6
