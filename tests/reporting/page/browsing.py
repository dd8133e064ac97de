"""What tests do with a report in a browser."""

from __future__ import annotations

from typing import Any


def until(page: Any, expression: str, argument: Any = None) -> None:
    """Wait until JavaScript says so; the page's own policy forbids playwright's way of doing that."""
    for _ in range(100):
        if page.evaluate(expression, argument):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{expression} did not come true")


def wait_for_viewer(page: Any) -> None:
    """Scroll to the viewer, and wait until it shows something."""
    page.locator("#viewer").scroll_into_view_if_needed()
    until(page, "document.getElementById('state').textContent !== ''")
