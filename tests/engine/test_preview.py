"""Pictures: every colour lies where it belongs; rounds follow a session; what cannot be drawn is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw
from syrupy.assertion import SnapshotAssertion

from intrabench.engine.options import chosen
from intrabench.engine.preview import preview
from intrabench.errors import IntraBenchError
from intrabench.mask import TURNED, Mask, Plane
from intrabench.prompts import Prompts, Scribble, boxes, points
from intrabench.registry import registry
from intrabench.reporting.pictures import ANSWER, DERIVED, DRAWN, NEGATIVE, TARGET, Picture
from intrabench.volume import Volume
from tests.conftest import make_target

PHANTOM = "phantom:shape=16x32x32,instances=2"
HEAD = 6  # pixels above the tiles, without lines


def drawn(prompts: list[Prompts], answer: Mask | None = None, tiles: int = 12) -> np.ndarray:
    """A picture of a cube of 6 voxels in 26 x 26 x 26: ten pixels for each voxel, z = 10 to 15."""
    cube = np.zeros((26, 26, 26), dtype=bool)
    cube[10:16, 10:16, 10:16] = True
    volume = Volume.from_canonical(np.zeros(cube.shape, dtype=np.int16))
    Picture(volume, make_target(cube), prompts, answer).save(Path("p.png"), tiles)
    return np.asarray(Image.open("p.png").convert("RGB"))


def at(picture: np.ndarray, tile: int, row: float, column: float) -> tuple[int, ...]:
    """The colour at an edge coordinate (rows and columns run backwards) in a tile, four in a row."""
    y, x = round(10 * (26 - row)), round(10 * (26 - column))
    return tuple(picture[HEAD + 260 * (tile // 4) + y, 260 * (tile % 4) + x].tolist())


def test_outlines_lie_at_the_edges_of_target_and_answer() -> None:
    answer = np.zeros((26, 26, 26), dtype=bool)
    answer[12:14, 8:16, 10:16] = True
    picture = drawn([], Mask.of(answer))
    assert picture.shape == (HEAD + 2 * 260, 4 * 260, 3)  # six slices
    assert [at(picture, tile, row=13, column=10) for tile in range(6)] == [TARGET] * 6
    assert [at(picture, tile, row=8, column=13) == ANSWER for tile in range(6)] == [
        z in (12, 13) for z in range(10, 16)
    ]
    assert at(picture, 2, row=10, column=13) == TARGET  # the answer goes on there
    agreeing = picture[HEAD + 130, 260 * 2 + 155 : 260 * 2 + 165].tolist()
    assert list(TARGET) in agreeing
    assert list(ANSWER) in agreeing  # where both have their edge, both are seen


def test_prompts_have_the_colour_of_who_made_them() -> None:
    both = boxes({10: (9, 9, 17, 17), 11: (9, 9, 17, 17)}, drawn=[10])
    clicks = Prompts(points=np.array([[10, 12, 11, 1], [11, 12, 11, 1], [12, 4, 20, 0]]), clicked=np.array([1, 0, 1]))
    picture = drawn([both, clicks])
    assert [at(picture, tile, row=9, column=13) for tile in (0, 1)] == [DRAWN, DERIVED]
    assert [at(picture, tile, row=12.5, column=11.5) for tile in (0, 1)] == [DRAWN, DERIVED]
    assert at(picture, 2, row=4.5, column=20.5) == NEGATIVE
    assert at(picture, 3, row=9, column=13) == at(picture, 3, row=4.5, column=20.5) == (0, 0, 0)


def test_slices_with_new_prompts_come_first_even_beyond_the_target() -> None:
    picture = drawn([points([(20, 13, 13)])], tiles=1)
    assert picture.shape == (HEAD + 260, 260, 3)
    assert at(picture, 0, row=13.5, column=13.5) == DRAWN


@pytest.mark.parametrize("axis", [1, 2])
def test_a_stroke_across_the_slices_is_also_drawn_in_its_plane(axis: int) -> None:
    stroke = np.array([(z, 8, z) if axis == 1 else (z, z, 8) for z in range(9, 13)])
    picture = drawn([Prompts(scribbles=(Scribble(stroke, label=0),))], tiles=4)
    assert picture.shape == (HEAD + 2 * 260, 4 * 260, 3)  # z = 9 to 12, and the plane
    assert [at(picture, 4, row=z + 0.5, column=z + 0.5) for z in (9, 12)] == [NEGATIVE, NEGATIVE]
    assert at(picture, 4, row=14.5, column=14.5) != NEGATIVE
    flat = np.array([(12, 8, 8), (12, 9, 8)])  # within one slice, which is enough
    assert len(drawn([Prompts(scribbles=(Scribble(flat),))], tiles=4)) == HEAD + 260


def test_a_third_of_the_slices_may_show_the_answer_alone() -> None:
    answer = Mask.of(np.ones((26, 26, 26), dtype=bool))
    picture = drawn([], answer, tiles=6)
    assert [at(picture, tile, row=13, column=10) == TARGET for tile in range(6)] == [False] + 4 * [True] + [False]


def test_far_prompts_widen_the_window_and_a_leaking_answer_does_so_within_reason() -> None:
    cube = np.zeros((9, 200, 200), dtype=bool)
    cube[4, 100:104, 100:104] = True
    volume = Volume.from_canonical(np.zeros(cube.shape, dtype=np.int16))
    everywhere = Mask.of(np.ones(cube.shape, dtype=bool))
    sizes = {}
    for name, prompts, answer in (
        ("near", [], None),
        ("leak", [], everywhere),
        ("click", [points([(4, 100, 199)])], None),
    ):
        Picture(volume, make_target(cube), prompts, answer).save(Path(name + ".png"), tiles=1)
        picture = np.asarray(Image.open(name + ".png"))
        greens = np.flatnonzero((picture == TARGET).all(axis=2).any(axis=0))
        sizes[name] = round((greens[-1] - greens[0]) / 260, 3)  # the target's share of the tile's longer side
    assert sizes["near"] == pytest.approx(4 / 34, abs=0.02)
    assert sizes["leak"] == pytest.approx(4 / 94, abs=0.02)
    assert sizes["click"] == pytest.approx(4 / 115, abs=0.02)


def test_one_picture_per_round_with_what_is_new_in_it(data: Path) -> None:
    given = {"prompter": "box_interp:n=2", "model": "box_fill", "refine": "scribble", "rounds": 2, "dataset": PHANTOM}
    found = list(preview(chosen(given), target="blob.2"))
    assert [name for name, _ in found] == ["round0", "round1", "round2"]
    first, *later = (np.asarray(picture.image()).astype(int) for _, picture in found)
    assert all(pixels(picture, ANSWER) > 50 for picture in (first, *later))
    assert pixels(first, DERIVED) > 50
    assert [pixels(picture, DERIVED) for picture in later] == [0, 0]
    assert all(pixels(picture, NEGATIVE) + pixels(picture, DRAWN) > 10 for picture in later)


def test_free_turns_belong_to_the_picture_of_their_round(data: Path) -> None:
    options = chosen({"prompter": "box_prop", "dataset": PHANTOM, "model": "box_fill"})
    ((_, drawn),) = preview(options, target="blob.2")
    picture = np.asarray(drawn.image()).astype(int)
    assert pixels(picture, DRAWN) > 50
    assert pixels(picture, DERIVED) > 50


def test_rounds_before_a_failure_are_drawn(data: Path, wording: SnapshotAssertion) -> None:
    Path("tired.py").write_text(
        "from dataclasses import dataclass\nfrom intrabench.prompters.base import Prompter\n"
        "from intrabench.prompts import box3d\nfrom intrabench.turns import DrawBox3D, Turn\n\n"
        "@dataclass(frozen=True)\nclass Tired(Prompter):\n    name = 'tired'\n"
        "    def interact(self, user):\n"
        "        yield Turn(box3d(user.target.mask.box), actions=(DrawBox3D(),))\n"
        "        raise RuntimeError('enough')\n"
    )
    registry.add_plugin(Path("tired.py"))
    found = preview(chosen({"prompter": "tired", "dataset": PHANTOM, "model": "box_fill", "rounds": 3}))
    assert next(found)[0] == "round0"
    with pytest.raises(IntraBenchError) as caught:
        next(found)
    assert caught == wording


def pixels(picture: np.ndarray, colour: tuple[int, int, int]) -> int:
    return int((picture == colour).all(axis=2).sum())


def test_corrections_need_a_model(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        list(preview(chosen({"prompter": "box_volume", "dataset": "phantom", "rounds": 1})))
    assert caught == wording


def test_letters_say_where_the_sides_of_the_patient_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each of three planes; lines on the right and in front of the patient are where the letters say."""
    found: list[tuple[str, float, float]] = []
    monkeypatch.setattr(ImageDraw.ImageDraw, "text", lambda pen, at, text, **_: found.append((text, *at)))
    cube = np.zeros((26, 26, 26), dtype=bool)
    cube[10:16, 10:16, 10:16] = True
    upwards = Scribble(np.array([[11, 13, 13], [14, 13, 13]]))  # in a coronal plane
    along = Scribble(np.array([[11, 11, 13], [14, 14, 13]]))  # in a sagittal one
    bright = np.zeros(cube.shape, np.int16)
    bright[:, 13, 22] = bright[:, 22, 13] = 1000  # to the patient's right, and in front
    for modality, letters in (("MR", ["APRL", "SIRL", "SIAP"]), ("natural image", ["", "", ""])):
        volume = replace(Volume.from_canonical(bright), modality=modality)
        found.clear()
        made = [Prompts(scribbles=(upwards,)), Prompts(scribbles=(along,))]
        picture = Picture(volume, make_target(cube), made).image(1)
        drawn = [one for one in found if len(one[0]) == 1]
        assert "".join(text for text, *_ in drawn) == "".join(letters)
        if not drawn:
            continue
        pixels = np.asarray(picture.convert("L"))
        places = {text: (x, y) for text, x, y in drawn[:4]}
        assert places["A"][1] < 130 < places["P"][1]
        assert places["R"][0] < 130 < places["L"][0]
        first = pixels[HEAD : HEAD + 260, :260]
        assert first[30:50, 120:140].max() > 200 < first[120:140, 30:50].max()  # the front is up, the right on the left


@pytest.mark.parametrize(
    ("axis", "planes"), [(0, ("coronal", "sagittal")), (1, ("axial", "sagittal")), (2, ("axial", "coronal"))]
)
def test_a_plane_across_the_slices_is_drawn_the_same_whatever_they_are(axis: int, planes: tuple[Plane, Plane]) -> None:
    """Rows and columns of a plane, marks, outlines and letters do not depend on the plane of the user."""
    shape = (26, 20, 16)
    truth = np.zeros(shape, dtype=bool)
    truth[8:16, 6:12, 5:9] = truth[8:10, 6:15, 5:9] = True
    scan = np.random.default_rng(0).normal(0, 10, shape).astype(np.float32)
    stroke = np.array([[9, 8, 6], [10, 9, 7], [11, 10, 8]])
    stroke[:, axis] = stroke[0, axis]
    volume, target = Volume.from_canonical(scan), make_target(truth)
    given = Prompts(scribbles=(Scribble(stroke),))
    height, width = (shape[other] for other in range(3) if other != axis)
    sides = [round(260 * side / max(height, width)) for side in (height, width)]
    tiles = [
        np.asarray(Picture(volume.turned(plane), target.turned(plane), [given.reordered(TURNED[plane])]).image(1))
        for plane in planes
    ]
    first, second = (tile[-sides[0] :, : sides[1]] for tile in tiles)
    assert len(np.unique(first)) > 50
    assert np.array_equal(first, second)


def test_words_in_a_picture_are_apart() -> None:
    """The letters of both words, and between them at least four columns without any."""
    cube = np.zeros((4, 4, 4), dtype=bool)
    cube[1:3, 1:3, 1:3] = True
    volume = Volume.from_canonical(np.zeros(cube.shape, dtype=np.int16))
    picture = np.asarray(Picture(volume, make_target(cube), [], lines=("so far",)).image().convert("L"))
    inked = np.flatnonzero((picture[:16] > 100).any(axis=0))
    assert np.diff(inked).max() > 4


@pytest.mark.parametrize("model", [{}, {"model": "box_fill"}])
def test_prompts_on_a_changed_scan_are_those_of_the_scan_as_in_runs(data: Path, model: dict[str, str]) -> None:
    given = {"prompter": "box_slice+hand:jitter_mm=3", "dataset": PHANTOM, **model}
    (_, plain), (_, noisy) = (*preview(chosen(given)), *preview(chosen({**given, "perturb": "noise:sigma=0.1"})))
    assert not np.array_equal(noisy.volume.array, plain.volume.array)
    assert noisy.prompts[0].to_json() == plain.prompts[0].to_json()
