"""Wrong arguments of a function as one sentence, where Python would raise a TypeError."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

from intrabench.errors import IntraBenchError, Quit, about_path, foreign, in_words
from intrabench.specs.specs import nearest
from intrabench.specs.values import expected, holds, is_a, unfit

P = ParamSpec("P")
R = TypeVar("R")

CHOSEN = "chosen"
"""The parameter of options that several functions have, ``**chosen: Unpack[...]``."""


def checks_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """The function; unknown, missing and surplus arguments are refused."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        names = [name for name in signature.parameters if name != CHOSEN] + list(_chosen(function, signature))
        for name in [name for name in kwargs if name not in names]:
            raise IntraBenchError(f"there is no option {name!r}{nearest(name, names)}; options are {', '.join(names)}")
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise IntraBenchError(f"{function.__name__}: {error}; options are {', '.join(names)}") from error
        for name, value in arguments.items():
            if name != CHOSEN and _is_empty(value) and _is_path(function, signature.parameters[name]):
                raise IntraBenchError(f"{name} is empty; give a path, or omit it")
        try:
            with foreign():
                return function(*args, **kwargs)
        except Quit as error:
            raise IntraBenchError(in_words(error)) from error
        except (OSError, RuntimeError) as error:
            if sentence := about_path(error):
                raise IntraBenchError(sentence) from error
            raise

    return call


def typed(function: Callable[P, R]) -> Callable[P, R]:
    """The function; as `named`, and values of a wrong type are refused, too."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        hints = {**_hints(function, signature), **_chosen(function, signature)}
        given = dict(signature.bind(*args, **kwargs).arguments)
        for name, value in (given.pop(CHOSEN, {}) | given).items():
            if not is_a(hints[name], value):
                raise IntraBenchError(unfit(name, repr(value), expected(hints[name])))
        return function(*args, **kwargs)

    return checks_arguments(call)


def _chosen(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, Any]:
    """The options, with their types, that a function takes as one ``**chosen``; none, if it takes no such."""
    if CHOSEN not in signature.parameters:
        return {}
    (options,) = get_args(_hints(inspect.unwrap(function), signature)[CHOSEN])
    return get_type_hints(options)


def _is_empty(value: object) -> bool:
    """Whether a value is empty text, or one of several."""
    return any(isinstance(one, str) and not one for one in (value if isinstance(value, list | tuple) else [value]))


def _is_path(function: Callable[..., Any], parameter: inspect.Parameter) -> bool:
    """Whether a parameter takes a path, and empty text is not its default; only type checkers may know its type."""
    text = str(parameter.annotation)
    return parameter.default != "" and ("Path" in text or holds(inspect.unwrap(function).__globals__.get(text), Path))


def _hints(function: Callable[..., Any], signature: inspect.Signature) -> Mapping[str, Any]:
    """The types of the parameters; that of the result needs imports that only type checkers make."""
    texts = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return get_type_hints(SimpleNamespace(__annotations__=texts), globalns=function.__globals__)
