"""Find classes by name. Files are read first and imported only when a class is used, so that listing is fast.

A class is registered by its class attribute ``name = "..."``. Classes are searched in this package, in the workspace (a
folder with ``intrabench.toml``), in files given by ``--plugin``, and in the entry points ``intrabench.models`` etc.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

from intrabench.errors import IntraBenchError, attempt
from intrabench.files.documents import regular
from intrabench.identity.loading import import_file
from intrabench.registry.contract import Room, check_class, check_source, likely_base, name_and_kind, room_of
from intrabench.specs import specs
from intrabench.workspace import current

if TYPE_CHECKING:
    from intrabench.datasets.base import Dataset
    from intrabench.mask import Mask
    from intrabench.metrics.base import Metric
    from intrabench.models.base import Model
    from intrabench.people.recording.orientation import Placing
    from intrabench.people.recording.recordings import Recording
    from intrabench.prompters.base import Modifier, Prompter, Refinement
    from intrabench.superpixels.base import Superpixels
    from intrabench.volume import Volume

ROOMS: dict[Room, str] = {
    "models": "model",
    "prompters": "prompter",
    "datasets": "dataset",
    "metrics": "metric",
    "clickability": "clickability model",
    "superpixels": "method of superpixels",
}
"""Rooms, and the word for one of their classes."""

_plugins: dict[Room, dict[str, Entry]] = {room: {} for room in ROOMS}


@dataclass(frozen=True)
class Entry:
    """A class that is known by name; `load` imports it. kind: one of `contract.KINDS`, or empty.

    of_package: it is an entry point of somebody's package.
    """

    name: str
    summary: str
    origin: str
    load: Callable[[], type[Any]]
    kind: str = ""
    of_package: bool = False


def entries(room: Room) -> dict[str, Entry]:
    """All classes of a room by name, sorted; they are not imported. Files with `problems` are left out."""
    return _listed(room)[0]


def problems(room: Room) -> list[str]:
    """What is wrong with the user's files of a room, one sentence each. Everything else remains usable."""
    return _listed(room)[1]


def left_out(*rooms: Room) -> str:
    """The `problems` of rooms, as the end of a sentence that says that a name is unknown."""
    found = [problem for room in rooms for problem in problems(room)]
    return f"; left out: {'; '.join(found)}" if found else ""


def named(name: str) -> list[tuple[Room, Entry]]:
    """All classes called `name`, with their rooms. Only files that contain the word are parsed, which takes longest."""
    quick = [(room, _listed(room, name)[0]) for room in ROOMS]
    return [(room, found[name]) for room, found in quick if name in found]


def _listed(room: Room, word: str = "") -> tuple[dict[str, Entry], list[str]]:
    """Entries and problems of a room, of its files only those that contain `word`."""
    found: dict[str, Entry] = {}
    wrong: list[str] = []
    for entry in _all(room, word):
        if isinstance(entry, IntraBenchError):
            wrong.append(str(entry))
            continue
        other = found.setdefault(entry.name, entry)
        if other is not entry and other.origin == "intrabench" and entry.of_package:
            wrong.append(
                f"{ROOMS[room]} {entry.name!r} of {entry.origin} has the name of one of intrabench, which is used; "
                "give the class and the entry point in the package another name, or uninstall it"
            )
        elif other is not entry:
            change = "give yours another name" if other.origin == "intrabench" else "rename one of them"
            clash = f"{ROOMS[room]} {entry.name!r} is in {entry.origin} and in {other.origin}; {change}"
            wrong.append(clash)
            found[entry.name] = replace(other, load=partial(_refuse, clash))
    return dict(sorted(found.items())), wrong


def _refuse(sentence: str) -> NoReturn:
    raise IntraBenchError(sentence)


@overload
def make(room: Literal["models"], spec: str) -> Model: ...
@overload
def make(room: Literal["prompters"], spec: str) -> Prompter | Refinement | Modifier: ...
@overload
def make(room: Literal["datasets"], spec: str) -> Dataset: ...
@overload
def make(room: Literal["metrics"], spec: str) -> Metric: ...
@overload
def make(room: Literal["superpixels"], spec: str) -> Superpixels: ...
@overload
def make(room: Room, spec: str) -> Any: ...
def make(room: Room, spec: str) -> Any:
    """Make the object of a spec, ``name:key=value,...``; a data set may also be a path, ``PATH:key=value,...``.

    Or it is an id of nnU-Net, ``Dataset027``.

    Behind it changes may follow: perturbations, ``spine_ct+noise:sigma=0.1``; ``+whole``, for targets of whole labels.

    A model may also be one of a paper, ``paper:sam``; see `intrabench.protocols.presets`. Two models may share
    the work, ``masks:folder=F+random_walker``. Or it is an address.
    """
    if room == "datasets" and "://" in spec:
        raise IntraBenchError(
            f"{spec} is an address, not a folder; download and unpack it, then give the folder's path"
        )
    if room == "datasets" and "+" in spec:
        from intrabench.datasets.perturb.perturbed import parted, with_changes

        base, changes = parted(spec, there=not look("datasets", re.split("[:+]", spec)[0].strip()))
        if changes:
            return with_changes(make("datasets", base), changes)
    if room == "datasets" and (place := _place(spec)):
        return _folder(place)
    if room == "models":
        if len(parts := specs.in_sequence(spec)) > 1:
            from intrabench.models.parts.two_stage_model import two_stage_model

            return two_stage_model([make("models", part) for part in parts], spec)
        spec = full_spec(spec)
    if room == "prompters":
        spec = with_source(spec)
    name, arguments = specs.parse(spec)
    return specs.build(find(room, name).load(), arguments, spec)


def full_spec(spec: str) -> str:
    """The spec of a model; one like ``paper:sam`` is written out, unless the user has a model called ``paper``.

    An address, ``http://...``, is the model behind it.
    """
    if spec.startswith(("http://", "https://")):
        return f"nninteractive_server:url={specs.quoted(spec)}"
    from intrabench.protocols.presets import PAPER, resolved

    return resolved(spec) if spec.strip().startswith(PAPER) and not look("models", PAPER) else spec


def find(room: Room, name: str) -> Entry:
    """The entry called `name`; an error suggests the nearest name."""
    if found := look(room, name):
        return found
    raise IntraBenchError(
        f"there is no {ROOMS[room]} {name!r}{_advice(room, name)}; `intrabench list {room}` shows all{left_out(room)}"
    )


def _advice(room: Room, name: str) -> str:
    """What a person may have meant by a name that is unknown, as a part of a sentence; empty if nobody knows."""
    known, parts = entries(room), [part.strip() for part in name.split(",")]
    option = {"superpixels": "--method", "clickability": "--model"}.get(room, f"--{room.removesuffix('s')}")
    head = (re.match(r"[\w.-]+", name) or [""])[0]
    if len(parts) > 1 and any(part in known for part in parts):
        return f"; give one at a time: {' '.join(f'{option} {part}' for part in parts)}"
    if head in known and head != name:  # ``box_interp=3``, ``box_interp(n=3)``
        names = [field.name for field in fields(known[head].load()) if field.init]
        return f"; write {head}:{names[0]}=..., parameters follow a colon" if names else f"; {head} has no parameters"
    if room == "datasets" and re.fullmatch(r"\d{1,3}", name):
        return f"; data sets of nnU-Net are written Dataset{int(name):03}"
    if room == "models" and name.endswith((".pt", ".pth", ".ckpt", ".safetensors", ".onnx")):
        return f"; a file of weights needs the model whose network it is: --model NAME --weights {name}"
    if name.endswith(".py"):
        return f"; a file of your own is a plug-in: --plugin {name} {option} NAME"
    close = specs.nearest(name, known)
    own = room in {"models", "prompters"} and not close and not problems(room)
    return "; a class of your own needs --plugin FILE.py" if own else close


def look(room: Room, name: str) -> Entry | None:
    """The entry called `name`, if there is one; files that contain the word are parsed first, which takes longest."""
    return _listed(room, name)[0].get(name) or entries(room).get(name)


def with_source(spec: str) -> str:
    """The spec of a prompter; ``recorded:FOLDER,rater=ab`` and ``recorded:FILE.csv`` are written out."""
    found = re.fullmatch(r"""\s*recorded\s*:\s*("[^"]*"|'[^']*'|[^,="']+)(,.*)?""", spec)
    if not found:
        return spec
    source = "clicks" if found[1].strip("\"' ").lower().endswith(".csv") else "folder"
    return f"recorded:{source}={found[1]}{found[2] or ''}"


def recorded_sessions(folder: str) -> list[dict[str, Any]]:
    """The sessions in a results folder in which people prompted and got answers, each with its stored `turns`."""
    import polars as pl

    results = _results("parts")
    columns = ("session", "prompter", "dataset", "case", "target", "target_voxels", "model", "plane", "status")
    rows = results.read_rows(Path(folder), columns, metrics=False).filter(_results("labels").BY_PEOPLE)
    answered = rows.filter(pl.col("status").is_in(_results("statuses").ANSWERED)).unique("session").sort("session")
    turns = results.read_turns(Path(folder), answered["session"].to_list()).sort("session", "turn")
    return [
        {
            **row,
            "rater": specs.parse(row["prompter"])[1].get("rater", ""),
            "plane": _results("schema").plane_of(row),
            "turns": stored,
        }
        for row in answered.iter_rows(named=True)
        if (stored := turns.filter(session=row["session"]).to_dicts())
    ]


def recordings(folder: str) -> list[Recording]:
    """What people gave to a server, as `intrabench record` wrote it down in a results folder."""
    from intrabench.people.recording.recordings import read_recordings

    return read_recordings(Path(folder))


def placing_in(recording: Recording, volume: Volume) -> Placing | None:
    """How the image of a recording lies in a scan; None if it is another one."""
    from intrabench.people.recording.orientation import placing, profiles_of

    return placing(recording.image, profiles_of(volume))


def recorded_masks(folder: str, session: str) -> list[Mask]:
    """The answers to the turns of such a session, one per round; none if they were not stored."""
    return _results("masks").read_masks(Path(folder), session)


def _results(module: str) -> Any:
    """A module of results, by its name: reading rows asks here which metrics their columns are of."""
    return importlib.import_module(f"intrabench.results.{module}")


def _folder(spec: str) -> Dataset:
    """The user's folder as a data set; its name must differ from those of registered data sets."""
    from intrabench.datasets.folder.folder import open_folder
    from intrabench.datasets.folder.rules import FILE

    folder = open_folder(spec)
    if look("datasets", folder.name):
        raise IntraBenchError(
            f"{spec.partition(':')[0]} would have the name of IntraBench's data set {folder.name}; "
            f"write another name in its {FILE}"
        )
    return folder


def _place(spec: str) -> str:
    """The spec of a user's folder with its path, else an empty text.

    It has a slash, or no data set has this name and the path exists, or it begins with an id of nnU-Net.
    """
    name = spec.partition(":")[0]
    if "/" in name:
        return spec
    if look("datasets", name):
        return ""
    if os.path.exists(spec) or os.path.exists(name):
        return spec
    from intrabench.datasets.folder.nnunet import in_raw

    return in_raw(spec)


def add_plugins(paths: Iterable[Path]) -> None:
    """Register the classes in the user's files; they replace those of earlier files.

    Raises:
        IntraBenchError: a file does not exist or cannot be imported, or two of them define the same name.
    """
    owners: dict[tuple[Room, str], Path] = {}
    for path in paths:
        for room, name in add_plugin(path):
            other = owners.setdefault((room, name), path)
            if other != path:
                raise IntraBenchError(f"{ROOMS[room]} {name!r} is in {path} and in {other}; rename one of them")


def add_plugin(path: Path) -> list[tuple[Room, str]]:
    """Register the classes in the user's file; returns their rooms and names."""
    if not path.is_file():
        what = "is no file" if path.exists() else "does not exist"
        raise IntraBenchError(f"--plugin {path} {what}; give the path of a Python file")
    workspace = current()
    if workspace is not None and path.resolve().parent in [(workspace.root / room).resolve() for room in ROOMS]:
        return []  # known already
    found = list(_scan(path, str(path), partial(import_file, path)))
    import_file(path)
    for plugins in _plugins.values():
        for name in [name for name, entry in plugins.items() if entry.origin == str(path)]:
            del plugins[name]  # the class may have been removed from the file since
    added: list[tuple[Room, str]] = []
    for entry in found:
        room = room_of(entry.load())
        if room is not None:
            _plugins[room][entry.name] = _guarded(room, entry)
            added.append((room, entry.name))
    for entry in found if not added else ():
        cls = entry.load()
        write = f"class {cls.__name__}({likely_base(cls)})"
        raise IntraBenchError(f"{path}: class {cls.__name__} has a name but no base; write {write}")
    if not added:
        raise IntraBenchError(f"--plugin {path} defines no {', '.join(ROOMS.values())} with a name; see docs/")
    return added


def introduce(room: Room, cls: type[Any]) -> None:
    """Register a class for this process; it replaces an earlier one that was registered under the same name.

    Raises:
        IntraBenchError: the class breaks the contract, or its name belongs to another class.
    """
    if cls.__module__.startswith("intrabench.") and room_of(cls) == room:
        return  # known, or a folder of the user's, whose name is its object's
    check_class(cls, room, HERE)
    name = str(cls.name)
    entry = entries(room).get(name)
    if entry is not None and entry.origin != HERE:
        if not _same_place(entry.load(), cls):
            raise IntraBenchError(
                f"{ROOMS[room]} {name!r} of class {cls.__name__} exists already in {entry.origin}; give it another name"
            )
        return
    _plugins[room][name] = Entry(name, _first_line(cls.__doc__), HERE, lambda: cls)


HERE = "this Python session"
"""The origin of classes registered in Python, directly or by an object."""


def _same_place(one: type[Any], other: type[Any]) -> bool:
    """Whether two classes are the same, or come from the same file, imported twice."""
    try:
        return one is other or (one.__name__ == other.__name__ and inspect.getfile(one) == inspect.getfile(other))
    except (TypeError, OSError):  # classes of notebooks have no file
        return False


def _all(room: Room, word: str) -> Iterator[Entry | IntraBenchError]:
    """All classes of a room, and an error for each of the workspace's files that cannot be read; see `_listed`."""
    yield from _shipped(room, word)
    workspace = current()
    if workspace is not None:
        for path in sorted((workspace.root / room).glob("[!.]*.py")):  # editors keep locks and copies as .#mine.py
            try:
                yield from [_guarded(room, entry) for entry in _scan(path, str(path), partial(import_file, path), word)]
            except IntraBenchError as error:
                yield error
    yield from _plugins[room].values()
    for point in _entry_points()[room]:
        origin = f"package {point.dist.name}" if point.dist else "an entry point"
        load = partial(_load_point, point, origin)
        yield _guarded(room, Entry(point.name, f"from {origin}", origin, load, of_package=True))


@lru_cache(maxsize=1024)
def _shipped(room: Room, word: str) -> tuple[Entry, ...]:
    """The classes of a room that ship; their files are read once per process, as what is imported stays, too."""
    paths = sorted((Path(__file__).parents[1] / room).glob("*.py"))
    load = {path: partial(importlib.import_module, f"intrabench.{room}.{path.stem}") for path in paths}
    return tuple(entry for path in paths for entry in _scan(path, "intrabench", load[path], word))


@cache
def _entry_points() -> dict[Room, list[importlib.metadata.EntryPoint]]:
    """The entry points of all rooms, looked up once per process, which opens a file of every installed package."""
    found: Any = importlib.metadata.entry_points()  # its type depends on the version of Python
    return {room: list(found.select(group=f"intrabench.{room}")) for room in ROOMS}


def _guarded(room: Room, entry: Entry) -> Entry:
    """An entry that is not built in: its class is checked when it is loaded."""
    return replace(entry, load=partial(_checked, room, entry))


def _checked(room: Room, entry: Entry) -> type[Any]:
    cls = entry.load()
    check_class(cls, room, entry.origin)
    if entry.of_package and entry.name != cls.name:
        raise IntraBenchError(
            f"{entry.origin}: the entry point {entry.name!r} is class {cls.__name__}, which calls itself {cls.name!r}, "
            "as rows would; give the entry point and the class one name"
        )
    return cls


def _load_point(point: importlib.metadata.EntryPoint, origin: str) -> Any:
    return attempt(point.load, f"{point.value} of {origin} cannot be imported", "repair or uninstall it")


def _scan(path: Path, origin: str, load: Callable[[], Any], word: str = "") -> Iterator[Entry]:
    """The classes of a file, read without running it; none if it does not contain `word`."""
    try:
        state = regular(path).stat()
        if word and word.encode() not in path.read_bytes():
            return
        found = _classes(path, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise IntraBenchError(f"{path} cannot be read ({error.strerror}); repair it or move it away") from error
    for name, summary, cls, kind in found:
        yield Entry(name, summary, origin, partial(_attribute, load, cls), kind)


@cache
def _classes(path: Path, mtime_ns: int, size: int) -> list[tuple[str, str, str, str]]:
    """Name, summary, class and kind of each top-level class that has a name; a file is read again once it changes."""
    try:
        tree = ast.parse(path.read_bytes(), path.name)
        if Path(__file__).parents[1] not in path.parents:
            check_source(tree, path)
        named = [(node, name_and_kind(node)) for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        return [(about[0], _first_line(ast.get_docstring(node)), node.name, about[1]) for node, about in named if about]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # the latter of code nested too deep
        raise IntraBenchError(
            f"{path} is not valid Python ({str(error) or 'it is nested too deep'}); repair it or move it away"
        ) from error


def _attribute(load: Callable[[], Any], name: str) -> type[Any]:
    found: type[Any] = getattr(load(), name)
    return found


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().split("\n")[0]
