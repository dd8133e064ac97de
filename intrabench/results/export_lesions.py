"""Export what became of each lesion in stored masks, as one file that any program can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.metrics.lesion_rows import LesionRows
from intrabench.metrics.mask_pair import MaskPair
from intrabench.results.export import Exported, StoredAnswers, chosen
from intrabench.results.export_rows import check_ending, write_frame
from intrabench.results.selection import EVERYTHING, Selection

_WHO = ("dataset", "case", "target", "label", "model", "prompter", "seed", "session", "round")
_SCHEMA = {
    **{"lesion": pl.String, "number": pl.Int64, "ml": pl.Float64, "diameter_mm": pl.Float64},
    **{"z": pl.Float64, "y": pl.Float64, "x": pl.Float64, "parts": pl.Int64},
    **{"iou": pl.Float64, "dice": pl.Float64, "region_dice": pl.Float64},
}


def export_lesions(
    results: Path,
    file: Path,
    lesions: LesionRows,
    *,
    seed: int | None = None,
    round: int | None = None,
    selection: Selection = EVERYTHING,
) -> Exported:
    """Write the `LesionRows` of all kept answers that count in tables, each with the session that it is of.

    A session without lesions, true or false, has no line. file, and what is said: as of `export_rows`; seed, round,
    selection: as of `export`.

    Raises:
        IntraBenchError: the run kept no masks, nothing is called so, or the file cannot be written.
    """
    check_ending(file)
    rows, left_out = chosen(results, seed, round, selection)
    answers = StoredAnswers(results, rows, lambda case: {target.id: target for target in case.targets()})
    lines: list[dict[str, Any]] = []
    masks = 0
    for row, answer, targets in answers:
        masks += 1
        if row["target"] not in targets:
            place = f"case {row['case']} of {row['dataset']}"
            answers.unread[f"{place} has no target {row['target']} any more, so its lesions are unknown"] = None
            continue
        who = {name: row[name] for name in _WHO}
        lines += [who | line for line in lesions.of(MaskPair(targets[row["target"]], answer))]
    if not masks and not answers.unread:
        raise IntraBenchError(f"{results} has no masks; repeat the run with --save-masks")
    schema = {name: rows.schema[name] for name in _WHO} | _SCHEMA
    write_frame(pl.DataFrame(lines, schema=schema, orient="row"), file)
    return Exported(len(lines), left_out, list(answers.unread), [])
