"""What computed a result: the version that the author of a component gives, and a hash of the user's own code."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from intrabench.loading import RECORDED
from intrabench.sources import hash_of, local_files, sources_of


def version_of(component: object) -> str:
    """The `version` of a model, prompter, data set, ...: an object or its class.

    For a class that IntraBench does not ship, also 8 hex digits of its source, ``1.3f9a0c2e``: of its file and of all
    local modules that this imports, directly or not. The hash is that of the source when the class was imported from a
    workspace or a plug-in file; otherwise that of when it was first asked for.
    """
    version = str(getattr(component, "version", "1"))
    source = _source_of(component if isinstance(component, type) else type(component))
    return f"{version}.{source}" if source else version


@cache
def _source_of(cls: type) -> str:
    """The hash of a class's source; empty for classes of IntraBench."""
    home = cls.__module__.partition(".")[0]
    if home == "intrabench":
        return ""
    module = sys.modules.get(cls.__module__)
    recorded: str = getattr(module, RECORDED, "")
    if recorded:
        return recorded
    file = Path(str(getattr(module, "__file__", None)))
    if home == "__main__" or file.suffix != ".py" or not file.is_file():
        return hash_of(_defined(cls, vars(module) if module else {}))
    return hash_of(sources_of(file, cls.__module__))


def _defined(cls: type, names: Mapping[str, Any]) -> dict[str, bytes]:
    """The `Sources` of a class of a notebook or a script: itself, and all that it uses of what is defined beside it.

    names: what is defined there. The rest of a script has no part in it, such as how a run is started.
    """
    found: dict[str, bytes] = {}
    todo: list[Any] = [cls]
    while todo:
        thing = todo.pop()
        key = f"{type(thing).__name__} {thing.__qualname__}"
        if key in found:
            continue
        codes = list(_codes(thing))
        found[key] = _text(thing, codes)
        used = {name for code in codes for name in _names(code)}
        near = [*(names[name] for name in used & names.keys()), *(thing.__mro__ if isinstance(thing, type) else ())]
        todo += [one for one in near if _is_code(one) and one.__module__ == cls.__module__]
        for other in {_module_of(one) for one in near} - {"", cls.__module__}:
            for module, file in local_files(other):
                found |= {f"{module} {name}": content for name, content in sources_of(file, module).items()}
        found |= {name: _plain(names[name]).encode() for name in used & names.keys() if not _is_code(names[name])}
    return found


def _is_code(thing: Any) -> bool:
    return isinstance(thing, type | FunctionType)


def _module_of(thing: Any) -> str:
    """The module that a thing is, or comes from."""
    if isinstance(thing, ModuleType):
        return thing.__name__
    return str(thing.__module__) if _is_code(thing) else ""


def _text(thing: Any, codes: list[CodeType]) -> bytes:
    """The source of a class or function; of one without a file what it was compiled to."""
    try:
        return inspect.getsource(thing).encode()
    except (OSError, TypeError):
        values = vars(thing) if isinstance(thing, type) else {}
        kept = sorted((name, _plain(value)) for name, value in values.items() if name != "__firstlineno__")
        return repr(([_compiled(code) for code in codes], kept)).encode()


def _codes(thing: Any) -> Iterator[CodeType]:
    """What a function, or the methods of a class, were compiled to."""
    if not isinstance(thing, type):
        yield thing.__code__
        return
    for _, value in sorted(vars(thing).items()):
        for inner in (value, *(getattr(value, name, None) for name in ("fget", "func", "__func__"))):
            if isinstance(inner, FunctionType):
                yield inner.__code__


def _names(code: CodeType) -> set[str]:
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def _compiled(code: CodeType) -> list[Any]:
    consts = [_compiled(one) if isinstance(one, CodeType) else _plain(one) for one in code.co_consts]
    return [code.co_code.hex(), consts, code.co_names, code.co_varnames]


def _plain(value: Any) -> str:
    """A value that is part of a source, the same in every process; empty for all others."""
    if isinstance(value, frozenset | set):
        return f"{{{sorted(map(_plain, value))}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_plain, value))}]"
    return repr(value) if isinstance(value, str | bytes | int | float | complex | bool | None) else ""
