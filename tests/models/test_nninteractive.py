"""nninteractive against the package's own session driven by hand, and its state against being played alone."""

from __future__ import annotations

import itertools
import json
import os
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, Request, Runtime
from intrabench.models.nninteractive import NnInteractive
from intrabench.models.parts.nninteractive_marks import marks
from intrabench.play.adapt import adapt
from intrabench.prompts import Click, DrawBox3D, Lasso, Prompts, Scribble, Turn, box3d, boxes, points
from intrabench.registry import make
from intrabench.volume import Volume
from tests.models.nninteractive_folder import write_folder

SHAPE = (20, 24, 28)
PREVIOUS, BOX, NOT_BOX, POINT, NOT_POINT, SCRIBBLE, NOT_SCRIBBLE = range(7)
DECAY = 0.9
JSON = ["plans.json", "dataset.json", "inference_info.json"]


def phantom(shape: tuple[int, int, int] = SHAPE) -> np.ndarray:
    """A bright ball in noise; every voxel has an intensity of its own."""
    z, y, x = np.ogrid[tuple(slice(0, size) for size in shape)]
    ball = (z - 9) ** 2 + (y - 12) ** 2 + (x - 15) ** 2 <= 36
    return (80.0 * ball + np.random.default_rng(3).normal(0, 10, shape)).astype(np.float32)


VOLUME = Volume.from_canonical(phantom(), (3.0, 0.7, 0.8))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("nnInteractive.inference.inference_session")
    return write_folder(tmp_path_factory.mktemp("weights") / "model", patch=32, bias=-0.8)


@pytest.fixture(scope="module")
def model(folder: Path) -> NnInteractive:
    return made(folder, autozoom=False)


@pytest.fixture
def image(model: NnInteractive) -> Iterator[Any]:
    with model.open(VOLUME) as opened:
        yield opened


def made(folder: Path | None, autozoom: bool = True, **runtime: Any) -> NnInteractive:
    model = NnInteractive(autozoom=autozoom)
    model.runtime = Runtime(weights=folder, **runtime)
    return model


def by_hand(folder: Path, array: np.ndarray, autozoom: bool = False) -> Any:
    """A session as the package's README makes it."""
    from nnInteractive.inference.inference_session import nnInteractiveInferenceSession

    threads = torch.get_num_threads()  # which it sets for the whole process
    with redirect_stdout(StringIO()):
        session = nnInteractiveInferenceSession(torch.device("cpu"), torch_n_threads=threads, do_autozoom=autozoom)
        session.initialize_from_trained_model_folder(str(folder))
        session.set_image(array[None])
        session.set_target_buffer(torch.zeros(array.shape, dtype=torch.uint8))
    return session


def turns_of(*prompts: Prompts) -> tuple[Turn, ...]:
    return tuple(Turn(p, (Click(),)) for p in prompts)


def ask(image: Any, turns: Sequence[Turn], mask: Mask | None = None, name: str = "a") -> Mask:
    [answer] = image.segment([Request(name, tuple(turns), mask or Mask.empty())])
    assert isinstance(answer, Answer), answer
    assert answer.seconds > 0
    assert answer.valid.slices is None
    assert answer.valid.box is None
    return answer.update


def play(image: Any, turns: Sequence[Turn], name: str = "a") -> list[Mask]:
    """All turns of one session, one after the other."""
    masks = [Mask.empty()]
    for number in range(len(turns)):
        masks.append(ask(image, turns[: number + 1], masks[-1], name))
    return masks[1:]


def dense(mask: Mask) -> np.ndarray:
    return mask.to_array(SHAPE)


def same(a: Sequence[Mask], b: Sequence[Mask]) -> bool:
    return len(a) == len(b) and all(np.array_equal(dense(one), dense(two)) for one, two in zip(a, b, strict=True))


def channel(image: Any, number: int) -> np.ndarray:
    return image.session.interactions[number].numpy()


def scribble(rows: Any, label: int = 1) -> Prompts:
    return Prompts(scribbles=(Scribble(np.array(rows), label),))


def lasso(rows: Any, label: int = 1) -> Prompts:
    return Prompts(lassos=(Lasso(np.array(rows), label),))


CLICK, CLICK_AWAY = points([(9, 12, 15)]), points([(4, 6, 20)], 0)
BOX2D = boxes({9: (6, 9, 19, 22)})
STROKE = scribble([(9, y, 12 + y // 4) for y in range(8, 18)])
STROKE_AWAY = scribble([(z, 5, 6 + z) for z in range(3, 9)], 0)
LOOP, LOOP_AWAY = lasso([(9, 6, 10), (9, 18, 10), (9, 12, 21)]), lasso([(14, 3, 3), (14, 3, 9), (14, 9, 3)], 0)
ALL = (CLICK, CLICK_AWAY, BOX2D, STROKE, STROKE_AWAY, LOOP, LOOP_AWAY)


class TestGeometry:
    @pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
    @pytest.mark.parametrize("flips", list(itertools.product((1, -1), repeat=3)))
    def test_every_orientation_of_a_file_is_prompted_at_the_same_voxel(
        self, model: NnInteractive, axes: tuple[int, ...], flips: tuple[int, ...]
    ) -> None:
        array = phantom()
        array[4, 19, 7] = 1000  # z, y, x of the canonical array
        spacing = (3.0, 0.7, 0.8)
        affine = np.eye(4)
        affine[:3, :3] = 0
        for axis, (canonical, flip) in enumerate(zip(axes, flips, strict=True)):
            affine[2 - canonical, axis] = flip * spacing[canonical]
        stored = array.transpose(axes)[tuple(slice(None, None, flip) for flip in flips)]
        volume = Volume.from_file_order(stored, affine)
        with model.open(volume) as image:
            mask = ask(image, turns_of(points([(4, 19, 7)])))
            seen, clicked = image.session.preprocessed_image[0].numpy(), channel(image, POINT)
        expected = (array - array.mean()) / array.std(ddof=1)
        np.testing.assert_allclose(seen, expected, atol=1e-4)
        assert np.unravel_index(seen.argmax(), SHAPE) == np.unravel_index(clicked.argmax(), SHAPE) == (4, 19, 7)
        with model.open(Volume.from_canonical(array)) as image:  # the spacing makes no difference
            assert np.array_equal(dense(mask), dense(ask(image, turns_of(points([(4, 19, 7)])))))

    def test_points_are_balls_around_their_voxel(self, image: Any) -> None:
        ask(image, turns_of(points([(9, 12, 15)])))
        ball = channel(image, POINT) * DECAY  # the package stores the newest interaction as 1 / decay
        z, y, x = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
        near = (z - 9) ** 2 + (y - 12) ** 2 + (x - 15) ** 2 <= 4
        assert np.array_equal(ball > 0, near)
        assert ball[9, 12, 15] == pytest.approx(1, abs=1e-3) == ball.max()
        assert [channel(image, other).any() for other in (BOX, NOT_BOX, NOT_POINT, SCRIBBLE, NOT_SCRIBBLE)] == [
            False
        ] * 5

    @pytest.mark.parametrize("box", [(6, 9, 19, 22), (0, 0, 24, 28), (5, 6, 6, 7), (23, 27, 24, 28)])
    def test_boxes_are_half_open(self, image: Any, box: tuple[int, int, int, int]) -> None:
        ask(image, turns_of(boxes({3: box})))
        y0, x0, y1, x1 = box
        expected = np.zeros(SHAPE, dtype=bool)
        expected[3, y0:y1, x0:x1] = True
        assert np.array_equal(channel(image, BOX) > 0, expected)
        assert not channel(image, NOT_BOX).any()

    @pytest.mark.parametrize("label", [0, 1])
    def test_labels_choose_the_channel(self, image: Any, label: int) -> None:
        stroke, loop = scribble([(3, 5, 6), (3, 5, 7)], label), lasso([(7, 2, 2), (7, 2, 6), (7, 6, 2)], label)
        drawn = Prompts(points=np.array([[4, 19, 7, label]]), scribbles=stroke.scribbles, lassos=loop.lassos)
        ask(image, turns_of(drawn))
        used = {number for number in range(1, 7) if channel(image, number).any()}
        assert used == ({BOX, POINT, SCRIBBLE} if label else {NOT_BOX, NOT_POINT, NOT_SCRIBBLE})

    def test_strokes_and_lassos_lie_where_they_were_drawn(self, image: Any) -> None:
        drawn = Prompts(scribbles=STROKE.scribbles, lassos=LOOP.lassos)
        ask(image, turns_of(drawn))
        stroke, loop = (np.argwhere(channel(image, number)) for number in (SCRIBBLE, BOX))
        assert stroke.min(axis=0).tolist() == [9, 7, 13]  # one voxel around the stroke within its slice
        assert stroke.max(axis=0).tolist() == [9, 18, 17]
        assert loop.min(axis=0).tolist() == [9, 6, 10]
        assert loop.max(axis=0).tolist() == [9, 18, 21]

    def test_a_3d_box_arrives_as_a_2d_box_on_its_middle_slice(self, model: NnInteractive, image: Any) -> None:
        turn = Turn(box3d((4, 6, 9, 12, 19, 22)), (DrawBox3D(),))
        taken, notes = adapt(turn, model.abilities, Mask.empty(), first=True)
        assert notes == ["box3d->box2d"]
        ask(image, [taken])
        expected = np.zeros(SHAPE, dtype=bool)
        expected[7, 6:19, 9:22] = True
        assert np.array_equal(channel(image, BOX) > 0, expected)

    def test_the_answer_is_where_the_network_put_it(self, model: NnInteractive) -> None:
        """A network of constant answer marks exactly its patch, which is centred on the click."""
        network = model.parts["network"]
        last = network.decoder.seg_layers[-1].bias
        before = last.clone()
        try:
            with torch.no_grad():
                last += torch.tensor([0.0, 1000.0])
            with model.open(Volume.from_canonical(phantom((60, 40, 50)))) as image:
                mask = ask(image, turns_of(points([(30, 5, 40)])))
        finally:
            with torch.no_grad():
                last.copy_(before)
        assert mask.box == (14, 0, 24, 46, 21, 50)
        assert mask.array.all()


class TestAgainstThePackage:
    @pytest.mark.parametrize("number", range(len(ALL)))
    def test_one_prompt_of_each_kind(self, folder: Path, image: Any, number: int) -> None:
        found = ask(image, turns_of(ALL[number]))
        session = by_hand(folder, VOLUME.array)
        with redirect_stdout(StringIO()):
            if number < 2:
                session.add_point_interaction((9, 12, 15) if number == 0 else (4, 6, 20), number == 0)
            elif number == 2:
                session.add_bbox_interaction([[9, 10], [6, 19], [9, 22]], True)
            else:
                where = {3: SCRIBBLE, 4: NOT_SCRIBBLE, 5: BOX, 6: NOT_BOX}[number]
                whole = (channel(image, where) > 0).astype(np.uint8)  # the legacy form: a full-volume drawing
                add = session.add_scribble_interaction if number < 5 else session.add_lasso_interaction
                add(whole, number in (3, 5))
        assert torch.equal(session.interactions, image.session.interactions)
        assert np.array_equal(dense(found), session.target_buffer.numpy())
        assert 100 < found.voxels < np.prod(SHAPE) / 2

    def test_a_session_of_points_and_boxes(self, folder: Path, image: Any) -> None:
        found = play(image, turns_of(BOX2D, CLICK, CLICK_AWAY))
        session, expected = by_hand(folder, VOLUME.array), []
        with redirect_stdout(StringIO()):
            for add in (
                lambda: session.add_bbox_interaction([[9, 10], [6, 19], [9, 22]], True),
                lambda: session.add_point_interaction((9, 12, 15), True),
                lambda: session.add_point_interaction((4, 6, 20), False),
            ):
                add()
                expected.append(session.target_buffer.numpy().astype(bool))
        assert all(np.array_equal(dense(mask), by) for mask, by in zip(found, expected, strict=True))
        assert torch.equal(session.interactions, image.session.interactions)
        assert not np.array_equal(expected[1], expected[2])

    def test_several_prompts_at_once_with_the_middle_one_last(self, folder: Path, image: Any) -> None:
        found = ask(image, turns_of(boxes(dict.fromkeys((3, 9, 12), (6, 9, 19, 22)))))
        session = by_hand(folder, VOLUME.array)
        with redirect_stdout(StringIO()):
            for z, last in ((3, False), (12, False), (9, True)):
                session.add_bbox_interaction([[z, z + 1], [6, 19], [9, 22]], True, run_prediction=last)
        assert np.array_equal(dense(found), session.target_buffer.numpy())
        assert torch.equal(session.interactions, image.session.interactions)

    def test_what_the_hand_gave_comes_last(self, model: NnInteractive, image: Any) -> None:
        """Each interaction fades as others follow, so of 11 only the last are strong."""
        line = points([(z, 12, 15) for z in range(4, 15)], clicked=[z in (4, 9, 14) for z in range(4, 15)])
        order = [mark.bbox[0][0] for mark in marks(line, SHAPE, (3, 3, 3))]
        assert order == [5, 13, 6, 12, 7, 11, 8, 10, 4, 14, 9]
        rows = boxes(dict.fromkeys((3, 4, 5), (6, 9, 19, 22)), drawn=[3, 5])
        assert [mark.bbox[0][0] for mark in marks(rows, SHAPE, (3, 3, 3))] == [4, 3, 5]
        ask(image, turns_of(line))
        strength = [float(channel(image, POINT)[z, 12, 15]) for z in (4, 14, 9)]
        assert np.divide(strength, strength[-1]).tolist() == pytest.approx([DECAY**2, DECAY, 1], rel=2e-3)
        turn, notes = adapt(*turns_of(line), model.abilities, Mask.empty(), first=True)
        assert [mark.bbox[0][0] for mark in marks(turn.prompts, SHAPE, (3, 3, 3))] == [4, 14, 9]
        assert notes == ["derived->drawn"]

    def test_afresh_starts_from_the_last_answer_alone(self, folder: Path, image: Any) -> None:
        turns = (*turns_of(CLICK, CLICK_AWAY), replace(*turns_of(BOX2D), afresh=True), *turns_of(STROKE_AWAY))
        found = play(image, turns)
        session = by_hand(folder, VOLUME.array)
        with redirect_stdout(StringIO()):
            session.add_initial_seg_interaction(dense(found[1]).astype(np.uint8))
            session.add_bbox_interaction([[9, 10], [6, 19], [9, 22]], True)
        assert np.array_equal(dense(found[2]), session.target_buffer.numpy())
        assert not channel(image, POINT).any()
        with redirect_stdout(StringIO()):
            session.add_scribble_interaction((channel(image, NOT_SCRIBBLE) > 0).astype(np.uint8), False)
        assert np.array_equal(dense(found[3]), session.target_buffer.numpy())
        assert torch.equal(session.interactions, image.session.interactions)

    def test_autozoom_and_the_patches_that_it_draws_at_random(self, tmp_path: Path, folder: Path) -> None:
        """The package fills gaps between the patches that refine a zoomed answer by numpy's global numbers."""
        zooming = write_folder(tmp_path / "zoom", patch=64, bias=-0.1)
        array, turns = phantom((50, 24, 24)), turns_of(points([(12, 12, 12)]))
        with made(zooming, autozoom=False).open(Volume.from_canonical(array)) as image:
            assert not ask(image, turns).to_array(array.shape)[44:].any()  # beyond the patch
        found = []
        with made(zooming).open(Volume.from_canonical(array)) as image:
            for seed in (1, 2):
                np.random.seed(seed)  # noqa: NPY002
                found.append(ask(image, turns, name=f"{seed}").to_array(array.shape))
        assert np.array_equal(*found)
        assert found[0][44:].any()
        session = by_hand(zooming, array, autozoom=True)
        np.random.seed(0)  # noqa: NPY002
        with redirect_stdout(StringIO()):
            session.add_point_interaction((12, 12, 12), True)
        assert np.array_equal(found[0], session.target_buffer.numpy())


class TestState:
    @pytest.fixture
    def replays(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        from intrabench.models import nninteractive

        counted: list[int] = []
        real = nninteractive._OneImage._replay

        def counting(self: Any, mask: Mask, earlier: Any) -> None:
            counted.append(len(earlier))
            real(self, mask, earlier)

        monkeypatch.setattr(nninteractive._OneImage, "_replay", counting)
        return counted

    def test_continued_equals_replayed(self, model: NnInteractive, image: Any, replays: list[int]) -> None:
        turns = turns_of(*ALL)
        continued = play(image, turns)
        assert replays == [0]
        states, replayed = [image.session.interactions.clone()], []
        for number in range(len(turns)):
            with model.open(VOLUME) as other:
                replayed.append(ask(other, turns[: number + 1], continued[number - 1] if number else None))
                states.append(other.session.interactions.clone())
                intensity = other.session.current_interaction_intensity
        assert same(continued, replayed)
        assert torch.equal(states[0], states[-1])
        assert intensity == image.session.current_interaction_intensity == pytest.approx(DECAY**-7)
        assert replays == [0, *range(7)]

    @settings(max_examples=8)
    @given(st.lists(st.sampled_from("abc"), max_size=8), st.integers(0, 3))
    def test_interleaved_sessions_answer_as_when_alone(
        self, model: NnInteractive, order: list[str], afresh: int
    ) -> None:
        scripts = {
            "a": turns_of(CLICK, CLICK_AWAY, BOX2D, LOOP),
            "b": turns_of(BOX2D, STROKE, CLICK),
            "c": turns_of(STROKE_AWAY, LOOP_AWAY, CLICK, CLICK_AWAY),
        }
        scripts["c"] = tuple(replace(turn, afresh=number == afresh) for number, turn in enumerate(scripts["c"]))
        found: dict[str, list[Mask]] = {name: [] for name in scripts}
        with model.open(VOLUME) as image:
            for name in order:
                done = len(found[name])
                if done < len(scripts[name]):
                    earlier = found[name][-1] if done else None
                    found[name].append(ask(image, scripts[name][: done + 1], earlier, name))
        for name, masks in found.items():
            with model.open(VOLUME) as image:
                assert same(masks, play(image, scripts[name][: len(masks)], name))

    def test_one_call_answers_all_in_their_order_and_a_bad_one_fails_alone(
        self, model: NnInteractive, image: Any
    ) -> None:
        good, bad = turns_of(CLICK), turns_of(points([(9, 12, 28)]))
        first, failure, third = image.segment([Request("a", good), Request("b", bad), Request("c", turns_of(BOX2D))])
        assert isinstance(failure, Failure)
        assert failure.status == "error"
        with model.open(VOLUME) as other:
            assert same([first.update, third.update], [ask(other, good), ask(other, turns_of(BOX2D), name="c")])
        assert not np.array_equal(dense(first.update), dense(third.update))

    def test_a_prediction_that_fails_leaves_nothing_behind(
        self, model: NnInteractive, image: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        turns = turns_of(CLICK, BOX2D, CLICK_AWAY)
        masks = play(image, turns[:2])
        with monkeypatch.context() as broken:
            broken.setattr(image.session, "_build_network_input", lambda *_: 1 / 0)
            [failure] = image.segment([Request("a", turns, masks[-1])])
        assert failure.message == "ZeroDivisionError: division by zero"
        with model.open(VOLUME) as other:
            assert same([ask(image, turns, masks[-1])], play(other, turns)[2:])

    def test_another_mask_than_its_own_last_answer_counts(self, image: Any, replays: list[int]) -> None:
        turns = turns_of(CLICK, CLICK_AWAY)
        (own,) = play(image, turns[:1])
        edited = Mask.of(np.ones((4, 4, 4), dtype=bool), (2, 3, 4))
        ask(image, turns, edited)
        assert replays == [0, 1]
        assert not same([own], [edited])

    def test_another_history_than_its_own_counts(self, image: Any, replays: list[int]) -> None:
        first, second, third = turns_of(CLICK, CLICK_AWAY, BOX2D)
        mask = ask(image, [first])
        ask(image, [second, third], mask)
        assert replays == [0, 1]
        assert not channel(image, POINT).any()

    def test_a_turn_without_prompts_changes_nothing(self, model: NnInteractive, image: Any) -> None:
        turns = turns_of(CLICK, Prompts(), CLICK_AWAY)
        masks = play(image, turns)
        assert masks[0] is masks[1]
        with model.open(VOLUME) as other:
            assert same(play(other, turns_of(CLICK, CLICK_AWAY)), [masks[0], masks[2]])

    def test_checkpoints_that_refuse_masks_from_elsewhere_can_be_replayed(self, tmp_path: Path, folder: Path) -> None:
        strict = made(write_folder(tmp_path / "strict", patch=32, bias=-0.8, info={"supports_initial_label": False}))
        strict.autozoom = False
        turns = turns_of(CLICK, BOX2D)
        with strict.open(VOLUME) as image:
            continued = play(image, turns)
        with strict.open(VOLUME) as image, pytest.warns(RuntimeWarning, match="initial_label"):
            assert same([ask(image, turns, continued[0])], continued[1:])

    def test_two_images_at_once_do_not_disturb_each_other(self, model: NnInteractive) -> None:
        darker = Volume.from_canonical(-phantom())
        with model.open(VOLUME) as one, model.open(darker) as two:
            found = [ask(one, turns_of(CLICK)), ask(two, turns_of(CLICK)), ask(one, turns_of(CLICK), name="b")]
            assert one.session.network is two.session.network
        assert one.session is None
        assert same(found[:1], found[2:])
        assert not same(found[:1], found[1:2])

    def test_the_process_is_left_as_it_was(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        def state() -> Any:
            drawn = np.random.get_state()[1].tolist()  # noqa: NPY002
            return torch.get_num_threads(), torch.backends.cudnn.benchmark, drawn

        usual = torch.get_num_threads()
        torch.set_num_threads(1)  # the package would take up to 8
        try:
            before = state()
            with made(folder, autozoom=False).open(VOLUME) as image:
                ask(image, turns_of(CLICK))
            assert state() == before
        finally:
            torch.set_num_threads(usual)
        assert capsys.readouterr().out == ""
        assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


class TestMarks:
    def of(self, prompts: Prompts, thickness: Sequence[int] = (2, 2, 2)) -> Any:
        (mark,) = marks(prompts, SHAPE, thickness)
        return mark

    def test_a_brush_is_round_and_lies_in_the_plane_of_the_stroke(self) -> None:
        axial = self.of(scribble([(3, 5, 6), (3, 6, 7)]))
        assert axial.bbox == [[3, 4], [4, 8], [5, 9]]
        assert axial.image[0].tolist() == [[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]]
        coronal = self.of(scribble([(3, 5, 6), (4, 5, 8)]))
        assert coronal.bbox == [[2, 6], [5, 6], [5, 10]]
        assert coronal.image[:, 0].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0, 1, 1, 1]]
        assert self.of(scribble([(3, 5, 6), (4, 7, 6)])).bbox == [[2, 6], [4, 9], [6, 7]]
        assert self.of(scribble([(3, 5, 6), (4, 6, 8)])).bbox == [[3, 5], [4, 8], [5, 10]]  # in no plane: axial
        wide = self.of(scribble([(3, 5, 6)]), (5, 1, 1))
        assert wide.image[0].tolist() == [
            [0, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 1, 1, 1, 0]
        ]  # fmt: skip
        thin = self.of(scribble([(3, 5, 6), (3, 6, 7)]), (1, 1, 1))
        assert thin.image[0].tolist() == [[1, 0], [0, 1]]

    def test_a_brush_at_the_border_is_cut(self) -> None:
        assert self.of(scribble([(0, 0, 27)])).bbox == [[0, 1], [0, 2], [26, 28]]

    def test_a_lasso_is_filled_with_its_outline(self) -> None:
        horseshoe = self.of(
            lasso([(2, 0, 0), (2, 4, 0), (2, 4, 4), (2, 0, 4), (2, 0, 3), (2, 3, 3), (2, 3, 1), (2, 0, 1)])
        )
        assert horseshoe.bbox == [[2, 3], [0, 5], [0, 5]]
        assert horseshoe.image[0].tolist() == [[1, 1, 0, 1, 1]] * 3 + [[1] * 5] * 2
        assert self.of(lasso([(2, 7, 8)])).image.tolist() == [[[1]]]
        assert self.of(lasso([(2, 7, 8), (2, 7, 10)])).image.tolist() == [[[1, 1, 1]]]

    def test_the_mark_in_the_middle_slice_comes_last(self) -> None:
        found = marks(points([(z, 5, 5) for z in (2, 4, 9, 11, 15)]), SHAPE, (2, 2, 2))
        assert [mark.bbox[0][0] for mark in found] == [2, 15, 4, 11, 9]
        both = Prompts(points=np.array([[4, 1, 1, 0], [4, 2, 2, 1]]), boxes2d=np.array([[4, 0, 0, 3, 3]]))
        assert [(mark.kind, mark.label) for mark in marks(both, SHAPE, (2, 2, 2))] == [
            ("bbox", 1),
            ("point", 0),
            ("point", 1),
        ]
        assert marks(Prompts(), SHAPE, (2, 2, 2)) == []

    @pytest.mark.parametrize(
        ("prompts", "message"),
        [
            (
                points([(20, 0, 0)]),
                r"\[20, 21\) x \[0, 1\) x \[0, 1\) is empty or outside of the image of \(20, 24, 28\)",
            ),
            (points([(0, -1, 0)]), "outside of the image"),
            (points([(0, 0, 0)], 2), "has the label 2, expected 1 for target or 0 for background"),
            (boxes({3: (6, 6, 6, 9)}), r"\[3, 4\) x \[6, 6\) x \[6, 9\) is empty"),
            (boxes({3: (9, 6, 6, 9)}), "is empty"),
            (boxes({3: (6, 6, 25, 9)}), "outside of the image"),
            (scribble([(0, 0, 0), (0, 24, 0)]), "outside of the image"),
            (scribble(np.zeros((0, 3), dtype=int)), "a scribble or lasso has no points"),
            (lasso([(0, 0, 0), (0, 0, 5), (0, 30, 5)]), "outside of the image"),
            (lasso([(0, 0, 0), (0, 0, 5), (1, 5, 5)]), "one axial slice, this one in slices 0 to 1"),
            (lasso([(0, 0, 0), (0, 0, 5), (0, 5, 5)], -1), "has the label -1"),
        ],
    )
    def test_what_cannot_be_is_refused(self, prompts: Prompts, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            marks(prompts, SHAPE, (2, 2, 2))


class TestRefusals:
    @pytest.mark.parametrize(
        ("array", "message"),
        [
            (np.full(SHAPE, np.nan, dtype=np.float32), "NaN or infinite"),
            (np.where(phantom() > 0, np.inf, 0), "NaN or infinite"),
            (np.zeros(SHAPE, dtype=np.int16), "constant where it is not zero"),
            (np.pad(np.ones((4, 4, 4)), 8), "constant where it is not zero"),
            (np.stack([phantom()] * 3, axis=-1), "this image has 3 channels"),
        ],
    )
    def test_images_that_cannot_be_normalised(self, model: NnInteractive, array: np.ndarray, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            model.open(Volume.from_canonical(array))

    def test_integers_are_images_too_and_stay_as_they_are(self, model: NnInteractive) -> None:
        array = np.rint(phantom()).astype(np.int16)
        before = array.copy()
        with model.open(Volume.from_canonical(array)) as image:
            first = ask(image, turns_of(CLICK))
        with model.open(Volume.from_canonical(array.astype(np.float32))) as image:
            assert same([first], [ask(image, turns_of(CLICK))])
        assert np.array_equal(array, before)

    def test_a_missing_package_is_one_sentence(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "nnInteractive.inference.inference_session", None)
        with pytest.raises(IntraBenchError) as error:
            made(tmp_path).open(VOLUME)
        assert str(error.value).startswith("model nninteractive needs nnInteractive")
        assert str(error.value).endswith("which is not installed; run: pip install 'intrabench[nninteractive]'")

    def test_missing_weights_are_one_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(
            IntraBenchError, match=r"^the weights nninteractive are missing; run: intrabench weights get nninteractive"
        ):
            made(None).load()
        with pytest.raises(IntraBenchError, match=r"--weights .*/absent is not a folder"):
            made(tmp_path / "absent").load()

    def test_precision_is_not_to_be_chosen(self) -> None:
        with pytest.raises(IntraBenchError, match="chooses its own precision; omit --dtype bfloat16"):
            made(None, dtype="bfloat16").load()

    @pytest.mark.parametrize(
        "name", ["plans.json", "dataset.json", "inference_info.json", "fold_0/checkpoint_final.pth"]
    )
    def test_a_folder_without_one_of_its_files(self, tmp_path: Path, folder: Path, name: str) -> None:
        broken = write_folder(tmp_path / "broken")
        (broken / name).unlink()
        with pytest.raises(
            IntraBenchError, match="broken is not a model folder of nnInteractive that can be read safely"
        ):
            made(broken).load()

    def test_the_metadata_of_the_first_published_checkpoint(self, tmp_path: Path, folder: Path) -> None:
        """It says nothing but the name of a class, which stands for a decay of 0.9 and balls of radius 4."""
        legacy = write_folder(tmp_path / "legacy", patch=32, bias=-0.8)
        (legacy / "inference_info.json").unlink()
        (legacy / "inference_session_class.json").write_text(json.dumps("nnInteractiveInferenceSession"))
        with made(legacy, autozoom=False).open(VOLUME) as image:
            ask(image, turns_of(CLICK))
            assert image.session.current_interaction_intensity == pytest.approx(1 / 0.9)
            assert [line.any() for line in channel(image, POINT)[:, 12, 15]] == [5 <= z <= 13 for z in range(20)]

    def test_another_network_than_the_planned_one(self, tmp_path: Path, folder: Path) -> None:
        broken = write_folder(tmp_path / "broken")
        plans = json.loads((broken / "plans.json").read_text())
        plans["configurations"]["3d_fullres"]["architecture"]["arch_kwargs"]["features_per_stage"] = [4, 8, 16]
        (broken / "plans.json").write_text(json.dumps(plans))
        with pytest.raises(IntraBenchError, match=r"Error\(s\) in loading state_dict"):
            made(broken).load()

    def test_a_checkpoint_runs_no_code(self, tmp_path: Path, folder: Path) -> None:
        evil = write_folder(tmp_path / "evil", logged=_Touch(tmp_path / "touched"))
        with pytest.raises(
            IntraBenchError, match="evil is not a model folder of nnInteractive that can be read safely"
        ):
            made(evil).load()
        assert not (tmp_path / "touched").exists()
        assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ

    def test_checkpoints_written_with_another_numpy_are_read(self, tmp_path: Path, folder: Path) -> None:
        old = write_folder(tmp_path / "old", bias=-0.8, patch=32)
        path = old / "fold_0" / "checkpoint_final.pth"
        with zipfile.ZipFile(path) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        (pickled,) = (name for name in content if name.endswith("data.pkl"))
        now, before = (b"numpy._core.", b"numpy.core.") if np.__version__ >= "2" else (b"numpy.core.", b"numpy._core.")
        assert now in content[pickled]
        content[pickled] = content[pickled].replace(now, before)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for name, data in content.items():
                archive.writestr(name, data)
        with made(old, autozoom=False).open(VOLUME) as image:
            assert ask(image, turns_of(BOX2D)).any()

    @pytest.mark.parametrize("name", ["builtins.print", "torch.nn.Module.apply", "torch.nn.functional.torch.load"])
    def test_plans_call_nothing_but_networks(self, tmp_path: Path, folder: Path, name: str) -> None:
        evil = write_folder(tmp_path / "evil", network_class=name)
        with pytest.raises(IntraBenchError, match=f"plans.json names {name}, which is neither a network nor a layer"):
            made(evil).load()

    def test_specs_choose_the_autozoom(self) -> None:
        assert make("models", "nninteractive").autozoom is True
        assert make("models", "nninteractive:autozoom=false").autozoom is False


class _Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)
