"""Users read a scan in the plane of its acquisition; slice models follow, models of volumes keep canonical axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import intrabench
from intrabench.datasets.cases import store
from intrabench.engine.options import chosen
from intrabench.engine.preview import preview
from intrabench.engine.verify import verify
from intrabench.errors import IntraBenchError
from intrabench.files.grid import acquisition_plane
from intrabench.mask import TURNED, UPRIGHT, Mask, Plane, Region
from intrabench.models.base import Answer, Failure, JointAnswer, JointRequest, Model, Predictor, Request, VolumeModel
from intrabench.models.parts.upright import Upright, open_in_plane
from intrabench.people.annotating.annotation import Annotation
from intrabench.people.playback import Playback
from intrabench.play.gestures import Gesture
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompts import Prompts, Scribble, box3d
from intrabench.protocols import known, protocol
from intrabench.reporting.page.views import marks
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows, read_turns
from intrabench.statistics.soundness import check_mixable
from intrabench.target import Target
from intrabench.turns import Click, Turn, turns_by_round
from intrabench.volume import Volume
from tests.prompters.paint import Paint
from tests.prompters.test_prompters import ORDERS, PROPAGATED, REFINED, SPECS, some_orders
from tests.test_orientations import in_order, scan

PIECES = "method=felzenszwalb,segments=60"
SAGITTAL = "phantom:shape=48x40x12,spacing=0.7x0.7x2,instances=1"


@pytest.mark.parametrize(
    ("shape", "spacing", "plane"),
    [
        ((20, 30, 30), (5.0, 1.0, 1.0), "axial"),
        ((30, 20, 30), (1.0, 1.5, 1.0), "coronal"),
        ((256, 256, 60), (0.7, 0.7, 2.0), "sagittal"),
        ((30, 30, 30), (1.0, 1.0, 1.49), "axial"),
        ((30, 30, 30), (1.0, 3.0, 3.0), "axial"),
        ((9, 30, 30), (1.0, 2.0, 3.0), "sagittal"),
        ((1, 300, 400), (1.0, 1.0, 1.0), "axial"),
        ((1, 300, 400), (1.0, 5.0, 1.0), "axial"),
        ((300, 400, 1), (1.0, 1.0, 1.0), "sagittal"),
    ],
)
def test_the_plane_follows_from_geometry(shape: Any, spacing: Any, plane: Plane) -> None:
    assert acquisition_plane(shape, spacing) == plane


def sagittal() -> tuple[Volume, Volume, np.ndarray]:
    """A scan acquired sagittally, the same slices declared axial, and the truth in the latter."""
    declared, truth = scan()
    array = np.ascontiguousarray(declared.array.transpose(UPRIGHT["sagittal"]))
    z, y, x = (declared.spacing_mm[axis] for axis in UPRIGHT["sagittal"])
    return Volume.from_canonical(array, (z, y, x)), declared, truth


@some_orders
def test_all_axis_orders_of_a_scan_have_its_plane(orders: list[str]) -> None:
    volume, _, truth = sagittal()
    upright = truth.transpose(UPRIGHT["sagittal"])
    seen = volume.turned("sagittal")
    for codes in ORDERS:
        found, labels = in_order(volume, upright, codes)
        assert acquisition_plane(found.shape, found.spacing_mm) == "sagittal"
        if codes in orders:
            target = Target("case", "blob", 1, Mask.of(labels), found.shape, found.spacing_mm).turned("sagittal")
            assert np.array_equal(found.turned("sagittal").array, seen.array)
            assert np.array_equal(target.mask.to_array(truth.shape), truth)


def rows_of(volume: Volume, target: Target, model: Model, prompter: str, rounds: int) -> list[dict[str, Any]]:
    """All that rows say but for times."""
    abilities = model.abilities if model.any_plane else model.abilities.across(volume.plane)
    session = Session(
        "key", target, intrabench.prompter(prompter), abilities, protocol("basic@2"), image=volume, rounds=rounds
    )
    with open_in_plane(model, volume) as image:
        play([session], image)
    times = {"prompt_s", "encode_s", "segment_s"}
    return [{name: value for name, value in row.items() if name not in times} for row in session.rows]


@pytest.mark.parametrize("prompter", [*SPECS, *PROPAGATED, *REFINED])
def test_slices_are_read_as_if_they_were_axial(prompter: str) -> None:
    volume, declared, truth = sagittal()
    upright = Mask.of(truth.transpose(UPRIGHT["sagittal"]))
    target = Target("case", "blob", 1, upright, volume.shape, volume.spacing_mm, ignore=Mask.of(upright.array[:1]))
    turned = target.turned("sagittal")
    axial = Target("case", "blob", 1, Mask.of(truth), declared.shape, declared.spacing_mm, ignore=turned.ignore)
    rounds = 0 if prompter in PROPAGATED else 2
    seeded = [intrabench.model("random_walker")] if prompter in ("box_interp:n=3", REFINED[0]) else []
    for model in (Paint(), intrabench.model("box_fill"), *seeded):
        found = rows_of(volume.turned("sagittal"), turned, model, prompter, rounds)
        assert found == rows_of(declared, axial, model, prompter, rounds), model


@pytest.mark.parametrize("prompter", ["click_deepest", f"oracle:{PIECES}"])
def test_supervoxels_of_slices_are_of_those_that_are_read(prompter: str) -> None:
    """And the bound divides the image as the model does."""
    volume, declared, truth = sagittal()
    upright = Mask.of(truth.transpose(UPRIGHT["sagittal"]))
    target = Target("case", "blob", 1, upright, volume.shape, volume.spacing_mm).turned("sagittal")
    axial = Target("case", "blob", 1, Mask.of(truth), declared.shape, declared.spacing_mm)
    model = intrabench.model(f"supervoxels:{PIECES}")
    found = rows_of(volume.turned("sagittal"), target, model, prompter, 2)
    assert found == rows_of(declared, axial, model, prompter, 2)
    assert {row["status"] for row in found} == {"ok"}


@dataclass(eq=False)
class Balls(VolumeModel):
    """Balls around points and strokes, and boxes filled; it needs the scan as it lies in the body."""

    name = "balls"
    accepts = frozenset({"point", "box2d", "box3d", "scribble", "lasso"})
    slices: bool = False

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        assert volume.plane == "axial"
        grid, answer = np.ogrid[tuple(slice(size) for size in volume.shape)], request.mask.to_array(volume.shape)
        prompts = request.turns[-1].prompts
        for z0, y0, x0, z1, y1, x1 in prompts.blocks:
            answer[z0:z1, y0:y1, x0:x1] = True
        for *at, label in [*prompts.points, *(row for stroke in prompts.strokes for row in stroke.rows)]:
            answer[sum((axis - place) ** 2 for axis, place in zip(grid, at, strict=True)) <= 4] = label
        valid = Region(slices=tuple(range(volume.shape[0]))) if self.slices else Region()
        return Answer(Mask.of(answer), valid, reach=(0, 0, 0, *volume.shape))


@pytest.mark.parametrize("slices", [False, True])
@pytest.mark.parametrize("prompter", ["click_deepest", "box_volume+scribble", "points_volume:n=4"])
@pytest.mark.parametrize("plane", ["coronal", "sagittal"])
def test_a_model_of_volumes_answers_the_same_whatever_the_plane(plane: Plane, prompter: str, slices: bool) -> None:
    """It sees canonical axes; what has no plane itself has the same scores as on the same slices declared axial."""
    declared, truth = scan()
    volume = Volume.from_canonical(
        declared.array.transpose(UPRIGHT[plane]), [declared.spacing_mm[i] for i in UPRIGHT[plane]]
    )
    target = Target("case", "blob", 1, Mask.of(truth.transpose(UPRIGHT[plane])), volume.shape, volume.spacing_mm)
    axial = Target("case", "blob", 1, Mask.of(truth), declared.shape, declared.spacing_mm)
    found = rows_of(volume.turned(plane), target.turned(plane), Balls(slices), prompter, 2)
    assert found == rows_of(declared, axial, Balls(), prompter, 2)
    assert {row["status"] for row in found} <= {"ok"}


def test_boxes_across_axial_slices_become_one_3d_box_for_a_model_of_volumes() -> None:
    volume, _, truth = sagittal()
    upright = Mask.of(truth.transpose(UPRIGHT["sagittal"]))
    target = Target("case", "blob", 1, upright, volume.shape, volume.spacing_mm).turned("sagittal")
    (row,) = rows_of(volume.turned("sagittal"), target, Balls(), "box_interp:n=1", 0)
    assert row["adapted"] == "box2d->box3d"
    assert row["interactions"] == 2.0
    ((_, y0, x0, y1, x1),) = intrabench.prompter("box_interp:n=1").preview(truth).boxes2d
    assert row["pred_voxels"] == (y1 - y0) * (x1 - x0)


class Both(Predictor):
    """Answers jointly with a block of the first target and one voxel of the second; it sees canonical axes."""

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        raise NotImplementedError

    def segment_jointly(self, requests: Sequence[JointRequest]) -> list[JointAnswer | Failure]:
        (request,) = requests
        (place,) = request.requests[0].turns[0].prompts.points.tolist()
        assert (place, request.requests[1].mask.start) == ([1, 2, 3, 1], (4, 5, 6))
        labels = np.ones((2, 3, 4), np.int64)
        labels[0, 0, 0] = 2
        return [JointAnswer((1, 2, 3), labels, Region(box=(0, 0, 0, 7, 8, 9)), reach=(0, 1, 2, 7, 8, 9))]


def test_joint_answers_follow_the_plane() -> None:
    to = TURNED["sagittal"]
    first = Request("a", (Turn(Prompts(points=np.array([(1, 2, 3, 1)])).reordered(to), (Click(),)),))
    second = Request("b", (), Mask((4, 5, 6), np.ones((1, 1, 1), bool)).reordered(to))
    (answer,) = Upright(Both(), "sagittal").segment_jointly([JointRequest("s", (first, second), (True, False))])
    assert isinstance(answer, JointAnswer)
    assert (answer.start, answer.labels.shape) == ((3, 1, 2), (4, 2, 3))
    assert (answer.labels == 2).nonzero() == ([0], [0], [0])
    assert (answer.valid.box, answer.reach) == ((0, 0, 0, 9, 7, 8), (2, 0, 1, 9, 7, 8))


@pytest.mark.parametrize("plane", ["axial", "coronal", "sagittal"])
def test_there_and_back(plane: Plane) -> None:
    there, back = TURNED[plane], UPRIGHT[plane]
    rng = np.random.default_rng(0)
    array = rng.random((4, 5, 6)) > 0.5
    mask = Mask((1, 2, 3), array)
    turned = mask.reordered(there)
    assert np.array_equal(turned.to_array([(9, 10, 11)[i] for i in there]), mask.to_array((9, 10, 11)).transpose(there))
    assert (turned.reordered(back).start, turned.reordered(back).array.tolist()) == (mask.start, array.tolist())
    given = Prompts(
        points=np.array([(1, 2, 3, 0)]),
        box3d=box3d((1, 2, 3, 7, 8, 9)).box3d,
        scribbles=(Scribble(np.argwhere(array)),),
    )
    assert given.reordered(there).reordered(back).to_json() == given.to_json()
    assert given.reordered(there).points.tolist() == [[[1, 2, 3][i] for i in there] + [0]]
    assert given.reordered(there).extents()[1, :3].tolist() == [[1, 2, 3][i] for i in there]
    scanned = Volume.from_canonical(array.astype(np.uint8), (1.0, 2.0, 3.0))
    assert scanned.turned(plane).spacing_mm == tuple((1.0, 2.0, 3.0)[i] for i in there)
    assert scanned.turned(plane) is scanned.turned(plane)
    assert scanned.turned(plane).upright is scanned
    if plane == "axial":
        assert (scanned.turned(plane), turned, given.reordered(there)) == (scanned, mask, given)


def test_a_run_in_the_plane_of_acquisition(data: Path) -> None:
    """A box on each sagittal slice; masks lie on the scan, turns in the plane; another protocol is other work."""
    rows = intrabench.run("box_fill", "box_slice", SAGITTAL, out="out", save_masks=True)
    stored = store.open_case(intrabench.dataset(SAGITTAL), "case-1")
    target = stored.targets()[0]
    slices = np.flatnonzero(target.mask.array.any(axis=(0, 1))) + target.mask.start[2]
    assert rows.select("protocol", "plane", "interactions").rows() == [("basic@2", "sagittal", 2.0 * len(slices))]
    (turns,) = turns_by_round(read_turns(Path("out")).to_dicts()).values()
    assert turns[0].prompts.slices() == tuple(slices)
    (mask,) = read_masks(Path("out"), rows["session"][0])
    here, truth = mask.to_array(target.shape), target.mask.to_array(target.shape)
    for x in slices:
        z, y = np.nonzero(truth[:, :, x])
        box = np.zeros(target.shape[:2], bool)
        box[z.min() : z.max() + 1, y.min() : y.max() + 1] = True
        assert np.array_equal(here[:, :, x], box)
    assert {one.found for one in verify(Path("out"))} == {"equal"}
    axial = intrabench.run("box_fill", "box_slice", SAGITTAL, out="out", protocol="basic@1")
    assert axial.select("plane", "interactions").rows() == [("axial", 2.0 * len(target.mask.occupied_slices))]
    assert set(axial["session"]).isdisjoint(rows["session"])
    assert axial.filter(pl.col("dice") > 0.5).height == 1


def test_people_read_a_scan_in_its_plane_and_others_get_their_prompts_there(data: Path) -> None:
    with Annotation({"model": "box_fill", "dataset": SAGITTAL}, Path("out")) as people:
        (task,) = people.tasks("r1")
        truth = people.reference(task.code)
        middle = int(truth.coordinates()[:, 0].mean())
        box = Gesture("box2d", [middle, *truth.box[1:3], *truth.box[4:]], 1, 1.0)
        people.give(task.code, "r1", "turn-000000", [box])
        people.finish(task.code, "r1", "finish-0001", 0.5)
    (row,) = read_rows(Path("out")).to_dicts()
    target = store.open_case(intrabench.dataset(SAGITTAL), "case-1").targets()[0]
    assert (row["plane"], row["status"]) == ("sagittal", "ok")
    assert truth.box == target.turned("sagittal").mask.box
    drawn = (*target.mask.box[:2], middle, *target.mask.box[3:5], middle + 1)
    (mask,) = read_masks(Path("out"), row["session"])
    assert (mask.box, mask.voxels) == (drawn, mask.array.size)
    (played,) = Playback(Path("out")).sessions(read_rows(Path("out")))
    assert (played.target.mask.box, played.answers[0].box[:1]) == (truth.box, (middle,))
    assert marks(played.first[0].prompts, played.plane)["boxes"] == [[*drawn, True]]
    again = intrabench.run("box_fill", "recorded:out", SAGITTAL, out="again", workers=0)
    assert again["dice"].to_list() == [row["dice"]]
    axial = intrabench.run("box_fill", "recorded:out", SAGITTAL, out="again", workers=0, protocol="basic@1")
    assert axial["status"].to_list() == ["not_applicable"]


def test_a_plane_can_be_chosen(data: Path, wording: Any) -> None:
    """Each plane costs its slices; the plane of acquisition is the default, under its own key."""
    intrabench.run("box_fill", "box_slice", SAGITTAL, out="out")
    target = store.open_case(intrabench.dataset(SAGITTAL), "case-1").targets()[0]
    found = dict[str, tuple[str, str]]()
    planes: tuple[Plane, ...] = ("axial", "coronal", "sagittal")
    for axis, plane in enumerate(planes):
        (row,) = intrabench.run(
            "box_fill", "box_slice", SAGITTAL, out="out", protocol=f"basic@2:plane={plane}", save_masks=True
        ).to_dicts()
        assert (row["protocol"], row["plane"]) == (f"basic@2:plane={plane}", plane)
        assert row["interactions"] == 2 * (target.mask.box[axis + 3] - target.mask.box[axis])
        found[plane] = row["session"], row["dice"]
    assert len({session for session, _ in found.values()}) == 3
    default = intrabench.run("box_fill", "box_slice", SAGITTAL, out="out", protocol="basic@2:plane=acquisition")
    assert default.select("protocol", "plane", "dice").rows() == [("basic@2", "sagittal", found["sagittal"][1])]
    assert {one.found for one in verify(Path("out"))} == {"equal"}
    assert known("basic@2:plane=coronal") == protocol("basic@2:plane=coronal")
    assert known("basic@2:plane=acquisition") is None
    for words in ("basic@2:plane=oblique", "basic@1:plane=coronal", "intrabench@1:plane=coronal"):
        with pytest.raises(IntraBenchError) as refused:
            protocol(words)
        assert wording == str(refused.value)
    rows = read_rows(Path("out"))
    check_mixable(rows.filter(plane="axial"))
    with pytest.raises(IntraBenchError) as mixed:
        check_mixable(rows)
    assert wording == str(mixed.value)


def test_previews_are_in_the_chosen_plane(data: Path) -> None:
    for plane, read_in in (("acquisition", "sagittal"), ("coronal", "coronal"), ("axial", "axial")):
        ((_, picture),) = preview(chosen({"prompter": "box_slice", "dataset": SAGITTAL}), plane=plane)
        assert (picture.volume.plane, picture.target.shape) == (read_in, picture.volume.shape)
        assert picture.prompts[0].slices() == tuple(picture.target.mask.occupied_slices)
