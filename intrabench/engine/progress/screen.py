"""Where text for people goes: a terminal, a notebook, or a file that nobody watches."""

from __future__ import annotations

import os
import sys
from typing import Any

from intrabench.files.names import one_line


def plain_console(**options: Any) -> Any:
    """A console of rich that prints all text as it is: brackets and colons in names are no markup."""
    from rich.console import Console as RichConsole

    return RichConsole(markup=False, emoji=False, highlight=False, **options)


def in_notebook() -> bool:
    """Whether this is Jupyter or Colab."""
    return "IPython" in sys.modules and bool(plain_console().is_jupyter)


def can_redraw() -> bool:
    """Whether text can be drawn again in place: in notebooks, and on most terminals."""
    return in_notebook() or (sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown"))


def print_line(text: str) -> None:
    """Print a line at once; in notebooks to stdout, because they show stderr in red."""
    stream = sys.stdout if in_notebook() else sys.stderr
    stream.write(one_line(text) + "\n")  # one call, so that lines of several threads stay apart
    stream.flush()
