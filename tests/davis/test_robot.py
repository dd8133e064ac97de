"""The robot: each stage equals davisinteractive, and without its bugs a stroke is where it should be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from intrabench.davis.robot import MENDED, ScribbleRobot, bezier, footprint, opened, runs, scribbles
from intrabench.davis.skeleton import longest_path, medial_axes, trees
from intrabench.davis.utils.scribbles import scribbles2mask, shares
from tests.davis.golden import arrays, read

INDEX = read("robot_index.json")
PUBLISHED = ScribbleRobot()
pytest.importorskip("skimage")


@pytest.mark.parametrize("radius", read("disk_footprints.json"))
def test_disks_of_fractional_radius(radius: str) -> None:
    assert footprint(float(radius)).astype(int).tolist() == read("disk_footprints.json")[radius]


@pytest.mark.parametrize("name", INDEX)
def test_golden_stages(name: str) -> None:
    stored = arrays(f"robot/{name}")
    truth, answer = stored["gt"], stored["pred"]
    for key, stage in INDEX[name]["stages"].items():
        error = (truth == int(key[3:])) & (truth != answer)
        assert np.count_nonzero(error) == stage["error_px"]
        thick = PUBLISHED.thick(error)
        assert np.array_equal(thick, stored.get(f"opened_{key}", error))
        skeleton = medial_axes([thick], None)[0]
        assert np.array_equal(skeleton, stored[f"skeleton_{key}"])
        found = [pixels[longest_path(tree)] for pixels, tree in trees(skeleton, PUBLISHED.min_nodes)]
        assert [len(path) for path in found] == stage["longest_path_len"]
        for number, path in enumerate(found):
            assert np.array_equal(path[:, ::-1], stored[f"path_{key}_{number}_xy"])


@pytest.mark.parametrize("name", INDEX)
def test_golden_scribbles(name: str) -> None:
    stored, expected = arrays(f"robot/{name}"), INDEX[name]
    truth, answer = stored["gt"], stored["pred"]
    found = scribbles(PUBLISHED, truth, answer, range(1, expected["nb_objects"] + 1))
    assert [one for one, _ in found] == expected["object_ids"]
    lines = []
    for number, (one, path) in enumerate(found):
        line = shares(path, *truth.shape, compat=True)
        np.testing.assert_allclose(line, stored[f"scribble_{number}_obj{one}"], rtol=0, atol=1e-12)
        lines.append({"path": stored[f"scribble_{number}_obj{one}"].tolist(), "object_id": one})
        y, x = np.rint(path).astype(int).T
        inside = ((truth == one) & (truth != answer))[y, x].mean()
        assert inside >= expected["fraction_of_points_inside_error_region"][number] - 0.02
    drawn = scribbles2mask({"scribbles": [lines]}, truth.shape, compat=True)
    assert np.array_equal(drawn[0], stored["scribbles2mask"])


@pytest.mark.parametrize(("y_radius", "x_radius"), [(3.2, 1.6), (1.5, 4.0), (2.0, 2.5)])
def test_where_pixels_are_no_squares_a_disk_is_an_ellipse(y_radius: float, x_radius: float) -> None:
    found = {(y, x) for y, low, high in runs(y_radius, x_radius) for x in range(low, high)}
    near = range(-6, 7)
    assert found == {(y, x) for y in near for x in near if (y / y_radius) ** 2 + (x / x_radius) ** 2 <= 1}


@given(st.integers(0, 10**6), st.floats(1.01, 6))
def test_the_opening_is_that_of_rank_filters(seed: int, radius: float) -> None:
    from skimage.filters import rank
    from skimage.morphology import disk

    mask = ndimage.gaussian_filter(np.random.default_rng(seed).random((30, 41)), 2) > 0.5
    eroded = rank.minimum(mask.astype(np.uint8), disk(radius))
    assert np.array_equal(opened(mask, runs(radius, radius)), rank.maximum(eroded, disk(radius)).astype(bool))


@pytest.mark.parametrize("key", ["bezier_three", "bezier_line", "bezier_zigzag"])
def test_golden_curves(key: str) -> None:
    golden = read("utils.json")[key]
    np.testing.assert_allclose(bezier(np.array(golden["points"]), golden["nb_points"]), golden["curve"], atol=1e-14)


def test_long_paths_are_drawn_as_they_are_and_no_curve_has_more_points_than_1000() -> None:
    path = np.column_stack([np.arange(1001), np.arange(1001) % 7])
    assert np.array_equal(bezier(path), path)
    assert bezier(path[:50], 5000).shape == (1000, 2)


def ring(shape: tuple[int, int] = (64, 90)) -> np.ndarray:
    y, x = np.ogrid[: shape[0], : shape[1]]
    far = np.hypot(y - 30, x - 40)
    return (far < 24) & (far > 14)


def test_a_disk_that_was_missed_gets_no_published_stroke_and_a_mended_one_in_its_middle() -> None:
    y, x = np.ogrid[:60, :80]
    disk = np.hypot(y - 30, x - 41) < 20
    assert PUBLISHED.strokes(disk) == []
    (stroke,) = MENDED.strokes(disk)
    assert stroke.tolist() == [[30, 41]]
    (stroke,) = MENDED.strokes(np.pad(disk, ((400, 20), (700, 30))))
    assert stroke.tolist() == [[430, 741]]


def test_an_error_without_a_thick_part_gets_no_published_stroke_and_a_mended_one_along_it() -> None:
    line = np.zeros((9, 420), bool)
    line[4, 10:410] = True
    assert PUBLISHED.strokes(line) == []
    (stroke,) = MENDED.strokes(line)
    assert np.allclose(stroke[:, 0], 4)
    assert sorted((stroke[0, 1], stroke[-1, 1])) == [10, 409]


@given(st.integers(0, 10**6), st.sampled_from([None, (1.0, 1.0), (0.7, 0.7), (3.0, 0.8)]))
def test_mended_strokes_lie_inside_the_error_and_are_never_missing(
    seed: int, spacing_mm: tuple[float, float] | None
) -> None:
    rng = np.random.default_rng(seed)
    error = ndimage.gaussian_filter(rng.random((40, 50)), rng.uniform(0, 4)) > rng.uniform(0.45, 0.55)
    found = MENDED.strokes(error, rng, spacing_mm)
    assert bool(found) == error.any()
    for stroke in found:
        y, x = np.rint(stroke).astype(int).T
        assert error[y, x].all()


def test_ties_are_broken_by_the_given_generator_and_without_one_always_alike() -> None:
    def drawn(seed: int | None) -> list[list[list[float]]]:
        rng = None if seed is None else np.random.default_rng(seed)
        return [stroke.tolist() for stroke in PUBLISHED.strokes(ring(), rng)]

    assert drawn(None) == drawn(None)
    assert drawn(1) == drawn(1)
    assert len({str(drawn(seed)) for seed in range(5)}) > 1


def test_strokes_do_not_depend_on_where_the_error_lies_or_on_the_rest_of_the_frame() -> None:
    error = ring()
    wide = np.zeros((200, 300), bool)
    wide[70:134, 100:190] = error
    (here,), (there,) = PUBLISHED.strokes(error), PUBLISHED.strokes(wide)
    np.testing.assert_allclose(here + (70, 100), there, rtol=0, atol=1e-10)
    answer = np.zeros_like(wide, np.uint8)
    assert [one for one, _ in scribbles(PUBLISHED, wide.astype(np.uint8), answer, [1])] == [1]
    assert [one for one, _ in scribbles(PUBLISHED, answer, wide.astype(np.uint8), [1])] == [0]
    assert scribbles(PUBLISHED, answer, answer, [1]) == []


@settings(deadline=None)
@given(st.integers(0, 1000), st.integers(0, 4), st.booleans())
def test_several_errors_at_once_are_as_one_after_the_other(seed: int, count: int, seeded: bool) -> None:
    noise = np.random.default_rng(seed).standard_normal((count, 40, 50))
    errors = [ndimage.gaussian_filter(one, 2) > 0.1 for one in noise]
    errors[1:2] = [np.zeros((40, 50), bool) for _ in errors[1:2]]
    rngs = [np.random.default_rng(seed) if seeded else None for _ in range(2)]
    alone = [MENDED.strokes(error, rngs[0]) for error in errors]
    together = MENDED.strokes_in(errors, rngs[1])
    assert len(alone) == len(together)
    for one, other in zip(alone, together, strict=True):
        assert [stroke.tolist() for stroke in one] == [stroke.tolist() for stroke in other]
