"""Put many small parts together into few packs, without a moment in which a row is missing.

First the pack of turns is written, then that of rows, each whole and on the disk; only then are the parts deleted that
they hold. Whoever finds a pack and parts of it, after a kill, deletes these first. Doing it twice at once does no harm.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import all_atomically, make_folder, writing
from intrabench.files.locks import Busy, locked
from intrabench.results.files import halved, several_at_once, stored_and_seen, together
from intrabench.results.packs import HOLDS, contents, held_by, is_pack, listed, new_pack
from intrabench.results.runs import going_on
from intrabench.results.schema import SCHEMA, TURNS
from intrabench.results.store import clean, write_parquet

MANY = 256
"""So many small parts are put together when a run begins or ends, or at the end of a merge."""

SMALL = 1 << 20
"""Bytes of a part and its turns; larger ones stay as they are."""

MOST_ROWS, MOST_TURNS = 100_000, 256 << 20
"""The rows of a pack, and the bytes of its turns in memory, before the next one begins."""

_KEYS = {"rows": ["session", "round", "run_id", "written_at"], "turns": ["session", "turn", "written_at"]}
"""Columns that tell rows, and turns, from all others."""

_SCHEMAS = {"rows": SCHEMA, "turns": TURNS}


@dataclass(frozen=True)
class Compacted:
    """How many parts were put together, and into how many packs."""

    parts: int
    packs: int


@dataclass
class _Heap:
    """Parts of equal columns that will be one pack: their names, rows and turns, and the rows as readers see them."""

    names: list[str] = field(default_factory=list)
    rows: list[pl.DataFrame] = field(default_factory=list)
    turns: list[pl.DataFrame] = field(default_factory=list)
    seen: list[pl.DataFrame] = field(default_factory=list)

    @property
    def full(self) -> bool:
        turns = sum(one.estimated_size() for one in self.turns)
        return sum(map(len, self.rows)) >= MOST_ROWS or turns >= MOST_TURNS


def compact(root: Path) -> Compacted:
    """Put the small parts of a results folder together. Nothing that reads the folder sees a difference.

    Runs may go on meanwhile.

    Raises:
        IntraBenchError: it is no results folder, another compaction is at work, or nothing can be written.
    """
    if not (root / "rows").is_dir():
        raise IntraBenchError(
            f"{root} is not a results folder, because it has no rows; give the folder of `run --out` with --out"
        )
    try:
        return _alone(root)
    except Busy as busy:
        raise IntraBenchError(f"{root} is being compacted already, by {busy}; wait until that ends") from None


def tidy(root: Path, run_id: str = "") -> tuple[str, str]:
    """Compact a folder with `MANY` small parts, unless a run other than `run_id` goes on there, which will do it.

    Returns:
        A sentence about what was done, and one about why it failed; empty if there was nothing to do.
    """
    if others_at_work(root, run_id) or sum(not is_pack(path.name) for path in _small(root)) < MANY:
        return "", ""
    try:
        done = _alone(root)
    except Busy:
        return "", ""
    except IntraBenchError as error:
        return "", f"the parts in {root} were not put together: {error}"
    return f"put {done.parts} small files of results together in {done.packs}" if done.packs else "", ""


def others_at_work(root: Path, run_id: str = "") -> bool:
    """Whether a run other than `run_id` goes on in a folder."""
    return bool(going_on(root) - {run_id})


def _alone(root: Path) -> Compacted:
    with writing(root):
        for folder in ("locks", "runs"):
            make_folder(root / folder)
        clean(root)
        with locked(root / "locks" / "compact.lock"):
            return _compact(root)


def _compact(root: Path) -> Compacted:
    # Where a compaction was killed after it wrote a pack, parts are left that the pack holds; without them nothing is
    # packed twice.
    for path in listed(root / "rows"):
        if is_pack(path.name):
            _delete(root, _still_there(root, path.name))
    parts = packs = 0
    for heap in _heaps(root, _small(root)):
        if len(heap.names) > 1:
            _write(root, heap)
            _delete(root, dict.fromkeys(_KEYS, heap.names))
            parts, packs = parts + len(heap.names), packs + 1
    return Compacted(parts, packs)


def _small(root: Path) -> list[Path]:
    """The parts and packs that are small, with their turns."""
    return [path for path in listed(root / "rows") if _size(path) + _size(root / "turns" / path.name) < SMALL]


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _heaps(root: Path, paths: Sequence[Path]) -> Iterator[_Heap]:
    """The parts that can be read, with others of equal columns."""
    heaps: dict[tuple[object, ...], _Heap] = {}
    for some in several_at_once(paths):
        for part, found in halved(some, lambda part: _read(root, part)):
            if found is None:
                continue
            rows, turns, seen = found
            key = *rows.schema.items(), *turns.schema.items()
            heap = heaps.setdefault(key, _Heap())
            heap.names += [path.name for path in part]
            heap.rows.append(rows)
            heap.turns.append(turns)
            heap.seen.append(seen)
            if heap.full:
                yield heaps.pop(key)
    yield from heaps.values()


def _read(root: Path, paths: Sequence[Path]) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame] | None:
    """Rows, turns, and the rows as readers see them; None of parts that do not go together."""
    beside = [path for path in (root / "turns" / part.name for part in paths) if os.path.lexists(path)]
    rows = stored_and_seen(paths, SCHEMA)
    turns = stored_and_seen(beside, TURNS) if beside else (pl.DataFrame(schema=TURNS),) * 2
    return None if rows is None or turns is None else (rows[0], turns[0], rows[1])


def _write(root: Path, heap: _Heap) -> None:
    """Write a pack, and make sure that readers find in it what they find in its parts."""
    name, rows, turns, seen = new_pack(), pl.concat(heap.rows), pl.concat(heap.turns), pl.concat(heap.seen)
    once = seen.select(pl.struct(_KEYS["rows"]).is_first_distinct()).to_series()  # packed twice, and doubled by a kill
    names = json.dumps(sorted({one for part in heap.names for one in (part, *contents(root / "rows" / part))}))
    with all_atomically([root / "turns" / name, root / "rows" / name]) as (beside, part):
        write_parquet(turns.unique(maintain_order=True), beside, {HOLDS: names})
        write_parquet(rows.filter(once), part, {HOLDS: names})
        found = together([part], SCHEMA)
        if found is None or not found.equals(seen.filter(once)):
            raise IntraBenchError(f"{part} does not hold what was written; check the disk, then compact again")


def _still_there(root: Path, pack: str) -> dict[str, list[str]]:
    """The parts that a pack holds, as it says and as their rows and turns show, and that were not deleted yet."""
    found = {}
    for folder, key in _KEYS.items():
        names = [name for name in held_by(root / "rows" / pack) if name != pack and (root / folder / name).is_file()]
        packed = together([root / folder / pack], _SCHEMAS[folder]) if names else None
        found[folder] = [
            name
            for name in names
            if packed is not None
            and (part := together([root / folder / name], _SCHEMAS[folder])) is not None
            and part.join(packed, on=key, how="anti", nulls_equal=True).is_empty()
        ]
    return found


def _delete(root: Path, names: Mapping[str, Sequence[str]]) -> None:
    """Delete parts that are in a pack; rows first, for turns alone do no harm."""
    if any(names.values()):
        os.utime(root / "runs")  # runs that go on see it, and look for packs
    for folder, parts in names.items():
        for name in parts:
            with suppress(OSError):  # where a file that is open cannot be deleted, the next compaction does it
                (root / folder / name).unlink()
