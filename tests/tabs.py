"""Tabs of a browser that one test after another uses: a new one takes longer than most tests."""

from __future__ import annotations

from typing import Any


class Tabs:
    """Opens pages as if in new tabs; notes what the browser complains of, and what pages ask for elsewhere."""

    def __init__(self, browser: Any) -> None:
        self.problems: list[str] = []
        self._context = browser.new_context(reduced_motion="reduce")  # no waiting until it has scrolled
        self._tabs: list[Any] = []
        self._homes = ["about:blank"]
        self._used = 0

    def open(self, address: str, width: int = 1280, scheme: str = "light", height: int = 800, home: str = "") -> Any:
        """The page in a tab that this test does not use yet. home: where else pages may get something from."""
        self._homes.append(home or address.partition("#")[0])
        if self._used == len(self._tabs):
            self._tabs.append(self._new())
        tab, self._used = self._tabs[self._used], self._used + 1
        tab.bring_to_front()  # behind another one it is hardly drawn
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(media="screen", color_scheme=scheme)
        tab.goto(address)
        return tab

    def close(self, tab: Any) -> None:
        """Close a tab itself, as people do."""
        self._tabs.remove(tab)
        self._used -= 1
        tab.close()

    def reset(self) -> list[str]:
        """Clear all tabs, for the next test, and tell the problems since the last time."""
        for tab in self._tabs[: self._used]:
            tab.unroute_all()
            tab.mouse.move(0, 0)
            tab.goto("about:blank")  # an address that differs only behind the # would load nothing
        problems = self.problems
        self.problems, self._homes, self._used = [], self._homes[:1], 0
        return problems

    def _new(self) -> Any:
        tab = self._context.new_page()
        tab.on("console", lambda told: self.problems.append(told.text) if told.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: self.problems.append(str(error)))
        tab.on("dialog", self._dismiss)
        tab.on("request", self._asked)
        return tab

    def _dismiss(self, dialog: Any) -> None:
        self.problems.append(dialog.message)
        dialog.dismiss()

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(tuple(self._homes)):
            self.problems.append(f"asked {request.url}")
