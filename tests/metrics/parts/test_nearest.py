"""Nearest voxels, against all pairs: by rows, by the k-d tree, by planes, by several of them, and asked again."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from intrabench.metrics.parts import nearest
from intrabench.metrics.parts.nearest import Nearest
from intrabench.metrics.parts.transform import Corner, Spacing, Voxels, lower_squared_distances

SPACINGS = [(1.0, 1.0, 1.0), (3.0, 0.7, 0.8), (0.7, 3.0, 0.8), (0.8, 0.8, 5.0), (0.1, 1.3, 2.9)]


def brute_force(asking: NDArray[np.intp], goals: NDArray[np.intp], spacing_mm: Spacing) -> NDArray[np.float64]:
    """Of all pairs, in the order of SciPy's distance transform."""
    steps = (asking[:, :, None] - goals[:, None, :]) * np.reshape(spacing_mm, (3, 1, 1))
    z, y, x = steps * steps
    return np.sqrt((z + y + x).min(axis=1))


def corners(voxels: NDArray[np.intp]) -> tuple[Corner, Corner]:
    return tuple(voxels.min(axis=1).tolist()), tuple(voxels.max(axis=1).tolist())


def found(goals: NDArray[np.intp], asking: NDArray[np.intp], spacing_mm: Spacing) -> NDArray[np.float64]:
    return Nearest(goals, *corners(goals), spacing_mm).distances(asking, *corners(asking))


@st.composite
def voxels(draw: st.DrawFn) -> NDArray[np.intp]:
    """(3, n) voxels somewhere in a box, without order."""
    size = draw(st.tuples(*[st.integers(1, 25)] * 3))
    low = draw(st.tuples(*[st.integers(-20, 20)] * 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.integers(np.reshape(low, (3, 1)), np.add(low, size).reshape(3, 1), (3, draw(st.integers(1, 60))))


spacings = st.sampled_from(SPACINGS) | st.tuples(*[st.floats(0.05, 8.0)] * 3)


@pytest.fixture(params=[1, 12, 1600])
def most_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few rows, so that the k-d tree has to answer for the rest; or as many as usual."""
    monkeypatch.setattr(nearest, "MOST_ROWS", request.param)
    monkeypatch.setattr(nearest, "BOX_PER_VOXEL", 10**9)
    monkeypatch.setattr(nearest, "PLANES_PER_VOXEL", 0)
    nearest._rows_around.cache_clear()
    yield
    nearest._rows_around.cache_clear()


@pytest.mark.usefixtures("most_rows")
@given(voxels(), voxels(), spacings)
def test_like_all_pairs(goals: NDArray[np.intp], asking: NDArray[np.intp], spacing_mm: Spacing) -> None:
    expected = brute_force(asking, goals, spacing_mm)
    np.testing.assert_allclose(found(goals, asking, spacing_mm), expected, rtol=1e-15)


def test_slices_that_are_much_thicker_than_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then more rows than are looked at in all may be near in one direction."""
    monkeypatch.setattr(nearest, "MOST_ROWS", 1)
    nearest._rows_around.cache_clear()
    goals, asking = (
        np.array([[1, 1], [2, 1], [0, 1]]),
        np.array([[1], [0], [0]]),
    )  # one in the row, a nearer one beside it
    assert found(goals, asking, (2.0, 0.125, 0.125)).tolist() == [np.hypot(0.125, 0.125)]
    nearest._rows_around.cache_clear()


@given(voxels(), voxels(), spacings)
def test_rows_round_as_all_pairs_do(goals: NDArray[np.intp], asking: NDArray[np.intp], spacing_mm: Spacing) -> None:
    rows = nearest._Rows(*corners(np.concatenate([goals, asking], axis=1)), spacing_mm)
    rows.lead_to(goals)
    squared = np.full(asking.shape[1], np.inf)
    left = rows.search(asking, squared)
    done = np.delete(np.arange(len(squared)), left)
    np.testing.assert_array_equal(np.sqrt(squared[done]), brute_force(asking[:, done], goals, spacing_mm))


@pytest.mark.parametrize("limit", ["MOST_BYTES", "BOX_PER_VOXEL"])
@pytest.mark.parametrize("per_voxel", [0, 10**9])
def test_a_tree_or_planes_answer_where_the_box_is_too_large(
    limit: str, per_voxel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    goals, asking = rng.integers(0, 30, (3, 200)), rng.integers(0, 30, (3, 100))
    by_rows = found(goals, asking, (2.0, 0.7, 0.9))
    monkeypatch.setattr(nearest, limit, 0)
    monkeypatch.setattr(nearest, "PLANES_PER_VOXEL", per_voxel)
    monkeypatch.setattr(nearest._Rows, "search", None)
    monkeypatch.setattr(Nearest, "_by_tree" if per_voxel else "_from_planes", None)
    np.testing.assert_allclose(found(goals, asking, (2.0, 0.7, 0.9)), by_rows, rtol=1e-15)


@pytest.mark.parametrize("length", [127, 128, 129, 300])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_long_rows(length: int, axis: int) -> None:
    """Rows of up to 127 voxels are bytes, longer ones two bytes."""
    spacing_mm = tuple(0.5 if one == axis else 1.0 for one in range(3))
    goals, asking = np.zeros((3, 1), np.intp), np.zeros((3, length), np.intp)
    asking[axis] = np.arange(length)
    rows = nearest._Rows(*corners(asking), spacing_mm)
    assert rows.bytes == length * (1 if length < 128 else 2)
    assert found(goals, asking, spacing_mm).tolist() == (np.arange(length) / 2).tolist()


def test_rows_are_kept_if_they_are_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    goals = rng.integers(5, 25, (3, 300))
    inside, wider = rng.integers(8, 20, (3, 40)), rng.integers(0, 30, (3, 40))
    made = []
    lead_to = nearest._Rows.lead_to
    monkeypatch.setattr(nearest._Rows, "lead_to", lambda rows, voxels: made.append(rows) or lead_to(rows, voxels))
    for keep, times in ((2**20, 2), (0, 4)):
        made.clear()
        some = Nearest(goals, *corners(goals), (1.0, 1.0, 1.0), keep)
        for asking in (inside, wider, inside, wider):
            expected = brute_force(asking, goals, (1.0, 1.0, 1.0))
            np.testing.assert_array_equal(some.distances(asking, *corners(asking)), expected)
        assert len(made) == times
        assert (some._rows is not None) == (keep > 0)


@pytest.mark.parametrize("most_bytes", [0, 2**25])
@given(voxels(), voxels(), spacings)
def test_planes_round_as_all_pairs_do(most_bytes: int, goals: Voxels, asking: Voxels, spacing_mm: Spacing) -> None:
    """In one layer along x, or in a layer for each x; whatever of the distances is known before."""
    squared = np.full(asking.shape[1], np.inf)
    lower_squared_distances(squared, asking, goals, spacing_mm, most_bytes)
    expected = brute_force(asking, goals, spacing_mm)
    np.testing.assert_array_equal(np.sqrt(squared), expected)
    some = brute_force(asking, goals[:, ::2], spacing_mm) ** 2
    lower_squared_distances(some, asking, goals, spacing_mm, most_bytes)
    np.testing.assert_allclose(np.sqrt(some), expected, rtol=1e-15)


@pytest.mark.parametrize("spacing_mm", SPACINGS)
def test_a_crowd_far_away_is_answered_by_planes(spacing_mm: Spacing, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once after looking at rows, once at once, when no distance is known."""
    monkeypatch.setattr(Nearest, "_by_tree", None)
    rng = np.random.default_rng(0)
    goals = np.array([[2, 30], [3, 40], [4, -5]])
    asking = np.array(np.nonzero(rng.random((20, 30, 25)) < 0.3))
    made = []

    def noted(found: NDArray[np.float64], *more: Any) -> None:
        made.append(int(np.isfinite(found).sum()))
        lower_squared_distances(found, *more)

    monkeypatch.setattr(nearest, "lower_squared_distances", noted)
    expected = brute_force(asking, goals, spacing_mm)
    assert np.array_equal(found(goals, asking, spacing_mm), expected)
    monkeypatch.setattr(nearest, "BOX_PER_VOXEL", 0)
    assert np.array_equal(found(goals, asking, spacing_mm), expected)
    assert len(made) == 2
    assert made[1] == 0
