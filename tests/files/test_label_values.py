"""Values that are labels, and the values of soft masks, which are none."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
import pytest
from PIL import Image, ImageDraw
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.files.label_values import WHOLE, LabelValues, check_hard, whole_numbers


def disc(size: int = 64, radius: float = 20, fine: int = 16) -> np.ndarray:
    """The share of each pixel that lies in a disc, in 8 bits."""
    large = Image.new("L", (size * fine, size * fine))
    middle, reach = size * fine / 2 + 3, radius * fine
    ImageDraw.Draw(large).ellipse([middle - reach, middle - reach, middle + reach, middle + reach], fill=255)
    return np.array(large.resize((size, size), Image.Resampling.BOX))


def compressed(picture: np.ndarray) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=80)
    return np.array(Image.open(file))


HARD = np.where(disc() > 127, 255, 0).astype(np.uint8)
BALL = np.linalg.norm(np.mgrid[:30, :40, :40] - np.array([15, 20, 20]).reshape(3, 1, 1, 1), axis=0) < 9
SOFT: Mapping[str, np.ndarray] = {
    "antialiased": disc(),
    "small": disc(16, 3),
    "blurred": ndimage.gaussian_filter(HARD, 3.0),
    "compressed": compressed(HARD),
    "enlarged": np.array(Image.fromarray(HARD).resize((150, 150), Image.Resampling.BILINEAR)),
    "repeated": np.kron(disc(), np.ones((2, 2), np.uint8)),
    "per cent": np.rint(disc() / 2.55).astype(np.uint8),
    "one level": np.where(ndimage.morphological_gradient(HARD, 3) > 0, 128, HARD),
    "volume": ndimage.gaussian_filter(np.where(BALL, 1000, 0).astype(np.int16), 1.5),
    "thick slices": ndimage.zoom(np.where(BALL, 255, 0).astype(np.uint8), (1.7, 1, 1), order=1),
}


@pytest.mark.parametrize("kind", SOFT)
@pytest.mark.parametrize("axes", [1, -1])
def test_soft_masks_are_refused_with_their_number_and_cut_at_a_threshold(kind: str, axes: int) -> None:
    values = SOFT[kind] if axes == 1 else SOFT[kind].T
    with pytest.raises(IntraBenchError, match=rf"a holds {len(np.unique(values)) - 1} values, "):
        WHOLE.labels(values, "a")
    full = 255 if values.max() <= 255 else 65_535
    if kind not in ("per cent", "volume"):
        assert np.array_equal(LabelValues(0.5).labels(values, "a"), values >= 0.5 * full)
    assert LabelValues("none").labels(values, "a") is values


def cells(count: int, radius: float, size: int = 96) -> np.ndarray:
    drawn, rng = np.zeros((size, size), np.uint16), np.random.default_rng(0)
    for number, place in enumerate(rng.integers(0, size, (count, 2)), start=1):
        drawn[np.linalg.norm(np.mgrid[:size, :size] - place[:, None, None], axis=0) <= radius] = number
    return drawn


NEAREST = ndimage.distance_transform_edt(cells(120, 0) == 0, return_indices=True)[1]
HARD_MAPS: Mapping[str, np.ndarray] = {
    "black and white": HARD,
    "nested": HARD // 255 + (disc(radius=10) > 127) + (disc(radius=5) > 127) + (disc(radius=2) > 127),
    "cells that touch": cells(150, 4),
    "a partition": cells(120, 0)[*NEAREST],
    "a partition into small parts": np.arange(24 * 24).reshape(24, 24).repeat(2, 0).repeat(2, 1),
    "far numbers": np.choose(cells(3, 5), [0, 17, 1001, 2035]),
    "single voxels": cells(40, 0),
    "layers": np.repeat(np.arange(12, dtype=np.uint8), 4)[:, None].repeat(50, 1),
    "outlines": np.where(ndimage.morphological_gradient(HARD, 3) > 0, 2, HARD // 255),
    "a thin object in an outline of void": np.pad(np.pad(np.full((1, 9), 7), 1, constant_values=255), 9),
    "parts of a volume": cells(30, 6)[:, None].repeat(9, 1),
}


@pytest.mark.parametrize("kind", HARD_MAPS)
def test_labels_stay_as_they_are(kind: str) -> None:
    labels = HARD_MAPS[kind]
    assert WHOLE.labels(labels, "a") is labels
    check_hard(labels.T, "a", "")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_near_whole_numbers_are_named_and_rounded_by_option(dtype: type, wording: SnapshotAssertion) -> None:
    values = np.array([0, 1, 1.0000001, 2.00001, 3], dtype).repeat(4)
    with pytest.raises(IntraBenchError) as caught:
        whole_numbers(values, "a.nii.gz")
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        WHOLE.labels(values, "a.nii.gz")
    assert caught == wording
    assert LabelValues(round=True).labels(values, "a").tolist() == [0] * 4 + [1] * 8 + [2] * 4 + [3] * 4


def test_fractions_are_not_rounded(wording: SnapshotAssertion) -> None:
    values = np.array([0, 0.25, 0.5, 1, 1], np.float32)
    for rule in (WHOLE, LabelValues("none"), LabelValues(round=True)):
        with pytest.raises(IntraBenchError) as caught:
            rule.labels(values, "a")
    assert caught == wording
    assert LabelValues(0.5).labels(values, "a").tolist() == [0, 0, 1, 1, 1]
    assert LabelValues(0.2).labels(values, "a").tolist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0, 1, 2], "0.5 of 255, only up"),
        ([0.0, -3.5, 4], "from -3.5 to 4"),
        ([0, 70_000, 4], "from 0 to 70000"),
        ([0.0, np.nan, 1], "values that are no numbers"),
    ],
)
def test_a_threshold_needs_soft_masks(values: list[float], said: str) -> None:
    with pytest.raises(IntraBenchError, match=said):
        LabelValues(0.5).labels(np.array(values), "a")


def test_what_is_full_is_that_of_the_type_or_one() -> None:
    for values in ([0, 127, 128, 255], [0, 32_767, 32_768, 65_535], [0, 0.49, 0.5, 1.0], [0, 0, 1, 1], [0, 0, 0, 0]):
        assert LabelValues(0.5).labels(np.array(values), "a").tolist() == [0, 0, *[int(max(values) > 0)] * 2]


@pytest.mark.parametrize("values", [np.array(["a"]), np.array([1j]), np.array([np.nan]), np.array([1e12])])
def test_what_is_no_number_is_no_label(values: np.ndarray) -> None:
    with pytest.raises(IntraBenchError, match=r"a label map|not whole"):
        WHOLE.labels(values, "a")
