"""What a class of a notebook or script consists of, read from the objects themselves: a cell has no file of its own.

Counted are the class and all that it uses of what is defined beside it, as these are now. The rest of a script does not
count, such as how a run is started.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

_ATOMS = (str, bytes, int, float, complex, type(None), type(...))
_PARTS = ("fget", "func", "args", "keywords", "__func__", "__wrapped__", "default", "default_factory")
"""Where properties, partial and decorated functions, and fields of dataclasses keep what they are made of."""

_PASSING = ("__dict__", "__weakref__", "__firstlineno__", "__static_attributes__", "__annotations_cache__", "_abc_impl")
"""Attributes of classes that say nothing about what they do."""


class Definition:
    """The text of a class, and the names of the `modules` outside of its own that it uses."""

    def __init__(self, cls: type, names: Mapping[str, Any]) -> None:
        """names: what is defined in the module of the class."""
        self._home, self._names = cls.__module__, names
        self._seen: dict[int, int] = {}
        self.modules: set[str] = set()
        self.text = self._of(cls)

    def _of(self, value: Any) -> str:
        """A value in words that are the same in every process; a second time only its number."""
        if isinstance(value, _ATOMS):
            return repr(value)
        if isinstance(value, CodeType):
            return _list([value.co_code.hex(), value.co_names, value.co_varnames, *map(self._of, value.co_consts)])
        if id(value) in self._seen:
            return f"#{self._seen[id(value)]}"
        self._seen[id(value)] = len(self._seen)
        if isinstance(value, np.ndarray):
            return f"array {value.shape} {value.dtype} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, tuple | list):
            return _list(map(self._of, value))
        if isinstance(value, set | frozenset):
            return _list(map(self._of, sorted(value, key=repr)))
        if isinstance(value, Mapping):
            return _list(f"{self._of(key)}: {self._of(item)}" for key, item in value.items())
        return self._of_object(value)

    def _of_object(self, value: Any) -> str:
        if isinstance(value, ModuleType):
            self.modules.add(value.__name__)
            return value.__name__
        if isinstance(value, type | FunctionType):
            if value.__module__ != self._home:
                self.modules.add(str(value.__module__))
                return f"{value.__module__}.{value.__qualname__}"
            return _list(self._of_class(value) if isinstance(value, type) else self._of_function(value))
        parts = [getattr(value, name, None) for name in _PARTS]
        return _list([self._of(type(value)), *map(self._of, parts), self._of_state(value)])

    def _of_state(self, value: Any) -> str:
        """What an object holds; of other people's classes only parameters, for a logger or a network changes in use."""
        if type(value).__module__ == self._home or isinstance(value, SimpleNamespace):
            return self._of(getattr(value, "__dict__", None))
        members = fields(value) if is_dataclass(value) else ()
        return _list(f"{one.name} = {self._of(getattr(value, one.name, None))}" for one in members)

    def _of_class(self, cls: type) -> Iterator[str]:
        yield from (self._of(base) for base in cls.__mro__)
        yield from (f"{name} = {self._of(value)}" for name, value in sorted(_members(cls).items()))

    def _of_function(self, function: FunctionType) -> Iterator[str]:
        yield from map(self._of, (function.__code__, function.__defaults__, function.__kwdefaults__))
        yield from (self._of(value) for value in _enclosed(function))
        for name in _globals(function.__code__):
            if name in self._names:
                yield f"{name} = {self._of(self._names[name])}"


def _members(cls: type) -> dict[str, Any]:
    """The attributes of a class that say what it does.

    Since Python 3.14 a function makes the annotations, and knows in which line the class is: they are asked for.
    """
    members = {name: value for name, value in vars(cls).items() if name not in _PASSING}
    if members.pop("__annotate_func__", None) is not None:
        with suppress(NameError):  # of a name that only checkers of types know
            members["__annotations__"] = inspect.get_annotations(cls)
    return members


def _enclosed(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not filled yet
            continue


@lru_cache(maxsize=1024)
def _globals(code: CodeType) -> tuple[str, ...]:
    """The global names that a function reads, and the functions within it; attributes of the same name do not count."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return tuple(sorted(found.union(*(_globals(one) for one in code.co_consts if inspect.iscode(one)))))


def _list(parts: Iterable[object]) -> str:
    return f"[{', '.join(map(str, parts))}]"
