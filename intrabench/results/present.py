"""Which rows are of scans and targets that are still there: folders change, and results stay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from intrabench.datasets.cases import store
from intrabench.datasets.perturb.perturbed import parted, with_changes
from intrabench.errors import IntraBenchError, several
from intrabench.results.origin import folders_of
from intrabench.target import WHOLE_CASE, annotation_info, by_person

if TYPE_CHECKING:
    from intrabench.datasets.folder.folder import Folder

_NAMED = 3
"""How many cases or targets a sentence names."""

_TARGET = ("dataset", "case", "target")


def present(results: Path, rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The rows of a results folder without those of what its data sets no longer have, and sentences about these.

    That is cases that are not in their folder any more, and targets that are not in a case any more which was converted
    again since. A folder changes nothing if it is not here, if nobody gave it to a command on this machine, if it
    cannot be read, or if it has none of the cases, for then it is another one. Data sets that are no folders have
    versions instead.
    """
    folders = folders_of(results, rows["run_id"].unique().drop_nulls())
    if not any(folders.values()):
        return rows, []

    @cache
    def called(run: str, dataset: str) -> list[Folder]:  # with whatever changes
        return [folder for folder in folders.get(run, ()) if folder.short_spec == parted(dataset)[0]]

    newest = rows.group_by("dataset", "case").agg(pl.col("run_id").sort_by("written_at").last())
    where = {(dataset, case): called(run, dataset) for dataset, case, run in newest.iter_rows()}
    listed = {folder: frozenset(folder.cases()) for folder in {one for found in where.values() for one in found}}
    there: dict[tuple[str, str], Folder] = {}
    gone: list[tuple[str, ...]] = []
    for (dataset, case), possible in where.items():
        holding = [folder for folder in possible if case in listed[folder]]
        if holding:
            there[dataset, case] = holding[0]
        elif possible:
            gone.append((dataset, case))
    names = {parted(dataset)[0] for dataset, _ in there}
    rows, notes = _without(rows, [each for each in gone if parted(each[0])[0] in names])
    old = [
        (*each, target)
        for each, targets in _outlived(rows, there).items()
        for target in _missing(there[each], *each, targets)
    ]
    rows, more = _without(rows, old)
    return rows, [*notes, *more]


def _outlived(rows: pl.DataFrame, there: Mapping[tuple[str, str], Folder]) -> dict[tuple[str, str], list[str]]:
    """The targets of each case that was converted again after one of them was played last.

    So its labels may have changed. Other cases need not be opened to know that they have not.
    """
    played = rows.filter(pl.col("target") != WHOLE_CASE).group_by(_TARGET).agg(pl.col("written_at").max())
    cases = played.group_by("dataset", "case").agg(pl.col("written_at").min(), "target")
    homes = {folder: store.home_of(folder, None) for folder in set(there.values())}
    return {
        (dataset, case): targets
        for dataset, case, first, targets in cases.iter_rows()
        if (folder := there.get((dataset, case))) and store.converted_ns(homes[folder], case) > first
    }


def _missing(folder: Folder, dataset: str, case: str, targets: Iterable[str]) -> list[str]:
    """Those of `targets` that a case has no longer; none if nobody has converted its files since they changed."""
    with suppress(IntraBenchError):
        index = store.index(with_changes(folder, parted(dataset)[1]), case)
        if index is not None:
            annotations = (annotation_info(infos) for infos in by_person(index.targets))
            return sorted(set(targets) - {info.id for info in (*index.targets, *annotations)})
    return []


def _without(rows: pl.DataFrame, what: Sequence[tuple[str, ...]]) -> tuple[pl.DataFrame, list[str]]:
    """The rows without those of cases or targets, `_TARGET`, and a sentence for each data set."""
    if not what:
        return rows, []
    keys = list(_TARGET[: len(what[0])])
    lost = pl.DataFrame(what, schema=dict.fromkeys(keys, pl.String), orient="row")
    left = rows.join(lost, on=keys, how="semi")
    notes = []
    for dataset, count in left.group_by("dataset").agg(pl.col("session").n_unique()).sort("dataset").iter_rows():
        named = [
            case if not target else f"{target[0]} of case {case}"
            for name, case, *target in sorted(what)
            if name == dataset
        ]
        thing = keys[-1] if len(named) == 1 else f"{keys[-1]}s"
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        are = "is" if count == 1 else "are"
        notes.append(
            f"{several(count, 'session')} of {dataset} {are} left out: its folder no longer has {thing} "
            f"{', '.join(named[:_NAMED])}{more}"
        )
    return rows.join(lost, on=keys, how="anti", maintain_order="left"), notes
