"""First clicks that people gave in several results folders, put together into one file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from intrabench.errors import IntraBenchError
from intrabench.files.locks import Busy, locked

FOLDER, FILE = "people/clicks", "clicks.csv"
"""Where `intrabench annotate --first-clicks` writes a row for each click, with an ``id`` that no other click has."""
SLICES = "slices"
"""The folder of pictures, and so the name of the data set, that the clicked slices of scans become."""


def lock_of(folder: Path) -> Path:
    """The lock of who writes into a folder of clicks."""
    return folder / f".{FILE}.lock"


@contextmanager
def clicks_together(sources: Sequence[Path], out: Path) -> Iterator[Mapping[Path, Path]]:
    """The path below `out` of the clicks of all folders, and a file that has each click once, those of `out` first.

    Nothing if `out` has all clicks. Until the end, nobody else writes clicks there.

    Raises:
        IntraBenchError: clicks are collected into `out` now, or a file cannot be read or is damaged.
    """
    place = Path(FOLDER) / FILE
    given = [one / place for one in sources if (one / place).is_file() and not (one / place).is_symlink()]
    if not given:
        yield {}
        return
    with ExitStack() as stack:
        if (out / FOLDER).is_dir():
            try:
                stack.enter_context(locked(lock_of(out / FOLDER)))
            except Busy as busy:
                raise IntraBenchError(f"clicks are collected into {out} now, by {busy}; end that, then merge") from busy
        ours = _read(out / place) if (out / place).is_file() else {}
        every = dict(ours)
        for path in given:
            for id, row in _read(path).items():
                if every.setdefault(id, row) != row:
                    raise IntraBenchError(
                        f"{path} and a folder before it have another click {id}; restore the file that was changed, "
                        "then merge again"
                    )
        made = Path(stack.enter_context(TemporaryDirectory())) / FILE
        if len(every) > len(ours):
            _write(made, [*every.values()])
        yield {place: made} if made.exists() else {}


def _read(path: Path) -> dict[str, dict[str, str]]:
    """The rows by id, without a last line that is half written."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise IntraBenchError(f"{path} cannot be read ({error.strerror}); make it readable") from error
    rows = list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1])))
    if any(None in row or None in row.values() or not row.get("id") for row in rows):
        raise IntraBenchError(f"{path} is no file of collected clicks; move it away")
    return {row["id"]: row for row in rows}


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
