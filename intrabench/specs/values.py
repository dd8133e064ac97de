"""Values of parameters and options: whether they are of the right kind, and in words which kind is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Interval

from intrabench.errors import IntraBenchError, WrongType, kind

INFINITE = "may be infinite"
"""In the annotation of a number that may be infinite, as in ``Annotated[float, Ge(0), INFINITE]``; others may not."""

Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Interval(ge=0, le=1)]
Millimetres = Annotated[float, Interval(ge=0, le=10_000)]
Smoothing = Annotated[float, Interval(ge=0, le=100)]
Natural = Annotated[int, Interval(ge=0, le=10**6)]
Count = Annotated[int, Interval(ge=1, le=10**6)]
Pixels = Annotated[int, Interval(ge=0, le=10_000)]
Voxels = Annotated[int, Ge(1)]
Iterations = Annotated[int, Interval(ge=1, le=10_000)]
"""Numbers of parameters. What is out of the range that the type says is refused here, and `info` tells the range.

Millimetres: nothing in a scan is longer. Smoothing: the standard deviation of a Gaussian, in voxels. Voxels: a number
of voxels, or of pieces of an image, of which there may be many.
"""

LARGEST = 2**63 - 1
"""What a column of whole numbers, or an array, holds."""


def read(hint: Any, text: str, key: str, where: str) -> Any:
    """A value of the type `hint` from its text, as specs write it.

    key, where: the parameter, and the spec that gives it.

    Raises:
        IntraBenchError: the text does not fit; it says what would.
    """
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticSchemaGenerationError

    if text == "None" and NoneType in get_args(hint):
        return None
    try:
        reads = TypeAdapter(hint)
        found = reads.validate_python(text.split("x")) if _is_tuple(hint) else reads.validate_strings(text)
    except PydanticSchemaGenerationError as error:
        raise IntraBenchError(
            f"{where!r}: a spec cannot express {key}, because of its type; omit it, or give the object in Python"
        ) from error
    except ValidationError as error:
        raise IntraBenchError(f"{where!r}: {unfit(key, text, expected(hint))}") from error
    if not _means_something(hint, found, text):
        raise IntraBenchError(f"{where!r}: {unfit(key, text, expected(hint))}")
    return found


def fits(hint: Any, value: Any) -> bool:
    """Whether a value is of the type `hint`, or can be used as one; numbers of NumPy can, text for a number cannot."""
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticSchemaGenerationError

    plain = value.item() if hasattr(value, "item") else value
    try:
        found = TypeAdapter(hint).validate_python(plain)
    except PydanticSchemaGenerationError:
        return True  # nobody can tell
    except ValidationError:
        return False
    return (isinstance(found, Path) or not isinstance(plain, str) or found == plain) and _means_something(
        hint, found, plain
    )


def _means_something(hint: Any, found: Any, value: Any) -> bool:
    """Whether a value of the type `hint` is no NaN, no infinity (see `INFINITE`), no path of empty text."""
    if isinstance(found, tuple):
        return all(_means_something(hint, one, one) for one in found)
    if isinstance(found, Path):
        return value != ""
    if isinstance(found, float):
        return math.isfinite(found) or (not math.isnan(found) and INFINITE in _annotations(hint))
    return not isinstance(found, int) or -LARGEST <= found <= LARGEST


def _annotations(hint: Any) -> list[Any]:
    """What annotations say of a type, also of one inside of it."""
    metadata = list(getattr(hint, "__metadata__", ()))
    return metadata + [one for part in get_args(hint) for one in _annotations(part)]


def _is_tuple(hint: Any) -> bool:
    return get_origin(get_args(hint)[0] if get_origin(hint) is Annotated else hint) is tuple


def holds(hint: Any, kind: type) -> bool:
    """Whether a type is, or is made of, another."""
    return hint is kind or any(holds(part, kind) for part in get_args(hint))


def is_a(hint: Any, value: Any) -> bool:
    """Whether a value is of the type `hint` as it is; whole numbers of NumPy are, too."""
    return _test(hint)(value)


@cache
def _test(hint: Any) -> Callable[[Any], bool]:
    """The test of `is_a`, made once per type, because stored cases are tested by the ten thousand."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if origin is Annotated:
        return _test(parts[0])
    if origin in (Union, UnionType):
        several = [_test(part) for part in parts]
        return lambda value: any(test(value) for test in several)
    if origin is type:
        return lambda value: isinstance(value, type) and issubclass(value, parts[0])
    if origin is not None and issubclass(origin, Mapping):
        key, entry = map(_test, parts)
        return lambda value: isinstance(value, origin) and all(key(one) and entry(value[one]) for one in value)
    if origin is tuple and Ellipsis not in parts:
        places = [_test(part) for part in parts]
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(places)
            and all(test(one) for test, one in zip(places, value, strict=True))
        )
    if origin is not None and issubclass(origin, Iterable):
        each = _test(parts[0])
        # an iterator would be used up by a look into it
        return lambda value: (
            isinstance(value, origin)
            and not isinstance(value, str | bytes)
            and (isinstance(value, Iterator) or all(map(each, value)))
        )
    if hint in (int, float):
        number = Integral if hint is int else Real
        return lambda value: type(value) is hint or (isinstance(value, number) and not isinstance(value, bool))
    return lambda value: isinstance(value, hint)


def expect(hint: Any, value: Any, subject: str, wanted: str, role: str = "") -> None:
    """Refuse what code of others gave if it is not of the type `hint`.

    role: what it was given as, such as `` for a slice``.

    Raises:
        WrongType: ``SUBJECT None ROLE, expected WANTED``, with what the value is in words.
    """
    if not is_a(hint, value):
        raise WrongType(f"{subject} {kind(value)}{role}, expected {wanted}")


def expect_items(item: type, values: Any, subject: str, wanted: str, role: str = "") -> None:
    """The same for a sequence of objects of a class."""
    many = isinstance(values, Sequence) and not isinstance(values, str)
    wrong = [one for one in values if not isinstance(one, item)] if many else [values]
    if wrong:
        actual = f"{kind(values)} with {kind(wrong[0])}" if many else kind(values)
        raise WrongType(f"{subject} {actual}{role}, expected {wanted}")


def expect_count(count: int, values: Any, subject: str, wanted: str) -> None:
    """The same for a sequence of so many things, whatever they are."""
    if not isinstance(values, Sequence) or len(values) != count:
        actual = f"{kind(values)} of {len(values)}" if isinstance(values, Sequence) else kind(values)
        raise WrongType(f"{subject} {actual}, expected {wanted}")


def can_be_text(hint: Any) -> bool:
    """Whether a parameter of the type `hint` can hold any text, such as the name of a file."""
    if get_origin(hint) is Annotated:
        return can_be_text(get_args(hint)[0])
    if get_origin(hint) is Literal or hint in (int, float, bool, NoneType):
        return False
    parts = [part for part in get_args(hint) if part is not Ellipsis]
    return any(map(can_be_text, parts)) if parts else True


def unfit(key: str, value: Any, takes: str) -> str:
    """The sentence about a value of the wrong kind; takes: the right kinds in words."""
    return f"{key}={value} does not fit; {key} takes {takes}"


_WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    Path: "a path",
}
_COUNTS = {2: "two", 3: "three", 4: "four", 6: "six"}


def expected(hint: Any) -> str:
    """The values that a type takes, in words."""
    parts, origin = get_args(hint), get_origin(hint)
    if origin is Annotated:
        return f"{expected(parts[0])}{_range(parts[1:])}"
    if origin is Literal:
        return " or ".join(filter(None, [", ".join(map(str, parts[:-1])), str(parts[-1])]))
    if origin in (Union, UnionType):
        bases = [part.__name__ for part in parts if isinstance(part, type) and part not in (*_WORDS, NoneType)]
        if bases:
            return f"a spec, or an object or a class of {' or '.join(bases)}"
        return " or ".join(dict.fromkeys(expected(part) for part in parts if part is not NoneType))
    if origin in (Sequence, Iterable):
        return "several of them"
    if origin is tuple and Ellipsis in parts:
        return "values with x between them, for example 3x2"
    if origin is tuple:
        each = _range(get_args(parts[0])[1:]) if get_origin(parts[0]) is Annotated else ""
        return f"{_COUNTS.get(len(parts), len(parts))} numbers{each}, for example {'x'.join('321321'[: len(parts)])}"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def _range(annotations: Iterable[Any]) -> str:
    """The range in the annotations of a number, in words: `` from 0 to 1``; empty if they say none."""
    found = dict[str, Any]()
    for one in annotations:
        found |= {key: value for key in ("gt", "ge", "lt", "le") if (value := getattr(one, key, None)) is not None}
    if found.keys() >= {"ge", "le"}:
        return f" from {found['ge']} to {found['le']}"
    words = {"gt": "above", "ge": "from", "lt": "below", "le": "up to"}
    bounds = " and ".join(f"{words[key]} {value}" for key, value in found.items())
    return f" {bounds}{' on' if found.keys() == {'ge'} else ''}" if bounds else ""
