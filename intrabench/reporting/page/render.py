"""The files of the report, of the page of superpixels and of boards: their names, and their templates, filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.names import brief, one_line

_BREAKS = re.compile(r"([:,+/_](?=\w)|=(?=\w{6}))")
"""Where specs may break into the next line; not within ``n=3``."""

REPORT = "intrabench.reporting"
"""The package whose folder ``page`` has the templates and assets of the report, which others use, too."""


def render(template: str, content: Mapping[str, Any], assets: tuple[str, ...], package: str = REPORT) -> str:
    """The page; all texts from rows, cards and records are escaped.

    assets: its scripts and styles, ``NAME_js``. package: whose templates and assets come before those of the report.
    """
    found = _environment(package).get_template(template)
    return str(found.render(**content, **{name.replace(".", "_"): asset(name, package) for name in assets}))


def asset(name: str, package: str = REPORT) -> Any:
    """A script or style, as `render` puts it into pages."""
    from markupsafe import Markup

    file = files(package).joinpath("page", name)
    return Markup((file if file.is_file() else files(REPORT).joinpath("page", name)).read_text(encoding="utf-8"))


@cache
def _environment(package: str) -> Any:
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup, escape
    except ImportError as error:
        raise IntraBenchError("the report needs jinja2; run: pip install 'intrabench[report]'") from error

    loader = ChoiceLoader([PackageLoader(one, "page") for one in dict.fromkeys((package, REPORT))])
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters["one_line"] = brief
    environment.filters["whole_line"] = one_line
    environment.filters["breakable"] = lambda text: Markup(_BREAKS.sub(r"\1<wbr>", str(escape(brief(str(text))))))
    environment.filters["one_line_kept"] = lambda words: re.sub(r"[\x00-\x1f\x7f]+", " ", words)
    environment.filters["markup"] = Markup
    return environment


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
