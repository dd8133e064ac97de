"""Read files of rows or turns, many at once. Any may be damaged; what was found sound is not checked again."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.headers import most
from intrabench.results.columns import add_readable
from intrabench.results.damage import is_sound, out_of_range
from intrabench.results.schema import metric_columns

T = TypeVar("T")
State = tuple[int, ...]
"""Which file it is, its bytes, and when it changed last."""

_sound: dict[tuple[str, ...], dict[State, tuple[str, ...]]] = {}
"""The files that this process has found sound, by the columns that it looked at; with all their other columns."""

_AT_ONCE = 4 << 20
"""Bytes of files that are read together."""

_ROWS_AT_ONCE = 2**16
"""Rows that are read together, of all columns, before only those are kept that were asked for."""

_VALUE = 16
"""Bytes of a text in memory, at least."""

UNREADABLE = (IntraBenchError, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""Exceptions of polars for damaged files; a few cause a panic."""


def read_parts(
    paths: Sequence[Path],
    schema: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    metrics: bool = True,
    sessions: Sequence[str] | None = None,
) -> pl.DataFrame:
    """The rows of all parts that can be read.

    columns, metrics: only these columns of `schema`, and whether those of other metrics. sessions: only theirs, of all
    columns.
    """
    kept = list(schema if columns is None else columns)
    rows = _Rows()
    rows.add(pl.DataFrame(schema=dict(schema)).select(kept))
    for frame in _of_columns(paths, schema, columns, kept, metrics):
        rows.add(frame if sessions is None else frame.filter(pl.col("session").is_in(list(sessions))))
    return rows.take()


def _of_columns(
    paths: Sequence[Path], schema: Mapping[str, Any], columns: Sequence[str] | None, kept: Sequence[str], metrics: bool
) -> Iterator[pl.DataFrame]:
    """The rows of all parts that can be read, of the columns that are kept and those of metrics."""
    others = list[str]()
    for some in several_at_once(paths):
        for _, frame in halved(some, lambda part: together(part, schema, columns)):
            if frame is not None:
                found = metric_columns(frame) if metrics else []
                add_readable(others, found)
                yield frame.select(*kept, *(name for name in found if name in others))


class _Rows:
    """The rows of many frames, each column in one piece, or as a single value where it has no other.

    Columns in pieces of different lengths are copied by whatever looks at several of them. Most columns of texts have
    one value in most folders, and a column of a million texts takes 16 MB whatever they are.
    """

    def __init__(self) -> None:
        self._height, self._kinds = 0, dict[str, pl.DataType]()
        self._pieces: dict[str, list[tuple[pl.Series, int]]] = {}  # all values, or the single one, and the height

    def add(self, frame: pl.DataFrame) -> None:
        """Add rows below the others; what only some frames have is null in the rest."""
        for name, kind in frame.schema.items():
            if name not in self._kinds:
                self._kinds[name] = kind
                self._pieces[name] = [(pl.Series(name, [None], kind), self._height)]
        for name, kind in self._kinds.items():
            if name in frame.columns:
                values = frame.select(name).to_series()  # else a single value is written out in the frame, and stays so
                first = values.first()
                single = values.eq_missing(first).all()
            else:
                first, single = None, True
            self._pieces[name].append((pl.Series(name, [first], kind) if single else values, frame.height))
        self._height += frame.height

    def take(self) -> pl.DataFrame:
        """All rows; none is kept here, and only one column at a time is there twice."""
        names, columns, single = list(self._pieces), list[pl.Series](), list[pl.Expr]()
        for name in names:
            pieces = [(values, height) for values, height in self._pieces.pop(name) if height]
            firsts = pl.concat([values.head(1) for values, _ in pieces]) if pieces else pl.Series()
            if all(len(values) == 1 for values, _ in pieces) and firsts.eq_missing(firsts.first()).all():
                single.append(pl.lit(firsts.first(), self._kinds[name]).alias(name))
            else:
                whole = [
                    values if len(values) == height else values.new_from_index(0, height) for values, height in pieces
                ]
                columns.append(pl.concat(whole).rechunk())
        if not columns:  # the height is that of a column
            columns.append(pl.Series(names[0], [None] * self._height))
        return pl.DataFrame(columns).with_columns(single).select(names)


def left_columns(paths: Sequence[Path], schema: Mapping[str, Any]) -> list[str]:
    """The columns of metrics that `read_parts` leaves out; of parts that were read before."""
    sound, read = _sound.get(tuple(schema), {}), list[str]()
    names = dict.fromkeys(sound[state] for path in paths if (state := _state(path)) in sound)
    for some in names:
        add_readable(read, some)
    return list(dict.fromkeys(name for some in names for name in some if name not in read))


def damaged(paths: Sequence[Path], schema: Mapping[str, Any]) -> list[Path]:
    """The parts that cannot be read."""
    sound = _sound.get(tuple(schema), {})
    unknown = [path for path in paths if _state(path) not in sound]
    tried = [one for some in several_at_once(unknown) for one in halved(some, lambda part: together(part, schema))]
    return [path for paths, frame in tried if frame is None for path in paths]


def why(path: Path, schema: Mapping[str, Any]) -> str:
    """Which value of a damaged part is outside of the range of its column; empty if it is damaged in another way."""
    found = _collected([path], [_state(path)], schema, lambda stored: _fitted(stored, schema))
    return "" if found is None else out_of_range(found)


def several_at_once(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """Paths that are read together. All their columns are, so that damage is found, which takes more than is kept."""
    some, size = list[Path](), 0
    for path in paths:
        some.append(path)
        size += (_state(path) or (0,))[0]
        if size > _AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


def halved(
    paths: Sequence[Path], read: Callable[[Sequence[Path]], T | None]
) -> Iterator[tuple[Sequence[Path], T | None]]:
    """What `read` makes of paths together; where that is None, of each half, down to single paths.

    So in few steps it is known which of them is damaged.
    """
    found = read(paths)
    if found is not None or len(paths) < 2:
        yield paths, found
    else:
        half = len(paths) // 2
        for some in (paths[:half], paths[half:]):
            yield from halved(some, read)


def together(
    paths: Sequence[Path], schema: Mapping[str, Any], needed: Sequence[str] | None = None
) -> pl.DataFrame | None:
    """The rows of parts with equal columns; None if one is damaged or has fewer columns.

    needed: only these columns and those of metrics; of parts that were found sound before no others are read.
    """
    states = [_state(path) for path in paths]
    sound = _sound.setdefault(tuple(schema), {})
    checked = sound.keys() >= {*states}
    others: tuple[str, ...] = ()

    def view(stored: pl.LazyFrame) -> pl.LazyFrame:
        nonlocal others
        others = _others(stored, schema)
        return _fitted(stored, schema, needed if checked else None, others)

    def kept(rows: pl.DataFrame) -> pl.DataFrame | None:
        if not (checked or is_sound(rows)):
            return None
        return rows if needed is None else rows.select(*needed, *metric_columns(rows))

    found = _collected(paths, states, schema, view, kept)
    if found is not None:
        if not checked:
            sound.update(dict.fromkeys(filter(None, states), others))
        return found
    # Of several parts it is not known which one is damaged; `halved` asks again for each half of them.
    if len(paths) == 1:
        sound.pop(states[0], None)  # type: ignore[arg-type]
    return None


def stored_and_seen(paths: Sequence[Path], schema: Mapping[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """What is in parts as it is, and what readers make of it; None as for `together`."""
    stored = _collected(paths, [_state(path) for path in paths], schema, lambda stored: stored)
    try:
        seen = None if stored is None else _fitted(stored.lazy(), schema).collect()
    except UNREADABLE:
        return None
    return None if stored is None or seen is None or not is_sound(seen) else (stored, seen)


def _state(path: Path) -> State | None:
    """None if it is no file; reading a pipe may wait for ever."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev) if stat.S_ISREG(found.st_mode) else None


def _collected(
    paths: Sequence[Path],
    states: Sequence[State | None],
    schema: Mapping[str, Any],
    view: Callable[[pl.LazyFrame], pl.LazyFrame],
    kept: Callable[[pl.DataFrame], pl.DataFrame | None] = lambda rows: rows,
) -> pl.DataFrame | None:
    """What is in parts; None if it cannot be read together, or they announce more rows than can be in them.

    kept: what stays of some of the rows; None: they are not sound.
    """
    sizes = [state[0] for state in states if state]
    if len(sizes) < len(paths):
        return None
    # A damaged file of a few bytes may announce more rows than memory can hold. So some are read first, and more only
    # if so many can be in files of this size. To ask how many takes a third as long as to read small parts.
    most_rows = most(sum(sizes)) // (len(schema) * _VALUE)
    size, all_rows, read = min(most_rows + 1, _ROWS_AT_ONCE), _Rows(), 0
    try:
        stored = pl.scan_parquet(list(paths))
        viewed, full = view(stored), True
        while full:
            rows = viewed.slice(read, size).collect()
            full = len(rows) == size
            if full and not read and int(stored.select(pl.len()).collect().item()) > most_rows:
                return None
            found = kept(rows.rechunk())  # each part is a chunk, and thousands of them are slow
            if found is None:
                return None
            if not (full or read):
                return found
            all_rows.add(found)
            read += size
    except UNREADABLE:
        return None
    return all_rows.take()


def _fitted(
    frame: pl.LazyFrame,
    schema: Mapping[str, Any],
    needed: Sequence[str] | None = None,
    others: Sequence[str] | None = None,
) -> pl.LazyFrame:
    """The columns of `schema`, or those `needed`, and those of metrics, known here or not, that can be read.

    Columns that a part lacks are null; all parts have `session`.
    """
    present, metrics = {*frame.collect_schema().names(), "session"}, list[str]()
    add_readable(metrics, _others(frame, schema) if others is None else others)
    kinds = dict(schema) if needed is None else {name: schema[name] for name in needed}
    columns = {name: pl.col(name).cast(kind) if name in present else pl.lit(None, kind) for name, kind in kinds.items()}
    return frame.select(*(column.alias(name) for name, column in columns.items()), *metrics)


def _others(frame: pl.LazyFrame, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """All other columns of floats: those of metrics."""
    return tuple(name for name, kind in frame.collect_schema().items() if name not in schema and kind == pl.Float64)
