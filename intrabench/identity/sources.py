"""The source of a user's code: a file and the local modules that it imports, found without running anything.

Local modules are Python files that belong neither to Python, nor to an installed package, nor to IntraBench. For a
class in an installed package, the modules of its own top-level package count as local.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

Sources = Mapping[str, bytes]
"""Contents by name: that of a file under the empty name, those of the local modules that it imports under theirs."""


def hash_of(sources: Sources) -> str:
    """8 hex digits of sources."""
    digest = hashlib.sha256()
    for name, content in sorted(sources.items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:8]


def sources_of(path: Path, name: str = "") -> dict[str, bytes]:
    """The `Sources` of a file; nothing is imported for that. name: that of the module, where it has one."""
    home, found = name.partition(".")[0], {"": path.read_bytes()}
    todo = [(found[""], name if path.name == "__init__.py" else name.rpartition(".")[0])]
    while todo:
        for imported in _imports(*todo.pop()):
            for module, file in local_files(imported, home):
                if module not in found:
                    found[module] = file.read_bytes()
                    todo.append((found[module], module if file.name == "__init__.py" else module.rpartition(".")[0]))
    return found


@lru_cache(maxsize=1024)
def _imports(source: bytes, package: str) -> tuple[str, ...]:
    """The modules that a source may import, anywhere in it; also names that are no modules."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # importing it says what is wrong
        return ()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.level == 0 or package):
            module = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(module, package) if node.level else module
            names.update([base, *(f"{base}.{alias.name}" for alias in node.names)])
    return tuple(sorted(names))


def local_files(name: str, home: str = "") -> Iterator[tuple[str, Path]]:
    """A module and the packages that it lies in, as far as they are local."""
    parts, place = name.split("."), None
    for number in range(1, len(parts) + 1):
        module = ".".join(parts[:number])
        spec = _spec(module, place)
        if spec is None:
            return
        if spec.has_location and spec.origin is not None:
            if not _is_local(parts[0], Path(spec.origin), home):
                return
            yield module, Path(spec.origin)
        if spec.submodule_search_locations is None:
            return
        place = list(spec.submodule_search_locations)


def _spec(module: str, place: list[str] | None) -> ModuleSpec | None:
    """Where a module is, found without importing the packages that it lies in."""
    if place is not None:
        try:
            return PathFinder.find_spec(module, place)
        except KeyError:  # a folder without __init__.py, for which Python wants its package to be imported
            folders = [Path(one, module.rpartition(".")[2]) for one in place]
            spec = ModuleSpec(module, None, is_package=True)
            spec.submodule_search_locations = [str(folder) for folder in folders if folder.is_dir()]
            return spec
    if module in sys.stdlib_module_names or module == "intrabench":
        return None
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):  # a module that somebody made by hand
        return None


def _is_local(top: str, origin: Path, home: str) -> bool:
    installed = not {"site-packages", "dist-packages"}.isdisjoint(origin.parts)
    return origin.suffix == ".py" and (top == home or not installed)
