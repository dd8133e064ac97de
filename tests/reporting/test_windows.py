"""The window with which a CT is shown first: it fits the target, or is the one that was asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.people.annotating.server import _Scans
from intrabench.people.images import Slabs
from intrabench.people.rating.design import Plan
from intrabench.reporting.pictures import Picture
from intrabench.reporting.windows import CT_WINDOWS, ct_window, windows
from intrabench.target import Target
from intrabench.volume import Volume

SHAPE = (12, 40, 40)
INSIDE = np.zeros(SHAPE, bool)
INSIDE[4:8, 14:26, 14:26] = True
MASK = Mask.of(INSIDE)


def scan(inside: float, outside: float, modality: str = "CT") -> Volume:
    array = np.where(INSIDE, inside, outside).astype(np.int16)
    return replace(Volume.from_canonical(array, (1.0, 1.0, 1.0)), modality=modality)


@pytest.mark.parametrize(
    ("inside", "outside", "expected"),
    [
        (60, -80, "soft tissue"),  # liver in fat
        (30, -850, "lung"),  # a nodule
        (-780, 40, "soft tissue"),  # a small hole in much soft tissue
        (450, 30, "bone"),
        (450, -850, "bone"),  # a rib
    ],
)
def test_the_window_fits_the_target(inside: float, outside: float, expected: str) -> None:
    volume = scan(inside, outside)
    assert ct_window(volume, MASK) == expected
    about = Slabs(volume, [MASK]).about
    assert about["presets"][about["preset"]]["name"] == expected
    assert ct_window(volume, MASK, "lung") == "lung"
    assert Slabs(volume, [MASK], "lung").about["preset"] == 1


def test_cortical_bone_decides_though_most_of_a_vertebra_is_darker() -> None:
    volume = scan(80, 30)
    array = np.where(INSIDE & (np.arange(40) % 3 == 0), 500, volume.array)
    assert ct_window(replace(volume, array=array), MASK) == "bone"


def test_what_is_far_from_the_target_changes_nothing() -> None:
    near = np.pad(np.ones((14, 22, 22), bool), ((0, 0), (9, 9), (9, 9)))[1:13]
    array = np.where(near, scan(50, -20).array, -1000)
    assert ct_window(replace(scan(0, 0), array=array), MASK) == "soft tissue"


def test_pictures_show_what_the_window_says() -> None:
    target = Target("case", "rib", 1, MASK, SHAPE, (1.0, 1.0, 1.0))

    def middle(volume: Volume, window: str = "") -> int:
        image = np.asarray(Picture(volume, target, window=window).image(1).convert("L"))
        return int(image[image.shape[0] // 2, image.shape[1] // 2])

    def grey(value: float, window: str) -> float:
        low, high = CT_WINDOWS[window]
        return 255 * (value - low) / (high - low)

    assert middle(scan(450, -900)) == pytest.approx(grey(450, "bone"), abs=1)
    assert middle(scan(60, 0)) == pytest.approx(grey(60, "soft tissue"), abs=1)
    assert middle(scan(60, 0), "bone") == pytest.approx(grey(60, "bone"), abs=1)
    assert middle(scan(60, 0, "MR")) > 250  # percentiles
    _, presets, start = windows(scan(60, 0, "MR").array, scan(60, 0, "MR"), MASK, "bone")
    assert (presets[0][0], start) == ("1 to 99 %", 0)


@pytest.mark.parametrize(("asked", "preset"), [("", 2), ("lung", 1)])
def test_people_begin_with_it(asked: str, preset: int) -> None:
    class Tasks:
        """Two tasks on one scan."""

        def tasks(self, rater: str) -> list[SimpleNamespace]:
            return [SimpleNamespace(scan="s", code=code) for code in ("a", "b")]

        def scan(self, code: str) -> Volume:
            return scan(450, 30)

        def reference(self, code: str) -> Mask:
            return MASK

    annotation: Any = Tasks()
    assert _Scans(annotation, asked)("s").about["preset"] == preset


def test_a_study_and_a_preview_may_choose_it(data: Path, wording: SnapshotAssertion) -> None:
    dataset = intrabench.dataset("phantom:shape=12x24x24")
    store.prepare(dataset, dataset.cases()[0])
    first, second = (intrabench.preview("box_middle", dataset, window=name)[0] for name in ("", "bone"))
    assert np.asarray(first).std() > np.asarray(second).std() + 5
    for refused in (lambda: Plan(window="brain"), lambda: intrabench.preview("box_middle", dataset, window="bones")):
        with pytest.raises(IntraBenchError) as error:
            refused()
        assert str(error.value) == wording


@pytest.mark.parametrize("modality", ["CT", "MR"])
def test_a_window_of_values_is_that_of_any_scan(modality: str) -> None:
    volume = scan(100, 0, modality)
    _, presets, start = windows(volume.array, volume, MASK, "-50,150")
    assert presets[start] == ("-50 to 150", -50.0, 150.0)
    about = Slabs(volume, [MASK], "-50,150").about
    assert about["presets"][about["preset"]] == {"name": "-50 to 150", "low": -50.0, "high": 150.0}
    assert Plan(window="-50,150").window
    for wrong in ("150,-50", "1,2,3", "0,inf", "nan,1"):
        with pytest.raises(IntraBenchError, match="no window"):
            Plan(window=wrong)
