"""A person before a page of ours, in a real browser."""

from __future__ import annotations

from typing import Any

PATIENCE_S = 60
"""Longer than anything takes on a busy machine."""


class Person:
    """Opens a link, presses keys, and keeps what the browser complains of. page: ``rating`` or ``annotating``."""

    def __init__(
        self, browser: Any, link: str, scheme: str, size: tuple[int, int] = (1280, 800), name: str = "rating"
    ) -> None:
        self.context = browser.new_context(
            color_scheme=scheme, viewport={"width": size[0], "height": size[1]}, accept_downloads=True
        )
        self.page, self.name = self.context.new_page(), name
        self.problems: list[str] = []
        home = link.split("#")[0]
        kinds = ("error", "warning")
        self.page.on("console", lambda said: self.problems.append(said.text) if said.type in kinds else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda asked: None if self._own(asked.url, home) else self.problems.append(asked.url))
        self.page.on(
            "response", lambda got: None if got.ok else self.problems.append(f"{got.status} {got.url}: {got.text()}")
        )
        self.page.goto(link)
        self.until(f"window.{name}")

    @staticmethod
    def _own(url: str, home: str) -> bool:
        return url.startswith((home.removesuffix("index.html"), "data:", "blob:"))

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

    def closed(self) -> None:
        self.context.close()
        assert not self.problems, self.problems


def serious(axe: Any, page: Any) -> list[str]:
    """What axe finds that is serious or worse."""
    found = axe(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found if one["impact"] in ("serious", "critical")]
