"""The rules of the CVPR 2025 challenge, by hand; its golden numbers are in tests/cvpr25."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.statistics.measures import described, measured
from intrabench.statistics.scores import FailurePolicy
from tests.results import made

GATE = "metric=nsd_2mm,above=0.2"


def steps(target: int, *rounds: tuple[float, float] | str, case: str = "1", **more: Any) -> pl.DataFrame:
    """Dice and NSD of a target by round; a text is a failure with the answer before."""
    rows = list[dict[str, Any]]()
    dice, nsd = 0.0, 0.0
    for number, one in enumerate(rounds):
        dice, nsd = (dice, nsd) if isinstance(one, str) else one
        status = one if isinstance(one, str) else "ok" if dice else "empty"
        scores = {"dice": dice, "nsd_2mm": nsd, "pred_voxels": int(100 * dice)}
        rows.append({"round": number, "status": status, "interactions": 3.0 + number, **scores})
    return made.rows(*rows, instance=target, case=case, joint=f"j{case}", **more)


def values(rows: pl.DataFrame, spec: str, policy: FailurePolicy | None = None) -> list[float | None]:
    return measured(rows, spec, None, policy).sort("case", "target")["value"].to_list()


def near(*numbers: float | None) -> list[Any]:
    return [None if number is None else pytest.approx(number) for number in numbers]


def test_nsd_counts_by_the_mean_dice_of_all_targets_in_the_round() -> None:
    rows = pl.concat(
        [
            steps(1, (0.9, 0.8), (0.35, 0.7), (0.3, 0.6)),
            steps(2, (0.0, 0.1), (0.06, 0.2), (0.1, 0.3)),
            steps(1, (0.9, 0.8), (0.0, 0.7), case="2"),
        ]
    )
    assert values(rows, f"cvpr25_final:{GATE}") == near(0, 0, 0), "0.2 is not above 0.2"
    assert values(rows, f"cvpr25_auc:{GATE}") == near(0.7 / 2, 0.2 / 2, 0), "0.205 in round 1 only"
    assert values(rows, "cvpr25_auc:metric=nsd_2mm") == near(0.7 / 2 + 3.5 * 0.6, 0.2 / 2 + 3.5 * 0.3, 4 * 0.7)
    assert values(rows, f"cvpr25_auc:{GATE},first=0") == near(
        (0.8 / 2 + 0.7) * 0.8, (0.1 / 2 + 0.2) * 0.8, 0.8 / 2 * 0.8
    )


def test_a_target_that_ended_alone_counts_as_0() -> None:
    ended = made.rows(
        *({"round": 1, "instance": number, "status": "error", "dice": 0.0, "pred_voxels": None} for number in (2, 3)),
        joint="j1",
    )
    begun = [steps(2, (0.5, 0.5)), steps(3, (0.5, 0.5))]
    rows = pl.concat([steps(1, *[(0.5, 0.5)] * 3), *begun, ended])
    assert values(rows, f"cvpr25_auc:{GATE}") == near(0, 0, 0)
    assert values(rows, f"cvpr25_auc:{GATE.replace('0.2', '0.16')}") == near(2, 0, 0)
    assert values(rows, f"cvpr25_auc:{GATE.replace('0.2', '0.17')}") == near(0, 0, 0)


def test_targets_that_do_not_apply_are_no_part_of_the_case() -> None:
    rows = pl.concat(
        [
            steps(1, (0.3, 0.5), (0.3, 0.5)),
            made.rows({"instance": 2, "status": "not_applicable", "dice": None, "nsd_2mm": None, "joint": "j1"}),
        ]
    )
    assert values(rows, f"cvpr25_final:{GATE}") == near(0.5, None)


def test_targets_that_were_not_played_together_are_cases_of_their_own() -> None:
    rows = pl.concat([steps(1, (0.3, 0.5)), steps(2, (0.1, 0.5))]).with_columns(joint=pl.lit(None, pl.String))
    assert values(rows, f"cvpr25_final:{GATE}") == near(0.5, 0)


def test_a_missing_answer() -> None:
    rows = pl.concat(
        [
            steps(1, (0.5, 0.4), (0.6, 0.4), "error", (0.8, 0.4), (0.8, 0.4), "oom"),
            steps(2, "timeout", "timeout", (0.4, 0.4), case="2"),
            steps(3, "error", "error", case="3"),
        ]
    )
    assert values(rows, "cvpr25_auc") == near(0.6 / 2 + 0.8 + 0.8, 3.5 * 0.4, 0)
    assert values(rows, "cvpr25_final") == near(0, 0.4, 0)
    previous = "missing=previous"
    assert values(rows, f"cvpr25_auc:{previous}") == near(0.6 / 2 + 0.6 + 0.8 + 0.8 + 0.8 / 2, 3.5 * 0.4, None)
    assert values(rows, f"cvpr25_final:{previous}") == near(0.8, 0.4, None)
    found = measured(rows, f"cvpr25_auc:{previous}").sort("case")
    assert found["failed"].to_list() == [True, True, True], "they are still counted"
    assert measured(rows, f"cvpr25_final:{GATE},{previous}").sort("case")["value"].to_list() == near(0.4, 0.4, None)


def test_a_failure_that_ended_a_session_is_no_missing_step() -> None:
    ended = made.rows({"round": 1, "status": "error", "dice": 0.0, "pred_voxels": None, "interactions": 4.0})
    rows = pl.concat([made.rows({"round": 0, "dice": 0.5, "pred_voxels": 50, "ended": False}), ended])
    assert values(rows, "cvpr25_auc:missing=previous") == near(0)
    alone = made.rows({"target": "*", "label": "", "status": "error", "dice": 0.0, "interactions": 0.0})
    assert values(alone, "cvpr25_auc:missing=previous") == near(0), "a case that could not be prepared"


def test_in_words(wording: SnapshotAssertion) -> None:
    assert described(f"cvpr25_auc:{GATE}") == wording
    assert described("cvpr25_final:missing=previous") == wording
    with pytest.raises(IntraBenchError) as caught:
        described("cvpr25_auc:first=5")
    assert caught == wording
