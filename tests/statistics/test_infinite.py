"""What is infinite behind a mean: in words, and in the order of lines."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.metrics.base import Best
from intrabench.statistics.infinite import Infinite, places, pooled, signed, whole


def test_the_words(wording: SnapshotAssertion) -> None:
    assert Infinite(4, 12, 0.0).words(signed) == wording
    assert Infinite(4, 10, 3.21, both=2).words() == wording
    assert Infinite(3, 3).words() == wording
    assert not Infinite(0, 12, 3.0)


@pytest.mark.parametrize("best", ["high", "low"])
def test_arrays_are_ordered_as_single_lines(best: Best) -> None:
    random = np.random.default_rng(2)
    sign = 1 if best == "low" else -1
    net, others = sign * random.integers(0, 3, (30, 5)) / 4, random.integers(0, 3, (30, 5)).astype(float)
    others[random.random(others.shape) < 0.2] = np.nan
    found = places(net, others, best)
    for one, other, place in zip(net, others, found, strict=True):
        rows = zip(one.tolist(), other.tolist(), strict=True)
        orders = [Infinite(0, 1, None if math.isnan(o) else o, n).order(best) for n, o in rows]
        assert place.tolist() == [-sum(other > order for other in orders) for order in orders]


def test_where_there_is_no_value_there_is_no_place() -> None:
    found = places(np.array([[0.0, np.nan, 0.5]]), np.array([[1.0, np.nan, np.nan]]), "low")
    assert np.array_equal(found, [[0.0, np.nan, -1.0]], equal_nan=True)


def test_pooled_means_and_their_parts() -> None:
    values = pl.DataFrame({"line": [0, 0, 0, 1], "value": [math.inf, 1.0, 3.0, 2.0]})
    far, near = pooled(values, ["line"]).sort("line").to_dicts()
    assert (far["value"], far["others"], far["infinite"], far["of"]) == (math.inf, 2.0, 1, 3)
    assert far["net"] == pytest.approx(1 / 3)
    assert (near["value"], near["others"], near["infinite"], near["net"]) == (2.0, 2.0, 0, 0.0)


def test_more_infinite_differences_of_one_sign_decide_and_of_equal_ones_the_others() -> None:
    frame = pl.DataFrame({"net": [0.5, -0.25, 0.0, 1e-17, 0.0], "others": [-1.0, 4.0, 2.0, 3.0, None]})
    assert frame.select(whole(pl.col("net"), pl.col("others"))).to_series().to_list() == [
        *(math.inf, -math.inf, 2.0, 3.0, 0.0)
    ]
