"""Checksums as published by hosts, ``algorithm:digits``, and records of verified files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_type_hints

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically
from intrabench.files.documents import Unreadable, read_json


def checksum_of(path: Path, algorithm: str = "sha256") -> str:
    """``algorithm:hexadecimal digits`` of a file."""
    with path.open("rb") as file:
        return f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"


@dataclass(frozen=True)
class Note:
    """The record beside a file of its last full verification."""

    checksum: str
    size: int
    mtime_ns: int
    source: str

    def still_fits(self, path: Path) -> bool:
        """Whether the file has not changed since."""
        stat = path.stat()
        return (self.size, self.mtime_ns) == (stat.st_size, stat.st_mtime_ns)


def note(path: Path, checksum: str, source: str) -> None:
    """Record the checksum of `path` and its origin."""
    stat = path.stat()
    text = json.dumps(asdict(Note(checksum, stat.st_size, stat.st_mtime_ns, source)), indent=1)
    with atomically(note_of(path)) as part:
        part.write_text(text, "utf-8")


def noted(path: Path) -> Note | None:
    """The record; None if there is none.

    Raises:
        IntraBenchError: the note is damaged.
    """
    try:
        return Note(**read_json(note_of(path), get_type_hints(Note)))
    except FileNotFoundError:
        return None
    except (Unreadable, TypeError) as error:
        raise IntraBenchError(f"{note_of(path)} is damaged; delete it if you trust {path.name}") from error


def settle(path: Path, checksum: str, source: str) -> str:
    """What is wrong with a download whose checksum nobody publishes: it differs from the first one. Else note it.

    checksum: of what has arrived. The note of the first download stays when the file is deleted.
    """
    record = noted(path)
    if record is None or record.checksum == checksum:
        note(path, checksum, source)
        return ""
    return (
        f"{path.name} arrived with {checksum.replace(':', ' ')}, but the first download had "
        f"{record.checksum.partition(':')[2]}, and nobody publishes what is right, so it was deleted: {if_wanted(path)}"
    )


def if_wanted(path: Path) -> str:
    """What to do if another file than the first is wanted."""
    return f"ask its authors, and if the change is wanted delete {note_of(path)} and run again"


def note_of(path: Path) -> Path:
    """The path of the record."""
    return path.with_name(path.name + ".json")
