"""Checks of classes before they are registered; classes that are not built in are checked when found and loaded.

`check_source` reads a file without running it, as `intrabench list` does; `check_class` looks at the class itself. Both
report one sentence: the file, the class, what is wrong, and what to write.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal, get_args

from intrabench.errors import IntraBenchError
from intrabench.registry.summaries import MACHINE_TIME, SUMMARIES
from intrabench.specs.specs import nearest
from intrabench.specs.values import is_a

Room = Literal["models", "prompters", "datasets", "metrics", "clickability", "superpixels"]

BASES: dict[Room, tuple[str, ...]] = {
    "models": ("Model", "VolumeModel", "SliceModel", "NetworkModel", "CropModel", "SamFamily"),
    "prompters": ("Prompter", "Refinement", "Modifier"),
    "datasets": ("Dataset",),
    "metrics": ("Metric", "PartitionMetric"),
    "clickability": ("Clickability", "Saliency"),
    "superpixels": ("Superpixels", "SliceSuperpixels"),
}
"""The base classes of each room. All but `SamFamily` and `Saliency` can be imported from `intrabench`."""

KINDS = {"Refinement": "refinement", "Modifier": "modifier", "PartitionMetric": "metric of superpixels"}
"""What classes with these bases are called, where a room has several kinds of classes."""

DECORATORS = {
    "partition_metric": "PartitionMetric",
    "superpixels": "Superpixels",
    "slice_superpixels": "SliceSuperpixels",
}
"""Decorators that make a class of a function, whose name is their first argument, and the base of that class."""

FROZEN = {"Metric", "PartitionMetric", "Refinement", "Modifier", "Superpixels", "SliceSuperpixels"}
"""Bases that are frozen dataclasses; Python lets no class that is not frozen inherit from them."""

TAKEN = {
    "a summary of sessions": tuple(SUMMARIES),
    "machine time": (*MACHINE_TIME, "machine_s"),
    "a column of tables": ("value", "failed", "not_applicable"),
    "the column of a built-in metric": ("nsd_2mm", "hd95_mm"),
}
"""Names that no metric may have besides those of `SCHEMA`, because they mean something else where a metric is named."""

_NAME = re.compile(r"[\w.-]+")
_SPELLING = "which cannot be written in a spec; use only letters, digits, underscores, hyphens and dots"
_METHODS = (inspect.isfunction, inspect.ismethod, lambda member: isinstance(member, (staticmethod, classmethod)))


def check_source(tree: ast.Module, path: Path) -> None:
    """Refuse a class that inherits from `BASES` or a built-in class, but has no readable name, or an invalid one.

    A class that is only a base needs no name: it has abstract methods, others in the file inherit from it, or its own
    name begins with an underscore.
    """
    names = {base for bases in BASES.values() for base in bases} | _built_in(tree)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    inherited = {parent for node in classes for parent in _parents(node)}
    for node in classes:
        if not names & _parents(node):
            continue
        # classes come in the order of the file, so one whose base stands above it is found, too
        names.add(node.name)
        if FROZEN & _parents(node) and _thaws(node):
            raise IntraBenchError(f"{path}: write @dataclass(frozen=True) above class {node.name}, as its base has it")
        name = written_name(node)
        only_base = node.name.startswith("_") or node.name in inherited or _is_abstract(node)
        if name is None and not only_base:
            raise IntraBenchError(
                f'{path}: class {node.name} has no name of its own; write name = "..." in it as plain text, '
                f"or call it _{node.name} if it is only a base"
            )
        if name is not None and not _NAME.fullmatch(name):
            raise IntraBenchError(f"{path}: class {node.name} has the name {name!r}, {_SPELLING}")
    for made in (one for one in tree.body if isinstance(one, ast.FunctionDef)):
        if (found := name_and_kind(made)) and not _NAME.fullmatch(found[0]):
            raise IntraBenchError(f"{path}: function {made.name} makes a class with the name {found[0]!r}, {_SPELLING}")


def written_name(node: ast.ClassDef) -> str | None:
    """The text of ``name = "..."`` in a class body."""
    for line in node.body:
        if isinstance(line, ast.Assign):
            targets: list[ast.expr] = line.targets
        elif isinstance(line, ast.AnnAssign):
            targets = [line.target]
        else:
            continue
        named = any(isinstance(target, ast.Name) and target.id == "name" for target in targets)
        if named and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str):
            return line.value.value
    return None


def room_of(cls: Any) -> Room | None:
    """The room that a class belongs to by its base; None for a class that has none of `BASES`."""
    return next((room for room in BASES if isinstance(cls, type) and issubclass(cls, _bases(room))), None)


def likely_base(cls: Any) -> str:
    """The base that a class without any should have, by the methods that it defines."""
    for room, names in BASES.items():
        for name, base in zip(names, _bases(room), strict=False):
            if base.__abstractmethods__ & vars(cls).keys():
                return name
    return "Model"


def check_class(cls: Any, room: Room, origin: str) -> None:
    """Refuse a class that breaks the contract of its room.

    origin: the file or package that it comes from.

    Raises:
        IntraBenchError: the first problem, and what to write.
    """
    for problem in _problems(cls, room):
        raise IntraBenchError(f"{origin}: class {getattr(cls, '__name__', cls)} {problem}")


def _problems(cls: Any, room: Room) -> Iterator[str]:
    if not isinstance(cls, type) or not issubclass(cls, _bases(room)):
        name, base = getattr(cls, "__name__", "..."), likely_base(cls) if isinstance(cls, type) else BASES[room][0]
        bases = " or ".join(BASES[room][:2])
        base = base if base in BASES[room] else BASES[room][0]
        yield f"does not inherit from {bases}, as everything in {room} must; write class {name}({base})"
        return
    yield from _misses_dataclass(cls, "eq=False" if room == "models" else "frozen=True")
    for method in sorted(getattr(cls, "__abstractmethods__", ())):
        yield f"does not define {method}; write def {method}{_parameters(getattr(cls, method))}"
    yield from _wrong_methods(cls)
    name = getattr(cls, "name", None)
    if not isinstance(name, str):
        yield 'has no name; write name = "..."'
    elif not _NAME.fullmatch(name):
        yield f"has the name {name!r}, {_SPELLING}"
    for attribute, rule in _rules().items():
        value = inspect.getattr_static(cls, attribute, None)
        if attribute in _annotated(cls) | _properties(cls) and not isinstance(value, (property, cached_property)):
            yield from rule.problems(attribute, value)
    if room == "metrics":
        if not cls.__module__.startswith("intrabench."):
            yield from _taken_names(cls)
        yield from _perfect_failures(cls)


def _misses_dataclass(cls: type[Any], arguments: str) -> Iterator[str]:
    """Parameters that specs could not set, and attributes that they could."""
    write = f"write @dataclass({arguments}) above it"
    if not is_dataclass(cls):
        yield f"is not a dataclass; {write}"
        return
    if "eq" in arguments and cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        yield f"is frozen, but a run tells a model its device and weights; {write}"
    parameters = {field.name for field in fields(cls)}
    hints = _annotated(cls) - {field.name for base in _ancestors(cls) if is_dataclass(base) for field in fields(base)}
    # `is_dataclass` and `fields` also see what a base has: only the class's own dictionary tells whether the decorator
    # stands above this class, without which its new annotations are no parameters
    typed = {name for name, kind in inspect.get_annotations(cls).items() if "ClassVar" not in str(kind)}
    if "__dataclass_fields__" not in vars(cls) and (missing := sorted(typed - hints)):
        yield f"has the parameter {missing[0]}, but is not a dataclass itself; {write}"
    for name in sorted(parameters & hints):
        yield f"gives {name} a type, which makes it a parameter of specs; write {name} = ... without the type"


def _wrong_methods(cls: type[Any]) -> Iterator[str]:
    """Methods that cannot be called like the base's methods that they override."""
    for base in _ancestors(cls):
        for name, expected in vars(base).items():
            found = inspect.getattr_static(cls, name)
            if name.startswith("_") or found is expected:
                continue
            is_method = any(test(found) for test in _METHODS)
            if inspect.isfunction(expected) and not is_method:
                yield f"has {name} = {_short(found)}, expected a method; write def {name}{_parameters(expected)}"
            elif inspect.isfunction(expected) and not _fits(found, expected):
                signature = _parameters(found.__func__ if isinstance(found, (staticmethod, classmethod)) else found)
                yield f"defines {name}{signature}; write def {name}{_parameters(expected)}"
            elif isinstance(expected, property) and is_method:
                yield f"defines {name} as a method; write @property above it"


def _fits(found: Any, expected: Callable[..., Any]) -> bool:
    """Whether `found` can be called with the positional arguments of `expected`, with or without the optional ones."""
    taken = [p for p in inspect.signature(expected).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    least = sum(p.default is p.empty for p in taken)
    without_self = 1 if isinstance(found, staticmethod) else 0
    signature = inspect.signature(found.__func__ if isinstance(found, (staticmethod, classmethod)) else found)
    try:
        # only the number of arguments counts, so numbers stand for them
        for count in (least, len(taken)):
            signature.bind(*range(count - without_self))
    except TypeError:
        return False
    return True


@dataclass(frozen=True)
class _Rule:
    """What a class attribute of the bases must be.

    write: what to write instead. expected: what it must be, if `write` does not say that. missing: the problem of a
    class without it; empty: that of any other value. kinds: what a set may hold.
    """

    holds: Callable[[Any], bool]
    write: str
    expected: str = ""
    missing: str = ""
    kinds: tuple[str, ...] = ()

    def problems(self, attribute: str, value: Any) -> Iterator[str]:
        """What is wrong with a value; None: there is none."""
        if value is None and self.missing:
            yield f"{self.missing}; write {self.write}"
        elif not self.holds(value):
            expected = f", expected {self.expected}" if self.expected else ""
            yield f"has {attribute} = {_short(value)}{expected}; write {self.write}"
        else:
            for kind in sorted(set(value) - set(self.kinds), key=str) if self.kinds else ():
                yield f"{attribute} {kind!r}{nearest(str(kind), self.kinds)}; write {self.write}"


@cache
def _rules() -> dict[str, _Rule]:
    """The rules of class attributes, by their names."""
    from intrabench.datasets.base import DatasetCard
    from intrabench.metrics.base import Best, Need
    from intrabench.prompts import PromptKind, StrokePoints

    prompts, needs, best = get_args(PromptKind), get_args(Need), get_args(Best)
    strokes = get_args(StrokePoints)
    accepts = f'accepts = frozenset({{"point"}}) with those it takes of {", ".join(prompts)}'
    looks_at = f'needs = frozenset({{"mask"}}) with what it looks at of {", ".join(needs)}'
    cores = "threads = 1, or more cores"
    switches = {
        "feeds_back": "it takes its own last answer",
        "unprompted": "it needs no prompts",
        "one_box": "a slice can have one 2D box only",
        "any_plane": "its axes may have any order",
        "encodes": "opening an image costs much",
    }
    return {
        "version": _Rule(lambda value: is_a(str, value) and value != "", 'version = "1"', "text", "has no version"),
        "dims": _Rule(
            lambda value: value in (2, 3), "dims = 2 for a model of slices, or dims = 3 for a model of volumes"
        ),
        "accepts": _Rule(_is_set, accepts, "a set of prompts", "does not say which prompts it accepts", prompts),
        "derived": _Rule(
            lambda value: value in ("none", "all"), 'derived = "none" or "all", the derived prompts that it gets'
        ),
        "strokes": _Rule(
            lambda value: value is None or value in strokes,
            f'strokes = "all", or another of {", ".join(strokes)}, the points of strokes that it gets',
        ),
        "threads": _Rule(lambda value: type(value) is int and value >= 1, cores, "a whole number"),
        "handles": _Rule(
            lambda value: type(value) is int and value >= 0,
            "handles = 0, or how many the user sets for each answer",
            "a whole number",
        ),
        "card": _Rule(
            partial(is_a, DatasetCard), 'card = DatasetCard("Title", "CT", ...)', "a DatasetCard", "has no card"
        ),
        "best": _Rule(lambda value: value in best, 'best = "high", "low" or "zero", the values that are best'),
        "needs": _Rule(_is_set, looks_at, "a set", kinds=needs),
        "worst": _Rule(partial(is_a, float), "the value that failed sessions count as", "a number"),
        "bounds": _Rule(_is_range, "bounds = (0.0, 1.0)", "the least and the greatest value"),
        **{name: _Rule(partial(is_a, bool), f"{name} = True if {when}, else False") for name, when in switches.items()},
        **{name: _Rule(partial(is_a, str), f'{name} = "..."', "text") for name in TEXTS},
        **{name: _Rule(partial(is_a, tuple[str, ...]), f'{name} = ("...",)', "a tuple of texts") for name in LISTS},
    }


TEXTS, LISTS = ("title", "unit", "default_column", "covers"), ("requires", "devices", "dtypes")
"""Class attributes that are texts, and tuples of texts."""


def _is_set(value: Any) -> bool:
    return isinstance(value, (frozenset, set)) and bool(value)


def _is_range(value: Any) -> bool:
    return is_a(tuple[float, float], value) and value[0] < value[1]


def _taken_names(cls: type[Any]) -> Iterator[str]:
    from intrabench.results.schema import SCHEMA

    taken = {name: meaning for meaning, names in TAKEN.items() for name in names}
    taken |= dict.fromkeys(SCHEMA, "a column that all rows have")
    for attribute in ("name", "default_column"):
        value = getattr(cls, attribute)
        if value in taken:
            yield f"has {attribute} = {value!r}, which already names {taken[value]}; choose another name"


def _perfect_failures(cls: type[Any]) -> Iterator[str]:
    if cls.best != "high" and cls.worst == 0:
        yield "counts failed sessions as 0, its best value; write for example worst = math.inf"


def _bases(room: Room) -> tuple[type[Any], ...]:
    import intrabench

    return tuple(getattr(intrabench, name) for name in BASES[room] if name in dir(intrabench))


def _ancestors(cls: type[Any]) -> list[type[Any]]:
    """The classes of this package that a class inherits from."""
    return [base for base in cls.__mro__[1:] if base.__module__.startswith("intrabench.")]


def _annotated(cls: type[Any]) -> set[str]:
    """The attributes that its bases declare with a type."""
    return {name for base in _ancestors(cls) for name in inspect.get_annotations(base)}


def _properties(cls: type[Any]) -> set[str]:
    """The properties of its bases."""
    return {name for base in _ancestors(cls) for name, value in vars(base).items() if isinstance(value, property)}


def _parameters(method: Callable[..., Any]) -> str:
    """``(self, user)``, without types and defaults."""
    parameters = inspect.signature(method).parameters.values()
    return f"({', '.join(str(p.replace(annotation=p.empty, default=p.empty)) for p in parameters)})"


def _short(value: Any) -> str:
    plain = (str, int, float, tuple, list, dict, set, frozenset)
    return repr(value)[:60] if isinstance(value, plain) else f"an object of {type(value).__name__}"


def _built_in(tree: ast.Module) -> set[str]:
    """What a file imports from files of the rooms, such as ``intrabench.models.box_fill``, other than their bases."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    parts = [((node.module or "").split("."), node.names) for node in imports]
    found = [names for module, names in parts if len(module) == 3 and module[1] in BASES and module[2] != "base"]
    return {alias.asname or alias.name for names in found for alias in names}


def name_and_kind(node: ast.stmt) -> tuple[str, str] | None:
    """The name of a class, or of one that a decorator makes, and its kind: one of `KINDS`, or empty."""
    if isinstance(node, ast.ClassDef) and (name := written_name(node)):
        return name, next((KINDS[parent] for parent in sorted(_parents(node)) if parent in KINDS), "")
    for call in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
        if isinstance(call, ast.Call) and (base := DECORATORS.get(ast.unparse(call.func).rpartition(".")[2])):
            values = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "name")]
            if values and isinstance(values[0], ast.Constant) and isinstance(values[0].value, str):
                return values[0].value, KINDS.get(base, "")
    return None


def _parents(node: ast.ClassDef) -> set[str]:
    """The last parts of the names that a class inherits from."""
    return {ast.unparse(base).split("[")[0].rpartition(".")[2] for base in node.bases}


def _thaws(node: ast.ClassDef) -> bool:
    """Whether the class is a dataclass that is not frozen."""
    calls = [ast.unparse(one) for one in node.decorator_list]
    return any(call.split("(")[0].endswith("dataclass") and "frozen=True" not in call for call in calls)


def _is_abstract(node: ast.ClassDef) -> bool:
    decorators = [one for line in node.body if isinstance(line, ast.FunctionDef) for one in line.decorator_list]
    return "ABC" in _parents(node) or any(ast.unparse(one).endswith("abstractmethod") for one in decorators)
