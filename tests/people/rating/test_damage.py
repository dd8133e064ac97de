"""Anchors have the Dice that they say, and the kind of error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from intrabench.mask import Mask
from intrabench.people.rating.damage import KINDS, OPPOSITE, SEVERITIES, damaged
from intrabench.target import Target

SHAPE = (12, 40, 44)


def ball(radius: float = 9.0, centre: tuple[int, int, int] = (6, 20, 20)) -> Target:
    z, y, x = np.ogrid[:12, :40, :44]
    array = ((z - centre[0]) * 2.5) ** 2 + (y - centre[1]) ** 2 + (x - centre[2]) ** 2 <= radius**2
    return Target("a", "x", 1, Mask.of(array), SHAPE, (2.5, 1.0, 1.0))


def dice(a: Mask, b: Mask) -> float:
    one, other = a.to_array(SHAPE), b.to_array(SHAPE)
    return float(2 * (one & other).sum() / (one.sum() + other.sum()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_the_dice_is_the_one_that_is_asked_for(kind: str, severity: float) -> None:
    target = ball()
    found = damaged(target, kind, severity, np.random.default_rng(3))
    assert dice(found, target.mask) == pytest.approx(severity, abs=1 / target.mask.voxels)
    whole, changed = target.mask.to_array(SHAPE), found.to_array(SHAPE)
    added, removed = (changed & ~whole).sum(), (whole & ~changed).sum()
    assert (added < removed) == (kind in ("shrunk", "missing"))
    assert min(added, removed) == round(target.mask.voxels * OPPOSITE) > 0  # neither contains the other
    again = damaged(target, kind, severity, np.random.default_rng(3))
    assert np.array_equal(found.to_array(SHAPE), again.to_array(SHAPE))


@given(seed=st.integers(0, 1000), kind=st.sampled_from(KINDS), radius=st.floats(2.6, 12))
def test_any_target_can_be_damaged(seed: int, kind: str, radius: float) -> None:
    target = ball(radius, (1, 3, 40))
    found = damaged(target, kind, 0.75, np.random.default_rng(seed))
    assert dice(found, target.mask) == pytest.approx(0.75, abs=2 / target.mask.voxels)


def test_kinds_are_what_they_are_called() -> None:
    target, rng = ball(), np.random.default_rng(0)
    whole = target.mask.to_array(SHAPE)
    centre = np.argwhere(whole).mean(axis=0)
    shrunk = np.argwhere(damaged(target, "shrunk", 0.75, rng).to_array(SHAPE)).mean(axis=0)
    missing = np.argwhere(damaged(target, "missing", 0.75, rng).to_array(SHAPE)).mean(axis=0)
    assert np.linalg.norm(shrunk - centre) < 0.4 < 1.5 < np.linalg.norm(missing - centre)
    added = damaged(target, "leak", 0.75, rng).to_array(SHAPE) & ~whole
    assert np.ptp(np.argwhere(added)[:, 2]) < 18 < np.ptp(np.argwhere(damaged(target, "grown", 0.75, rng).array)[:, 2])
    with pytest.raises(ValueError, match="no damage 'bent'"):
        damaged(target, "bent", 0.5, rng)
