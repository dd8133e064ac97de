"""What specs name: models, prompters, data sets, metrics, superpixels and the like have this base."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from intrabench.specs.specs import short_spec_of, spec_of


class Component(ABC):
    """Base of what a spec names. A subclass is a dataclass with a `name`, and its parameters as fields.

    version: changes whenever the same input gives something else.
    """

    name: ClassVar[str]
    version: str

    @property
    def spec(self) -> str:
        """``name:key=value,...`` with every parameter but switches that are off; keys are made from it."""
        return spec_of(self)

    @property
    def short_spec(self) -> str:
        """``name:key=value,...`` with only the parameters that differ from their defaults, for people to read."""
        return short_spec_of(self)
