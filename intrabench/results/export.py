"""Stored masks as NIfTI on the grid of the files of their scans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import polars as pl

from intrabench.datasets.cases import store
from intrabench.datasets.cases.notes import once
from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.errors import IntraBenchError
from intrabench.files.atomic import writing
from intrabench.files.names import file_name
from intrabench.mask import Mask
from intrabench.results.current import counting
from intrabench.results.labels import MODEL
from intrabench.results.masks import read_masks
from intrabench.results.origin import dataset_of
from intrabench.results.parts import read_rows
from intrabench.results.selection import EVERYTHING, Selection

T = TypeVar("T")


class Exported(NamedTuple):
    """What became of an export: how many masks were written, and sentences.

    left_out: one for each kind of sessions that are left out. unread: one for each file of masks, case or data set that
    cannot be read. notes: one for each kind of scans of which the files say less than the scan does.
    """

    written: int
    left_out: list[str]
    unread: list[str]
    notes: list[str]


def export(
    results: Path,
    folder: Path,
    *,
    seed: int | None = None,
    round: int | None = None,
    selection: Selection = EVERYTHING,
) -> Exported:
    """Write ``DATASET/CASE/TARGET__MODEL__PROMPTER__seedS_roundR.nii.gz`` for all kept answers that count in tables.

    Names are those of `file_name`. Sessions that differ in something else, such as the protocol, or in upper and lower
    case alone, have their key behind them. seed: only this one. round: only the state after so many corrections; of
    sessions that ended before, the last. selection: of which sessions.

    A mask is on the grid of the scan's own files, also if the scan is played on another one (`StoredCase.write_mask`).

    Raises:
        IntraBenchError: the run kept no masks, nothing is called so, or a file cannot be written.
    """
    written = 0
    owners: dict[str, str] = {}
    notes: dict[tuple[str, str], None] = {}
    rows, left_out = chosen(results, seed, round, selection)
    answers = StoredAnswers(results, rows, _readable)
    for row, mask, case in answers:
        who = [row["target"], row["model"], row["prompter"], f"seed{row['seed']}_round{row['round']}"]
        within = Path(file_name(row["dataset"]), file_name(row["case"]))
        key = str(within / file_name(*who)).casefold()
        if owners.setdefault(key, row["session"]) != row["session"]:
            who.append(row["session"])
        path = folder / within / f"{file_name(*who)}.nii.gz"
        with writing(path):
            case.write_mask(path, mask, f"mask {answers.number} of {rows.height}")
        notes |= {(row["case"], note): None for note in _notes(case)}
        written += 1
    if not written and not answers.unread:
        raise IntraBenchError(f"{results} has no masks; repeat the run with --save-masks")
    return Exported(written, left_out, list(answers.unread), once(notes))


class StoredAnswers(Generic[T]):
    """The kept masks of rows, each with its row, and with what `read` takes of its case, which is opened once.

    Afterwards `unread` has a sentence for each file of masks, case or data set that cannot be read. number: of the row
    that it is at, from 1.
    """

    def __init__(self, results: Path, rows: pl.DataFrame, read: Callable[[StoredCase], T]) -> None:
        self._results, self._rows, self._read = results, rows, read
        self.unread: dict[str, None] = {}
        self.number = 0

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Mask, T]]:
        last: tuple[tuple[str, str], T | None] | None = None
        session, masks = "", list[Mask]()
        for number, row in enumerate(self._rows.iter_rows(named=True), start=1):
            self.number = number
            place = row["dataset"], row["case"]
            try:
                if row["session"] != session:  # rows are sorted
                    session, masks = row["session"], []
                    masks = read_masks(self._results, session)
                if row["round"] >= len(masks):
                    continue
                if last is None or last[0] != place:
                    last = place, None
                    last = place, self._read(store.open_case(dataset_of(self._results, row), row["case"]))
            except IntraBenchError as error:
                self.unread[str(error)] = None
                continue
            if last[1] is not None:
                yield row, masks[row["round"]], last[1]


def _readable(case: StoredCase) -> StoredCase:
    _ = case.volume  # says what cannot be read
    return case


def _notes(case: StoredCase) -> list[str]:
    """What files on the grid of a scan cannot say."""
    original = case.volume.original
    if original is None or not original.uneven:
        return []
    step = original.grid.steps[2]
    return [
        "slices lie at uneven distances, which NIfTI cannot state; masks have one slice for each of them, at equal "
        f"steps of {step:.4g} mm"
    ]


def chosen(results: Path, seed: int | None, round: int | None, selection: Selection) -> tuple[pl.DataFrame, list[str]]:
    """The rows whose masks are wanted, sorted, and which sessions are left out because newer ones count."""
    rows, left_out = counting(read_rows(results), results)
    rows = selection.of(rows, results)
    rows = rows.filter(pl.col("status") != "not_applicable").with_columns(MODEL)
    if seed is not None:
        values = rows["seed"].unique().sort().to_list()
        rows = rows.filter(pl.col("seed") == seed)
        if rows.is_empty():
            raise IntraBenchError(f"{results} has no seed {seed} among these; it has {', '.join(map(str, values))}")
    if round is not None:
        if round < 0:
            raise IntraBenchError(f"--round {round} is no number of corrections; give 0 or more")
        rows = rows.filter(pl.col("round") <= round)
        rows = rows.filter(pl.col("round") == pl.col("round").max().over("session"))
    return rows.sort("dataset", "case", "target", "session", "round"), left_out
