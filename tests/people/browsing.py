"""A person before a page of ours, in a real browser."""

from __future__ import annotations

from typing import Any

from tests.tabs import Tabs

PATIENCE_S = 60
"""Longer than anything takes on a busy machine."""


class Person:
    """Opens a link in a tab, and presses keys. page: ``rating`` or ``annotating``."""

    def __init__(
        self, tabs: Tabs, link: str, scheme: str, size: tuple[int, int] = (1280, 800), name: str = "rating"
    ) -> None:
        self.tabs, self.scheme, self.size, self.name = tabs, scheme, size, name
        self.open(link)

    def open(self, link: str) -> None:
        """The page behind a link; only what is beside it may be asked for."""
        width, height = self.size
        home = link.partition("#")[0].removesuffix("index.html")
        self.page = self.tabs.open(link, width, self.scheme, height, home)
        self.until(f"window.{self.name}")

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate(f"window.{self.name}.state()")
        return found

    def until(self, expression: str) -> None:
        asked = f"""new Promise((over) => {{
            const until = performance.now() + {PATIENCE_S * 1000};
            const late = () => performance.now() > until;
            const look = () => ({expression}) ? over(true) : late() ? over(false) : setTimeout(look, 5);
            look();
        }})"""
        if not self.page.evaluate(asked):
            text = self.page.evaluate("document.body.innerText")
            raise AssertionError(f"{expression} did not come true: {text[:600]}")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def leaves(self) -> list[str]:
        """Close the page, and tell what the browser complained of."""
        return self.tabs.reset()


def serious(axe: Any, page: Any) -> list[str]:
    """What axe finds that is serious or worse."""
    found = axe(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found if one["impact"] in ("serious", "critical")]
