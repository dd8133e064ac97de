"""All 48 axis orders and flips of one scan give the same prompts and the same Dice; an oblique affine too.

That they give the same arrays is tested of all 48, and whole sessions of some; of all if the test is slow.
"""

from __future__ import annotations

from typing import Any

import nibabel as nib
import numpy as np
import pytest

import intrabench
from intrabench.mask import Mask
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.protocols import protocol
from intrabench.target import Target
from intrabench.volume import Grid, Volume
from tests.prompters.paint import Paint
from tests.prompters.test_prompters import ORDERS, PROPAGATED, REFINED, SPECS, some_orders


def scan() -> tuple[Volume, np.ndarray]:
    """A bright, lopsided blob in noise, anisotropic."""
    z, y, x = np.ogrid[:12, :22, :26]
    truth = ((2.0 * (z - 5)) ** 2 + (y - 9) ** 2 + 0.6 * (x - 14) ** 2 < 42) & ~((y > 11) & (x < 13))
    noise = np.random.default_rng(3).normal(0, 30, truth.shape)
    return Volume.from_canonical((noise + 200 * truth).astype(np.float32), (2.0, 1.0, 0.8)), truth


def in_order(volume: Volume, truth: np.ndarray, codes: str) -> tuple[Volume, np.ndarray]:
    """Scan and labels as a file with these axis codes would bring them, made canonical again."""
    start = nib.orientations.axcodes2ornt(("S", "A", "R"))
    step = nib.orientations.ornt_transform(start, nib.orientations.axcodes2ornt(tuple(codes)))
    affine = volume.affine @ nib.orientations.inv_ornt_aff(step, volume.shape)
    array = nib.orientations.apply_orientation(volume.array, step)
    labels = nib.orientations.apply_orientation(truth, step)
    grid = Grid(array.shape, affine)
    assert "".join(nib.aff2axcodes(affine)) == codes
    return Volume.from_file_order(array, affine), grid.to_canonical(labels)


def outcome(volume: Volume, truth: np.ndarray, model: Any, prompter: str, rounds: int = 0) -> list[tuple[Any, ...]]:
    """What must be equal of each row."""
    target = Target("case", "blob", 1, Mask.of(truth), volume.shape, volume.spacing_mm)
    strategy = intrabench.prompter(prompter)
    session = Session(
        "key", target, strategy, model.abilities, protocol("basic@1"), dataset="scan", image=volume, rounds=rounds
    )
    with model.open(volume) as image:
        play([session], image)
    columns = ("status", "dice", "prompts_hash", "nsd_2mm", "hd95_mm", "fp_voxels", "adapted")
    return [tuple(row.get(key) for key in columns) for row in session.rows]


def test_every_order_gives_the_same_arrays() -> None:
    volume, truth = scan()
    assert len(ORDERS) == 48
    for codes in ORDERS:
        found, labels = in_order(volume, truth, codes)
        for now, before in ((found.array, volume.array), (labels, truth), (found.affine, volume.affine)):
            assert np.array_equal(now, before), codes
            assert (now.dtype, now.strides) == (before.dtype, before.strides), codes
        assert (found.spacing_mm, found.modality) == (volume.spacing_mm, volume.modality)


@some_orders
@pytest.mark.parametrize("prompter", SPECS)
@pytest.mark.parametrize("name", ["box_fill", "random_walker"])
def test_every_order_gives_the_same_prompts_and_dice(name: str, prompter: str, orders: list[str]) -> None:
    model = intrabench.model(name)
    volume, truth = scan()
    expected = outcome(volume, truth, model, prompter)
    if name == "random_walker":
        assert expected[0][0] == "ok"
        assert expected[0][1] > 0.7
    for codes in orders:
        assert outcome(*in_order(volume, truth, codes), model, prompter) == expected, codes


@some_orders
@pytest.mark.parametrize("prompter", [*PROPAGATED, *REFINED, "box_interp:n=3+scribble+hand:jitter_mm=1.5"])
def test_every_order_gives_the_same_corrections(prompter: str, orders: list[str]) -> None:
    volume, truth = scan()
    rounds = 0 if prompter in PROPAGATED else 3
    expected = outcome(volume, truth, Paint(), prompter, rounds)
    assert len(expected) == rounds + 1
    assert {row[0] for row in expected} == {"ok"}
    for codes in orders:
        assert outcome(*in_order(volume, truth, codes), Paint(), prompter, rounds) == expected, codes


@pytest.mark.parametrize("prompter", [*SPECS, *REFINED])
def test_an_oblique_affine_over_the_same_array_gives_the_same_voxels(prompter: str) -> None:
    volume, truth = scan()
    model = Paint()
    expected = outcome(volume, truth, model, prompter, 2)
    for degrees in (1.0, 13.7, 33.3):
        a = np.deg2rad(degrees)
        turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
        affine = volume.affine.copy()
        affine[:3, :3] = turn @ affine[:3, :3]
        oblique = Volume.from_file_order(volume.array, affine)
        assert outcome(oblique, truth, model, prompter, 2) == expected
