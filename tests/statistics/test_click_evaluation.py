"""Click models compared with real clicks on several instances, and the means of that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.click_metrics import click_metrics
from intrabench.clickability.clicks_csv import RealClicks
from intrabench.clickability.distance import Distance
from intrabench.clickability.uniform import Uniform
from intrabench.errors import IntraBenchError
from intrabench.randomness import stream
from intrabench.statistics.click_evaluation import METRICS, ClickedImage, evaluate, means, wide

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
