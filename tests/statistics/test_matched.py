"""The published evaluator's way of scoring: the four situations of the facts about it, and in a table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.mask import Mask
from intrabench.metrics.parts.overlap import Overlap
from intrabench.reporting.table import Layout, effort_table
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.evaluation import counted_rows
from intrabench.statistics.matched import MATCHED, matched_dice
from intrabench.statistics.statistic import Statistic
from tests.conftest import Said
from tests.wording import line_with


def block(x: int) -> Mask:
    array = np.zeros((4, 6, 40), dtype=bool)
    array[1:3, 2:4, x : x + 4] = True
    return Mask.of(array)


FIRST, SECOND, ELSEWHERE, EMPTY = block(0), block(10), block(20), Mask.empty()


@pytest.mark.parametrize(
    ("predictions", "published", "by_prompt"),
    [
        ([SECOND, FIRST], 1.0, 0.0),  # each found the other instance
        ([FIRST, ELSEWHERE], 1 / 3, 0.5),
        ([FIRST, EMPTY], 1 / 3, 0.5),
        ([EMPTY, SECOND], 0.5, 0.5),  # the first map is dropped when it is empty
        ([FIRST, SECOND], 1.0, 1.0),
        ([EMPTY, EMPTY], 0.0, 0.0),
    ],
)
def test_the_situations_that_were_seen(predictions: list[Mask], published: float, by_prompt: float) -> None:
    instances = [FIRST, SECOND]
    assert np.mean(matched_dice(instances, predictions)) == pytest.approx(published)
    own = [Overlap.of(one, other).dice for one, other in zip(instances, predictions, strict=True)]
    assert np.mean(own) == by_prompt


def test_partial_overlaps_are_assigned_for_the_largest_sum() -> None:
    wide = Mask.union([FIRST, SECOND])  # Dice 2/3 with either
    assert sorted(matched_dice([FIRST, SECOND], [wide, SECOND])) == pytest.approx([2 / 3, 1.0])


def test_a_table_of_matched_scores_needs_masks(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    spec = "phantom:shape=16x32x32,instances=3,scans=2"
    intrabench.run("box_fill", "box_slice", spec)
    said = say("table", "--aggregation", "matched")
    assert said.code == 2
    assert said.err == wording
    intrabench.run("box_fill", "box_slice", spec, save_masks=True)
    root = Path("intrabench-results")
    usual, matched = [
        effort_table(counted_rows(root, Statistic())[0], Layout(how=how, root=root))
        for how in (AGGREGATIONS["protocol"], MATCHED)
    ]
    assert matched["average"][0] >= usual["average"][0] - 1e-9  # every answer overlaps its own instance
    assert line_with(say("table", "--aggregation", "matched").out, "predictions assigned") == wording
