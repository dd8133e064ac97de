"""SAM 2 as video against whole sessions of the official predictor, on a small network with the same random weights."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intrabench.mask import UPRIGHT
from intrabench.models.base import Answer, Request, Runtime
from intrabench.models.parts.upright import open_in_plane
from intrabench.models.sam2_video import SAM2Video
from intrabench.prompts import Prompts, boxes
from intrabench.turns import DrawBox2D, Turn
from intrabench.volume import Volume
from tests.models.official_video import SHAPE, SIDE, extension, given, movie, play, predictor
from tests.models.stub import answers


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("sam2")
    global torch, Release, build_sam2, REACH, Past, fill_holes
    import torch

    from intrabench.models.networks.sam2 import Release, build_sam2
    from intrabench.models.networks.sam2_video import REACH, Past, fill_holes


FRAMES = movie()


@dataclass(eq=False)
class Small(SAM2Video):
    """A network for images of 128 x 128, which sees the object on most slices."""

    side = SIDE

    def build(self) -> Any:
        return build_sam2(self.size, self.release, SIDE)


def small(release: Release, **parameters: Any) -> Small:
    """The model with its weights."""
    model = Small(release=release, **parameters)
    model.runtime = Runtime(random=True)
    return model


def official(model: SAM2Video) -> Any:
    """The package's own predictor of the model's release."""
    return predictor(
        model, "configs/sam2.1/sam2.1_hiera_t.yaml" if model.release == "2.1" else "configs/sam2/sam2_hiera_t.yaml"
    )


class Official:
    """A session of the package's own predictor."""

    def __init__(self, predictor: Any, frames: Path) -> None:
        self.predictor, self.state = predictor, predictor.init_state(str(frames))
        self.points: dict[int, np.ndarray] = {}

    def round(self, turn: Turn) -> tuple[np.ndarray, list[torch.Tensor]]:
        """The masks of all slices, and what the predictor keeps of their logits."""
        prompts = turn.prompts
        if turn.afresh:
            self.points.clear()
        for z in prompts.slices():
            points = prompts.points[prompts.points[:, 0] == z, 1:]
            box = next(iter(prompts.boxes2d[prompts.boxes2d[:, 0] == z, 1:]), None)
            alone = z not in self.points or box is not None
            self.points[z] = np.vstack([self.points.get(z, np.zeros((0, 3), dtype=int)), points])
            if box is not None:  # only taken before all points, so those that are kept are given again
                points = self.points[z]
            self.predictor.add_new_points_or_box(
                self.state,
                z,
                1,
                points=points[:, 1::-1].astype(np.float32),
                labels=points[:, 2].astype(np.int32),
                box=None if box is None else box[[1, 0, 3, 2]].astype(np.float32),
                clear_old_points=alone,
            )
        found = {z: logits for z, _, logits in self.predictor.propagate_in_video(self.state)}
        found |= {z: logits for z, _, logits in self.predictor.propagate_in_video(self.state, reverse=True)}
        outputs = self.state["output_dict_per_obj"][0]
        kept = outputs["non_cond_frame_outputs"] | outputs["cond_frame_outputs"]
        slices = range(SHAPE[0])
        return np.stack([found[z][0, 0].numpy() > 0 for z in slices]), [kept[z]["pred_masks"][0] for z in slices]


@pytest.fixture(scope="module", autouse=True)
def _extension() -> Iterator[None]:
    with extension():
        yield


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The movie as the predictor reads it."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("frames")
    for z, frame in enumerate(FRAMES):
        with (folder / f"{z}.jpg").open("wb") as file:  # PNG, because JPEG loses something
            Image.fromarray(frame).save(file, format="PNG")
    return folder


@pytest.fixture(scope="module")
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Any]]:
    """The movie in colours, which no intensity policy changes, opened by one release; and the predictor."""
    model = small(request.param)
    with model.open(Volume.from_canonical(np.stack([FRAMES] * 3, axis=-1))) as image:
        yield image, official(model)


FIRST = given([(2, 30, 58, 1), (4, 30, 66, 1), (4, 8, 100, 0)])
SESSIONS = {
    "all": [
        FIRST,
        given([(0, 33, 52, 1)], [(3, 18, 48, 44, 76)]),  # tracked in reverse: now all begins with slice 0
        given([(4, 20, 30, 0), (3, 55, 100, 0)], afresh=True),
    ],
    "clicks": [
        FIRST,
        given([(5, 50, 20, 0)]),  # tracked forward
        given([(0, 33, 52, 1), (1, 5, 5, 0)]),  # tracked in reverse: now all begins with slice 0
        given([(4, 40, 70, 1), (5, 34, 72, 1), (2, 60, 60, 0)]),  # prompted before
    ],
    "drop": [
        FIRST,
        given([(5, 50, 20, 0)], afresh=True),
        given([(4, 20, 30, 0)], afresh=True),
        given([(5, 34, 72, 1), (4, 44, 66, 1)]),
    ],
    "boxes": [
        given([(3, 31, 62, 1)], [(1, 20, 40, 42, 66), (3, 18, 48, 44, 76)]),
        given([(3, 55, 100, 0), (1, 30, 54, 1)]),
        given([(2, 32, 60, 1)], [(6, 14, 58, 46, 90), (3, 16, 46, 46, 78)]),
    ],
    "from the first slice": [given([(0, 30, 50, 1)]), given([(0, 5, 5, 0), (3, 50, 50, 0)])],
}


def check(pair: Any, frames: Path, turns: list[Turn]) -> list[Answer]:
    """The answers to a session, after comparing each with the predictor's."""
    opened, predictor = pair
    predictor.add_all_frames_to_correct_as_cond = opened.model.corrections == "conditioning"
    official, found = Official(predictor, frames), play(opened, turns)
    for turn, answer in zip(turns, found, strict=True):
        masks, kept = official.round(turn)
        assert 0.01 < masks.mean() < 0.9
        for z in range(SHAPE[0]):
            np.testing.assert_allclose(fill_holes(answer.memory[z].logits, 8), kept[z], rtol=1e-3, atol=1e-3)
        assert np.mean(answer.update.to_array(SHAPE) != masks) < 1e-4
    return found


def slow(*values: Any) -> Any:
    """A case for the slow tests."""
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize("pair", ["2.1", slow("2.0")], indirect=True)
@pytest.mark.parametrize("session", ["all", *map(slow, list(SESSIONS)[1:])])
def test_sessions_are_the_official_ones(pair: Any, frames: Path, session: str) -> None:
    found = check(pair, frames, SESSIONS[session])
    for turn, before, after in zip(SESSIONS[session][1:], found, found[1:], strict=False):
        for z in turn.prompts.slices():
            assert (before.memory[z].logits - after.memory[z].logits).abs().mean() > 0.1


def drawn(seed: int) -> list[Turn]:
    """Three turns of up to three clicks, of any label, and a box, each on any slice; some begin afresh."""
    random = np.random.default_rng(seed)
    low, high = np.array([0, 4, 4, 0]), np.array([SHAPE[0], 60, 120, 2])
    turns = []
    for _ in range(3):
        clicks = random.integers(low, high, (random.integers(1, 4), 4))
        corner = random.integers(low[:3], high[:3] - [0, 20, 20])
        box = [(*corner, *(corner[1:] + random.integers(8, 20, 2)))]
        turns.append(given(clicks.tolist(), box[: random.integers(2)], afresh=random.random() < 0.3))
    return turns


@pytest.mark.parametrize("pair", ["2.1"], indirect=True)
@pytest.mark.parametrize("seed", map(slow, range(6)))
def test_any_session_is_the_official_one(pair: Any, frames: Path, seed: int) -> None:
    check(pair, frames, drawn(seed))


@pytest.mark.parametrize("pair", ["2.1", slow("2.0")], indirect=True)
@pytest.mark.parametrize("session", ["from the first slice", *map(slow, ("clicks", "drop", "boxes"))])
def test_as_the_package_is_built_corrections_are_lost(
    pair: Any, frames: Path, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair[0].model, "corrections", "overwritten")
    first, *_, last = check(pair, frames, SESSIONS[session])
    assert list(last.memory.conditioning) == list(first.memory.conditioning)
    for z in first.memory.conditioning:
        assert torch.equal(last.memory[z].logits, first.memory[z].logits)
    assert not any(outcome.prompted for outcome in last.memory.tracked.values())


@pytest.mark.parametrize("pair", ["2.1"], indirect=True)
def test_where_the_object_is_not_seen(pair: Any, frames: Path) -> None:
    opened, predictor = pair
    heads = [module.sam_mask_decoder.pred_obj_score_head for module in (opened.model.network.module, predictor)]
    try:
        for head in heads:
            head.layers[-1].bias.data -= 0.3
        *_, last = check(pair, frames, SESSIONS["clicks"][:2])
    finally:
        for head in heads:
            head.layers[-1].bias.data += 0.3
    seen = {z: float(last.memory[z].score) > 0 for z in range(SHAPE[0])}
    assert set(seen.values()) == {True, False}
    for z, here in seen.items():
        logits = last.memory[z].logits
        assert logits.std() > 0.1 if here else logits.unique().tolist() == [-1024]
        assert logits.stride()[1:] == ((SIDE // 4, 1) if here else (0, 0))  # one number


@pytest.mark.parametrize("pair", ["2.1"], indirect=True)
def test_keeping_dropping_and_beginning_anew_differ(pair: Any) -> None:
    opened, _ = pair
    dropping = SESSIONS["drop"][:3]
    kept = [Turn(turn.prompts) for turn in dropping]
    prompts = [turn.prompts for turn in kept]
    at_once = Turn(Prompts(points=np.vstack([one.points for one in prompts])))  # as if no slice had been tracked
    ends = [play(opened, turns)[-1].update.to_array(SHAPE) for turns in (dropping, kept, [at_once])]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert np.mean(ends[one] != ends[other]) > 0.01


@pytest.mark.parametrize("pair", ["2.1"], indirect=True)
def test_a_session_goes_on_from_its_turns_alone(pair: Any) -> None:
    opened, _ = pair
    turns = SESSIONS["drop"][:3]
    *_, before, after = play(opened, turns)
    stored = pickle.dumps(before.memory)
    assert len(stored) < SHAPE[0] * 8192  # a slice's logits and pointer take 5 KiB
    memories = None, pickle.loads(stored), before.memory  # which is still as it was
    for answer in answers(opened, [Request(str(memory), tuple(turns), memory=memory) for memory in memories]):
        assert np.array_equal(answer.update.to_array(SHAPE), after.update.to_array(SHAPE))


@pytest.mark.parametrize("pair", ["2.1"], indirect=True)
def test_holes_are_filled_as_asked(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, predictor = pair
    filled, _ = play(opened, SESSIONS["boxes"][:2])
    monkeypatch.setattr(opened.model, "fill_holes", 0)
    left, _ = play(opened, SESSIONS["boxes"][:2])
    assert (filled.update.to_array(SHAPE) != left.update.to_array(SHAPE)).any()
    assert predictor.fill_hole_area == SAM2Video().fill_holes == 8


@pytest.mark.parametrize("area", [1, 3, 8, 100])
def test_holes_are_those_of_the_predictor(area: int) -> None:
    from sam2.utils.misc import fill_holes_in_mask_scores

    logits = torch.randn((1, 64, 64), generator=torch.Generator().manual_seed(area)) + 0.7
    filled = fill_holes(logits, area)
    assert torch.equal(filled[None], fill_holes_in_mask_scores(logits[None], area))
    assert (filled != logits).any()


@pytest.mark.parametrize("shape", [(64, 128), (200, 50)])
def test_frames_are_those_of_the_predictor(shape: tuple[int, int], tmp_path: Path) -> None:
    from PIL import Image
    from sam2.utils.misc import load_video_frames

    image = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
    with (tmp_path / "0.jpg").open("wb") as file:
        Image.fromarray(image).save(file, format="PNG")
    (expected,), *_ = load_video_frames(str(tmp_path), SIDE, False, compute_device=torch.device("cpu"))
    np.testing.assert_allclose(Small().frame(image), expected, atol=1e-6)
    grey = Small().frame(image[..., 0])
    assert grey.shape == (3, SIDE, SIDE)
    np.testing.assert_array_equal(grey[0], Small().frame(image)[0])


class CountsMemories:
    """Counts how often a slice's memory is encoded."""

    def __init__(self, module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.encode = 0, module._encode_new_memory
        monkeypatch.setattr(module, "_encode_new_memory", self)

    def __call__(self, **given: Any) -> Any:
        self.count += 1
        return self.encode(**given)


@pytest.mark.parametrize("pair", ["2.1"], indirect=True)
def test_a_round_encodes_each_memory_about_once(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, _ = pair
    counted = CountsMemories(opened.model.network.module, monkeypatch)
    first, second = play(opened, SESSIONS["clicks"][:2])
    assert counted.count <= 2 * (SHAPE[0] + REACH)
    for answer in (first, second):
        assert isinstance(answer.memory, Past)
        assert sorted([*answer.memory.conditioning, *answer.memory.tracked]) == list(range(SHAPE[0]))


def test_frames_are_the_slices_that_the_user_reads() -> None:
    """A sagittal scan gives what the same slices give as axial ones, and takes 2D boxes in them."""
    declared = Volume.from_canonical(FRAMES, (2.0, 0.7, 0.7))
    volume = Volume.from_canonical(FRAMES.transpose(UPRIGHT["sagittal"]), (0.7, 0.7, 2.0)).turned("sagittal")
    model = small("2.1")
    turn = Turn(boxes({2: (20, 20, 60, 60)}), (DrawBox2D(),))
    found = []
    for one in (declared, volume):
        with open_in_plane(model, one) as image:
            (answer,) = image.segment([Request("s", (turn,))])
        assert isinstance(answer, Answer)
        found.append(answer.update.to_array(one.shape))
    assert found[0].any(axis=(1, 2)).sum() > 2
    assert np.array_equal(*found)
