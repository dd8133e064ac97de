"""MedSAM2 against what its authors' scripts do with the video predictor of the package, on a small network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.base import Request, Runtime
from intrabench.models.medsam2 import MedSAM2
from intrabench.models.weights import registry as weights
from intrabench.prompts import Prompts, Scribble
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.models.official_video import SHAPE, SIDE, extension, given, movie, once_each, play, predictor
from tests.models.stub import answers, request

LEVEL, WIDTH = 40, 400
SCAN = movie().astype(np.float32) * 3 - 350  # from -350 to 280 HU, so the window cuts on both sides


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("sam2")
    global torch, fill_holes
    import torch

    from intrabench.models.networks.sam2_video import fill_holes


@pytest.fixture(scope="module", autouse=True)
def _extension() -> Iterator[None]:
    with extension():
        yield


@dataclass(eq=False)
class Small(MedSAM2):
    """A network for images of 128 x 128, which sees the object on most slices."""

    side = SIDE


def model(**parameters: Any) -> Small:
    """The model with random weights."""
    made = Small(**parameters)
    made.runtime = Runtime(random=True)
    return made


def ct(array: np.ndarray = SCAN) -> Volume:
    """Values in HU that say so."""
    return replace(Volume.from_canonical(array), modality="CT")


@pytest.fixture(scope="module")
def shared() -> tuple[Any, Any]:
    """One network for all tests, which encodes each image once, and the predictor with its weights."""
    made = model()
    official = predictor(made)
    made.network.encode = once_each(made.network.encode)
    return made.network, official


@pytest.fixture
def opened(shared: tuple[Any, Any], request: pytest.FixtureRequest) -> Iterator[Any]:
    """The scan, opened with the parameters that the test gives."""
    made = model(**getattr(request, "param", {}))
    made.network = shared[0]
    with made.open(ct()) as image:
        yield image


def prepared_by_script(scan: np.ndarray, side: int = SIDE) -> torch.Tensor:
    """The frames that the scripts give to the predictor, in their steps."""
    from PIL import Image

    clipped = np.clip(scan, LEVEL - WIDTH / 2, LEVEL + WIDTH / 2)
    grey = np.uint8((clipped - clipped.min()) / (clipped.max() - clipped.min()) * 255.0)
    frames = [np.asarray(Image.fromarray(one).convert("RGB").resize((side, side))).transpose(2, 0, 1) for one in grey]
    mean, deviation = (torch.tensor(one)[:, None, None] for one in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    return (torch.from_numpy(np.stack(frames) / 255.0).float() - mean) / deviation


class Script:
    """A session of the package's own predictor as the scripts lead it, and on in later rounds."""

    def __init__(
        self, predictor: Any, frames: torch.Tensor, through_mask: bool, shape: tuple[int, ...] = SHAPE
    ) -> None:
        self.predictor, self.through_mask, self.shape = predictor, through_mask, shape
        with pytest.MonkeyPatch.context() as patch:  # the authors' predictor takes the frames themselves
            patch.setattr("sam2.sam2_video_predictor.load_video_frames", lambda **_: (frames, *shape[1:]))
            self.state = predictor.init_state("")
        self.points: dict[int, list[list[int]]] = {}
        self.boxes: dict[int, list[int]] = {}

    def first(self, turn: Turn) -> np.ndarray:
        """The masks of all slices: prompts, forward, `reset_state`, prompts again, in reverse."""
        found = np.zeros(self.shape, dtype=np.uint8)
        masks = self.prompt(turn)
        self.propagate(found, reverse=False)
        forward = dict(self.tracked), dict(self.directions)
        self.predictor.reset_state(self.state)
        for z, mask in masks.items():
            if self.through_mask:
                self.predictor.add_new_mask(self.state, frame_idx=z, obj_id=1, mask=mask)
            else:
                self.give(z)
        self.propagate(found, reverse=True)
        self.restore(*forward)
        return found

    def later(self, turn: Turn) -> np.ndarray:
        """The same after corrections: conditioning slices stay, each direction forgets what was tracked before."""
        found = np.zeros(self.shape, dtype=np.uint8)
        self.predictor.add_all_frames_to_correct_as_cond = True
        self.prompt(turn)
        before = dict(self.tracked), dict(self.directions)
        self.tracked.clear()
        self.propagate(found, reverse=False)
        forward = dict(self.tracked), dict(self.directions)
        self.tracked.clear()
        self.propagate(found, reverse=True)
        self.restore(*forward)
        self.restore(*before)
        return found

    def prompt(self, turn: Turn) -> dict[int, np.ndarray]:
        """All prompts of the slices with new ones; the masks that they get, by slice."""
        for z, *point in turn.prompts.points.tolist():
            self.points.setdefault(z, []).append(point)
        for z, *box in turn.prompts.boxes2d.tolist():
            self.boxes[z] = box
        masks = {z: self.give(z) for z in turn.prompts.slices()}
        if self.through_mask:
            for z, mask in masks.items():
                self.predictor.add_new_mask(self.state, frame_idx=z, obj_id=1, mask=mask)
        return masks

    def give(self, z: int) -> np.ndarray:
        """What counts on a slice; its mask."""
        rows = np.array(self.points.get(z, np.zeros((0, 3))), dtype=np.float32).reshape(-1, 3)
        box = None if z not in self.boxes else np.array(self.boxes[z], dtype=np.float32)[[1, 0, 3, 2]]
        _, _, logits = self.predictor.add_new_points_or_box(
            self.state, frame_idx=z, obj_id=1, points=rows[:, 1::-1].copy(), labels=rows[:, 2].astype(int), box=box
        )
        return (logits[0] > 0.0).squeeze(0).cpu().numpy().astype(np.uint8)

    def propagate(self, found: np.ndarray, reverse: bool) -> None:
        for z, _, logits in self.predictor.propagate_in_video(self.state, reverse=reverse):
            found[z, (logits[0] > 0.0).cpu().numpy()[0]] = 1

    @property
    def tracked(self) -> dict[int, Any]:
        return self.state["output_dict_per_obj"][0]["non_cond_frame_outputs"]

    @property
    def directions(self) -> dict[int, Any]:
        return self.state["frames_tracked_per_obj"][0]

    def restore(self, tracked: dict[int, Any], directions: dict[int, Any]) -> None:
        """What was tracked before, where it was not tracked since."""
        conditioning = self.state["output_dict_per_obj"][0]["cond_frame_outputs"]
        self.tracked.update({z: one for z, one in tracked.items() if z not in self.tracked and z not in conditioning})
        self.directions.update({z: one for z, one in directions.items() if z not in self.directions})


def largest_part(found: np.ndarray) -> np.ndarray:
    """The script's `getLargestCC`: skimage's labels, of which the first largest is kept."""
    measure = pytest.importorskip("skimage.measure")
    labels = measure.label(found)
    return labels == np.argmax(np.bincount(labels.flat)[1:]) + 1


BOX = given([], [(3, 18, 48, 44, 76)])
CORRECTED = [
    BOX,
    given([(5, 50, 20, 0)]),  # tracked forward
    given([(1, 33, 56, 1), (3, 6, 100, 0)]),  # tracked in reverse, and prompted before
    given([(2, 30, 58, 1)], [(6, 14, 58, 46, 90)]),
]
SEVERAL = [
    given([(4, 8, 100, 0)], [(2, 18, 44, 44, 72), (4, 16, 50, 46, 80)]),
    given([(0, 5, 5, 0)]),
]


def slow(*values: Any) -> Any:
    """A case for the slow tests."""
    return pytest.param(*values, marks=pytest.mark.slow)


def check(opened: Any, predictor: Any, turns: Sequence[Turn], script_turns: Sequence[Turn]) -> None:
    """Compare the answers to a session with the script's, which may get the same prompts in another form."""
    boxes_alone = opened.model.workflow == "box"
    script = Script(predictor, prepared_by_script(SCAN), through_mask=not boxes_alone)
    for number, (turn, answer) in enumerate(zip(script_turns, play(opened, list(turns)), strict=True)):
        found = script.later(turn) if number else script.first(turn)
        assert 0.01 < found.mean() < 0.9
        expected = largest_part(found) if boxes_alone else found > 0
        assert np.mean(answer.update.to_array(SHAPE) != expected) < 1e-4
        conditioning = script.state["output_dict_per_obj"][0]["cond_frame_outputs"]
        assert sorted(answer.memory.conditioning) == sorted(conditioning)
        for z, kept in (script.tracked | conditioning).items():
            ours = fill_holes(answer.memory[z].logits, 8)
            np.testing.assert_allclose(ours, kept["pred_masks"][0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("opened", "turns"),
    [
        ({"workflow": "box"}, CORRECTED),
        slow({"workflow": "mask"}, CORRECTED),
        slow({"workflow": "recist"}, CORRECTED),
        slow({"workflow": "box"}, SEVERAL),
        ({"workflow": "mask"}, SEVERAL),
    ],
    indirect=["opened"],
)
def test_sessions_are_the_scripts(opened: Any, shared: tuple[Any, Any], turns: list[Turn]) -> None:
    check(opened, shared[1], turns, turns)


def strokes(*rows: Any, label: int = 1) -> Turn:
    """A turn of one stroke of voxels ``z, y, x``."""
    return Turn(Prompts(scribbles=(Scribble(np.array(rows), label),)))


LINE = [(3, 20 + n, 55 + 2 * n) for n in range(12)]
"""Drawn downwards; a line of the script is the pixels of a mask, in the order of rows."""


def five_of(line: Sequence[Sequence[int]], label: int = 1) -> Turn:
    """`get_n_points_from_recist` of the first line after the script's `np.random.seed`."""
    z = line[0][0]
    plane = np.zeros(SHAPE[1:], dtype=bool)
    plane[tuple(np.array(line)[:, 1:].T)] = True
    ys, xs = np.where(plane)
    chosen = np.random.RandomState(2024).choice(len(ys), size=5, replace=False)
    return given([(z, y, x, label) for y, x in zip(ys[chosen].tolist(), xs[chosen].tolist(), strict=True)])


@pytest.mark.parametrize("opened", [{"workflow": "recist"}], indirect=True)
def test_a_line_is_five_points_whose_mask_is_tracked(opened: Any, shared: tuple[Any, Any]) -> None:
    wrong = [(5, 55, 10 + n) for n in range(9)]
    turns = [strokes(*LINE[::-1]), strokes(*wrong, label=0)]
    check(opened, shared[1], turns, [five_of(LINE), five_of(wrong, label=0)])


@pytest.mark.parametrize("opened", [{"workflow": "recist", "line": "box"}], indirect=True)
def test_a_line_as_a_box_is_the_square_around_it(opened: Any, shared: tuple[Any, Any]) -> None:
    first, last = np.array(LINE[0][:0:-1]), np.array(LINE[-1][:0:-1])  # x, y
    centre, half = ((first + last) / 2).astype(int), int(np.linalg.norm(first - last) / 2)
    (x0, y0), (x1, y1) = (centre - half).tolist(), (centre + half).tolist()
    check(opened, shared[1], [strokes(*LINE)], [given([], [(3, y0, x0, y1, x1)])])


def test_the_workflows_differ(shared: tuple[Any, Any]) -> None:
    found = []
    for workflow, turn in (("box", BOX), ("mask", BOX), ("recist", strokes(*LINE))):
        made = model(workflow=workflow, components="all")
        made.network = shared[0]
        with made.open(ct()) as image:
            found.append(play(image, [turn])[0].update.to_array(SHAPE))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert np.mean(found[one] != found[other]) > 1e-3


@pytest.mark.parametrize("opened", [{"workflow": "mask"}], indirect=True)
def test_masks_of_larger_slices_are_made_smaller_as_by_the_predictor(opened: Any, shared: tuple[Any, Any]) -> None:
    scan = ndimage.zoom(SCAN[:3], (1, 3.1, 2.7), order=0)
    script = Script(shared[1], prepared_by_script(scan), through_mask=True, shape=scan.shape)
    turn = given([], [(1, 50, 120, 140, 230)])
    with opened.model.open(ct(scan)) as image:
        (answer,) = play(image, [turn])
    found = script.first(turn)
    assert 0.01 < found.mean() < 0.99
    assert np.mean(answer.update.to_array(scan.shape) != found) < 1e-4
    kept = script.state["output_dict_per_obj"][0]["cond_frame_outputs"][1]["pred_masks"][0]
    np.testing.assert_allclose(fill_holes(answer.memory[1].logits, 8), kept, atol=1e-4)
    assert np.count_nonzero(np.abs(kept) < 9.99) > 30  # the mask's edge, between -10 and 10


@pytest.mark.slow
def test_at_full_size_too() -> None:
    made = MedSAM2(workflow="mask")
    made.runtime = Runtime(random=True)
    official = predictor(made)
    scan = np.repeat(np.repeat(SCAN[:3], 2, axis=1), 2, axis=2)
    script = Script(official, prepared_by_script(scan, made.side), through_mask=True, shape=scan.shape)
    turn = given([], [(1, 36, 88, 88, 150)])
    with made.open(ct(scan)) as image:
        (answer,) = play(image, [turn])
    found = script.first(turn)
    assert 0.01 < found.mean() < 0.99
    assert np.mean(answer.update.to_array(scan.shape) != found) < 1e-4


def test_a_session_goes_on_from_its_turns_alone(shared: tuple[Any, Any]) -> None:
    made = model(workflow="recist")
    made.network = shared[0]
    turns = strokes(*LINE), given([(5, 50, 20, 0)])
    with made.open(ct()) as image:
        *_, after = play(image, list(turns))
        (again,) = answers(image, [Request("b", turns)])
        assert image.store.encoded == SHAPE[0]
    assert np.array_equal(after.update.to_array(SHAPE), again.update.to_array(SHAPE))


@pytest.mark.parametrize("modality", ["CT", "MR", ""])
def test_scans_are_prepared_as_by_the_scripts(modality: str) -> None:
    """The authors' `preprocess` (infer_CT_LUNA25.py): a window of CT, percentiles of positive voxels of all others."""
    scan = np.random.default_rng(1).normal(100, 300, (3, 20, 24)).astype(np.float32)
    made = Small(level=-100, width=300) if modality == "CT" else Small()
    image = made.prepared(replace(Volume.from_canonical(scan), modality=modality))
    low, high = (-250, 50) if modality == "CT" else np.percentile(scan[scan > 0], (0.5, 99.5))
    clipped = np.clip(scan, low, high)
    expected = np.uint8((clipped - clipped.min()) / (clipped.max() - clipped.min()) * 255.0)
    for z in range(3):
        assert image(z).dtype == np.uint8
        assert np.abs(image(z).astype(int) - expected[z]).max() <= 1
        assert np.mean(image(z) != expected[z]) < 0.01  # the script computes in the precision of the file


def test_frames_are_those_of_the_scripts() -> None:
    image = Small().prepared(ct())
    expected = prepared_by_script(SCAN)
    for z in range(SHAPE[0]):
        np.testing.assert_allclose(Small().frame(image(z)), expected[z], atol=1e-5)
    grey = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE)).astype(np.uint8)
    frame = Small().frame(grey)  # of the network's own size: not resized
    assert np.allclose(frame[0] * 0.229 + 0.485, grey / 255, atol=1e-6)


def test_rows_say_what_was_assumed_of_a_scan(shared: tuple[Any, Any]) -> None:
    made = model()
    made.network = shared[0]
    for volume, notes in ((ct(), ()), (replace(ct(), modality=""), ("assumed no CT",))):
        with made.open(volume) as image:
            assert play(image, [BOX])[0].notes == notes


def test_only_the_script_for_boxes_keeps_the_largest_part() -> None:
    array = np.zeros((4, 6, 9), dtype=bool)
    array[0, 0, 0:2] = array[1, 1, 2:4] = True  # four voxels, connected by corners
    array[1:4, 4, 6] = True  # three
    parts = Mask.of(array)
    for made, expected in (
        (MedSAM2(), 4),
        (MedSAM2(components="all"), 7),
        (MedSAM2(workflow="mask"), 7),
        (MedSAM2(workflow="recist"), 7),
    ):
        kept = made.kept(parts)
        assert kept.voxels == expected
        assert kept.to_array(array.shape)[1, 1, 3]
    array[2, 4, 6] = array[0, 0, 0] = array[0, 0, 1] = False  # parts of two, one and one voxels
    array[1, 1, 3] = False  # now of equal parts
    assert MedSAM2().kept(Mask.of(array)).coordinates().tolist() == [[1, 1, 2]]
    assert not MedSAM2().kept(Mask.empty()).any()


class Recorder:
    """A network whose embedding of a slice is its mean."""

    def encode(self, images: Any) -> Any:
        assert images.shape == (1, 3, 512, 512)
        return images.mean(dim=(1, 2, 3))[:, None]


def test_prompts_are_in_pixels_of_512(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def play_round(network: Any, features: Any, frames: int, prompts: Any, past: Any, **settings: Any) -> Any:
        seen.append((prompts, settings))
        features(0)
        raise TimeoutError("enough")

    monkeypatch.setattr("intrabench.models.networks.sam2_video.play_round", play_round)
    made = MedSAM2(workflow="recist")
    made.network = Recorder()
    turn = Turn(Prompts(points=[(1, 8, 16, 1)], boxes2d=[(1, 4, 8, 12, 24)], scribbles=(Scribble([(0, 5, 7)], 0),)))
    with made.open(Volume.from_canonical(np.zeros((3, 32, 64), dtype=np.uint8))) as image:
        image.segment([request("a", turn)])
    ((prompts, settings),) = seen
    assert prompts[1].points.tolist() == [[64, 64], [192, 192], [128, 128]]  # x by 8, y by 16
    assert prompts[1].labels.tolist() == [2, 3, 1]
    assert (prompts[0].points.tolist(), prompts[0].labels.tolist()) == ([[56, 80]], [0])
    assert settings == {"fill_area": 8, "corrections": "conditioning", "apart": True, "mask_shape": (32, 64)}
    assert MedSAM2().settings((32, 64))["mask_shape"] is None


@pytest.mark.parametrize(
    ("spec", "accepts"),
    [
        ("medsam2", {"point", "box2d"}),
        ("medsam2:workflow=mask", {"point", "box2d"}),
        ("medsam2:workflow=recist", {"point", "box2d", "scribble"}),
    ],
)
def test_only_the_script_for_lines_takes_strokes(spec: str, accepts: set[str]) -> None:
    made = intrabench.model(spec)
    assert made.abilities.accepts == made.accepts == accepts


@pytest.mark.parametrize("checkpoint", ["latest", "2411", "CTLesion", "MRI_LiverLesion", "US_Heart"])
def test_every_checkpoint_is_registered(checkpoint: str) -> None:
    entry = weights.get(intrabench.model(f"medsam2:checkpoint={checkpoint}").weights or "")
    assert entry.file == f"MedSAM2_{checkpoint}.pt"
    assert entry.sources[0].startswith("hf:wanglab/MedSAM2@")
    assert entry.container == "model"


@pytest.mark.parametrize(
    "spec",
    [
        "medsam2:workflow=line",
        "medsam2:checkpoint=best",
        "medsam2:width=0",
    ],
)
def test_wrong_parameters_are_told(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        intrabench.model(spec)
    assert caught == wording
