"""Raters see the patient's right on the side that the study says, in its pages and in its examples."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import intrabench
from intrabench.datasets.base import Files
from intrabench.mask import TURNED, UPRIGHT, Plane, reordered
from intrabench.people.images import Orientation
from intrabench.people.rating.design import Plan, design
from intrabench.people.rating.gallery import Slice, picture_of
from intrabench.people.slices import seen, window_of
from intrabench.registry import registry
from intrabench.reporting.pictures import ANSWER
from intrabench.target import Target
from intrabench.volume import Volume
from tests.people.rating.conftest import PLAN, rating
from tests.people.rating.test_page import Browsers, Rater

Array = np.ndarray[Any, Any]
SCANS: dict[Plane, str] = {
    "axial": "phantom:shape=20x36x40,spacing=2.5x0.7x0.7,instances=8",
    "coronal": "phantom:shape=40x20x36,spacing=0.7x2.5x0.7,instances=8",
    "sagittal": "phantom:shape=40x36x20,spacing=0.7x0.7x2.5,instances=8",
}
"""A blob in each of their eight corners."""
ROWS_COLUMNS = {"Axial": (1, 2), "Coronal": (0, 2), "Sagittal": (0, 1)}
"""Of each plane; axes grow towards superior, anterior and the patient's right."""

DRAWN = """() => Object.fromEntries([...document.querySelectorAll("#viewer figure")].map((figure) =>
  [figure.querySelector("figcaption").firstChild.data.trim(), figure.querySelector("canvas").toDataURL()]))"""
both = pytest.mark.parametrize("orientation", ["radiological", "neurological"])
planes = pytest.mark.parametrize("plane", TURNED)


def scan(spec: str) -> tuple[Volume, Target]:
    """The first scan of a phantom, and its first target."""
    made = registry.make("datasets", spec)
    volume, targets = made.load(made.cases()[0], Files(None, None))  # type: ignore[arg-type]
    return volume, targets[0]


def as_seen(picture: Array, orientation: Orientation, plane: str) -> Array:
    """Rows and columns of a plane as they lie on the screen: superior or anterior at the top, anterior on the left;
    the patient's right is on the left for radiologists."""
    return picture[::-1, :: 1 if orientation == "neurological" and plane != "Sagittal" else -1]


@both
@planes
def test_raters_see_the_right_where_the_study_says(
    plane: Plane, orientation: Orientation, browsers: Browsers, tmp_path: Path, data: Path
) -> None:
    """Scan and mask, in all three planes."""
    intrabench.run("box_fill", "box_volume", SCANS[plane], out="out", save_masks=True, workers=0)
    plan = Plan(inputs=1, raters=("r1",), training=0, anchors=0.0, repeats=0.0, orientation=orientation)
    study, _ = design(Path("out"), tmp_path / "study", plan)
    (job,) = study.order("r1")
    (mask,) = json.loads((study.folder / "jobs" / f"{job}.json").read_text())["masks"]
    low, high = (np.array(reordered(tuple(mask["box"][side:][:3]), UPRIGHT[plane])) for side in (0, 3))
    with rating(study.folder) as server:
        one = Rater(browsers[0], server.links["r1"], "light")
        one.press("Enter")
        one.until("(s => s.job && s.loaded === 1)(window.rating.state()) && !document.querySelector('dialog[open]')")
        for hidden in ("prompts", "cross"):
            one.page.uncheck(f"#viewer [name={hidden}]")
        one.page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        found = one.page.evaluate(DRAWN)
        at = reordered(tuple(one.state()["at"]), UPRIGHT[plane])
        assert one.leaves() == []
    assert set(found) == set(ROWS_COLUMNS)
    volume, _ = scan(SCANS[plane])
    for axis, name in enumerate(ROWS_COLUMNS):
        rows, columns = ROWS_COLUMNS[name]
        cut = as_seen(volume.array.take(at[axis], axis), orientation, name)
        filled = np.zeros(volume.shape, bool)
        filled[tuple(map(slice, low, high))] = True
        box = as_seen(filled.take(at[axis], axis), orientation, name)
        assert abs(middle(box)[1] - middle(box[:, ::-1])[1]) > 4, "a mask in the middle lies there either way"
        sides = np.array([volume.spacing_mm[rows], volume.spacing_mm[columns]])
        shown = drawn(found[name], np.array(cut.shape), sides)
        body = cut > -160
        grey = shown[..., 0]
        assert np.corrcoef(grey[body], cut[body])[0, 1] > 0.8, name
        assert np.corrcoef(grey[body], cut[:, ::-1][body].clip(-160))[0, 1] < 0.5, name
        blue = shown[..., 2] - shown[..., 0] > 8  # the outline of the mask; all else is grey
        assert middle(blue) == pytest.approx(middle(box), abs=1), name


def drawn(address: str, shape: Array, sides: Array) -> Array:
    """What a canvas shows, RGB ``(rows, columns, 3)``, a pixel for each voxel; sides: of a voxel, in mm."""
    picture = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))).convert("RGB")
    room, size = np.array(picture.size), shape[::-1] * sides[::-1]
    size = size * (room / size).min()
    box = *((room - size) / 2).clip(0), *((room + size) / 2).clip(max=room)
    return np.array(picture.resize(shape[::-1].tolist(), Image.Resampling.BOX, box), int)


def middle(area: Array) -> list[int]:
    """The first row and column of an area and the last one, added."""
    return [int(np.flatnonzero(area.any(axis=1 - axis))[[0, -1]].sum()) for axis in (0, 1)]


@both
@planes
def test_examples_lie_as_the_study_says(plane: Plane, orientation: Orientation) -> None:
    """The scan, here a ramp that grows with row and column, and the example, which is in its first quarter."""
    volume, target = scan(SCANS[plane])
    one = Slice.of(target.turned(plane), volume.turned(plane), orientation=orientation)
    rows, columns = (np.indices(one.area.shape) * 4).astype(np.uint8)
    one = replace(one, picture=np.stack([rows, columns, np.zeros_like(rows)], axis=-1))
    box = window_of(one.area)
    example = np.zeros_like(one.area)
    example[tuple(slice(side.start, (side.start + side.stop) // 2) for side in box)] = True
    picture = np.array(picture_of(one, example), int)
    answer = np.mean(np.nonzero((picture == ANSWER).all(axis=-1)), axis=1) / picture.shape[:2]
    forwards = orientation == "neurological" and plane != "sagittal"
    assert answer[0] > 0.55
    assert answer[1] < 0.45 if forwards else answer[1] > 0.55
    assert picture[0, 0, 0] > picture[-1, 0, 0]
    assert (picture[0, 0, 1] < picture[0, -1, 1]) == forwards


@both
def test_examples_of_a_study_lie_as_its_scans(
    orientation: Orientation, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(results.parent / "data"))
    slices = list[Slice]()

    def gallery(found: Sequence[Slice], rng: object) -> dict[str, Any]:
        slices.extend(found)
        return {}

    monkeypatch.setattr("intrabench.people.rating.design.gallery", gallery)
    study, _ = design(results, tmp_path / "study", replace(PLAN, orientation=orientation))
    assert study.about("r1")["orientation"] == orientation
    assert {one.turned[1].step for one in slices} == {-1 if orientation == "radiological" else None}


def test_photographs_lie_as_they_are() -> None:
    volume, _ = scan(SCANS["axial"])
    photo = replace(volume, modality="natural images")
    assert seen(photo, "neurological") == seen(photo, "radiological") == (slice(None), slice(None))
