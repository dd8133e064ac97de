"""Who rates what, and in which order: balanced, and no case twice in a row."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from intrabench.people.rating.orders import arranged, shared_out


@given(inputs=st.integers(1, 60), raters=st.integers(1, 9), seed=st.integers(0, 99), data=st.data())
def test_raters_get_equally_many_inputs(inputs: int, raters: int, seed: int, data: st.DataObject) -> None:
    each = data.draw(st.integers(1, raters))
    found = shared_out(inputs, raters, each, np.random.default_rng(seed))
    assert len(found) == inputs
    assert all(len(set(who)) == each for who in found)
    load = np.bincount([one for who in found for one in who], minlength=raters)
    assert np.ptp(load) <= 1


def test_pairs_of_raters_share_inputs_evenly(wording: SnapshotAssertion) -> None:
    found = shared_out(70, 7, 3, np.random.default_rng(0))
    together = [sum({a, b} <= set(who) for who in found) for a, b in combinations(range(7), 2)]
    assert np.mean(together) == 10
    assert max(together) - min(together) <= 2
    with pytest.raises(ValueError) as caught:
        shared_out(5, 2, 3, np.random.default_rng(0))
    assert caught == wording


@given(sizes=st.lists(st.integers(1, 7), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_no_case_follows_itself_if_that_can_be(sizes: list[int], seed: int) -> None:
    jobs = {f"{case}.{number}": str(case) for case, size in enumerate(sizes) for number in range(size)}
    order = arranged(jobs, 0, np.random.default_rng(seed))
    assert sorted(order) == sorted(jobs)
    in_a_row = sum(jobs[a] == jobs[b] for a, b in pairwise(order))
    most = max(sizes)
    assert in_a_row == max(0, most - (sum(sizes) - most) - 1)


@given(seed=st.integers(0, 200))
def test_second_looks_come_late_and_apart(seed: int) -> None:
    jobs = {f"{case}.{number}": str(case) for case in range(4) for number in range(5)}
    order = arranged(jobs, 3, np.random.default_rng(seed))
    twice = [job for job in jobs if order.count(job) == 2]
    assert (len(order), len(twice)) == (23, 3)
    for job in twice:
        first, second = (place for place, one in enumerate(order) if one == job)
        assert first < 10 <= second
        assert second - first >= 2
    assert all(jobs[a] != jobs[b] for a, b in pairwise(order))


def test_orders_depend_on_the_seed_alone() -> None:
    jobs = {str(number): str(number % 5) for number in range(30)}
    one, other, third = (arranged(jobs, 3, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == other != third
