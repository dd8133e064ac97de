"""grow_from_seeds: equal to 3D Slicer's own filter, and to shortest paths by scipy."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from syrupy.assertion import SnapshotAssertion

from intrabench.engine import requirements
from intrabench.errors import IntraBenchError
from intrabench.models.grow_from_seeds import GrowFromSeeds
from intrabench.models.parts.neighbourhood import Frame
from intrabench.models.parts.seeds import BACKGROUND, TARGET, UNKNOWN

SLICER = Path(__file__).parents[1] / "golden" / "growcut" / "slicer.npz"


@pytest.mark.parametrize("locality", [0.0, 2.0, 10.0])
def test_equal_to_slicer(locality: float) -> None:
    with np.load(SLICER) as golden:
        image, seeds, step_mm = golden["image"], golden["seeds"], golden["step_mm"]
        expected = np.unpackbits(golden[f"locality_{locality:g}"], count=image.size).reshape(image.shape)
    frame = Frame((0, 0, 0, *image.shape), image.shape, tuple(step_mm.tolist()))
    found = GrowFromSeeds(locality=locality).divide(frame, image.astype(np.float64), seeds)
    np.testing.assert_array_equal(found, expected == 1)


@pytest.mark.parametrize("locality", [0.0, 5.0])
def test_each_cell_belongs_to_the_seed_at_the_end_of_its_shortest_path(locality: float) -> None:
    rng, shape, step_mm = np.random.default_rng(1), (4, 5, 6), (2.5, 1.0, 0.7)
    image = rng.random(shape) * 100
    seeds = np.full(shape, UNKNOWN, dtype=np.int8)
    seeds[1, 1, 1], seeds[0, 4, 5], seeds[3, 0, 4] = TARGET, BACKGROUND, BACKGROUND
    cells = np.arange(image.size).reshape(shape)
    rows, columns, lengths = [], [], []
    for offset in itertools.product((-1, 0, 1), repeat=3):
        if any(offset):
            here = tuple(slice(max(0, -o), n - max(0, o)) for o, n in zip(offset, shape, strict=True))
            there = tuple(slice(max(0, o), n - max(0, -o)) for o, n in zip(offset, shape, strict=True))
            rows.append(cells[here].ravel())
            columns.append(cells[there].ravel())
            far = locality * float(np.linalg.norm(np.multiply(offset, step_mm)))
            lengths.append(np.abs(image[here] - image[there]).ravel() + far)
    graph = sparse.csr_array((np.hstack(lengths), (np.hstack(rows), np.hstack(columns))))
    nearest = [dijkstra(graph, indices=cells[seeds == side]).min(axis=0) for side in (TARGET, BACKGROUND)]
    found = GrowFromSeeds(locality=locality).divide(Frame((0, 0, 0, *shape), shape, step_mm), image, seeds)
    assert 5 < found.sum() < image.size - 5
    np.testing.assert_array_equal(found.ravel(), nearest[0] < nearest[1])


def test_without_its_extra_one_sentence_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    def absent(module: str) -> None:
        raise ModuleNotFoundError(module)  # what the look for a part of a package raises that is not there

    monkeypatch.setattr(requirements, "find_spec", absent)
    with pytest.raises(IntraBenchError) as caught:
        requirements.check_requirements(GrowFromSeeds())
    assert caught == wording
