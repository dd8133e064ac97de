"""Whether a path can be that of a page."""

from __future__ import annotations

from pathlib import Path

from intrabench.errors import IntraBenchError

_ENDINGS = (".html", ".htm")


def is_html(path: Path) -> bool:
    """Whether it ends as HTML files do."""
    return path.suffix.lower() in _ENDINGS


def check_html(path: Path) -> None:
    """Refuse a file whose name has another ending."""
    if not is_html(path):
        raise IntraBenchError(
            f"{path} is not the name of an HTML file; give one that ends in .html, such as report.html"
        )
