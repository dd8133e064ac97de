"""A submission as it is read: checked against itself, so that whatever is shown of it follows from its rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError, several
from intrabench.files.documents import number_of_json
from intrabench.publishing.board import consistency
from intrabench.publishing.board.digests import LEAST, against, read_ledger, sampled_sessions
from intrabench.publishing.board.files import LEDGER, Statement, look, read_statement, wrong_checksums
from intrabench.publishing.board.lines import LINE, TABLE, line_words, refusals, stated_lines
from intrabench.results.parts import damaged_parts, read_rows
from intrabench.results.runs import read_record
from intrabench.results.weights import how

MOST = 20
"""Sentences of one kind; more are counted."""


@dataclass(frozen=True)
class Submission:
    """What is in a folder. statement, rows: None if they cannot be read. problems: why it is refused, if it is."""

    folder: Path
    statement: Statement | None
    rows: pl.DataFrame | None
    problems: list[str]

    @property
    def name(self) -> str:
        """What the folder is called."""
        return self.folder.resolve().name


def read_submission(folder: Path) -> Submission:
    """Read a submission and check it against itself; nothing of it is executed, and no data or models are needed.

    Raises:
        IntraBenchError: there is no such folder.
    """
    if not folder.is_dir():
        raise IntraBenchError(f"{folder} is no folder; give one that `intrabench submit` made")
    found, wrong = look(folder)
    if wrong:
        return Submission(folder, None, None, _few(wrong))
    problems = _few(wrong_checksums(folder, found))
    try:
        statement = read_statement(folder)
    except IntraBenchError as error:
        return Submission(folder, None, None, [*problems, str(error)])
    rows = read_rows(folder)
    problems += damaged_parts(folder)
    if not problems or not rows.is_empty():
        problems += _about_rows(folder, statement, rows)
    return Submission(folder, statement, rows, problems)


def _about_rows(folder: Path, statement: Statement, rows: pl.DataFrame) -> list[str]:
    refused = _few(refusals(rows))
    averaged = not refused
    refused += _about_name(folder, statement)
    ledger = read_ledger(folder / LEDGER)
    refused += [f"{LEDGER} cannot be read"] if ledger is None else _few(against(rows, ledger))
    if statement.rows != len(rows):
        refused.append(f"submission.json says {statement.rows} rows, but there are {len(rows)}")
    refused += _few(consistency.overlaps(rows))
    if not averaged:
        return refused
    refused += _few(_means(rows, statement))
    refused += _few(_sampled(folder, rows, statement))
    absent = [run for run in rows["run_id"].unique().sort() if not read_record(folder, str(run))]
    refused += [f"runs/{run}.json, the record of a run, is missing or damaged" for run in absent[:MOST]]
    return refused


def _about_name(folder: Path, statement: Statement) -> list[str]:
    name = folder.resolve().name
    if statement.id == name:
        return []
    return [f"submission.json has the id {statement.id!r}, but its folder is {name!r}; rename the folder back"]


def _means(rows: pl.DataFrame, statement: Statement) -> Iterator[str]:
    """What is stated of lines and does not follow from the rows."""
    now = {_key(line): line for line in stated_lines(rows)}
    then = {_key(line): line for line in statement.lines}
    for key in [*now, *(key for key in then if key not in now)]:
        one, other = now.get(key), then.get(key)
        if one is None or other is None:
            words = line_words(one or dict.fromkeys((*TABLE, *LINE), "?") | (other or {}))
            how = "lacks the line of {}, which the rows have" if one else "has the line of {}, which the rows lack"
            yield f"submission.json {how.format(words)}"
            continue
        for name, value in _numbers(one).items():
            if not _equal(value, claim := _numbers(other).get(name)):
                yield f"{line_words(one)}: {name} is {value} by the rows, but submission.json says {claim}"


def _key(line: Any) -> tuple[Any, ...]:
    return tuple(str(how(line) if name == "weights" else line.get(name)) for name in (*TABLE, *LINE))


def _numbers(line: dict[str, Any]) -> dict[str, Any]:
    means = line.get("means")
    plain = {name: value for name, value in line.items() if name not in (*TABLE, *LINE, "means")}
    return plain | {f"the mean {id}": value for id, value in (means if isinstance(means, dict) else {}).items()}


def _equal(one: Any, other: Any) -> bool:
    one, other = number_of_json(one), number_of_json(other)
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def _sampled(folder: Path, rows: pl.DataFrame, statement: Statement) -> Iterator[str]:
    """Whether the sample is the one that nobody can choose, and whether its turns and masks fit its rows."""
    if [*statement.sampled] != sampled_sessions(rows, max(LEAST, len(statement.sampled))):
        yield "the sampled sessions in submission.json are not those that follow from the rows; submit again"
        return
    yield from consistency.turns(folder, rows, statement.sampled)
    there = {path.stem for path in (folder / "masks").glob("*.npz")}
    for name in sorted(there ^ {*statement.masks}):
        yield f"masks/{name}.npz is {'not in submission.json' if name in there else 'missing'}"
    for name in sorted({*statement.masks} - {*statement.sampled}):
        yield f"masks of {name} are of no sampled session"
    yield from consistency.masks(folder, rows, sorted(there & {*statement.masks} & {*statement.sampled}))


def _few(sentences: Iterable[str]) -> list[str]:
    """The first of some sentences, and how many more there are."""
    found = iter(sentences)
    few = list(islice(found, MOST))
    more = sum(1 for _ in found)
    return [*few, f"and {more} more like the last one"] if more else few


SAME = ("session", "run_id", "round", "written_at")
"""Equal in two submissions only if the rows are: a run writes each row at a time of its own."""


@dataclass(frozen=True)
class SharedSessions:
    """How many sessions two submissions have in common."""

    one: str
    other: str
    sessions: int

    @property
    def words(self) -> str:
        """In a sentence."""
        both = f"{self.one} and {self.other} have {several(self.sessions, 'session')} in common"
        return f"{both}, with equal runs and times: one is a copy, or both are of one run; keep one of them"


def shared_sessions(submissions: Sequence[Submission]) -> Iterator[SharedSessions]:
    """Each two submissions that have sessions in common."""
    read = [(one.name, one.rows) for one in submissions if one.rows is not None]
    if len(read) < 2:
        return
    rows = pl.concat([rows.select(SAME).with_columns(submission=pl.lit(name)) for name, rows in read])
    pairs = rows_of_several(rows).filter(pl.col("submission") < pl.col("other")).group_by("submission", "other")
    for found in pairs.agg(pl.col("session").n_unique()).sort("submission", "other").iter_rows():
        yield SharedSessions(*found)


def rows_of_several(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    """The rows that several submissions have, with `columns`: once for each `other` submission that has them, too.

    rows: of all submissions, with a column `submission`.
    """
    # Only rows that are there twice are joined, for those of all submissions with themselves would take much memory.
    twice = rows.select("submission", *SAME, *columns).filter(pl.struct(SAME).is_duplicated())
    others = twice.select(pl.col("submission").alias("other"), *SAME)
    return twice.join(others, on=SAME).filter(pl.col("submission") != pl.col("other"))
