"""Centreline Dice: by hand, and as the published formula has it on whole arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage
from skimage.morphology import skeletonize

from intrabench.mask import TURNED, Bools, Mask, Plane
from intrabench.metrics import cldice
from intrabench.metrics.lookup import metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.volume import Volume
from tests.conftest import make_target
from tests.prompters.test_prompters import ORDERS
from tests.test_orientations import in_order

SHAPE = (14, 30, 16)


def tube(first: int, last: int, radius: float = 2.5, wave: float = 2.0) -> Bools:
    """Around a wave along y."""
    line = np.zeros(SHAPE, bool)
    steps = np.arange(first, last)
    line[np.rint(6 + wave * np.sin(steps / 4)).astype(int), steps, 8] = True
    return np.asarray(ndimage.distance_transform_edt(~line) <= radius)


def measured(truth: Bools, answer: Bools) -> tuple[float | None, float | None]:
    pair = MaskPair(make_target(truth), Mask.of(answer))
    return metric("cldice").measure(pair), metric("length_found").measure(pair)


@pytest.mark.parametrize("last", [10, 18, 27])
def test_as_published_on_whole_arrays(last: int) -> None:
    truth, answer = tube(2, 28), tube(2, last, 1.5, 2.6)
    answer[11:13, 20:26, 2:4] = True  # a piece beside it
    lines = skeletonize(truth), skeletonize(answer)
    sensitivity, precision = (lines[0] & answer).sum() / lines[0].sum(), (lines[1] & truth).sum() / lines[1].sum()
    value, found = measured(truth, answer)
    assert found == pytest.approx(sensitivity, rel=1e-12)
    assert value == pytest.approx(2 * precision * sensitivity / (precision + sensitivity), rel=1e-12)
    assert (value == 1) == (last > 20)


def test_by_hand() -> None:
    """A bar of 3 x 20 x 3 voxels, whose centreline has 18, of which the answer, a bar of one voxel, has ten."""
    truth, answer = np.zeros(SHAPE, bool), np.zeros(SHAPE, bool)
    truth[5:8, 4:24, 5:8] = True
    line = np.argwhere(skeletonize(truth))
    assert (line[:, [0, 2]] == 6).all()
    answer[6, line[0, 1] : line[0, 1] + 10, 6] = True
    value, found = measured(truth, answer)
    assert found == 10 / len(line)
    assert value == pytest.approx(2 * found / (1 + found))
    assert measured(truth, truth) == (1, 1)
    assert measured(truth, ~truth) == (0, 0)


def test_empty_masks_slices_and_what_skeletons_leave_nothing_of() -> None:
    none, cube, flat = (np.zeros(SHAPE, bool) for _ in range(3))
    cube[3:5, 3:5, 3:5] = flat[4, 3:9, 3:12] = True
    assert not skeletonize(np.pad(cube, 1)).any()
    assert measured(none, none) == (1, None)
    assert measured(none, cube) == (0, None)
    assert measured(cube, none) == (0, 0)
    assert measured(cube, cube) == measured(flat, flat) == (1, 1)
    assert cldice.centreline(Mask.of(flat)).voxels == skeletonize(flat[4]).sum()


def test_the_centreline_of_a_target_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    thinned: list[Mask] = []
    thin = cldice.centreline

    def counted(mask: Mask) -> Mask:
        thinned.append(mask)
        return thin(mask)

    monkeypatch.setattr(cldice, "centreline", counted)
    target = make_target(tube(2, 28))
    for last in (10, 20):
        metric("cldice").measure(MaskPair(target, Mask.of(tube(2, last))))
    assert len(thinned) == 1 + 2


def test_files_with_permuted_and_mirrored_axes_have_the_same_value() -> None:
    """Thinning a turned array gives other voxels, so it must be of the canonical one, whatever the file looks like."""
    truth, answer = tube(2, 28), tube(2, 20, 1.5, 2.6)
    volume, expected = Volume.from_canonical(truth.astype(np.float32), (3.0, 1.0, 1.0)), measured(truth, answer)
    assert measured(truth.transpose(2, 0, 1), answer.transpose(2, 0, 1)) != expected
    for codes in ORDERS:
        stored = [in_order(volume, one, codes)[1] for one in (truth, answer)]
        assert measured(*stored) == expected, codes


@pytest.mark.parametrize("plane", ["coronal", "sagittal"])
def test_scans_that_are_read_in_another_plane_have_the_same_value(plane: Plane) -> None:
    truth, answer = tube(2, 28), tube(2, 20, 1.5, 2.6)
    target, turned = make_target(truth), make_target(truth).turned(plane)
    assert turned.mask.array.shape != target.mask.array.shape
    assert (turned.upright.mask.array == target.mask.array).all()
    pair = MaskPair(turned, Mask.of(answer).reordered(TURNED[plane]))
    assert (metric("cldice").measure(pair), metric("length_found").measure(pair)) == measured(truth, answer)
    if plane == "sagittal":
        assert measured(truth.transpose(2, 0, 1), answer.transpose(2, 0, 1)) != measured(truth, answer)
