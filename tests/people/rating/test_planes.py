"""A scan is rated in the plane in which it was acquired, whatever the plane in which it was prompted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import intrabench
from intrabench.datasets.cases import store
from intrabench.mask import TURNED
from intrabench.people.rating.design import Plan, design
from intrabench.people.rating.study import Study
from intrabench.prompts import box3d
from intrabench.reporting.page.views import marks

SAGITTAL = "phantom:shape=48x40x12,spacing=0.7x0.7x2.5,instances=1"
SHAPE = (48, 40, 12)


@pytest.mark.parametrize("protocol", ["basic@1", "basic@2", "basic@2:plane=coronal"])
def test_raters_see_the_slices_of_the_scan(protocol: str, data: Path) -> None:
    intrabench.run("box_fill", "box_slice", SAGITTAL, out="out", save_masks=True, workers=0, protocol=protocol)
    design(Path("out"), Path("study"), Plan(raters=("r1",), training=0, anchors=0.0, repeats=0.0))
    study = Study.open(Path("study"))
    (case,) = study.cases.values()
    assert (case["plane"], case["shape"], case["spacing"]) == ("sagittal", [12, 48, 40], [2.5, 0.7, 0.7])
    (job,) = study.order("r1")
    shown = json.loads((study.folder / "jobs" / f"{job}.json").read_text())
    target = store.open_case(intrabench.dataset(SAGITTAL), "case-1").targets()[0].turned("sagittal")
    (mask,) = shown["masks"]
    assert mask["box"] == list(target.mask.box)
    first, last = study.see(job)
    assert first <= target.mask.box[0] < target.mask.box[3] <= last <= SHAPE[2]
    edges = [box[axis] for box in shown["marks"]["boxes"] for axis in range(6)]
    assert (min(edges[0::6]), min(edges[1::6]), min(edges[2::6])) == target.mask.box[:3]
    assert (max(edges[3::6]), max(edges[4::6]), max(edges[5::6])) == target.mask.box[3:]


def test_marks_go_from_one_plane_to_another() -> None:
    box = (1, 2, 3, 7, 9, 11)
    for given in TURNED:
        for shown in TURNED:
            there = box3d(box).reordered(TURNED[given])
            ((*found, hand),) = marks(there, given, shown)["boxes"]
            expected = [box[axis + side] for side in (0, 3) for axis in TURNED[shown]]
            assert (found, hand) == (expected, True)
