"""The dialog that ends a target, and its comment box: by keys alone, for every eye."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from intrabench.people.annotating.log import read_actions
from tests.people.annotating.test_page import PHANTOM, Browsers, annotating, ask, finish, go, inside, person, truths
from tests.people.browsing import serious


@pytest.mark.parametrize(("scheme", "size"), [("dark", (820, 1180)), ("light", (1280, 500))])
def test_a_target_is_finished_with_a_comment_by_keys_alone(
    scheme: str, size: tuple[int, int], browsers: Browsers, axe: Any, data: Path
) -> None:
    """What is typed is words, not keys of the page; Enter there begins a line, and Escape keeps the words."""
    truth = inside(truths(PHANTOM)["blob.1"])
    focus = "document.activeElement.id || document.activeElement.innerText"
    with annotating(PHANTOM) as server:
        one = person(browsers[0], server, scheme=scheme, size=size)
        go(one, truth)
        one.press("k")
        ask(one)
        one.press("f")
        assert serious(axe, one.page) == []
        assert one.page.evaluate(focus) == "Finish"
        assert one.page.get_by_role("dialog", name="Finish this target?").is_visible()
        one.press("Shift+Tab")
        assert one.page.evaluate(focus) == "comment"
        box = one.page.get_by_role("textbox", name="Comment").bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size[0]
        assert box["y"] + box["height"] <= size[1]
        one.page.keyboard.type("2 kf")
        one.press("Enter")
        one.page.keyboard.type("dark")
        assert serious(axe, one.page) == []
        before = one.state()
        one.press("Escape")
        one.until("!document.querySelector('dialog[open]')")
        assert (before["turns"], before["pending"], one.state()["finished"]) == (1, 0, False)
        one.press("f")
        assert one.page.input_value("#comment") == "2 kf\ndark"
        one.press("Tab")
        assert one.page.evaluate(focus) == "Cancel"
        one.press("Enter")
        one.until("!document.querySelector('dialog[open]')")
        assert not one.state()["finished"]
        finish(one)
        assert one.state()["label"] == "blob.2"
        go(one, inside(truths(PHANTOM)["blob.2"]))
        one.press("k")
        ask(one)
        one.press("f")
        assert one.page.input_value("#comment") == ""
        assert one.leaves() == []
    assert read_actions(Path("out"))["comment"].drop_nulls().to_list() == ["2 kf\ndark"]
