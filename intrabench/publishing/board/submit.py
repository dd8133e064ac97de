"""`submit`: a submission from a results folder, checked as everybody will check it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.engine.session_spec import CONTRACT
from intrabench.errors import IntraBenchError, several
from intrabench.files.atomic import put, unique, writing
from intrabench.files.names import file_name
from intrabench.publishing.board.availability import is_published
from intrabench.publishing.board.digests import LEAST, ledger_of, sampled_sessions
from intrabench.publishing.board.files import LEDGER, NAME, PART, Data, Statement, Submitter, write_checksums
from intrabench.publishing.board.lines import refusals, stated_lines
from intrabench.publishing.board.submission import Submission, read_submission
from intrabench.results.current import counting
from intrabench.results.labels import BY_PEOPLE
from intrabench.results.masks import is_whole, masks_file
from intrabench.results.origin import dataset_of
from intrabench.results.parts import damaged_parts, read_turns
from intrabench.results.private import without_paths
from intrabench.results.runs import read_record
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.store import write_parquet
from intrabench.statistics.soundness import is_partial, some_rows

MOST_MASKS = 20_000_000
"""Bytes of all masks of a submission."""

SAMPLE = 20
"""Sessions whose turns and masks are part of a submission."""

_UNSHARED = ("tracebacks", "arguments")
"""Entries of records that nobody else needs."""


def submit(
    results: Path, folder: Path, by: Submitter, sample: int = SAMPLE, selection: Selection = EVERYTHING
) -> tuple[Submission, list[str]]:
    """Make a submission from the sessions of a results folder that count in tables.

    sample: so many sessions have their turns in it, and their masks if they were kept, as far as these are small.
    selection: only these sessions; its notes say so.

    Returns:
        The submission as it was read again, and sentences about what is left out or to be known before publishing it.

    Raises:
        IntraBenchError: it cannot be ranked, or not be written; then nothing is left of it.
    """
    if not NAME.fullmatch(folder.resolve().name):
        raise IntraBenchError(
            f"{folder} cannot be the name of a submission, because it becomes part of addresses; give a folder named "
            "with small letters, digits, and . _ - between"
        )
    if sample < LEAST:
        raise IntraBenchError(f"--sample {sample} is too small; give {LEAST} or more")
    if folder.exists():
        raise IntraBenchError(f"{folder} exists; give a new folder, or remove it")
    rows, left_out = _rows(results, selection)
    by = replace(by, notes="; ".join(filter(None, [by.notes, without_paths(selection.words)])))
    # Its name is checked against its content, so it is written under its own name in a temporary folder, and moved from
    # there once it is sound.
    temporary = folder.with_name(f".{folder.name}.{unique()}") / folder.name
    with writing(folder):
        try:
            temporary.mkdir(parents=True)
            _fill(temporary, results, rows, by, sample)
            made = read_submission(temporary)
            if made.problems:
                raise IntraBenchError(f"{results} cannot be submitted: {'; '.join(made.problems)}")
            put(temporary, folder)
        finally:
            shutil.rmtree(temporary.parent, ignore_errors=True)
    return Submission(folder, made.statement, made.rows, []), [*left_out, *_to_know(results, rows, made.statement)]


def _rows(results: Path, selection: Selection) -> tuple[pl.DataFrame, list[str]]:
    """The rows that count, sorted, and what is left out.

    Raises:
        IntraBenchError: there are none, they cannot be ranked, or some cannot be read.
    """
    rows, left_out = counting(some_rows(results), results)
    rows = selection.of(rows, results)
    if damaged := damaged_parts(results):
        raise IntraBenchError("; ".join(damaged))
    if older := [one for one in rows["contract"].unique().drop_nulls() if one < CONTRACT]:
        raise IntraBenchError(
            f"{results} has rows of version {older[0]} of the meaning of rows, and this intrabench writes {CONTRACT}; "
            "run these sessions again"
        )
    if refused := list(refusals(rows)):
        raise IntraBenchError(f"{results} cannot be submitted: {'; '.join(refused)}")
    order = ("dataset", "case", "target", "model", "prompter", "seed", "session", "round")
    return rows.sort(order), left_out


def _fill(folder: Path, results: Path, rows: pl.DataFrame, by: Submitter, sample: int) -> None:
    for name in ("rows", "turns", "runs", "masks"):
        (folder / name).mkdir()
    sampled = sampled_sessions(rows, sample)
    people = rows.filter(BY_PEOPLE)["session"].unique().to_list()
    turns = read_turns(results, sorted({*sampled, *people})).with_columns(written_at=pl.lit(0, pl.Int64))
    write_parquet(rows, folder / "rows" / PART)
    write_parquet(turns.sort("session", "turn"), folder / "turns" / PART)
    write_parquet(ledger_of(rows), folder / LEDGER)
    masks = _copy_masks(results, folder, sampled)
    for run in rows["run_id"].unique().sort():
        record = {key: value for key, value in read_record(results, run).items() if key not in _UNSHARED}
        if not record:
            raise IntraBenchError(f"{results} lacks runs/{run}.json, the record of a run; run its command again")
        (folder / "runs" / f"{file_name(run)}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    Statement(
        id=folder.name,
        by=by,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        intrabench=version("intrabench"),
        rows=len(rows),
        data=tuple(_data(results, row) for row in _datasets(rows)),
        sampled=tuple(sampled),
        masks=tuple(masks),
        lines=stated_lines(rows),
    ).write(folder)
    write_checksums(folder)


def _copy_masks(results: Path, folder: Path, sessions: Sequence[str]) -> list[str]:
    """Copy the masks that were kept, until they are too many; whose they are."""
    copied, size = list[str](), 0
    for session in sessions:
        path = masks_file(results, session)
        if is_whole(path) and size + path.stat().st_size <= MOST_MASKS:
            shutil.copyfile(path, masks_file(folder, session))
            size += path.stat().st_size
            copied.append(session)
    return copied


def _datasets(rows: pl.DataFrame) -> Sequence[Mapping[str, Any]]:
    """A row of each data set."""
    return rows.unique(["dataset", "dataset_version"], keep="last", maintain_order=True).sort("dataset").to_dicts()


def _data(results: Path, row: Mapping[str, Any]) -> Data:
    dataset = str(row["dataset"]), str(row["dataset_version"])
    published = is_published(*dataset)
    try:
        card = dataset_of(results, row).card
    except IntraBenchError:
        return Data(*dataset, published)
    return Data(*dataset, published, card.title, card.modality, card.licence, card.citation, card.homepage)


def _to_know(results: Path, rows: pl.DataFrame, statement: Statement | None) -> list[str]:
    """What to know before such a folder is published."""
    assert statement is not None
    notes = [is_partial(results)]
    for one in statement.data:
        if not one.published:
            patients = rows.filter(dataset=one.dataset)["patient"].n_unique()
            notes.append(
                f"rows name the cases and {several(patients, 'patient')} of {one.dataset}, which is no data set of "
                "IntraBench; publish them only if you may"
            )
    if not statement.masks:
        notes.append("there are no masks, for the run had no --save-masks; checks then rest on rows and replays")
    return [note for note in notes if note]
