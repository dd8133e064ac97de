"""Scores of instances as in the published evaluator, only for comparison with its numbers.

RadioActive ignores which prompt a prediction answers: per case and class, it assigns predictions to instances so that
the sum of Dice is largest. A pair without overlap counts twice, as a false prediction and as a missed instance;
unassigned ones count once. Empty predictions are included, except the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.metrics.parts.overlap import Overlap
from intrabench.results.current import IDENTITY
from intrabench.results.masks import read_masks
from intrabench.results.origin import dataset_of
from intrabench.results.statuses import FAILED
from intrabench.statistics.aggregate import AGGREGATIONS, Aggregation

MATCHED = Aggregation(
    "matched",
    "predictions assigned to instances as RadioActive did, misses counted twice, then as the protocol",
    AGGREGATIONS["protocol"].steps,
)


def matched_dice(instances: Sequence[Mask], predictions: Sequence[Mask]) -> list[float]:
    """The Dice of every row that the published evaluator writes for one case and class, in any order."""
    from scipy.optimize import linear_sum_assignment

    kept = [mask for number, mask in enumerate(predictions) if number or mask.any()]
    pairs = np.array([[Overlap.of(one, other).dice for other in kept] for one in instances]).reshape(
        len(instances), len(kept)
    )
    found = [float(value) for value in pairs[linear_sum_assignment(pairs, maximize=True)] if value > 0]
    misses = (len(instances) - len(found)) + (len(kept) - len(found))
    return found + [0.0] * misses


def matched_scores(root: Path, states: pl.DataFrame) -> pl.DataFrame:
    """`states` with the rows of the published evaluator in place of those that were scored, and their ``value``.

    Raises:
        IntraBenchError: the run kept no masks, or its data set is not available.
    """
    keys = [*IDENTITY, "dataset", "case", "label", "seed"]
    parts = []
    for group in states.filter(pl.col("status") != "not_applicable").partition_by(keys, maintain_order=True):
        values = matched_dice(*_masks(root, group.sort("instance")))
        first = group.head(1).drop("value", strict=False)
        parts.append(first.join(pl.DataFrame({"value": values}, schema={"value": pl.Float64}), how="cross"))
    if not parts:
        raise IntraBenchError(f"{root} has no results to match; run something first")
    return pl.concat(parts)


def _masks(root: Path, group: pl.DataFrame) -> tuple[list[Mask], list[Mask]]:
    """The instances of one case and class, and the answer to each."""
    first = group.row(0, named=True)
    stored = store.open_case(dataset_of(root, first), first["case"])
    targets = [target.mask for target in stored.targets(group["target"].to_list())]
    return targets, list(_answers(root, group))


def _answers(root: Path, group: pl.DataFrame) -> Iterator[Mask]:
    for row in group.iter_rows(named=True):
        kept = read_masks(root, row["session"])
        if row["round"] < len(kept):
            yield kept[row["round"]]
        elif row["status"] in FAILED:
            yield Mask.empty()
        else:
            raise IntraBenchError(
                f"{root} has no mask of {row['dataset']}, case {row['case']}, target {row['target']}; repeat the run "
                "with --save-masks, which keeps them"
            )
