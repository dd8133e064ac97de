"""Which voxels nninteractive sees, and its answers against the package's own session driven by hand."""

from __future__ import annotations

import itertools
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intrabench.mask import Mask
from intrabench.models.nninteractive import NnInteractive
from intrabench.models.parts.nninteractive_marks import marks
from intrabench.play.adapt import adapt
from intrabench.prompts import Prompts, box3d, boxes, points
from intrabench.randomness import stream
from intrabench.turns import DrawBox3D, Turn
from intrabench.volume import Volume
from tests.models.nninteractive.played import (
    ALL,
    BOX,
    BOX2D,
    CLICK,
    CLICK_AWAY,
    DECAY,
    LOOP,
    NOT_BOX,
    NOT_POINT,
    NOT_SCRIBBLE,
    POINT,
    SCRIBBLE,
    SHAPE,
    STROKE,
    STROKE_AWAY,
    VOLUME,
    ask,
    by_hand,
    channel,
    dense,
    lasso,
    made,
    phantom,
    play,
    scribble,
    turns_of,
)
from tests.models.nninteractive_folder import write_folder


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


def spotted() -> np.ndarray:
    """The phantom with its brightest voxel at z, y, x = 4, 19, 7."""
    array = phantom()
    array[4, 19, 7] = 1000
    return array


FLIPS = [
    flips if flips in {(1, 1, 1), (-1, 1, -1)} else pytest.param(flips, marks=pytest.mark.slow)
    for flips in itertools.product((1, -1), repeat=3)
]


class TestGeometry:
    @pytest.fixture(scope="class")
    def of_canonical(self, model: NnInteractive) -> np.ndarray:
        """The answer to a click on the brightest voxel, with voxels of 1 mm: the spacing makes no difference."""
        with model.open(Volume.from_canonical(spotted())) as image:
            return dense(ask(image, turns_of(points([(4, 19, 7)]))))

    @pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
    @pytest.mark.parametrize("flips", FLIPS)
    def test_every_orientation_of_a_file_is_prompted_at_the_same_voxel(
        self, model: NnInteractive, of_canonical: np.ndarray, axes: tuple[int, ...], flips: tuple[int, ...]
    ) -> None:
        array = spotted()
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
        assert np.array_equal(dense(mask), of_canonical)

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
        taken, notes = adapt(turn, model.abilities, Mask.empty(), partial(stream, 0), first=True)
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
        turn, notes = adapt(*turns_of(line), model.abilities, Mask.empty(), partial(stream, 0), first=True)
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
        np.random.seed(1)  # noqa: NPY002 - which makes no difference
        with made(zooming).open(Volume.from_canonical(array)) as image:
            found = ask(image, turns).to_array(array.shape)
        assert found[44:].any()
        session = by_hand(zooming, array, autozoom=True)
        np.random.seed(0)  # noqa: NPY002
        with redirect_stdout(StringIO()):
            session.add_point_interaction((12, 12, 12), True)
        assert np.array_equal(found, session.target_buffer.numpy())
