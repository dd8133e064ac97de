"""SAM-Med3D's wrapper: the crop as torchio made it, and which points and logits of a session reach the network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.models.base import Answer, Failure, Region, Request
from intrabench.models.sammed3d import SIDE, Crop, SAMMed3D, zscored
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompts import Prompts, boxes, points
from intrabench.protocols import protocol
from intrabench.registry.registry import make
from intrabench.turns import Click, Turn
from intrabench.volume import Volume
from tests.conftest import make_target
from tests.models.networks.parity import fixture
from tests.models.stub import answers, request

GOLDEN = fixture("sammed3d_crop")
MIDDLE = 64


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("segment_anything")
    global torch
    import torch


class Recorder:
    """A network that notes what it gets; its logits are 0.4, more with every call, and its IoU is nothing."""

    def __init__(self) -> None:
        self.encoded: list[torch.Tensor] = []
        self.asked: list[tuple[torch.Tensor, ...]] = []

    def encode(self, volume: torch.Tensor) -> torch.Tensor:
        assert volume.shape == (1, 1, SIDE, SIDE, SIDE)
        self.encoded.append(volume[0, 0])
        return volume.mean().expand(1, 384, 8, 8, 8)

    def decode(self, *asked: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.asked.append(asked)
        return torch.full((1, 1, 32, 32, 32), 0.4 * len(self.asked)), torch.zeros(1, 1)


@pytest.fixture(scope="module")
def scan() -> Volume:
    """A volume of 40 x 60 x 300 voxels of 1.5 mm."""
    array = np.random.default_rng(0).integers(-500, 1000, (40, 60, 300)).astype(np.int16)
    return Volume.from_canonical(array, (1.5, 1.5, 1.5))


def opened(volume: Volume, **parameters: Any) -> Any:
    model = SAMMed3D(**parameters)
    model.network = Recorder()
    return model.open(volume)


@pytest.fixture
def image(scan: Volume) -> Iterator[Any]:
    with opened(scan) as one:
        yield one


def row(z: int, y: int, x: int, label: int = 1) -> np.ndarray:
    return np.array([[z, y, x, label]])


def test_the_crop_is_that_of_torchio() -> None:
    volume = Volume.from_canonical(GOLDEN["volume"], GOLDEN["spacing_mm"])
    crop = Crop.around(np.append(GOLDEN["point"], 1)[None], volume)
    cut = crop.cut(volume.array)
    assert cut.shape == (SIDE, SIDE, SIDE)
    assert crop.positions(np.append(GOLDEN["point"], 1)[None]).tolist() == [[MIDDLE] * 3]
    np.testing.assert_allclose(cut[::3, ::3, ::3], GOLDEN["crop_s"], atol=1e-3)
    np.testing.assert_allclose(zscored(cut)[::3, ::3, ::3], GOLDEN["zscored_s"], atol=1e-5)


def test_the_crop_of_1_5_mm_is_the_volume_itself(scan: Volume) -> None:
    crop = Crop.around(row(10, 20, 150), scan)
    assert crop.start == (150 - MIDDLE, 20 - MIDDLE, 10 - MIDDLE)
    cut = crop.cut(scan.array)
    expected = np.zeros((SIDE, SIDE, SIDE), dtype=np.float32)
    expected[:, 44:104, 54:94] = scan.array[:, :, 86:214].transpose(2, 1, 0)
    assert np.array_equal(cut, expected)
    window = crop.cut(scan.array, (0, 100))
    assert np.array_equal(window, expected.clip(0, 100))


def test_pasting_is_the_inverse_of_cutting(scan: Volume) -> None:
    truth = np.random.default_rng(1).random(scan.shape) < 0.3
    crop = Crop.around(row(10, 20, 150), scan)
    pasted = crop.paste(crop.cut(truth) > 0.5).to_array(scan.shape)
    assert np.array_equal(pasted[:, :, 86:214], truth[:, :, 86:214])
    assert not pasted[:, :, :86].any()
    assert not pasted[:, :, 214:].any()


def test_pasting_takes_the_nearest_voxel_of_the_crop() -> None:
    volume = Volume.from_canonical(np.zeros((10, 12, 14), dtype=np.int16), (4.5, 1.5, 0.75))
    crop = Crop.around(row(5, 6, 7), volume)
    assert crop.positions(np.array([[5, 6, 7, 1], [4, 6, 8, 1], [4, 6, 6, 1]])).tolist() == [
        [MIDDLE, MIDDLE, MIDDLE],
        [MIDDLE + 1, MIDDLE, MIDDLE - 3],
        [MIDDLE, MIDDLE, MIDDLE - 3],
    ]
    cube = np.zeros((SIDE, SIDE, SIDE), dtype=bool)
    cube[MIDDLE, MIDDLE, MIDDLE - 1 : MIDDLE + 2] = True  # of the volume's slice 5
    assert crop.paste(cube).box == (5, 6, 6, 6, 7, 8)
    assert crop.paste(~cube).voxels == 10 * 12 * 14 - 2
    assert not crop.paste(np.zeros_like(cube)).any()


def test_the_crop_lies_around_the_middle_of_the_first_points(scan: Volume) -> None:
    both = np.vstack([row(0, 0, 100), row(39, 59, 201)])
    crop = Crop.around(both, scan)
    assert crop.start == (151 - MIDDLE, 30 - MIDDLE, 20 - MIDDLE)
    assert crop.inside(np.vstack([row(0, 0, 86, 0), row(0, 0, 87, 0), row(5, 5, 214), row(5, 5, 215)])).tolist() == [
        [0, 34, 44, 0],
        [127, 39, 49, 1],
    ]


def test_zscoring_counts_positive_voxels() -> None:
    crop = np.array([-5, 0, 1, 2, 6], dtype=np.float32).reshape(1, 1, 5)
    np.testing.assert_allclose(zscored(crop)[0, 0], (crop[0, 0] - 3) / np.sqrt(7), rtol=1e-6)
    negative = np.array([-3, -1, -2], dtype=np.float32).reshape(1, 1, 3)
    np.testing.assert_allclose(zscored(negative)[0, 0], [-1, 1, 0], rtol=1e-6)
    for constant in (-1000, 0, 7):
        assert not zscored(np.full((2, 2, 2), constant, dtype=np.float32)).any()


def test_the_network_sees_the_zscored_crop(image: Any, scan: Volume) -> None:
    answers(image, [request("a", points([(10, 20, 150)]))])
    (seen,) = image.model.network.encoded
    assert np.array_equal(seen, zscored(Crop.around(row(10, 20, 150), scan).cut(scan.array)))


def test_all_points_in_the_crop_count_oldest_first(image: Any) -> None:
    turns = points([(10, 20, 150), (11, 20, 152)]), points([(10, 20, 299), (10, 23, 151)], label=0)
    (answer,) = answers(image, [request("a", *turns, memory=np.ones((32, 32, 32), dtype=np.float16))])
    ((_, coordinates, labels, _),) = image.model.network.asked
    assert coordinates.tolist() == [[[63, 64, 63], [65, 64, 64], [64, 67, 63]]]  # x, y, z around 151, 20, 11
    assert labels.tolist() == [[1, 1, 0]]
    assert answer.valid == Region()
    assert answer.update.box == (0, 0, 87, 40, 60, 215)  # 0.4 > 0 all over the crop


def test_a_turn_with_no_point_in_the_crop_changes_nothing(image: Any) -> None:
    (first,) = answers(image, [request("a", points([(10, 20, 20)]))])
    far = points([(10, 20, 290)], label=0)
    (second,) = answers(image, [request("a", points([(10, 20, 20)]), far, mask=first.update, memory=first.memory)])
    assert np.array_equal(second.update.array, first.update.array)
    fresh = Turn(points([(10, 20, 20)])), Turn(far, afresh=True)
    (third,) = answers(image, [Request("a", fresh, mask=first.update, memory=first.memory)])
    assert np.array_equal(third.update.array, first.update.array)
    assert third.memory is first.memory
    assert len(image.model.network.asked) == 2


def test_it_can_answer_in_the_crop_of_the_first_turn(image: Any) -> None:
    turns = points([(10, 20, 150)]), points([(10, 20, 299)], label=0)
    (first,) = answers(image, [request("a", turns[0])])
    assert first.reach == first.update.box == (0, 0, 86, 40, 60, 214)  # it answers with all of the crop
    (second,) = answers(image, [request("a", *turns, memory=first.memory)])
    alone = Turn(turns[0]), Turn(turns[1], afresh=True)
    (third,) = answers(image, [Request("a", alone, mask=first.update, memory=first.memory)])  # no point is left
    assert second.reach == third.reach == first.reach
    thick = Volume.from_canonical(np.zeros((30, 300, 10), dtype=np.int16), (5.0, 0.7, 40.0))
    crop = Crop.around(row(2, 200, 4), thick)
    everywhere = np.argwhere(np.ones(thick.shape, dtype=bool))
    inside = crop.inside(np.column_stack([everywhere, np.ones(len(everywhere), dtype=int)]))
    assert np.prod(np.subtract(crop.box[3:], crop.box[:3])) == len(inside)
    assert crop.paste(np.ones((SIDE,) * 3, dtype=bool)).box == crop.box


@pytest.mark.parametrize(("more", "adapted"), [("", {"", "outside crop"}), (":reachable=true", {""})])
def test_corrections_outside_of_the_crop(scan: Volume, more: str, adapted: set[str]) -> None:
    """A target of 60 mm at one end and 60 mm at the other: only one of them is in the crop."""
    truth = np.zeros(scan.shape, dtype=bool)
    truth[5:35, 10:50, 10:50] = truth[5:35, 10:50, 250:290] = True
    prompter = intrabench.prompter(f"points_volume:n=1,placement=random+click_volume{more}")
    with opened(scan) as image:
        abilities = image.model.abilities
        session = Session("k", make_target(truth), prompter, abilities, protocol("overlap@1"), rounds=8)
        play([session], image)
        (z0, y0, x0, z1, y1, x1) = session._clock.reach or (0,) * 6
    assert [row["interactions"] for row in session.rows] == list(range(1, 10))
    assert {row["adapted"] for row in session.rows} == adapted
    for turn, told in zip(session._state.history, session.rows, strict=True):
        ((z, y, x, _),) = turn.prompts.points
        assert (z0 <= z < z1 and y0 <= y < y1 and x0 <= x < x1) == (told["adapted"] == "")


def test_the_mask_prompt_is_zeros_then_the_previous_logits(image: Any) -> None:
    turns = points([(10, 20, 150)]), points([(9, 20, 150)], label=0), points([(8, 20, 150)], label=0)
    (first,) = answers(image, [request("a", turns[0])])
    (second,) = answers(image, [request("a", *turns[:2], memory=first.memory)])
    asked = image.model.network.asked
    assert asked[0][3].shape == (1, 1, 32, 32, 32)
    assert not asked[0][3].any()
    assert torch.equal(asked[1][3][0, 0], torch.from_numpy(first.memory.astype(np.float32)))
    assert (first.memory[0, 0, 0], second.memory[0, 0, 0]) == (np.float16(0.4), np.float16(0.8))


def test_lost_memory_is_replayed_turn_by_turn(image: Any) -> None:
    turns = points([(10, 20, 150)]), points([(9, 20, 150)], label=0), points([(8, 20, 150)], label=0)
    (answer,) = answers(image, [request("a", *turns)])
    asked = image.model.network.asked
    assert [len(labels[0]) for _, _, labels, _ in asked] == [1, 2, 3]
    assert [float(previous.max()) for *_, previous in asked] == pytest.approx([0, 0.4, 0.8], rel=1e-3)
    assert answer.memory[0, 0, 0] == np.float16(1.2)


def test_an_unchanged_crop_is_encoded_once_over_all_rounds(image: Any) -> None:
    turns = points([(10, 20, 150)]), points([(9, 20, 180)], label=0), points([(3, 20, 120)])
    for count in (1, 2, 3):
        answers(image, [request("a", *turns[:count]), request("b", *turns[:count])])
    assert len(image.model.network.encoded) == 1
    (other,) = answers(image, [request("c", points([(10, 20, 151)]))])
    assert len(image.model.network.encoded) == 2
    assert other.encode_seconds > 0


def test_radioactive_takes_the_first_point_percentiles_and_half_a_logit(scan: Volume) -> None:
    turns = points([(10, 20, 150)]), points([(9, 20, 150)], label=0)
    with opened(scan, policy="radioactive") as image:
        (first,) = answers(image, [request("a", turns[0])])
        (second,) = answers(image, [request("a", *turns, memory=first.memory)])
        network = image.model.network
    assert [labels.tolist() for _, _, labels, _ in network.asked] == [[[1]], [[0]]]
    assert not first.update.any()  # 0.4 is not enough
    assert second.update.any()
    crop = Crop.around(row(10, 20, 150), scan).cut(scan.array, tuple(np.percentile(scan.array, (0.5, 99.5))))  # type: ignore[arg-type]
    np.testing.assert_allclose(network.encoded[0], zscored(crop), atol=1e-5)


def asked_of(scan: Volume, rounds: list[Prompts], previous: str) -> list[tuple[list[float], int, bool]]:
    """For each round of a session: the only point that the network got, its label, and whether there was a mask."""
    turns = [Turn(prompts, (Click(),), afresh=previous == "drop" and k > 0) for k, prompts in enumerate(rounds)]
    with opened(scan, policy="radioactive") as image:
        memory = None
        for count in range(1, len(turns) + 1):
            (answer,) = answers(image, [Request("a", tuple(turns[:count]), memory=memory)])
            memory = answer.memory
        asked = image.model.network.asked
        answers(image, [Request("a", tuple(turns))])  # with its memory lost
    assert all(coordinates.shape == (1, 1, 3) and labels.shape == (1, 1) for _, coordinates, labels, _ in asked)
    found = [(xyz[0, 0].tolist(), int(labels[0, 0]), bool(mask.any())) for _, xyz, labels, mask in asked]
    assert found[len(turns) :] == found[: len(turns)]
    return found[: len(turns)]


FIRST, SECOND, THIRD = points([(10, 20, 150)]), points([(9, 20, 152), (8, 20, 153)], label=0), points([(12, 21, 149)])


def test_radioactive_keeps_the_newest_point_without_mask(scan: Volume) -> None:
    assert asked_of(scan, [FIRST, SECOND, THIRD], "keep") == [
        ([64, 64, 64], 1, False),
        ([66, 64, 63], 0, False),
        ([63, 65, 66], 1, False),
    ]


def test_radioactive_gives_the_new_point_with_the_mask_where_earlier_ones_are_dropped(scan: Volume) -> None:
    assert asked_of(scan, [FIRST, SECOND, THIRD], "drop") == [
        ([64, 64, 64], 1, False),
        ([66, 64, 63], 0, True),
        ([63, 65, 66], 1, True),
    ]


@pytest.mark.parametrize(
    ("columns", "labels", "expected"),
    [
        ([10, 150, 160, 290], [0, 1, 1, 1], ([64, 64, 64], 0)),  # the first inside, with the label of the first
        ([50, 250], [1, 1], ([64, 64, 64], 1)),  # their mean
        ([20, 140, 290], [1, 1, 1], ([49, 64, 64], 1)),
    ],
)
def test_radioactive_takes_the_first_of_several_points_inside_the_crop(
    scan: Volume, columns: list[int], labels: list[int], expected: tuple[list[float], int]
) -> None:
    rows = np.array([(10, 20, x, label) for x, label in zip(columns, labels, strict=True)])
    assert asked_of(scan, [Prompts(points=rows)], "keep") == [(*expected, False)]


def test_the_policy_says_which_points_of_strokes_it_gets() -> None:
    specs = {"": "one_negative", ":policy=radioactive": "one", ":policy=radioactive,strokes=all": "all"}
    found = {words: make("models", f"sammed3d{words}").abilities.strokes for words in specs}
    assert found == specs


def test_radioactive_changes_nothing_where_all_points_are_far_away(scan: Volume) -> None:
    far = Turn(points([(10, 20, 290)], label=0), (Click(),), afresh=True)
    with opened(scan, policy="radioactive") as image:
        (first,) = answers(image, [request("a", points([(10, 20, 20)]))])
        (second,) = answers(
            image, [Request("a", (Turn(points([(10, 20, 20)])), far), mask=first.update, memory=first.memory)]
        )
        assert len(image.model.network.asked) == 1
    assert second.update is first.update


def test_a_threshold_replaces_that_of_the_policy(scan: Volume) -> None:
    for policy, threshold, found in (("official", 0.45, False), ("radioactive", 0.0, True)):
        with opened(scan, policy=policy, threshold=threshold) as image:
            (answer,) = answers(image, [request("a", points([(10, 20, 150)]))])
        assert answer.update.any() == found
    assert make("models", "sammed3d_turbo:policy=radioactive").weights == "sammed3d_turbo"
    with pytest.raises(IntraBenchError, match="policy=best does not fit"):
        make("models", "sammed3d:policy=best")


@pytest.mark.parametrize("value", [-1000, 0, 500])
def test_constant_volumes_are_answered(value: int) -> None:
    volume = Volume.from_canonical(np.full((5, 6, 7), value, dtype=np.int16), (3, 2, 1))
    with opened(volume) as image:
        (answer,) = answers(image, [request("a", points([(2, 3, 3)]))])
        assert torch.isfinite(image.model.network.encoded[0]).all()
    assert answer.update.voxels == 5 * 6 * 7


@pytest.mark.parametrize(
    "wrong",
    [
        boxes({1: (0, 0, 5, 5)}),
        points([(10, 60, 5)]),
        points([(-1, 5, 5)]),
    ],
)
def test_a_request_that_cannot_be_answered_fails_alone(image: Any, wrong: Prompts, wording: SnapshotAssertion) -> None:
    failure, answer = image.segment([request("a", wrong), request("b", points([(10, 20, 150)]))])
    assert isinstance(failure, Failure)
    assert failure.message == wording
    assert isinstance(answer, Answer)


def test_colour_images_and_broken_weights_are_told(wording: SnapshotAssertion) -> None:
    colours = Volume.from_canonical(np.zeros((5, 6, 7, 3), dtype=np.uint8))
    with opened(colours) as image:
        (failure,) = image.segment([request("a", points([(2, 3, 3)]))])
    assert failure.message == wording
    with opened(Volume.from_canonical(np.zeros((5, 6, 7), dtype=np.uint8))) as image:
        image.model.network.decode = lambda *_: (torch.full((1, 1, 32, 32, 32), torch.nan), None)
        (failure,) = image.segment([request("a", points([(2, 3, 3)]))])
    assert failure.message == wording
