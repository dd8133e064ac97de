"""ScribblePrompt-UNet through its wrapper against what the official code draws and computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from intrabench.models.base import Failure
from intrabench.models.parts.slice_model import SliceItem
from intrabench.models.scribbleprompt_unet import SIDE, ScribblePromptUNet
from intrabench.prompts import boxes, points
from intrabench.volume import Volume
from tests.models.networks.parity import close, filled, fixture
from tests.models.stub import answers, item, request

CASES = ("p1", "p3", "box", "p3_box", "p3_mask", "none")
GOLDEN = fixture("scribbleprompt_unet")


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


@pytest.fixture(scope="module")
def model() -> ScribblePromptUNet:
    """With the weights of the fixture, which have another gain than random weights have."""
    made = ScribblePromptUNet()
    made.network = filled(made.build(), "scribbleprompt_unet")
    return made


def asked(case: str) -> SliceItem:
    """The item of a case of the fixture, whose slice has the network's size."""
    (embedding,) = ScribblePromptUNet().encode([GOLDEN["input_u8"]])
    rows = np.column_stack([GOLDEN["pts"][0, :, ::-1], GOLDEN["lab"][0]])[: {"p1": 1, "p3": 3}.get(case[:2], 0)]
    x0, y0, x1, y1 = GOLDEN["box"][0, 0].tolist()
    previous = GOLDEN["mask_in"][0, 0] if "mask" in case else None
    return item(rows, (y0, x0, y1, x1) if "box" in case else None, previous, embedding=embedding, shape=(SIDE, SIDE))


@pytest.mark.parametrize("case", CASES)
def test_channels_are_the_official_ones(case: str) -> None:
    channels = ScribblePromptUNet().channels(asked(case))
    np.testing.assert_allclose(channels.sum(axis=(1, 2)), GOLDEN[f"{case}_input_chan_sums"][0], rtol=1e-5)
    assert np.array_equal(channels[0], GOLDEN["input_u8"] / np.float32(255))
    if case == "p3":
        assert np.array_equal(channels[2:4], GOLDEN["p3_input_click_u8"][0])
    if case == "box":
        assert np.array_equal(channels[1], GOLDEN["box_input_u8"][0, 0])
    if case == "p3_mask":
        assert np.array_equal(channels[4], GOLDEN["mask_in"][0, 0])


@pytest.mark.parametrize("cases", [CASES[::2], CASES[1::2]])
def test_logits_are_the_official_ones_in_a_batch_of_all_prompts(
    model: ScribblePromptUNet, cases: tuple[str, ...]
) -> None:
    for case, result in zip(cases, model.decode([asked(case) for case in cases]), strict=True):
        close(result.logits, GOLDEN[f"{case}_logits"][0, 0], atol=1e-3)
        assert np.mean(result.mask == (GOLDEN[f"{case}_logits"][0, 0] > 0)) > 0.999
    assert model.alike(1, True, False) == model.alike(3, False, True)


def test_radioactive_feeds_sigmoids_of_sigmoids_back(model: ScribblePromptUNet) -> None:
    other = ScribblePromptUNet(policy="radioactive")
    other.network = model.network
    logits = torch.from_numpy(GOLDEN["p3_logits"][0, 0])
    close(other.decode([asked("p3")])[0].logits, torch.sigmoid(torch.sigmoid(logits)).numpy(), atol=1e-4)
    unfed = ScribblePromptUNet(feedback="none")
    unfed.network = model.network
    assert unfed.decode([asked("p3")])[0].logits is None


def test_prompts_of_larger_slices_are_scaled_by_each_axis() -> None:
    drawn = ScribblePromptUNet().channels(
        item([(255, 63, 1), (0, 30, 0)], (10, 11, 23, 43), shape=(256, 64), embedding=np.zeros((SIDE, SIDE)))
    )
    assert np.argwhere(drawn[2]).tolist() == [[127, 126]]  # rounded down
    assert np.argwhere(drawn[3]).tolist() == [[0, 60]]
    rows, columns = (np.flatnonzero(drawn[1].any(axis=axis)) for axis in (1, 0))
    assert (rows[0], rows[-1] + 1) == (5, 11)  # 11.5, cut off
    assert (columns[0], columns[-1] + 1) == (22, 86)


def official(corners: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Corners ``x0, y0, x1, y1`` in 128 x 128 pixels, as the authors scale tensors: float32, then whole numbers."""
    scaled = torch.tensor(corners, dtype=torch.float32).reshape(-1, 2, 2)
    scaled[..., 0] *= SIDE / shape[1]
    scaled[..., 1] *= SIDE / shape[0]
    return scaled.int().reshape(-1, 4).numpy()


def radioactive(corners: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The same as RadioActive does it: float64, then rounded."""
    scale = np.array([SIDE / shape[1], SIDE / shape[0]] * 2)
    return np.round(corners * scale).astype(np.int16)


@pytest.mark.parametrize("policy", [official, radioactive])
@pytest.mark.parametrize("shape", [(512, 512), (41, 110), (300, 123)])
def test_boxes_are_drawn_as_published(policy: Callable[..., np.ndarray], shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    low = rng.integers(0, np.array(shape[::-1]) - 1, (60, 2))
    high = np.minimum(low + rng.integers(1, np.array(shape[::-1]), (60, 2)), shape[::-1])
    model = ScribblePromptUNet(policy=policy.__name__)  # type: ignore[arg-type]
    seen = 0
    for (x0, y0, x1, y1), corners in zip(
        policy(np.hstack([low, high]), shape), np.hstack([low, high]).tolist(), strict=True
    ):
        a, b, c, d = corners
        drawn = model.channels(item([], (b, a, d, c), shape=shape, embedding=np.zeros((SIDE, SIDE))))[1]
        if x1 > x0 and y1 > y0:
            seen += 1
            expected = np.zeros((SIDE, SIDE))
            expected[y0:y1, x0:x1] = 1
            assert np.array_equal(drawn, expected)
        else:  # published code would draw nothing
            assert drawn.any()
    assert seen > 40


@pytest.mark.parametrize(("policy", "dtype"), [("official", "float32"), ("radioactive", "float64")])
@pytest.mark.parametrize("side", [98, 110, 214])
def test_points_are_cut_off_in_the_precision_of_published_code(policy: str, dtype: str, side: int) -> None:
    """The middle of such a slice comes a little before a pixel in one precision, and on it in the other."""
    model = ScribblePromptUNet(policy=policy)  # type: ignore[arg-type]
    for n, expected in enumerate((torch.arange(side, dtype=getattr(torch, dtype)) * (SIDE / side)).int().tolist()):
        drawn = model.channels(item([(n, n, 1)], shape=(side, side), embedding=np.zeros((SIDE, SIDE))))
        assert np.argwhere(drawn[2]).tolist() == [[expected, expected]]


def test_the_later_point_on_a_pixel_counts() -> None:
    near = [(4, 4, 1), (5, 5, 0), (100, 100, 0), (101, 101, 1)]
    drawn = ScribblePromptUNet().channels(item(near, shape=(512, 512), embedding=np.zeros((SIDE, SIDE))))
    assert np.argwhere(drawn[2]).tolist() == [[25, 25]]
    assert np.argwhere(drawn[3]).tolist() == [[1, 1]]


@pytest.mark.parametrize("corner", [0, 3, 511, 998])
def test_a_box_has_at_least_one_pixel(corner: int) -> None:
    tiny = item([], (corner, corner, corner + 1, corner + 1), shape=(999, 999), embedding=np.zeros((SIDE, SIDE)))
    drawn = ScribblePromptUNet().channels(tiny)[1]
    assert drawn.sum() == 1
    assert abs(np.argwhere(drawn)[0] - corner * SIDE / 999).max() <= 1


def test_masks_come_from_probabilities_resized_to_the_slice() -> None:
    logits = torch.full((1, 1, SIDE, SIDE), 3.0)
    logits[..., ::2] = -40
    asked = item([(1, 1, 1)], shape=(SIDE, 4 * SIDE), embedding=np.zeros((SIDE, SIDE)))
    rows = []
    for threshold in (None, 1):
        model = ScribblePromptUNet(threshold=threshold)
        model.network = lambda channels: logits
        (result,) = model.decode([asked])
        assert result.mask.shape == asked.shape
        rows.append(result.mask[5, :12].tolist())
    # between the columns the share of 3 is 3/8, 5/8, 7/8, 7/8, 5/8, ...: all logits there are negative
    assert rows == [[False] * 4 + [True] * 4 + [False] * 4, [False] * 5 + [True] * 2 + [False] * 5]


def test_slices_run_from_their_minimum_to_their_maximum_and_colours_become_grey() -> None:
    array = np.random.default_rng(0).normal(-50, 20, (2, SIDE, SIDE)).astype(np.float32)
    array[1] = 7
    images = ScribblePromptUNet().slice_images(Volume.from_canonical(array))
    scaled, constant = ScribblePromptUNet().encode([images(0), images(1)])
    np.testing.assert_allclose(scaled, (array[0] - array[0].min()) / np.ptp(array[0]), atol=1e-5)
    assert not constant.any()
    colours = np.random.default_rng(0).integers(0, 256, (1, SIDE, SIDE, 3)).astype(np.uint8)
    grey = ScribblePromptUNet().slice_images(Volume.from_canonical(colours))(0)
    np.testing.assert_allclose(grey, colours[0].mean(axis=-1))


def test_constant_slices_and_corrections_are_answered(model: ScribblePromptUNet) -> None:
    volume = Volume.from_canonical(np.full((2, 40, 30), -1000, dtype=np.int16))
    with model.open(volume) as opened:
        first, boxed = answers(
            opened, [request("a", points([(0, 5, 5)])), request("b", boxes({0: (0, 0, 9, 9), 1: (5, 5, 40, 30)}))]
        )
        turns = (points([(0, 5, 5)]), points([(0, 9, 9)], label=0))
        (again,) = answers(opened, [request("a", *turns, memory=first.memory)])
        (replayed,) = answers(opened, [request("a", *turns)])
        assert opened.store.encoded == 2  # type: ignore[attr-defined]
    assert boxed.valid.slices == (0, 1)
    assert again.memory[0].shape == (SIDE, SIDE)
    assert not np.array_equal(again.memory[0], first.memory[0])
    assert np.array_equal(again.memory[0], replayed.memory[0])


def test_broken_weights_are_told() -> None:
    model = ScribblePromptUNet()
    model.network = lambda channels: torch.full((len(channels), 1, SIDE, SIDE), torch.nan)
    with model.open(Volume.from_canonical(np.zeros((1, 8, 8), dtype=np.uint8))) as opened:
        (failure,) = opened.segment([request("a", points([(0, 5, 5)]))])
    assert isinstance(failure, Failure)
    told = "FloatingPointError: scribbleprompt_unet answered with NaN or infinite values; try --dtype float32"
    assert failure.message == told
