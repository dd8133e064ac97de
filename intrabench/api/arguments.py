"""Wrong arguments of a function as one sentence, where Python would raise a TypeError."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, get_type_hints

from intrabench.errors import IntraBenchError, Quit, foreign, in_words
from intrabench.specs import nearest
from intrabench.values import expected, is_a, unfit

P = ParamSpec("P")
R = TypeVar("R")


def named(function: Callable[P, R]) -> Callable[P, R]:
    """The function; unknown, missing and surplus arguments are refused."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        known = list(signature.parameters)
        for name in [name for name in kwargs if name not in known]:
            raise IntraBenchError(f"there is no option {name!r}{nearest(name, known)}; options are {', '.join(known)}")
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise IntraBenchError(f"{function.__name__}: {error}; options are {', '.join(known)}") from error
        try:
            with foreign():
                return function(*args, **kwargs)
        except Quit as error:
            raise IntraBenchError(in_words(error)) from error

    return call


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """The function; as `named`, and values of a wrong type are refused, too."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        hints = _hints(function, signature)
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if not is_a(hints[name], value):
                raise IntraBenchError(unfit(name, repr(value), expected(hints[name])))
        return function(*args, **kwargs)

    return named(call)


def _hints(function: Callable[..., Any], signature: inspect.Signature) -> Mapping[str, Any]:
    """The types of the parameters; that of the result needs imports that only type checkers make."""
    texts = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return get_type_hints(SimpleNamespace(__annotations__=texts), globalns=function.__globals__)
