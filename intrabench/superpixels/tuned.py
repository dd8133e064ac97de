"""Parameters of a method that depend on the number of superpixels, as tuning chooses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.specs.specs import build, nearest, types_of, written
from intrabench.superpixels.base import Superpixels

Number = int | float
Kind = type[int] | type[float]


def numeric_parameters(cls: type[Superpixels]) -> dict[str, Kind]:
    """The parameters of a method that are numbers, each with its kind."""
    kinds = {name: getattr(hint, "__origin__", hint) for name, hint in types_of(cls).items()}
    return {name: kind for name, kind in kinds.items() if kind in (int, float)}


def tuned_words(chosen: Mapping[int, Mapping[str, Number]]) -> str:
    """Parameters by number of superpixels, as in ``400/1200;compactness=5/10;sigma=0/1``: all have the same."""
    numbers = sorted(chosen)
    values = (f"{name}={'/'.join(written(chosen[number][name]) for number in numbers)}" for name in chosen[numbers[0]])
    return ";".join(["/".join(map(str, numbers)), *values])


def tuned_parameters(cls: type[Superpixels], words: str, segments: int) -> dict[str, str]:
    """The parameters for a number of superpixels, as specs write them.

    words: `tuned_words`. Between their numbers parameters are linear, beyond them those of the nearest one.

    Raises:
        IntraBenchError: they are something else, or the method has no such parameters.
    """
    first, *parts = words.split(";")
    numbers, kinds = _numbers(first, words), numeric_parameters(cls)
    if numbers != sorted(set(numbers)) or numbers[0] < 1:
        raise IntraBenchError(f"tuned={words}: numbers of superpixels must ascend from 1, as in 400/1200/3600")
    found = {}
    for part in parts:
        name, _, text = part.partition("=")
        _check(cls, name, f"tuned={words}")
        values = _numbers(text, words)
        if len(values) != len(numbers):
            raise IntraBenchError(f"tuned={words}: {name} must have {len(numbers)} values, one for each number")
        value = float(np.interp(segments, numbers, values))
        found[name] = written(round(value) if kinds[name] is int else value)
    return found


def settings(
    cls: type[Superpixels], fixed: Mapping[str, str], values: Mapping[str, Sequence[Number]]
) -> dict[str, dict[str, Number]]:
    """All combinations of values of parameters, by the short spec of the method that has them.

    fixed: parameters in all of them, as specs write them. values: by parameter; empty: those of `Superpixels.search`.

    Raises:
        IntraBenchError: it has no such parameter that is a number, or nothing to search.
    """
    kinds = numeric_parameters(cls)
    for parameter in (*fixed, *values):
        _check(cls, parameter, "tuning")
    tried = {parameter: each for parameter, each in (values or cls.search).items() if parameter not in fixed}
    if not tried:
        raise IntraBenchError(f"{cls.name} has no parameters to search; give some, as in --grid compactness=5/10/20")
    found = {}
    for combination in product(*tried.values()):
        parts = {**fixed, **{one: written(value) for one, value in zip(tried, combination, strict=True)}}
        method = build(cls, parts, cls.name)
        found[method.short_spec] = {one: kinds[one](getattr(method, one)) for one in parts}
    return found


def _check(cls: type[Superpixels], parameter: str, where: str) -> None:
    kinds = numeric_parameters(cls)
    if parameter not in kinds:
        raise IntraBenchError(
            f"{where}: {cls.name} has no parameter {parameter!r} that is a number{nearest(parameter, kinds)}"
        )


def _numbers(text: str, words: str) -> list[float]:
    try:
        return [float(part) for part in text.split("/")]
    except ValueError as error:
        raise IntraBenchError(f"tuned={words}: {text!r} are no numbers with / between them") from error
