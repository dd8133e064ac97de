"""Hashes of files of weights, each computed once per process."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path


def sha256_of_path(path: Path) -> str:
    """The sha256 of a file, or of the names and hashes of the files in a folder; each is read once per process."""
    if path.is_dir():
        members = sorted(p for p in path.rglob("*") if p.is_file())
        hashes = [(str(p.relative_to(path)), sha256_of_path(p)) for p in members]
        return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()
    about = path.stat()
    return _hashed(path.resolve(), about.st_mtime_ns, about.st_size)


def forget_hashes() -> None:
    """Have all files read again."""
    _hashed.cache_clear()


@cache
def _hashed(path: Path, mtime_ns: int, size: int) -> str:
    from intrabench.fetch.checksum import checksum_of

    return checksum_of(path).removeprefix("sha256:")
