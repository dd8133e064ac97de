"""Specs, ``name:key=value,key=value``: parsed, turned into objects, and written back."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from intrabench.errors import IntraBenchError, attempt, error_text, foreign, in_words
from intrabench.specs.values import can_be_text, read

T = TypeVar("T")

Kind = Literal["none", "read", "network", "repository", "program"]


@dataclass(frozen=True)
class Reach:
    """On the type of a parameter, ``Annotated[str, Reach("read")]``: what its value makes this machine do.

    ``read``: open a file or folder. ``network``: contact an address. ``repository``: open a folder, or look on the
    Hugging Face hub. ``program``: run code. ``none``: nothing, or what `room` says, whose spec the value is.

    A parameter that takes any text and declares nothing counts as ``program``. What reaches something is refused where
    only a file of somebody else names it, such as the rows of a results folder.
    """

    kind: Kind = "none"
    room: str = ""


@dataclass(frozen=True)
class Reached:
    """Something that a spec reaches: the value of one of its parameters."""

    kind: Kind
    value: str

    def __str__(self) -> str:
        """As in ``contact http://10.0.0.1``."""
        verbs = {"read": "read", "network": "contact", "repository": "open the repository", "program": "run"}
        return f"{verbs.get(self.kind, 'use')} {self.value}"


_PART = re.compile(r"""\s*+([A-Za-z_]\w*+)\s*+=\s*+(?:("[^"]*"|'[^']*')\s*+|([^,"']*+))(?:,|$)""")
"""Possessive, as the next: specs of somebody else must not take longer than their length."""

_PLUS = re.compile(r""""[^"]*"|'[^']*'|(\+)(?=[A-Za-z_]\w*+(?:[:+]|$))""")


def switch(default: Any) -> Any:
    """A dataclass field that specs leave out at its default: adding one changes no name, key or random stream."""
    return field(default=default, metadata={"switch": True})


def split(spec: str) -> list[str]:
    """The parts of ``part+part``; a plus inside a quoted value does not divide."""
    parts = re.findall(r"""(?:[^+"']|"[^"]*"|'[^']*')+""", spec)
    if not parts or "+".join(parts) != spec:
        raise IntraBenchError(f"{spec!r} is malformed; write PROMPTER+REFINEMENT, for example box_interp:n=3+scribble")
    return parts


def in_sequence(spec: str) -> list[str]:
    """The parts of ``MODEL+MODEL``; a quoted plus, or one without a name behind it (``size=b+``), does not divide."""
    ends = [found.start() for found in _PLUS.finditer(spec) if found[1]]
    return [spec[start:end] for start, end in zip([0, *(end + 1 for end in ends)], [*ends, None], strict=True)]


def parse(spec: str) -> tuple[str, dict[str, str]]:
    """Split ``name:key=value,...`` into the name and its arguments; a quoted value may hold commas."""
    name, colon, rest = spec.strip().partition(":")
    name = name.strip()
    if not name or (colon and not rest.strip()):
        raise IntraBenchError(f"{spec!r} is not a valid spec; write NAME or NAME:key=value,key=value")
    arguments: dict[str, str] = {}
    position = 0
    while position < len(rest):
        part = _PART.match(rest, position)
        if part is None or (rest[part.end() - 1] == "," and part.end() == len(rest)):
            raise IntraBenchError(f"{spec!r} is malformed at {rest[position:]!r}; write {name}:key=value,key=value")
        key, inside, plain = part.groups()
        if key in arguments:
            raise IntraBenchError(f"{spec!r} gives {key} twice; give it once, and put a value with a comma in quotes")
        arguments[key] = inside[1:-1] if inside else plain.rstrip()
        position = part.end()
    return name, arguments


def ordered(spec: str) -> str:
    """The spec with its parameters in alphabetical order: the same text, however it was written."""
    name, arguments = parse(spec)
    text = _write(sorted(arguments.items()))
    return f"{name}:{text}" if text else name


def located(spec: str) -> str:
    """The spec with its paths in one spelling, relative to where one stands if they are below: for comparing only.

    Names and keys of results keep paths as they were written, which other machines have, too. Nothing at the paths is
    looked at, because a spec may be from rows of somebody else.
    """
    try:
        parts = [parse(part) for part in in_sequence(spec)]
    except IntraBenchError:  # a name in rows of somebody else may be anything
        return spec
    there = [(name, _write((key, _path(value)) for key, value in arguments.items())) for name, arguments in parts]
    return "+".join(f"{name}:{text}" if text else name for name, text in there)


def comparable(spec: str) -> str:
    """The spec as `located`, with its parameters in alphabetical order."""
    try:
        return "+".join(ordered(part) for part in in_sequence(located(spec)))
    except IntraBenchError:
        return spec


def _path(value: str) -> str:
    if (os.sep not in value and not value.startswith("~")) or "://" in value:
        return value
    path = os.path.abspath(os.path.expanduser(value))
    return os.path.relpath(path) if path.startswith(os.path.join(os.getcwd(), "")) else path


def build(cls: type[T], arguments: Mapping[str, str], spec: str) -> T:
    """Make a dataclass from the strings of its spec, checked against the types of its fields."""
    names = {field.name for field in fields(cls) if field.init}  # type: ignore[arg-type]
    hints = types_of(cls)
    values: dict[str, Any] = {}
    for key, text in arguments.items():
        if key not in names:
            takes = f"it takes {', '.join(sorted(names))}" if names else "it takes no parameters"
            raise IntraBenchError(f"{spec!r}: there is no parameter {key!r}{nearest(key, names)}; {takes}")
        values[key] = read(hints[key], text, key, spec)
    for one in fields(cls):  # type: ignore[arg-type]
        if one.init and one.name not in values and one.default is MISSING and one.default_factory is MISSING:
            write = f"{spec}{',' if arguments else ':'}{one.name}=..."
            raise IntraBenchError(
                f"{spec!r}: {one.name} has no default; give it one in class {cls.__name__}, or write {write}"
            )
    try:
        with foreign():
            return cls(**values)
    except IntraBenchError:
        raise
    except (ValueError, TypeError) as error:
        raise IntraBenchError(f"{spec!r}: {error_text(error) or type(error).__name__}") from error
    except ModuleNotFoundError as error:
        raise IntraBenchError(
            f"{spec!r} needs {error.name}, which is not installed; run: pip install {error.name}"
        ) from error
    except Exception as error:  # the class's own code may raise anything
        raise IntraBenchError(f"{spec!r} cannot be made ({in_words(error)}); repair it") from error


def types_of(cls: type[Any]) -> dict[str, Any]:
    """The types of the parameters of a dataclass.

    Raises:
        IntraBenchError: one cannot be evaluated.
    """
    failed, remedy = "the type of a parameter cannot be read", "import it, not only under TYPE_CHECKING"
    subject = f"class {cls.__name__}: {failed}"
    return attempt(lambda: _hints(cls), subject, remedy)  # type: ignore[arg-type]


@lru_cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    """Evaluating them takes longer than making most objects."""
    return get_type_hints(cls, include_extras=True)


def reach_of(cls: type[Any]) -> dict[str, Reach | None]:
    """What each parameter of a class declares to reach; None: any text, which declares nothing.

    Numbers, switches and choices reach nothing.
    """
    hints = types_of(cls)
    return {one.name: _stated(hints[one.name]) for one in fields(cls) if one.init}


def _stated(hint: Any) -> Reach | None:
    for one in get_args(hint) if get_origin(hint) is Annotated else ():
        if isinstance(one, Reach):
            return one
    return None if can_be_text(hint) else Reach()


def default_words(cls: type[Any]) -> dict[str, str]:
    """What a default of None stands for, as the class says it, where something else decides, such as ``policy``."""
    found: dict[str, str] = cls.default_words() if hasattr(cls, "default_words") else {}
    return found


def spec_of(obj: Any) -> str:
    """The spec with every parameter, also the defaults, except switches: keys and random streams are made from it."""
    return _named(obj, arguments_of(obj))


def arguments_of(obj: Any) -> str:
    """What `spec_of` writes behind the name and the colon: ``key=value,...``."""
    return _write((f.name, getattr(obj, f.name)) for f in fields(obj) if f.init and not _is_off(obj, f))


def _is_off(obj: Any, parameter: Any) -> bool:
    return bool(parameter.metadata.get("switch")) and bool(getattr(obj, parameter.name) == parameter.default)


def short_spec_of(obj: Any) -> str:
    """The spec with only the parameters that differ from their defaults, as people read it."""
    changed = [f for f in fields(obj) if f.init and (f.default is MISSING or getattr(obj, f.name) != f.default)]
    return _named(obj, _write((f.name, getattr(obj, f.name)) for f in changed))


def _named(obj: Any, arguments: str) -> str:
    return f"{obj.name}:{arguments}" if arguments else str(obj.name)


def _write(parameters: Iterable[tuple[str, Any]]) -> str:
    return ",".join(f"{key}={written(value)}" for key, value in parameters)


def written(value: Any) -> str:
    """A value as specs write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return quoted("x".join(str(part) for part in value) if isinstance(value, tuple) else str(value))


def quoted(text: str) -> str:
    """A value as specs write it, in quotes where it could not be read back otherwise."""
    if not any(letter in text for letter in ",+'\""):
        return text
    return f"'{text}'" if '"' in text else f'"{text}"'


def nearest(name: str, names: Iterable[str]) -> str:
    """``, did you mean 'x'?`` if a known name is close to `name`, else an empty string."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f", did you mean {close[0]!r}?" if close else ""
