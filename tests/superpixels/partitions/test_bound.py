"""The best union of supervoxels, against all unions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from intrabench.mask import Mask
from intrabench.superpixels.partitions.bound import Candidates
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import relabelled


def dice(one: np.ndarray, other: np.ndarray) -> float:
    return 2 * (one & other).sum() / (one.sum() + other.sum())


@given(st.integers(0, 2**32 - 1))
def test_no_union_is_better(seed: int) -> None:
    random = np.random.default_rng(seed)
    labels = relabelled(random.integers(0, 7, (2, 5, 5)), (2, 5, 5), "labels")
    truth, ignored = random.random((2, 5, 5)) < 0.4, random.random((2, 5, 5)) < 0.1
    assume((truth & ~ignored).any())
    truth &= ~ignored
    found = Candidates.of(Partition(labels), Mask.of(truth), Mask.of(ignored))
    every = [np.isin(labels, np.flatnonzero(chosen)) & ~ignored for chosen in product((0, 1), repeat=labels.max() + 1)]
    best = max(dice(truth, union) for union in every if union.any())
    assert found.dice(found.best()) == pytest.approx(best)
    order = found.order(found.best())
    steps = [dice(truth, np.isin(labels, order[:n]) & ~ignored) for n in range(1, len(order) + 1)]
    assert steps == sorted(steps)  # each click makes it better
    assert steps[-1] == pytest.approx(best)
    firsts = [dice(truth, (labels == label) & ~ignored) for label in order]
    assert steps[0] == pytest.approx(max(firsts))


def test_a_majority_vote_is_worse() -> None:
    """A supervoxel that is target by less than half may belong to the best union."""
    found = Candidates(np.array([0, 1]), np.array([2, 4]), np.array([2, 10]), 6)
    assert found.best().tolist() == [True, True]
    assert found.dice(found.best()) == pytest.approx(12 / 18)
    assert found.dice(found.purity > 0.5) == pytest.approx(4 / 8)
