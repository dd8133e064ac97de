"""Methods with parameters for each number of superpixels, and how tuning chooses them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.metrics import lookup
from intrabench.models.supervoxels import picture_of
from intrabench.registry import registry
from intrabench.statistics.superpixel_tuning import choose, losses
from intrabench.statistics.superpixels import SuperpixelScores
from intrabench.superpixels.tuned import numeric_parameters, settings, tuned_parameters, tuned_words
from tests.superpixels.test_methods import discs

WORDS = "400/1200/3600;compactness=5/10/40;iterations=3/10/10"


def model(segments: int, words: str = WORDS, method: str = "slic") -> Any:
    return registry.make("models", f"supervoxels:method={method},segments={segments},tuned={words}")


def cls(name: str) -> Any:
    return registry.find("superpixels", name).load()


def test_parameters_are_linear_between_numbers() -> None:
    for segments, compactness, iterations in (
        (100, 5, 3), (400, 5, 3), (600, 6.25, 5), (1200, 10, 10), (2400, 25, 10), (3600, 40, 10), (9000, 40, 10)
    ):  # fmt: skip
        made = model(segments)
        assert (made.divides.compactness, made.divides.iterations, made.divides.sigma) == (compactness, iterations, 0)
        assert (made.method, made.tuned) == ("slic", WORDS)
        assert made.version == registry.make("models", "supervoxels").version
    volume = discs(colour=True)[0]
    plain: Any = registry.make("models", 'supervoxels:method="slic:compactness=6.25,iterations=5",segments=600')
    assert np.array_equal(model(600).divided(volume).labels, plain.divided(volume).labels)


def test_parameters_of_its_own_and_a_search_for_the_number() -> None:
    made = model(60, "40/80;sigma=0.5/1", "felzenszwalb:min_size=5")
    assert (made.divides.sigma, made.divides.min_size, made.method) == (0.75, 5, "felzenszwalb:min_size=5")
    assert made.divides.fitted(picture_of(discs(colour=True)[0], "modality"), 60).scale > 0


def test_what_was_chosen_in_words() -> None:
    words = tuned_words({1200: {"compactness": 10.0, "iterations": 10}, 400: {"compactness": 2.5, "iterations": 3}})
    assert words == "400/1200;compactness=2.5/10;iterations=3/10"
    assert tuned_parameters(cls("slic"), words, 800) == {"compactness": "6.25", "iterations": "6"}


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("slic", "400;compactnes=1"),
        ("labels:folder=x", "400;folder=1"),
        ("slic", "few;sigma=1"),
        ("slic", "400/300;sigma=1/2"),
        ("slic", "400/800;sigma=1"),
        ("slic", "400;compactness=0"),
    ],
)
def test_what_is_not_tuned(method: str, words: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        model(400, words, method)
    assert caught == wording


def test_all_combinations_are_tried() -> None:
    found = settings(cls("slic"), {"iterations": "5"}, {"compactness": (1, 10), "sigma": (0, 2)})
    assert found == {
        "slic:compactness=1,iterations=5": {"iterations": 5, "compactness": 1, "sigma": 0},
        "slic:compactness=1,iterations=5,sigma=2": {"iterations": 5, "compactness": 1, "sigma": 2},
        "slic:iterations=5": {"iterations": 5, "compactness": 10, "sigma": 0},
        "slic:iterations=5,sigma=2": {"iterations": 5, "compactness": 10, "sigma": 2},
    }
    for entry in registry.entries("superpixels").values():
        if search := entry.load().search:
            assert len(settings(entry.load(), {}, {})) == np.prod([len(each) for each in search.values()])
            assert search.keys() <= numeric_parameters(entry.load()).keys()


@pytest.mark.parametrize(
    ("name", "fixed", "values"),
    [
        ("grid", {}, {}),
        ("slic", {}, {"ratio": (1,)}),
        ("labels", {"folder": "x"}, {}),
        ("slic", {}, {"compactness": (0,)}),
    ],
)
def test_what_cannot_be_searched(
    name: str, fixed: dict[str, str], values: dict[str, tuple[float, ...]], wording: SnapshotAssertion
) -> None:
    with pytest.raises(IntraBenchError) as caught:
        settings(cls(name), fixed, values)
    assert caught == wording


def measured(sp: float = 1.0) -> tuple[SuperpixelScores, dict[str, dict[str, float]]]:
    """Random values of three settings on 5 images of 2 data sets; sp: how many are made, of the number asked for."""
    random, rows = np.random.default_rng(1), []
    tried = settings(cls("slic"), {}, {"compactness": (1, 10, 40)})
    for method, asked, dataset, image in product(tried, (400, 1200), "ab", range(5)):
        values = {"rec": random.random(), "ue_np": random.random(), "sp": sp * asked, "failed": False}
        about = {"dataset": dataset, "case": f"i{image}", "patient": f"i{image}", "method": method, "asked": asked}
        rows.append(about | values)
    return SuperpixelScores(pl.DataFrame(rows), [lookup.metric(name) for name in ("rec", "ue_np", "sp")]), tried


def test_the_least_loss_is_chosen() -> None:
    found, tried = measured()
    choice = choose(losses(found), "slic", tried, (400, 1200))
    chosen = []
    for number in (400, 1200):
        loss = {}
        for method in tried:
            here = found.images.filter((pl.col("method") == method) & (pl.col("asked") == number))
            loss[method] = float((1 - here["rec"] + here["ue_np"]).to_numpy().mean())  # data sets are of equal size
        best = min(loss, key=lambda method: loss[method])
        assert choice.by_number[number]["method"] == best
        assert choice.by_number[number]["loss"] == pytest.approx(loss[best])
        chosen.append(f"{tried[best]['compactness']:g}")
    assert choice.tuned == f"400/1200;compactness={'/'.join(chosen)}"


def test_settings_with_another_number_are_not_chosen(wording: SnapshotAssertion) -> None:
    found, tried = measured()
    far = pl.when(pl.col("method") == "slic").then(pl.col("sp") * 2.1).otherwise(pl.col("sp"))
    rec = pl.when(pl.col("method") == "slic").then(1.0).otherwise(pl.col("rec"))
    images = found.images.with_columns(sp=far, rec=rec, ue_np=pl.col("ue_np") * (pl.col("method") != "slic"))
    choice = choose(losses(SuperpixelScores(images, found.metrics)), "slic", tried, (400, 1200))
    assert {line["method"] for line in choice.by_number.values()} <= tried.keys() - {"slic"}
    assert not choice.missed
    none = choose(losses(measured(0.4)[0]), "slic", tried, (400, 1200))
    assert (none.by_number, none.tuned) == ({}, "")
    assert none.missed[1] == wording
    part = pl.when(pl.col("asked") == 400).then(pl.col("sp") * 3).otherwise(pl.col("sp"))
    images = found.images.with_columns(sp=part)
    choice = choose(losses(SuperpixelScores(images, found.metrics)), "slic", tried, (400, 1200))
    assert (list(choice.by_number), len(choice.missed)) == ([1200], 1)


def test_a_setting_that_always_fails_is_not_chosen() -> None:
    found, tried = measured()
    failed = {"sp": None, "rec": 0.0, "ue_np": 1.0}
    of_slic = pl.col("method") == "slic"
    images = found.images.with_columns(
        pl.when(of_slic).then(pl.lit(value, pl.Float64)).otherwise(name).alias(name) for name, value in failed.items()
    )
    table = losses(SuperpixelScores(images, found.metrics))
    assert set(table["method"]) == tried.keys() - {"slic"}
    assert not choose(table, "slic", {"slic": tried["slic"]}, (400,)).by_number
