"""Text in one place of a notebook's output that is drawn again and again; a notebook needs no package for that."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

from intrabench.engine.progress.screen import plain_console

SECONDS = 0.5
"""Between two drawings."""

WIDTH, HEIGHT = 100, 40
"""Of the text, in characters; a notebook tells no size."""


class Cell:
    """Shows a renderable of rich as plain text, as `rich.live.Live` does on terminals.

    closing: the line that is left in its place at the end.
    """

    def __init__(self, renderable: Any, closing: Callable[[], str]) -> None:
        self._renderable, self._closing = renderable, closing
        self._handle: Any = None
        self._shown = ""
        self._ended = threading.Event()
        self._drawing = threading.Thread(target=self._draw_again, name="progress", daemon=True)

    def start(self) -> None:
        """Show it, and from now on what it has become."""
        from IPython import display

        self._shown = as_text(self._renderable)
        show: Any = display.display
        self._handle = show(_plain(self._shown), raw=True, display_id=True)
        self._drawing.start()

    def stop(self) -> None:
        """Leave the closing line."""
        self._ended.set()
        self._drawing.join()
        self._show(self._closing())

    def _draw_again(self) -> None:
        while not self._ended.wait(SECONDS):
            self._show(as_text(self._renderable))

    def _show(self, text: str) -> None:
        if text != self._shown:
            self._shown = text
            self._handle.update(_plain(text), raw=True)


def as_text(renderable: Any) -> str:
    """What rich draws, without colours."""
    file = io.StringIO()
    console = plain_console(file=file, width=WIDTH, height=HEIGHT, force_jupyter=False, color_system=None)
    console.print(renderable)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}
