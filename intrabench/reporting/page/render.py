"""Templates of the report and of the page of superpixels, filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.names import one_line

_BREAKS = re.compile(r"([:,+/](?=\w)|=(?=\w{6}))")
"""Where specs may break into the next line; not within ``n=3``."""


def render(template: str, content: Mapping[str, Any], assets: tuple[str, ...]) -> str:
    """The page; all texts from rows, cards and records are escaped. assets: its scripts and styles, ``NAME_js``."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
        from markupsafe import Markup, escape
    except ImportError as error:
        raise IntraBenchError("the report needs jinja2; run: pip install 'intrabench[report]'") from error

    loader = PackageLoader("intrabench.reporting", "page")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined)
    environment.filters["one_line"] = one_line
    environment.filters["breakable"] = lambda text: Markup(_BREAKS.sub(r"\1<wbr>", str(escape(one_line(str(text))))))
    environment.filters["one_line_kept"] = lambda words: re.sub(r"[\x00-\x1f\x7f]+", " ", words)
    environment.filters["markup"] = Markup
    here = files("intrabench.reporting.page")
    texts = {name.replace(".", "_"): Markup(here.joinpath(name).read_text(encoding="utf-8")) for name in assets}
    return environment.get_template(template).render(**content, **texts)
