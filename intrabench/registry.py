"""Names to classes: found by reading the files, imported only when used, so that listing stays light.

A class is known by its class attribute ``name = "..."``. It is looked for in this package, in the workspace (a folder
with ``intrabench.toml``), in files named by ``--plugin``, and in the entry points ``intrabench.models`` and so on.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from intrabench import specs
from intrabench.errors import IntraBenchError
from intrabench.workspace import current

if TYPE_CHECKING:
    from intrabench.clickability.base import Clickability
    from intrabench.datasets.base import Dataset

Room = Literal["models", "prompters", "datasets", "clickability"]
ROOMS: dict[Room, str] = {
    "models": "model",
    "prompters": "prompter",
    "datasets": "dataset",
    "clickability": "clickability model",
}
"""Rooms, and what one thing in them is called."""

_plugins: dict[Room, dict[str, Entry]] = {room: {} for room in ROOMS}


@dataclass(frozen=True)
class Entry:
    """A class that can be had by name; `load` imports it."""

    name: str
    summary: str
    origin: str
    load: Callable[[], type[Any]]


def entries(room: Room) -> dict[str, Entry]:
    """All classes of a room by name, sorted; nothing of them is imported."""
    found: dict[str, Entry] = {}
    for entry in _all(room):
        if entry.name in found:
            other = found[entry.name].origin
            raise IntraBenchError(
                f"{ROOMS[room]} {entry.name!r} is in {entry.origin} and in {other}; rename one of them"
            )
        found[entry.name] = entry
    return dict(sorted(found.items()))


def make(room: Room, spec: str) -> Any:
    """The object that a spec names, ``name:key=value,...``; a data set may also be a path, ``PATH:key=value,...``."""
    if room == "datasets" and _is_path(spec):
        return _folder(spec)
    name, arguments = specs.parse(spec)
    return specs.build(find(room, name).load(), arguments, spec)


def find(room: Room, name: str) -> Entry:
    """The entry called `name`, or one sentence that suggests the nearest."""
    known = entries(room)
    if name not in known:
        raise IntraBenchError(
            f"there is no {ROOMS[room]} {name!r}{specs.nearest(name, known)}; `intrabench list {room}` shows all"
        )
    return known[name]


@lru_cache(maxsize=8)
def click_model(spec: str) -> Clickability:
    """The clickability model that a spec or the path of a checkpoint of `rclicks` names, loaded once.

    Raises:
        IntraBenchError: there is none, or its weights are not here.
    """
    name = spec.partition(":")[0]
    if "/" in name or (os.path.isfile(spec) and name not in entries("clickability")):
        spec = f'rclicks:weights="{spec}"'
    made: Clickability = make("clickability", spec)
    return made


def _folder(spec: str) -> Dataset:
    """A folder of the user's as a data set; none may be called like one that is known by name."""
    from intrabench.datasets.folder.folder import open_folder
    from intrabench.datasets.folder.rules import FILE

    folder = open_folder(spec)
    if folder.name in entries("datasets"):
        raise IntraBenchError(
            f"{spec.partition(':')[0]} would be called like the data set {folder.name} of intrabench; "
            f"write another name in its {FILE}"
        )
    return folder


def _is_path(spec: str) -> bool:
    """Whether a spec of a data set is a path: by a slash, or because it exists and no data set has this name."""
    name = spec.partition(":")[0]
    return "/" in name or ((os.path.exists(spec) or os.path.exists(name)) and name not in entries("datasets"))


def add_plugin(path: Path) -> None:
    """Import a file of the user's and make its models, prompters, data sets and clickability models known by name."""
    from intrabench.clickability.base import Clickability
    from intrabench.datasets.base import Dataset
    from intrabench.models.base import Model
    from intrabench.prompters.base import Prompter, Refinement

    if not path.is_file():
        raise IntraBenchError(f"--plugin {path} does not exist; give the path of a Python file")
    workspace = current()
    if workspace is not None and path.resolve().parent in [(workspace.root / room).resolve() for room in ROOMS]:
        return  # known already
    bases: dict[Room, Any] = {
        "models": Model,
        "prompters": (Prompter, Refinement),
        "datasets": Dataset,
        "clickability": Clickability,
    }
    module = _import_file(path)
    added = 0
    for cls in vars(module).values():
        if isinstance(cls, type) and cls.__module__ == module.__name__ and isinstance(getattr(cls, "name", None), str):
            for room, base in bases.items():
                if issubclass(cls, base):
                    name = str(cls.name)  # type: ignore[attr-defined]
                    load = partial(getattr, module, cls.__name__)
                    _plugins[room][name] = Entry(name, _first_line(cls.__doc__), str(path), load)
                    added += 1
    if not added:
        raise IntraBenchError(f"--plugin {path} defines no {', '.join(ROOMS.values())} with a name; see docs/")


def _all(room: Room) -> Iterator[Entry]:
    for path in sorted((Path(__file__).parent / room).glob("*.py")):
        module = f"intrabench.{room}.{path.stem}"
        yield from _scan(path, "intrabench", partial(importlib.import_module, module))
    workspace = current()
    if workspace is not None:
        for path in sorted((workspace.root / room).glob("*.py")):
            yield from _scan(path, str(path), partial(_import_file, path))
    yield from _plugins[room].values()
    for point in importlib.metadata.entry_points(group=f"intrabench.{room}"):
        origin = f"package {point.dist.name}" if point.dist else "an entry point"
        yield Entry(point.name, f"from {origin}", origin, point.load)


def _scan(path: Path, origin: str, load: Callable[[], Any]) -> Iterator[Entry]:
    """The classes of a file, read without running it."""
    state = path.stat()
    for name, summary, cls in _classes(path, state.st_mtime_ns, state.st_size):
        yield Entry(name, summary, origin, partial(_attribute, load, cls))


@cache
def _classes(path: Path, mtime_ns: int, size: int) -> list[tuple[str, str, str]]:
    """Name, summary and class of each top-level class with ``name = "..."``; a file is read anew once it changes."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise IntraBenchError(f"{path} is no valid Python ({error}); repair it or move it away") from error
    named = [(node, _class_name(node)) for node in tree.body]
    return [
        (name, _first_line(ast.get_docstring(node)), node.name)
        for node, name in named
        if isinstance(node, ast.ClassDef) and name
    ]


def _attribute(load: Callable[[], Any], name: str) -> type[Any]:
    found: type[Any] = getattr(load(), name)
    return found


def _class_name(node: ast.stmt) -> str | None:
    """The text of ``name = "..."`` in a class body."""
    for line in node.body if isinstance(node, ast.ClassDef) else ():
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


def _import_file(path: Path) -> Any:
    name = f"intrabench_files.{abs(hash(path.resolve())):x}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a user's file may fail in any way
        del sys.modules[name]
        raise IntraBenchError(f"{path} cannot be imported ({type(error).__name__}: {error}); repair it") from error
    return module


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().split("\n")[0]
