"""The pages, each one file with its style and code inside."""

from __future__ import annotations

from importlib.resources import files


def page(name: str, bundle: bool = False) -> str:
    """``rate`` or ``annotate``; bundle: to be opened from a disk, with its data beside it."""
    here = files("intrabench.people.page")
    text = here.joinpath(f"{name}.html").read_text(encoding="utf-8")
    plane = files("intrabench.reporting.page").joinpath("plane.js")  # of the report's viewer
    own = [here.joinpath(part) for part in ("frame.js", "load.js", "planes.js", "strip.js", f"{name}.js")]
    for place, content in (
        ("viewer", here.joinpath("viewer.html").read_text(encoding="utf-8").rstrip("\n")),
        ("css", here.joinpath("people.css").read_text(encoding="utf-8")),
        ("boot", f"window.BUNDLE = {str(bundle).lower()};"),
        ("js", "\n".join(file.read_text(encoding="utf-8") for file in (plane, *own))),
    ):
        text = text.replace(f"{{{{ {place} }}}}", content)
    return text
