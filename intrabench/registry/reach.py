"""What specs reach: the files, addresses, repositories and programs that their parameters name.

A person may name anything. What only a file of somebody else names, such as the rows and records of a results folder,
is neither opened, contacted nor run, unless the person says so: whoever makes objects from such texts asks here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, Literal, overload

from intrabench.datasets.base import Dataset
from intrabench.datasets.perturb.perturbed import parted
from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Metric
from intrabench.models.base import Model
from intrabench.registry import registry
from intrabench.registry.contract import Room
from intrabench.specs import specs
from intrabench.specs.specs import Reach, Reached

_PATHS: tuple[Room, ...] = ("datasets", "clickability")
"""In these rooms a text that is no name is a path."""


@overload
def make(room: Literal["models"], spec: str, owner: str) -> Model: ...
@overload
def make(room: Literal["datasets"], spec: str, owner: str) -> Dataset: ...
@overload
def make(room: Literal["metrics"], spec: str, owner: str) -> Metric: ...
def make(room: Room, spec: str, owner: str) -> Any:
    """Make the object of a spec that only a file of somebody else names, as `registry.make` does. owner: that file.

    Raises:
        IntraBenchError: the spec is wrong, or reaches something.
    """
    if room in _PATHS:
        registry.find(room, _parts(room, spec)[0].partition(":")[0])  # a path is none of its names
    if found := reaches(room, spec):
        raise IntraBenchError(refusal(found, owner))
    return registry.make(room, spec)


def ships(model: str) -> bool:
    """Whether all parts of a model are IntraBench's own: then they read weights without running code from them.

    Raises:
        IntraBenchError: a name is unknown.
    """
    names = [specs.parse(part)[0] for part in _parts("models", model)]
    return all(registry.find("models", name).origin == "intrabench" for name in names)


def refusal(found: Iterable[Reached], owner: str, remedy: str = "type it yourself to allow it") -> str:
    """The sentence about what only `owner` names."""
    return f"it would {', '.join(dict.fromkeys(map(str, found)))}, which only {owner} names; {remedy}"


def reaches(room: Room, spec: str) -> list[Reached]:
    """What a spec reaches, of all its parts; nothing of it is opened, and no object is made.

    The default of a parameter counts only if the class declares that the parameter reaches something.

    Raises:
        IntraBenchError: the spec is malformed, or a class is unknown.
    """
    found: list[Reached] = []
    for part in _parts(room, spec):
        if room in _PATHS and registry.look(room, part.partition(":")[0].strip()) is None:
            found.append(Reached("read", part))
            continue
        name, arguments = specs.parse(part)
        found += of_class(registry.find(room, name).load(), arguments)
    return found


def of_class(cls: type[Any], arguments: Mapping[str, str]) -> list[Reached]:
    """What an object of a class reaches; arguments: its parameters in a spec."""
    defaults = {one.name: one.default for one in fields(cls)}
    found: list[Reached] = []
    for parameter, reach in specs.reach_of(cls).items():
        found += _of_parameter(cls, parameter, reach, arguments.get(parameter), defaults[parameter])
    return found


def _of_parameter(cls: type[Any], name: str, reach: Reach | None, argument: str | None, preset: Any) -> list[Reached]:
    """What a parameter reaches, by what its class declares. argument: its value in a spec. preset: its default."""
    default = "" if preset is MISSING else str(preset)
    value = default if argument is None else argument
    if value == "" or value == default == "None":
        return []
    if reach is None:
        return [Reached("program", f"{cls.name} with {name}={value}")] if value != default else []
    if reach.room:
        return reaches(reach.room, value)  # type: ignore[arg-type]
    return [] if reach.kind == "none" else [Reached(reach.kind, value)]


def _parts(room: Room, spec: str) -> list[str]:
    """The parts of a sequence, written out."""
    if room == "models":
        return [registry.full_spec(part) for part in specs.in_sequence(registry.full_spec(spec))]
    if room == "prompters":
        return [registry.with_source(part) for part in specs.split(spec)]
    return [parted(spec)[0]] if room == "datasets" else [spec]
