"""Phantoms: the same canonical scan whatever the orientation of the file, and blobs that keep apart."""

from __future__ import annotations

import time
import tracemalloc
from itertools import permutations, product

import nibabel as nib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.base import Files
from intrabench.datasets.phantom import AIR, BODY, Phantom
from intrabench.errors import IntraBenchError
from intrabench.mask import Array
from intrabench.registry import registry
from intrabench.target import Target
from intrabench.volume import Volume

NO_FILES: Files = None  # type: ignore[assignment]
ORIENTATIONS = ["".join(codes) for axes in permutations(("LR", "PA", "IS")) for codes in product(*axes)]


def made(phantom: Phantom, case: str = "case-1") -> tuple[Volume, list[Target]]:
    return phantom.load(case, NO_FILES)


def label_map(volume: Volume, targets: list[Target]) -> Array:
    labels = np.zeros(volume.shape, dtype=np.int32)
    for target in targets:
        labels[target.mask.to_array(volume.shape)] += target.instance
    return labels


def test_there_are_48_orientations() -> None:
    assert len(set(ORIENTATIONS)) == 48


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_the_file_has_the_orientation_and_the_scan_is_the_same(orientation: str) -> None:
    size, spacing = (7, 12, 10), (3.0, 0.5, 0.7)
    reference, expected = made(Phantom(size, spacing, instances=2))
    volume, targets = made(Phantom(size, spacing, orientation, instances=2))
    assert "".join(nib.aff2axcodes(volume.grid.affine)) == orientation
    stored = volume.grid.from_canonical(volume.array)
    assert stored.shape == volume.grid.shape
    again = Volume.from_file_order(stored, volume.grid.affine)  # what a reader of the file makes of it
    np.testing.assert_array_equal(again.array, reference.array)
    np.testing.assert_allclose(again.affine, reference.affine, atol=1e-9)
    assert again.spacing_mm == spacing
    assert [target.info() for target in targets] == [target.info() for target in expected]


@given(
    shape=st.tuples(*[st.integers(6, 24)] * 3),
    spacing=st.tuples(*[st.floats(0.3, 6).map(lambda value: round(value, 4))] * 3),
    orientation=st.sampled_from(ORIENTATIONS),
    instances=st.integers(0, 6),
    seed=st.integers(0, 99),
)
def test_any_phantom(
    shape: tuple[int, int, int], spacing: tuple[float, float, float], orientation: str, instances: int, seed: int
) -> None:
    if instances > 1 and min(shape) < 10:  # may not fit, which another test looks at
        instances = 1
    reference, expected = made(Phantom(shape, spacing, "RAS", instances, seed=seed))
    volume, targets = made(Phantom(shape, spacing, orientation, instances, seed=seed))
    again = Volume.from_file_order(volume.grid.from_canonical(volume.array), volume.grid.affine)
    assert again.shape == volume.shape == shape
    assert again.spacing_mm == spacing
    np.testing.assert_array_equal(again.array, reference.array)
    assert [target.info() for target in targets] == [target.info() for target in expected]
    assert [target.instance for target in targets] == list(range(1, instances + 1))
    apart_and_whole(label_map(volume, targets), targets)


def apart_and_whole(labels: Array, targets: list[Target]) -> None:
    """Each target is one 26-connected component, and no two touch."""
    _, components = ndimage.label(labels, np.ones((3, 3, 3)))
    assert components == len(targets)
    assert sorted(np.unique(labels[labels > 0])) == [target.instance for target in targets]
    assert [int(np.count_nonzero(labels == target.instance)) for target in targets] == [t.mask.voxels for t in targets]


def test_intensities_are_doable_but_not_trivial() -> None:
    volume, targets = made(Phantom(instances=5))
    assert volume.array.dtype == np.int16
    labels = label_map(volume, targets)
    body = (volume.array > -500) & (ndimage.binary_dilation(labels > 0, iterations=2) == 0)
    assert volume.array[body].mean() == pytest.approx(BODY, abs=1)
    assert volume.array[body].std() == pytest.approx(30, abs=1)
    assert volume.array[:, 0, 0].mean() == pytest.approx(AIR, abs=20)
    for target in targets:
        inside = volume.array[labels == target.instance]
        assert 30 < inside.mean() - BODY < 140
    assert np.quantile(volume.array[labels > 0], 0.02) < np.quantile(volume.array[body], 0.95)  # no threshold is enough
    sizes = [target.mask.voxels for target in targets]
    assert max(sizes) > 2 * min(sizes)


def test_scans_and_seeds_differ_and_noise_changes_no_target() -> None:
    phantom = Phantom((12, 24, 24), scans=2)
    assert phantom.cases() == ("case-1", "case-2")
    contents = [
        tuple(t.info().content_hash for t in made(one, case)[1])
        for one, case in [
            (phantom, "case-1"),
            (phantom, "case-2"),
            (Phantom((12, 24, 24), seed=1), "case-1"),
            (Phantom((12, 24, 24), noise=0), "case-1"),
        ]
    ]
    assert len(set(contents)) == 3
    assert contents[3] == contents[0]
    quiet, _ = made(Phantom((12, 24, 24), noise=0, instances=0))
    assert sorted(np.unique(quiet.array)) == [AIR, BODY]


def test_the_voxels_of_version_1() -> None:
    """Stored results refer to them: a change here needs another version."""
    _, targets = made(Phantom())
    assert [(t.id, t.mask.voxels) for t in targets] == [("blob.1", 2295), ("blob.2", 14809), ("blob.3", 1424)]


@pytest.mark.parametrize("shape", [(1, 64, 64), (40, 1, 30), (1, 1, 9)])
def test_thin_volumes(shape: tuple[int, int, int]) -> None:
    volume, targets = made(Phantom(shape, instances=2))
    apart_and_whole(label_map(volume, targets), targets)


def test_large_is_quick_and_lean() -> None:
    phantom = Phantom((100, 512, 512), (1.5, 0.8, 0.8), "LPS", 100)
    started = time.process_time()
    tracemalloc.start()
    volume, targets = made(phantom)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(targets) == 100
    assert peak < volume.array.nbytes + 30e6  # a few planes and blobs
    assert time.process_time() - started < 10


def test_specs_go_both_ways() -> None:
    spec = "phantom:shape=32x40x48,spacing=2.5x0.75x1,orientation=LPI,instances=4,scans=2,seed=7,noise=12.5"
    phantom = registry.make("datasets", spec)
    assert phantom == Phantom((32, 40, 48), (2.5, 0.75, 1.0), "LPI", 4, 2, 7, 12.5)
    assert registry.make("datasets", phantom.spec) == phantom
    assert registry.make("datasets", phantom.short_spec) == phantom
    assert registry.make("datasets", "phantom").short_spec == "phantom"
    assert Phantom(spacing=(1, 1, 1)).spec == registry.make("datasets", "phantom:spacing=1x1x1").spec


@pytest.mark.parametrize(
    "spec",
    [
        "phantom:shape=32x40",
        "phantom:shape=0x40x40",
        "phantom:spacing=1x1x0",
        "phantom:spacing=1x1xnan",
        "phantom:orientation=RAL",
        "phantom:orientation=ras",
        "phantom:instances=-1",
        "phantom:scans=0",
        "phantom:noise=-1",
        "phantom:size=3",
    ],
)
def test_wrong_parameters(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", spec)
    assert caught == wording


def test_too_many_instances(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        made(Phantom((8, 16, 16), instances=500))
    assert caught == wording
