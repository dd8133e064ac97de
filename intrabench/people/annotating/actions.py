"""The measured seconds of people, ``RESULTS/people/actions-SESSION-HASH.parquet``: one line for each action.

Rows keep the estimate of the effort table, which is the same for people and simulated users. What was taken back again
is only here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.files.atomic import atomically, writing
from intrabench.people.annotating.log import Event, kept
from intrabench.results.packs import reading
from intrabench.results.store import write_parquet

ACTIONS: dict[str, Any] = {
    "session": pl.String,
    "rater": pl.String,
    "event": pl.Int64,
    "round": pl.Int64,
    "turn": pl.Int64,
    "action": pl.Int64,
    "kind": pl.String,
    "label": pl.Int64,
    "seconds": pl.Float64,
    "at": pl.Float64,
    "model_s": pl.Float64,
    "undone": pl.Boolean,
}
"""event: the number of the turn, undo or finish among those of the session. round, turn: as in the stored turns; null
if the turn was taken back, and for undo and finish. seconds: that the person was active. at: when it was done, in
seconds since 1970, by the clock of the person's computer. model_s: on the last action of a turn, how long the model
took to answer."""


def write_actions(root: Path, session: str, rater: str, events: Sequence[Event]) -> None:
    """Write the actions of a finished session; the same ones have the same file.

    Raises:
        IntraBenchError: the file cannot be written.
    """
    digest = hashlib.sha256(repr([event.id for event in events]).encode()).hexdigest()[:8]
    path = root / "people" / f"actions-{session}-{digest}.parquet"
    with writing(path), atomically(path) as part:
        write_parquet(pl.DataFrame(_lines(session, rater, events), schema=ACTIONS), part)


def read_actions(root: Path) -> pl.DataFrame:
    """The actions of all people, with the columns of `ACTIONS`."""

    def read(paths: Sequence[Path]) -> pl.DataFrame:
        found = [path for path in paths if path.name.startswith("actions-")]
        columns = [pl.col(name).cast(kind) for name, kind in ACTIONS.items()]
        frames = [pl.read_parquet(path).select(columns) for path in found]
        return pl.concat([pl.DataFrame(schema=ACTIONS), *frames])

    return reading(root / "people", read)


def _lines(session: str, rater: str, events: Sequence[Event]) -> list[dict[str, Any]]:
    numbers = {event.id: number for number, event in enumerate(kept(events))}
    return [
        {
            **{"session": session, "rater": rater, "event": event, "action": action},
            **dict.fromkeys(("round", "turn"), numbers.get(one.id)),  # each turn of a person begins a round
            **vars(timed),
            "model_s": one.model_s if action == len(one.actions) - 1 else None,
            "undone": one.kind == "turn" and one.id not in numbers,
        }
        for event, one in enumerate(events)
        for action, timed in enumerate(one.actions)
    ]
