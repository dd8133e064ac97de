"""Stored sessions with what they were played on: the turns of each round, the reference, and the answers if stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.datasets.cases.store import open_case
from intrabench.errors import IntraBenchError
from intrabench.mask import TURNED, Mask, Plane
from intrabench.results.masks import read_masks
from intrabench.results.origin import dataset_of
from intrabench.results.parts import read_turns
from intrabench.results.schema import plane_of
from intrabench.results.statuses import ANSWERED
from intrabench.target import Target
from intrabench.turns import Turn, turns_by_round


@dataclass(frozen=True)
class StoredSession:
    """A session. row: its first row. rounds: its turns, by round. answers: after each round; none if not stored.

    Turns, target and answers are in the plane in which the user read the scan.
    """

    row: Mapping[str, Any]
    rounds: Mapping[int, list[Turn]]
    target: Target
    root: Path

    @property
    def plane(self) -> Plane:
        """The plane in which the user read the scan."""
        return plane_of(self.row)

    @cached_property
    def answers(self) -> list[Mask]:
        """Read when they are asked for."""
        return [mask.reordered(TURNED[self.plane]) for mask in read_masks(self.root, self.row["session"])]

    @property
    def first(self) -> list[Turn]:
        """The turns before the first answer that a person sees."""
        return self.rounds[min(self.rounds)]


@dataclass
class Playback:
    """Reads sessions of a results folder; `problems` are sentences on what could not be read."""

    root: Path
    problems: set[str] = field(default_factory=set)

    def sessions(self, rows: pl.DataFrame) -> Iterator[StoredSession]:
        """The sessions of rows (with `run_id`) that have turns and whose reference is there, case by case."""
        first = rows.filter(pl.col("status").is_in(ANSWERED)).sort("round").unique("session", keep="first")
        for _, of_case in first.sort("dataset", "case", "target", "session").group_by(
            "dataset", "case", maintain_order=True
        ):
            turns = read_turns(self.root, of_case["session"].to_list()).sort("turn")
            by_session = turns.partition_by("session", as_dict=True)
            targets = self._targets(of_case)
            for row in of_case.iter_rows(named=True):
                target = targets.get(row["target"])
                if target is not None and (row["session"],) in by_session:
                    rounds = turns_by_round(by_session[row["session"],].to_dicts())
                    yield StoredSession(row, rounds, target.turned(plane_of(row)), self.root)

    def _targets(self, rows: pl.DataFrame) -> dict[str, Target]:
        """The references of one case that are still those of the rows."""
        row = rows.row(0, named=True)
        try:
            stored = open_case(dataset_of(self.root, row), row["case"])
            found = {one.id: one for one in stored.targets(rows["target"].unique().to_list())}
        except IntraBenchError as error:
            self.problems.add(f"{row['dataset']}, case {row['case']}, is left out: {error}")
            return {}
        now = {id: one.mask.voxels for id, one in found.items()}
        changed = {
            id for id, size in rows.select("target", "target_voxels").unique().iter_rows() if now.get(id) != size
        }
        self.problems.update(
            f"{row['dataset']}, case {row['case']}, {id}: the reference changed since" for id in changed
        )
        return {id: one for id, one in found.items() if id not in changed}
