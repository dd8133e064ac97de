"""What tests do with a report in a browser."""

from __future__ import annotations

from typing import Any

PATIENCE_S = 60
"""Longer than anything takes on a busy machine."""


def until(page: Any, expression: str, given: Any = None) -> None:
    """Wait until JavaScript with ``given`` is true; the page's own policy forbids playwright's way of doing that."""
    came = page.evaluate(
        f"""async given => {{
          const came = () => {expression}, end = performance.now() + {PATIENCE_S * 1000};
          while (!came() && performance.now() < end) await new Promise(done => setTimeout(done, 5));
          return came();
        }}""",
        given,
    )
    assert came, f"{expression} did not come true"


def wait_for_viewer(page: Any) -> None:
    """Scroll to the viewer, and wait until it shows something."""
    page.locator("#viewer").scroll_into_view_if_needed()
    until(page, "document.getElementById('state').textContent !== ''")
