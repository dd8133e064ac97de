"""What a fact is: a sentence or two, or why nothing is known."""

from __future__ import annotations

from collections.abc import Callable

from intrabench.publishing.methods.citations import Bibliography
from intrabench.publishing.methods.provenance import Study


class Missing(str):
    """Why a fact is not known."""


Fact = Callable[[Study, Bibliography], str]
"""Says something of a study, and cites what is behind it."""
