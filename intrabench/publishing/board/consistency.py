"""What can be computed again without the data: overlaps from voxel counts, efforts and hashes from turns, sizes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.effort import SECONDS, Effort
from intrabench.errors import IntraBenchError
from intrabench.protocols import protocol
from intrabench.publishing.board.digests import title
from intrabench.results.labels import by_person
from intrabench.results.masks import masks_file, read_masks
from intrabench.results.parts import read_turns
from intrabench.results.statuses import FAILED
from intrabench.turns import turns_by_round

_TOLERANCE = 1e-6


def overlaps(rows: pl.DataFrame) -> Iterator[str]:
    """A sentence for each row whose Dice or IoU is not what its voxel counts give, or is not 0 though it failed."""
    fp, fn = pl.col("fp_voxels"), pl.col("fn_voxels")
    common = pl.col("pred_voxels") - fp
    counted = fp.is_not_null() & fn.is_not_null() & pl.col("pred_voxels").is_not_null()
    negative = (fp < 0) | (fn < 0) | (common < 0)
    failed = pl.col("status").is_in(FAILED) & ~counted
    union = common + fp + fn
    for name, whole in (("dice", 2 * common + fp + fn), ("iou", union)):
        share = (2 * common if name == "dice" else common) / whole
        now = pl.when(failed).then(0.0).when(union == 0).then(1.0).otherwise(share)
        frame = rows.with_columns(_now=now, _negative=negative)
        wrong = (counted | failed) & pl.col(name).is_not_null() & ((pl.col(name) - now).abs() > _TOLERANCE)
        for row in frame.filter(wrong | negative.fill_null(False)).iter_rows(named=True):
            yield (
                f"{title(row)}: it has more false positives than voxels of the answer"
                if row["_negative"]
                else f"{title(row)}: {name} is {row[name]:.6g}, but its voxel counts and status give {row['_now']:.6g}"
            )


def turns(folder: Path, rows: pl.DataFrame, sessions: Sequence[str]) -> Iterator[str]:
    """A sentence for each row of these sessions whose effort, or hash of prompts, is not that of their stored turns."""
    stored = read_turns(folder, sessions).sort("session", "turn")
    by_session = {str(key[0]): part for key, part in stored.partition_by("session", as_dict=True).items()}
    for session in sessions:
        played = rows.filter(session=session).sort("round")
        history = by_session.get(session)
        if history is None:
            yield f"{title(played.row(0, named=True))}: the turns of its session are missing"
        else:
            yield from _turns(played, history)


def _turns(rows: pl.DataFrame, turns: pl.DataFrame) -> Iterator[str]:
    """The same of one session."""
    row: dict[str, Any]
    try:
        by_round = turns_by_round(turns.to_dicts())
    except IntraBenchError as error:
        yield str(error)
        return
    preset = protocol(rows["protocol"][0])
    usual = rows["effort"][0] == SECONDS and rows["joint"][0] is None and not by_person(rows["prompter"][0])
    judged = [number for number in sorted(by_round) if usual and number <= rows["round"][-1]]
    costs = {number: [preset.cost(turn.actions) for turn in by_round[number]] for number in judged}
    for row in rows.iter_rows(named=True):
        texts = turns.filter(pl.col("round") <= row["round"])["given"]
        if hashlib.sha256("".join(texts).encode()).hexdigest()[:16] != row["prompts_hash"]:
            yield f"{title(row)}: the hash of its prompts is not that of its turns"
        if not usual:  # seconds that were measured, or shared
            continue
        spent = Effort()
        for cost in (cost for number in costs if number <= row["round"] for cost in costs[number]):
            spent += cost
        for name, value in spent.columns.items():
            if abs((row[name] or 0) - value) > _TOLERANCE:
                yield f"{title(row)}: {name} is {row[name]:g}, but its turns cost {value:g}"


def masks(folder: Path, rows: pl.DataFrame, sessions: Sequence[str]) -> Iterator[str]:
    """A sentence for each row of these sessions whose mask has another number of voxels than the row says."""
    for session in sessions:
        played = rows.filter(session=session).sort("round")
        try:
            stored = read_masks(folder, session)
        except IntraBenchError:
            yield f"{title(played.row(0, named=True))}: {masks_file(folder, session).name} cannot be read"
            continue
        if len(stored) != len(played):
            yield f"{title(played.row(0, named=True))}: its session has {len(played)} rounds and {len(stored)} masks"
            continue
        for mask, row in zip(stored, played.iter_rows(named=True), strict=True):
            if row["pred_voxels"] is not None and mask.voxels != row["pred_voxels"]:
                yield f"{title(row)}: its mask has {mask.voxels} voxels, but the row says {row['pred_voxels']}"
