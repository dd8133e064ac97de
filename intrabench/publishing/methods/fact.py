"""What a fact is: a sentence or two, or why nothing is known."""

from __future__ import annotations

from collections.abc import Callable

from intrabench.publishing.methods.citations import Bibliography
from intrabench.publishing.methods.provenance import Provenance


class Missing(str):
    """Why a fact is not known."""


Fact = Callable[[Provenance, Bibliography], str]
"""Says something of results, and cites what is behind it."""
