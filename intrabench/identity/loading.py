"""A user's file as a module."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType

from intrabench.errors import RECORDED, IntraBenchError, foreign, in_words
from intrabench.identity.sources import hash_of, sources_of


def import_file(path: Path) -> ModuleType:
    """The module of a file, imported again once the file or a local module that it imports has changed.

    It can import the files beside it by their names, as a script can; installed packages of the same name come first.
    Objects of the old classes stay what they were, and so do their versions; what is made from now on is new.

    Raises:
        IntraBenchError: it cannot be imported.
    """
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.append(folder)
    sources = sources_of(path)
    source = hash_of(sources)
    name = f"intrabench_files.{abs(hash(path.resolve())):x}_{source}_{path.stem}"
    _forget_changed({module: content for module, content in sources.items() if module})
    if name in sys.modules:
        return sys.modules[name]
    importlib.invalidate_caches()
    module = ModuleType(name)
    module.__file__ = str(path)
    setattr(module, RECORDED, source)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        with foreign():
            exec(compile(sources[""], str(path), "exec", dont_inherit=True), vars(module))
    except Exception as error:  # a user's file may fail in any way
        del sys.modules[name]
        raise IntraBenchError(f"{path} cannot be imported ({in_words(error)}); repair it") from error
    return module


def _forget_changed(modules: Mapping[str, bytes]) -> None:
    """Import local modules again if one of them has changed since a file that imports it was imported."""
    changed = [
        name for name in modules.keys() & sys.modules.keys() if _imported.get(name, modules[name]) != modules[name]
    ]
    for name in changed:
        _forget_bytecode(sys.modules[name])
    if changed:
        for name in modules:
            sys.modules.pop(name, None)
    _imported.update(modules)


def _forget_bytecode(module: ModuleType) -> None:
    """Python would take it for that of the new source, if that has the same size and was written in the same second."""
    if module.__spec__ is not None and module.__spec__.cached:
        with suppress(OSError):
            Path(module.__spec__.cached).unlink()


_imported: dict[str, bytes] = {}
"""The local modules that files import, as they were at that time."""
