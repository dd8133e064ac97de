"""Make models, prompters, data sets and metrics from specs, objects or classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from enum import Enum
from numbers import Number
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, get_type_hints

from intrabench.datasets.base import Dataset
from intrabench.datasets.views.view import View
from intrabench.errors import IntraBenchError
from intrabench.identity.versions import version_of
from intrabench.metrics.base import Metric
from intrabench.metrics.lookup import metric
from intrabench.models.base import Model
from intrabench.prompters.base import Prompter, Refinement
from intrabench.prompters.combined import Combined, Part, combine, parts_of
from intrabench.protocols.presets import PRESETS
from intrabench.registry import registry
from intrabench.registry.contract import Room, room_of
from intrabench.specs import specs
from intrabench.specs.values import expected, fits, unfit

ModelLike: TypeAlias = str | Model | type[Model]
RefinementLike: TypeAlias = str | Refinement | type[Refinement]
PrompterLike: TypeAlias = str | Prompter | Refinement | type[Prompter] | type[Refinement]
MetricLike: TypeAlias = str | Metric | type[Metric]
DatasetLike: TypeAlias = str | Path | Dataset | type[Dataset]

T = TypeVar("T", Model, Prompter, Dataset, Metric)


def make_model(value: ModelLike) -> Model:
    """The model of a spec, of a class (made with its defaults), or the object itself.

    Raises:
        IntraBenchError: the name or a parameter is unknown, or the class is not a model.
    """
    return _object("models", value)


def make_dataset(value: DatasetLike, *changes: str) -> Dataset:
    """The data set of a spec, a path, a class or an object, with changes such as ``whole``; see `make_model`."""
    if changes:
        from intrabench.datasets.perturb.perturbed import with_changes

        return with_changes(make_dataset(value), changes)
    if isinstance(value, Path):
        path = str(value)
        return registry.make("datasets", path if "/" in path else f"./{path}")
    return _object("datasets", value)


def make_metric(value: MetricLike) -> Metric:
    """The metric of a spec, a column, an id, a class or an object; see `make_model`."""
    return metric(value) if isinstance(value, str) else _object("metrics", value)


def make_prompter(*values: PrompterLike) -> Prompter:
    """The prompter of specs, classes or objects: an initial one, then optionally a refinement and a user error model.

    Raises:
        IntraBenchError: a name or parameter is unknown, a class is not a prompter, or the order is wrong.
    """
    parts = [part for one in values for part in _parts(one)]
    return combine(parts, "+".join(spec_of(one) for one in values))


def _parts(value: PrompterLike) -> list[Part]:
    return parts_of(value) if isinstance(value, str | Combined) else [_object("prompters", value)]


def once(made: Iterable[T]) -> dict[str, T]:
    """Objects by their specs; an object that was given twice, even in other words, is listed once.

    Other words are also those of a path, ``./x`` and ``x``.

    Raises:
        IntraBenchError: two classes have the same name.
    """
    found: dict[str, T] = {}
    classes: dict[str, object] = {}
    for one in made:
        found.setdefault(specs.located(one.spec), one)
        for part in one.parts if isinstance(one, Combined) else [one]:
            if classes.setdefault(part.name, code := _code(type(part))) != code:
                raise IntraBenchError(f"two classes are both called {part.name}; give one a different name")
    return {one.spec: one for one in found.values()}


def _code(cls: type[Any]) -> object:
    """Equal for a class that was defined twice by the same code, by a cell that ran twice or a file imported twice."""
    return cls if "<locals>" in cls.__qualname__ else (cls.__qualname__, version_of(cls))


def spec_of(value: Any) -> str:
    """The text of a spec, an object or a class; objects with all parameters, folders with their paths."""
    if isinstance(value, str | Path):
        return str(value)
    if isinstance(value, Dataset):
        return value.argument
    return str(getattr(value, "name", value.__name__) if isinstance(value, type) else value.spec)


def made_spec(value: Any) -> str:
    """What results call an object of one of our kinds: a spec or path as it is, an object or a class by its name.

    A preset, such as ``paper:sam``, is called by the spec that it stands for.

    Raises:
        IntraBenchError: it is not one of a known kind, or its class breaks the contract.
    """
    if isinstance(value, str) and value in PRESETS:
        return make_model(value).short_spec
    if isinstance(value, str | Path):
        return str(value)
    if room_of(value if isinstance(value, type) else type(value)) == "models":
        return make_model(value).short_spec
    if room_of(value if isinstance(value, type) else type(value)) == "metrics":
        return make_metric(value).column
    if room_of(value if isinstance(value, type) else type(value)) == "datasets":
        return make_dataset(value).short_spec
    return make_prompter(value).spec


def _object(room: Room, value: Any) -> Any:
    """The object. Its class is registered, so that its results can be read and played again."""
    if isinstance(value, str):
        return registry.make(room, value)
    if isinstance(value, View):
        return replace(value, base=_object(room, value.base))
    cls = value if isinstance(value, type) else type(value)
    registry.introduce(room, cls)
    made = specs.build(cls, {}, cls.__name__) if isinstance(value, type) else value
    _check_parameters(made)
    return made


def _check_parameters(made: Any) -> None:
    """Refuse parameters that a spec cannot express, because the name in results would be meaningless.

    A value must be what a spec could have given for it; defaults need not be.
    """
    hints = get_type_hints(type(made), include_extras=True)
    for parameter in fields(made):
        value = getattr(made, parameter.name)
        parts = value if isinstance(value, tuple) else (value,)
        if parameter.init and not all(isinstance(part, str | Number | Path | Enum | None) for part in parts):
            raise IntraBenchError(
                f"{type(made).__name__}.{parameter.name} holds a {type(value).__name__}, which cannot be part of its "
                f"name in results; make it a field(init=False) that is set later, or give the path of a file instead"
            )
        if parameter.init and value is not parameter.default and not fits(hints[parameter.name], value):
            sentence = unfit(parameter.name, value, expected(hints[parameter.name]))
            raise IntraBenchError(f"'{made.name}:{parameter.name}={value}': {sentence}")
