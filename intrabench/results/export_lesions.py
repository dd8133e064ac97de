"""What became of each lesion in stored masks, as a frame, and as one file that any program can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.errors import IntraBenchError
from intrabench.mask import Floats
from intrabench.metrics.lesion_rows import LesionRows
from intrabench.metrics.mask_pair import MaskPair
from intrabench.results.export import Exported, StoredAnswers, chosen
from intrabench.results.export_rows import check_ending, write_frame
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.target import Target

_WHO = ("dataset", "case", "target", "label", "model", "prompter", "seed", "session", "round")
_SCHEMA = {
    **{"lesion": pl.String, "number": pl.Int64, "ml": pl.Float64, "diameter_mm": pl.Float64},
    **dict.fromkeys(("z", "y", "x", "x_mm", "y_mm", "z_mm"), pl.Float64),
    **{"parts": pl.Int64, "iou": pl.Float64, "dice": pl.Float64, "region_dice": pl.Float64},
}


class LesionsOfMasks(NamedTuple):
    """A line for each lesion; left_out, unread: as of `Exported`."""

    frame: pl.DataFrame
    left_out: list[str]
    unread: list[str]


def lesions_of_masks(
    results: Path,
    lesions: LesionRows,
    *,
    seed: int | None = None,
    round: int | None = None,
    selection: Selection = EVERYTHING,
) -> LesionsOfMasks:
    """The `LesionRows` of all kept answers that count in tables, each with the session that it is of.

    A session without lesions, true or false, has no line. seed, round, selection: as of `export`.

    Raises:
        IntraBenchError: the run kept no masks, or nothing is called so.
    """
    rows, left_out = chosen(results, seed, round, selection)
    answers = StoredAnswers(results, rows, _targets_and_affine)
    lines: list[dict[str, Any]] = []
    masks = 0
    for row, answer, (targets, affine) in answers:
        masks += 1
        if row["target"] not in targets:
            place = f"case {row['case']} of {row['dataset']}"
            answers.unread[f"{place} has no target {row['target']} any more, so its lesions are unknown"] = None
            continue
        who = {name: row[name] for name in _WHO}
        lines += [who | line for line in lesions.of(MaskPair(targets[row["target"]], answer), affine)]
    if not masks and not answers.unread:
        raise IntraBenchError(f"{results} has no masks; repeat the run with --save-masks")
    schema = {name: rows.schema[name] for name in _WHO} | _SCHEMA
    return LesionsOfMasks(pl.DataFrame(lines, schema=schema, orient="row"), left_out, list(answers.unread))


def export_lesions(
    results: Path,
    file: Path,
    lesions: LesionRows,
    *,
    seed: int | None = None,
    round: int | None = None,
    selection: Selection = EVERYTHING,
) -> Exported:
    """Write what `lesions_of_masks` finds; file, and what is said: as of `export_rows`.

    Raises:
        IntraBenchError: as there, or the file cannot be written.
    """
    check_ending(file)
    found = lesions_of_masks(results, lesions, seed=seed, round=round, selection=selection)
    write_frame(found.frame, file)
    return Exported(len(found.frame), found.left_out, found.unread, [])


def _targets_and_affine(case: StoredCase) -> tuple[dict[str, Target], Floats]:
    return {target.id: target for target in case.targets()}, case.index.grid.canonical_affine
