"""What a fact is: a sentence or two, or why nothing is known."""

from __future__ import annotations

from collections.abc import Callable

from intrabench.reporting.methods.citations import Bibliography
from intrabench.reporting.methods.study import Study


class Missing(str):
    """Why a fact is not known."""


Fact = Callable[[Study, Bibliography], str]
"""Says something of a study, and cites what is behind it."""
