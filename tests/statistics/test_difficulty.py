"""How difficult targets are: the noise of RClicks' Figure 8, by hand, and the thirds that split tables."""

from __future__ import annotations

import math
from statistics import fmean, pstdev

import numpy as np
import polars as pl
import pytest

from intrabench.errors import IntraBenchError
from intrabench.statistics.difficulty import difficulties, difficulty_table, played_by_few, with_strata
from intrabench.statistics.scores import scores
from intrabench.statistics.sources import source
from tests.results import made
from tests.statistics.test_click_users import REAL, sessions
from tests.statistics.test_robustness import FOLDER, users

MODELS, CASES, SEEDS = 3, 7, 4
VALUES = np.random.default_rng(47).uniform(0.2, 0.9, (MODELS, CASES, SEEDS))


def played(values: np.ndarray = VALUES, **shared: object) -> pl.DataFrame:
    """A session for each Dice of (models, cases, seeds); every second case has another label."""
    return made.rows(
        *(
            {"model": f"m{m}", "case": str(c), "label": "ab"[c % 2], "seed": s, "dice": values[m, c, s]}
            for m, c, s in np.ndindex(values.shape)
        ),
        **shared,
    )


def of(rows: pl.DataFrame, metric: str = "dice", over: str = "") -> pl.DataFrame:
    return difficulties(scores(rows, metric), metric, "high", source(over) if over else None)


def test_the_noise_of_a_data_set_as_in_figure_8() -> None:
    """The figure itself is of clicks that are not published: its formula, written out, on simulated clicks."""
    with np.load(FOLDER / "stats.npz") as arrays:
        clicks = users(arrays, "user_concat")
    factors = {"mA": 1.0, "mB": 0.97, "mC": 0.5}
    rows = pl.concat(sessions(REAL, *(list(k * one) for one in clicks), model=name) for name, k in factors.items())
    (line,) = difficulty_table(of(rows, "iou"), ["dataset"], "high").to_dicts()
    noise = []
    for one in clicks:
        each = [[k * float(value) for value in one] for k in factors.values()]
        noise.append(fmean(map(pstdev, each)) / fmean(map(fmean, each)))
    assert line["nsr"] == pytest.approx(100 * fmean(noise))
    assert line["targets"] == 30


def test_of_each_target_by_hand() -> None:
    found = of(played())
    assert found["mean"].to_list() == pytest.approx(sorted(VALUES.mean(axis=(0, 2))))
    for row in found.iter_rows(named=True):
        mine = VALUES[:, int(row["case"])]
        assert row["mean"] == pytest.approx(mine.mean())
        assert row["sd"] == pytest.approx(mine.std())
        assert row["spread"] == pytest.approx(mine.std(axis=1).mean())
        assert row["nsr"] == pytest.approx(100 * row["spread"] / row["mean"])
        assert (row["models"], row["sessions"]) == (MODELS, MODELS * SEEDS)


def test_each_model_has_equal_weight_however_often_it_was_played() -> None:
    rows = pl.concat([played(np.full((1, 1, 9), 0.9)), played(np.array([[[0.1, 0.3]]]), prompter="q")])
    rows = rows.with_columns(model=pl.when(pl.col("prompter") == "q").then(pl.lit("other")).otherwise("model"))
    (row,) = of(rows).to_dicts()
    assert (row["mean"], row["spread"]) == (pytest.approx((0.9 + 0.2) / 2), pytest.approx(0.05))
    assert row["sd"] == pytest.approx(math.sqrt(0.1**2 / 2 + 0.35**2))


def test_within_a_source_the_prompters_are_lines() -> None:
    two = pl.concat(
        [played(VALUES[:1]), played(VALUES[1:2], model="m0", prompter="q").with_columns(model=pl.lit("m0"))]
    )
    (first, *_), alone = (of(two, over=over).sort("case").to_dicts() for over in ("seed", ""))
    assert (first["models"], alone[0]["models"]) == (2, 1)
    assert first["spread"] == pytest.approx(VALUES[:2, 0].std(axis=1, ddof=1).mean())
    assert alone[0]["spread"] == pytest.approx(VALUES[:2, 0].std())
    groups = [0.2, 0.5, 0.8]
    rows = made.rows(
        {"prompter": "click_deepest", "dice": 0.99},
        *({"prompter": f"clickability:group={n + 1}", "dice": value} for n, value in enumerate(groups)),
    )
    (row,) = of(rows, over="group").to_dicts()
    assert (row["mean"], row["spread"]) == (pytest.approx(0.5), pytest.approx(pstdev(groups)))
    with pytest.raises(IntraBenchError, match="--hand"):
        of(two, over="hand")


def test_thirds_are_of_a_data_set_and_of_a_label() -> None:
    found = pl.concat([played(), played(VALUES[:, :3] / 2, dataset="e")])
    each = of(found)
    for dataset, count in (("d", 7), ("e", 3)):
        mine = each.filter(dataset=dataset)
        assert mine["rank"].to_list() == list(range(1, count + 1))
        assert mine["difficulty"].to_list() == [("hard", "medium", "easy")[n * 3 // count] for n in range(count)]
    four = each.filter(dataset="d", label="a")
    assert four["difficulty_in_label"].to_list() == ["hard", "hard", "medium", "easy"]
    assert each.filter(dataset="e", label="b")["difficulty_in_label"].to_list() == ["hard"]


def test_far_is_hard_and_a_failure_is_hardest() -> None:
    rows = made.rows(
        *({"case": str(c), "hd95_mm": far, "dice": 0.5} for c, far in enumerate((3.0, 9.0, 1.0))),
        {"case": "3", "status": "oom"},
        {"case": "3", "status": "ok", "hd95_mm": 2.0, "dice": 0.5, "seed": 1},
    )
    found = difficulties(scores(rows, "hd95"), "hd95", "low")
    assert found["case"].to_list() == ["3", "1", "0", "2"]
    assert (found["mean"][0], found["sd"][0], found["nsr"][0]) == (math.inf, math.inf, None)
    signed = rows.with_columns(relative_volume_difference=pl.Series([-0.9, 0.1, 0.3, 0.0, 0.0]))
    zero = difficulties(scores(signed[:3], "relative_volume_difference"), "relative_volume_difference", "zero")
    assert zero["case"].to_list() == ["0", "2", "1"]
    assert zero["nsr"].null_count() == 3


def test_of_equal_means_the_one_that_varies_more_is_harder() -> None:
    found = of(played(np.array([[[0.5, 0.5], [0.4, 0.6], [0.5, 0.5]]])))
    assert found["case"].to_list() == ["1", "0", "2"]


def test_rows_get_the_thirds_of_their_targets() -> None:
    rows = pl.concat([played(), made.rows({"case": "none", "target": "*", "label": "", "status": "no_data"})])
    each = of(rows)
    divided = with_strata(rows, each)
    assert divided.columns == [*rows.columns, "difficulty", "difficulty_in_label"]
    expected = dict(each.select("case", "difficulty").iter_rows())
    assert divided["difficulty"].to_list() == [expected.get(case) for case in rows["case"]]


def test_intervals_are_over_patients() -> None:
    each = of(played())
    (line,) = difficulty_table(each, [], "high", interval=True).to_dicts()
    assert line["nsr_low"] < line["nsr"] < line["nsr_high"]
    assert line["mean"] == pytest.approx(VALUES.mean())
    few = difficulty_table(each, ["label"], "high", interval=True)
    assert few["mean_low"].null_count() == 2
    assert few["mean"].is_sorted()


def test_targets_that_only_some_models_have_are_told() -> None:
    rows = played().filter(~((pl.col("model") == "m1") & pl.col("case").is_in(["2", "5"])))
    (said,) = played_by_few(of(rows))
    assert ("2 targets of d" in said, "--common" in said) == (True, True)
    assert played_by_few(of(played())) == []
