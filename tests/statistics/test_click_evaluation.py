"""Click models compared with real clicks on several instances, and the means of that."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import hypot, lcm

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.click_metrics import click_metrics
from intrabench.clickability.clicked_images import ClickedImage
from intrabench.clickability.clicks_csv import RealClicks
from intrabench.clickability.distance import Distance
from intrabench.clickability.uniform import Uniform
from intrabench.errors import IntraBenchError
from intrabench.randomness import stream
from intrabench.statistics.click_evaluation import (
    CHANCE,
    DIVISIONS,
    METRICS,
    OF_CLICKS,
    compare,
    evaluate,
    means,
    wide,
)
from intrabench.statistics.click_evaluation import MORE as EXCESS

SHAPE = (30, 40)


def entry(name: str, click_type: str = "first", dataset: str = "grabcut") -> RealClicks:
    random = np.random.default_rng(len(name))
    clicks = random.integers((10, 12), (18, 25), size=(6, 2))
    return RealClicks(dataset, name, name, "", "", click_type, clicks, ("pc",) * 6, SHAPE)


def scene(one: RealClicks) -> ClickedImage:
    target = np.zeros(SHAPE, dtype=bool)
    target[8:20, 10:30] = True
    error = target.copy()
    if one.click_type != "first":
        error[:, 20:] = False
    return np.zeros((*SHAPE, 3), np.uint8), target, error


ENTRIES = [entry("a"), entry("bb"), entry("cc_fn", "fn")]
MORE = [*(entry("a" * length) for length in range(1, 7)), entry("cc_fn", "fn")]


def test_a_row_for_each_entry() -> None:
    found = evaluate(ENTRIES, scene, Distance(), seed=3, bootstraps=20)
    assert found.columns == ["dataset", "full_stem", "image_stem", "click_type", "clicks", *METRICS]
    assert found["full_stem"].to_list() == ["a", "bb", "cc_fn"]
    assert found["clicks"].to_list() == [6, 6, 6]
    _, target, error = scene(ENTRIES[2])
    random = stream("click_metrics", 3, "grabcut", "cc_fn")
    expected = click_metrics(Distance().probability(None, target, error), target, ENTRIES[2].clicks, random, 20)
    assert found.row(2)[5:] == tuple(vars(expected).values())


def test_an_entry_does_not_depend_on_others_but_on_the_seed() -> None:
    found = evaluate(ENTRIES, scene, Uniform(), bootstraps=5)
    assert found[1:].equals(evaluate(ENTRIES[1:], scene, Uniform(), bootstraps=5))
    other = evaluate(ENTRIES, scene, Uniform(), seed=1, bootstraps=5)
    assert (found["pl1"] != other["pl1"]).all()
    assert found["nss"].equals(other["nss"])  # nothing is drawn for it


def test_means_by_click_type_and_of_all() -> None:
    found = evaluate(MORE, scene, Uniform(), bootstraps=5)
    table = means(found)
    assert table.columns == ["dataset", "click_type", "metric", "value", "low", "high", "stems"]
    assert len(table) == 3 * len(METRICS)
    line = {(kind, metric): rest for _, kind, metric, *rest in table.iter_rows()}
    value, low, high, stems = line["all", "pl1"]
    assert value == pytest.approx(found["pl1"].mean())
    assert found["pl1"].min() <= low <= value <= high <= found["pl1"].max()
    assert stems == 7
    assert line["first", "nss"][0] == pytest.approx(found["nss"].head(6).mean())
    assert line["fn", "nss"] == [found["nss"][6], None, None, 1]  # one picture does not tell how pictures differ


def test_intervals_are_over_pictures() -> None:
    """Entries of the same picture tell no more about other pictures than their mean."""
    found = evaluate(MORE, scene, Uniform(), bootstraps=5)
    twice = pl.concat([found, found.with_columns(full_stem=pl.col("full_stem") + "_fn")])
    once, again = (means(one).filter(click_type="first").drop("stems") for one in (found, twice))
    assert once["low"].null_count() == 0
    assert once.equals(again)


def test_means_of_several_data_sets() -> None:
    found = evaluate([*ENTRIES, entry("d", dataset="tetris")], scene, Uniform(), bootstraps=5)
    table = means(found).filter(click_type="all", metric="pde")
    assert table["dataset"].to_list() == ["grabcut", "tetris", "average"]
    ours, theirs, average = table["value"]
    assert average == pytest.approx((ours + theirs) / 2)
    assert theirs == found["pde"][3]


def test_what_cannot_be_evaluated(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        evaluate([], scene, Uniform())
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        evaluate([replace(ENTRIES[0], shape=(10, 12))], scene, Uniform())
    assert caught == wording

    def nothing_wrong(one: RealClicks) -> ClickedImage:
        image, target, error = scene(one)
        return image, target, error & ~error

    with pytest.raises(IntraBenchError) as caught:
        evaluate(ENTRIES, nothing_wrong, Uniform())
    assert caught == wording


def test_the_frame_is_typed() -> None:
    found = evaluate(ENTRIES[:1], scene, Uniform(), bootstraps=2)
    assert found.schema["clicks"] == pl.Int64
    assert all(found.schema[metric] == pl.Float64 for metric in METRICS)


def test_a_table_for_people() -> None:
    table = means(evaluate(MORE, scene, Uniform())).with_columns(model=pl.lit("uniform"))
    shown = wide(table)
    assert shown.columns == ["dataset", "click_type", "model", "stems", *METRICS]
    (line,) = shown.filter(click_type="first").to_dicts()
    (nss,) = table.filter(click_type="first", metric="nss").to_dicts()
    assert line["nss"] == f"{nss['value']:.3f} [{nss['low']:.3f}, {nss['high']:.3f}]"
    (pde,) = table.filter(click_type="fn", metric="pde").to_dicts()
    assert shown.filter(click_type="fn")["pde"].item() == f"{pde['value']:.6f}"  # one entry has no interval


def some_clicks(number: int, middle: tuple[float, float], seed: int) -> np.ndarray:
    return np.rint(np.random.default_rng(seed).normal(middle, 2.5, (number, 2))).astype(np.int64).clip(0, (29, 39))


@pytest.mark.parametrize("sizes", [(12, 12), (12, 18)])
def test_two_sets_of_clicks(sizes: tuple[int, int]) -> None:
    """PL1 by its definition, WD as the cheapest assignment of so many copies that both sets are equally large."""
    mine, others = (some_clicks(size, (13, 18), seed) for size, seed in zip(sizes, (1, 2), strict=True))
    one, other = (replace(entry("a"), clicks=clicks) for clicks in (mine, others))
    found = compare([one], [other, entry("bb")], scene, "both")
    assert found["compared"].to_list() == ["both", CHANCE, EXCESS]
    line = found.row(0, named=True)
    assert (line["clicks"], line["others"]) == sizes
    pairs = [abs(y - v) / 12 + abs(x - u) / 20 for (y, x), (v, u) in product(mine.tolist(), others.tolist())]
    assert line["pl1"] == pytest.approx(sum(pairs) / len(pairs))
    copies = (np.repeat(clicks, lcm(*sizes) // len(clicks), axis=0) for clicks in (mine, others))
    cost = cdist(*copies)
    assert line["wd"] == pytest.approx(cost[linear_sum_assignment(cost)].mean() / hypot(12, 20))
    assert line["ks"] == 1
    assert found.row(1, named=True)["ks"] > 0.5
    for name in OF_CLICKS:
        assert found[name][2] == pytest.approx(found[name][0] - found[name][1])


def test_sets_that_differ_do_so_by_more_than_chance() -> None:
    left, right, again = (
        [replace(entry("a" * n), clicks=some_clicks(15, middle, 10 * n + seed)) for n in range(1, 8)]
        for seed, middle in enumerate([(13, 14), (13, 26), (13, 14)])
    )
    apart, alike = (
        means(compare(left, sets, scene).filter(compared=EXCESS)).filter(click_type="all") for sets in (right, again)
    )
    by_metric = {line["metric"]: line for line in apart.iter_rows(named=True)}
    assert by_metric["pl1"]["low"] > 0.1
    assert by_metric["wd"]["low"] > 0.1
    assert by_metric["ks"]["value"] < -0.5
    for line in alike.iter_rows(named=True):
        assert line["low"] <= 0 <= line["high"], line


def test_chance_depends_on_the_seed_only() -> None:
    one, other = (replace(entry("a"), clicks=some_clicks(10, (13, 18), seed)) for seed in (1, 2))
    found, again, others = (compare([one], [other], scene, seed=seed) for seed in (0, 0, 1))
    assert found.equals(again)
    assert found.row(0) == others.row(0)
    assert found.row(1) != others.row(1)
    assert (found["ks"][1] * DIVISIONS) % 1 == pytest.approx(0)


def test_sets_that_cannot_be_compared(wording: SnapshotAssertion) -> None:
    few, many = entry("a"), replace(entry("a"), clicks=some_clicks(10, (13, 18), 1))
    for sets in ([few], [many]), ([many], [entry("bb")]), ([many], [replace(many, shape=(60, 80))]):
        with pytest.raises(IntraBenchError) as caught:
            compare(*sets, scene)
        assert caught == wording
    assert len(compare([few], [many], scene, least=6)) == 3
