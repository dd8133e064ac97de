"""What specs name: models, prompters, data sets, metrics, superpixels and the like have this base."""

from __future__ import annotations

import inspect
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

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


def of_function(base: Any, method: str, function: Callable[..., Any], **attributes: Any) -> Any:
    """The class of a component that is one function, with the docstring of that.

    base: that of the class. method: of the base, which calls the function. Parameters of the function that have a
    default are parameters of the component. attributes: of the class, such as `name`.
    """
    parameters = {p.name: p for p in inspect.signature(function).parameters.values() if p.default is not p.empty}

    def call(self: Component, *arguments: Any) -> Any:
        return function(*arguments, **{name: getattr(self, name) for name in parameters})

    body = {name: one.default for name, one in parameters.items()} | attributes | {method: call}
    body["__annotations__"] = {name: one.annotation for name, one in parameters.items()}
    body |= {name: getattr(function, name) for name in ("__doc__", "__module__", "__qualname__")}
    return dataclass(frozen=True)(type(base)(function.__name__, (base,), body))
