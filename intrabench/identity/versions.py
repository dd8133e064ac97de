"""What computed a result: the version that the author of a component gives, and a hash of the user's own code."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FunctionType

from intrabench.errors import RECORDED
from intrabench.identity.definitions import Definition
from intrabench.identity.sources import hash_of, local_files, sources_of

HASHED = re.compile(r"\.[0-9a-f]{8}(?=$|[+/])")
"""In versions of what does not ship, or has parts that do not: the hash of their source (`version_of`)."""


def version_of(component: object) -> str:
    """The `version` of a model, prompter, data set, ...: an object or its class.

    For a class that IntraBench does not ship, also 8 hex digits of its source, ``1.3f9a0c2e``: of its file and of all
    local modules that this imports, directly or not. The hash is that of the code in use, not that of a file which was
    edited since: from when a workspace or plug-in file was imported, for other modules from when it was first asked for
    after they were imported or reloaded. For a class of a notebook or script see `Definition`.
    """
    version = str(getattr(component, "version", "1"))
    cls = _class_of(component)
    source = "" if _home(cls) == "intrabench" else _source_of(cls)
    return f"{version}.{source}" if source else version


def ships(component: object) -> bool:
    """Whether the code of a component, an object or its class, comes with IntraBench, and that of all its parts."""
    return _home(_class_of(component)) == "intrabench" and HASHED.search(version_of(component)) is None


def _class_of(component: object) -> type:
    return component if isinstance(component, type) else type(component)


def _home(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _source_of(cls: type) -> str:
    """The hash of the source of a class that does not ship."""
    module = sys.modules.get(cls.__module__)
    recorded: str = getattr(module, RECORDED, "")
    if recorded:
        return recorded
    file = Path(str(getattr(module, "__file__", None)))
    if _home(cls) == "__main__" or file.suffix != ".py" or not file.is_file():
        return _of_cell(cls)  # anew each time, for cells may be run again
    return _of_module(cls.__module__, file, cls)


def _of_cell(cls: type) -> str:
    names = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    defined = Definition(cls, names)
    sources = {"": defined.text.encode()}
    for used in defined.modules:
        sources |= {module: _of_module(module, file).encode() for module, file in local_files(used)}
    return hash_of(sources)


_hashes: dict[tuple[str, type | None], tuple[list[ModuleSpec], str]] = {}
"""Hashes of modules, and for how long they hold: until a module that was counted is imported anew."""


def _of_module(name: str, file: Path, cls: type | None = None) -> str:
    """The hash of a module and of what it imports. cls: a class of it, which may have been imported before an edit."""
    specs, found = _hashes.get((name, cls), ([], ""))
    if not found or any(_spec(spec.name) is not spec for spec in specs):
        sources = sources_of(file, name)
        if cls is not None and not _is_from(cls, sources[""], file):
            sources["in use"] = Definition(cls, vars(sys.modules[name])).text.encode()
        specs = [spec for module in (name, *sources) if (spec := _spec(module)) is not None]
        found = hash_of(sources)
        _hashes[name, cls] = specs, found
    return found


def _spec(module: str) -> ModuleSpec | None:
    """How a module was imported; another object after each time."""
    return getattr(sys.modules.get(module), "__spec__", None)


def _is_from(cls: type, source: bytes, file: Path) -> bool:
    """Whether the methods of a class are those of its file."""
    methods = [one.__code__ for one in vars(cls).values() if isinstance(one, FunctionType)]
    written = {code for code in methods if Path(code.co_filename) == file}  # a dataclass makes others
    try:
        return written <= set(_codes(compile(source, str(file), "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):  # edited, and not finished
        return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)
