"""SAM-Med2D through its wrapper against what the official code computed with the same weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from intrabench.models.base import Runtime
from intrabench.models.parts import resize
from intrabench.models.parts.embedding_cache import packed
from intrabench.models.parts.slice_model import SliceItem
from intrabench.models.sam import SAM
from intrabench.models.sam2 import SAM2
from intrabench.models.sammed2d import SAMMed2D
from intrabench.volume import Volume
from tests.models.networks.parity import close, fixture
from tests.models.stub import item

SIDE = 256
GOLDEN = fixture("sam_med2d_vit_b")
UPSCALED = (200, 300)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("segment_anything")
    global torch
    import torch


@dataclass
class Reference:
    """A model, and what it is compared with: the image embedding, and of a case the best of three masks."""

    model: SAMMed2D
    embedding: np.ndarray
    best: Callable[[str], np.ndarray]


@pytest.fixture(scope="module", params=["shallow", pytest.param("golden", marks=pytest.mark.slow)])
def reference(request: pytest.FixtureRequest) -> Reference:
    """What the official code computed, or what an encoder without blocks computes without the wrapper."""
    made = SAMMed2D()
    made.runtime = Runtime(random=True)
    if request.param == "golden":
        return Reference(made, GOLDEN["image_embedding_s"], golden)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("intrabench.models.networks.sammed2d.DEPTH", 0)
        made.load()
    grey = torch.from_numpy(GOLDEN["input_u8"]).float()
    with torch.inference_mode():
        embedding = made.network.image_encoder(made.network.preprocess(grey.expand(1, 3, -1, -1)))
    return Reference(made, embedding[:, ::8, ::2, ::2].numpy(), lambda case: decoded(made.network, embedding, case))


def golden(case: str) -> np.ndarray:
    return GOLDEN[f"{case}_multi_low"][0, GOLDEN[f"{case}_multi_iou"].argmax()]


def decoded(network: Any, embedding: torch.Tensor, case: str) -> np.ndarray:
    """The best mask of a case by segment-anything's interface of a network."""
    points = boxes = masks = None
    if case.startswith("p"):
        name = case.split("_")[0]
        points = torch.from_numpy(GOLDEN[f"{name}_coords"])[None], torch.from_numpy(GOLDEN[f"{name}_labels"])[None]
    if "box" in case:
        boxes = torch.from_numpy(GOLDEN["box"])
    if "mask" in case:
        masks = torch.from_numpy(GOLDEN["mask_in"])
    with torch.inference_mode():
        prompts = network.prompt_encoder(points=points, boxes=boxes, masks=masks)
        low, iou = network.mask_decoder(embedding, network.prompt_encoder.get_dense_pe(), *prompts, True)
    return low[0, iou[0].argmax()].numpy()


@pytest.fixture(scope="module")
def model(reference: Reference) -> SAMMed2D:
    return reference.model


@pytest.fixture(scope="module")
def embedding(model: SAMMed2D) -> np.ndarray:
    """Of the fixture's image with every pixel four times, which resizing to the nearest pixel undoes."""
    large = GOLDEN["input_u8"].repeat(2, axis=0).repeat(2, axis=1)
    colours = np.stack([large] * 3, axis=-1)  # which no intensity policy changes
    (embedding,) = model.encode([model.slice_images(Volume.from_canonical(colours[None]))(0)])
    return embedding


def asked(case: str, embedding: np.ndarray, factor: int = 1) -> SliceItem:
    """The item of a case of the fixture on a slice `factor` times as large."""
    points = np.column_stack([GOLDEN["p3_coords"][:, ::-1] * factor, GOLDEN["p3_labels"]])
    x0, y0, x1, y1 = (int(v) * factor for v in GOLDEN["box"][0])
    return item(
        points[: {"p1": 1, "p3": 3}.get(case[:2], 0)],
        (y0, x0, y1, x1) if "box" in case else None,
        GOLDEN["mask_in"][0, 0] if "mask" in case else None,
        embedding=embedding,
        shape=(SIDE * factor,) * 2,
    )


def test_embedding_is_the_official_one(embedding: np.ndarray, reference: Reference) -> None:
    close(embedding[None, ::8, ::2, ::2], reference.embedding)


@pytest.mark.parametrize("case", ["p1", "p3", "box", "p3_box", "p3_mask", "box_mask"])
def test_the_best_of_the_official_masks_comes_back_as_sigmoid(
    reference: Reference, model: SAMMed2D, embedding: np.ndarray, case: str
) -> None:
    small, large = (model.decode([asked(case, embedding, factor)])[0] for factor in (1, 2))
    close(small.logits, 1 / (1 + np.exp(-reference.best(case))))
    close(large.logits, small.logits)
    assert large.mask.shape == (2 * SIDE, 2 * SIDE)


def several(embedding: np.ndarray, count: int, points: int) -> list[SliceItem]:
    """So many different items with so many points and a box, on different images."""
    rng = np.random.default_rng(0)
    rows = np.dstack([rng.integers(0, SIDE, (2, count, points)).T, rng.integers(0, 2, (points, count))])
    low = rng.integers(0, 120, (count, 2)).tolist()
    return [
        item(rows[:, n], (y, x, y + 60, x + 70), embedding=np.roll(embedding, n, axis=2), shape=(SIDE, SIDE))
        for n, (y, x) in enumerate(low)
    ]


def test_batches_of_one_size_give_the_same_bits_in_any_company_and_others_the_same_masks(
    model: SAMMed2D, embedding: np.ndarray
) -> None:
    items = several(embedding[::-1], 12, points=2)  # other channels, of whose masks no pixel is undecided
    eight, others = model.decode(items[:8]), model.decode([items[7], *items[8:], *items[2:5]])
    for one, two in zip([eight[7], *eight[2:5]], [others[0], *others[5:]], strict=True):
        assert np.array_equal(one.logits, two.logits)
        assert np.array_equal(one.mask, two.mask)
    for one, (alone,) in zip(eight, (model.decode([one]) for one in items[:8]), strict=True):
        np.testing.assert_allclose(one.logits, alone.logits, atol=1e-5)
        assert (one.mask != alone.mask).sum() <= 2  # which pixels are undecided depends on the processor


def test_embeddings_in_half_precision_change_answers_so_that_they_are_kept_in_full(
    model: SAMMed2D, embedding: np.ndarray
) -> None:
    items = several(embedding, 8, points=2)
    rounded = [replace(one, embedding=one.embedding.astype(np.float16).astype(np.float32)) for one in items]
    pairs = list(zip(model.decode(items), model.decode(rounded), strict=True))
    assert max(np.abs(one.logits - two.logits).max() for one, two in pairs) > 1e-4
    assert packed(embedding) is embedding


@pytest.mark.parametrize("boxed", [False, True])
def test_points_that_only_pad_are_ignored_unless_boxes_are_given_beside_them(
    model: SAMMed2D, embedding: np.ndarray, boxed: bool
) -> None:
    images, labels = torch.from_numpy(embedding)[None], torch.tensor([[1, 0]])
    points, box = torch.tensor([[[60.0, 70], [100, 90]]]), torch.tensor([[30.0, 40, 120, 150]])
    with model.computing():
        plain, _ = model.decoded(images, (points, labels), box if boxed else None, None, False)
        more = torch.cat([points, torch.zeros(1, 1, 2)], dim=1), torch.tensor([[1, 0, -1]])
        padded, _ = model.decoded(images, more, box if boxed else None, None, False)
    if boxed:  # as in the original: so corners are given as points where lengths are mixed
        assert (plain - padded).abs().max() > 0.1
    else:
        assert (plain - padded).abs().max() < 1e-4


def test_masks_of_slices_are_the_official_ones(model: SAMMed2D) -> None:
    (index,) = GOLDEN["box_multi_best"]
    low = torch.from_numpy(GOLDEN["box_multi_low"][:, index])
    (mask,) = model.full(low, resize.frame("squash_nearest", UPSCALED, SIDE)) > model.cutoff
    assert mask.shape == UPSCALED
    assert int(mask.sum()) == pytest.approx(int(GOLDEN["box_multi_up_fg"]), rel=1e-3)
    assert np.mean(mask.numpy()[::4, ::4] == (GOLDEN["box_multi_up_200x300_s"][0, 0] > 0)) > 0.999


def test_slices_are_normalised_and_take_the_nearest_pixels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (100, 300)).astype(np.uint8)
    prepared = SAMMed2D().prepare(image)
    nearest = image[np.arange(SIDE) * 100 // SIDE][:, np.arange(SIDE) * 300 // SIDE]
    assert prepared.shape == (3, SIDE, SIDE)
    np.testing.assert_allclose(prepared[0], (nearest - 123.675) / 58.395, atol=1e-5)
    np.testing.assert_allclose(prepared[2], (nearest - 103.53) / 57.375, atol=1e-5)


def rounded(image: np.ndarray, low: float, high: float, tiny: float) -> np.ndarray:
    """8-bit values as RadioActive makes them."""
    return np.round((image.astype(np.float64).clip(low, high) - low) / (high - low + tiny) * 255)


def test_radioactive_takes_the_percentiles_of_each_slice_and_rounds() -> None:
    array = np.stack([np.arange(-500, 500), np.arange(-1000, 0)]).reshape(2, 20, 50).astype(np.int16)
    volume = Volume.from_canonical(array)
    images = SAMMed2D(policy="radioactive").slice_images(volume)
    for z in (0, 1):
        assert np.array_equal(images(z), rounded(array[z], *np.percentile(array[z], (0.5, 99.5)), 1e-6))
    code = SAMMed2D(policy="radioactive", intensity="slice_positive").slice_images(volume)
    assert np.array_equal(code(0), rounded(array[0], *np.percentile(np.arange(1, 500), (0.5, 99.5)), 1e-6))
    low, high = np.percentile(array, (0.5, 99.5))
    official = SAMMed2D().slice_images(volume)(0)
    assert np.array_equal(official, np.floor((array[0].clip(low, high) - low) / (high - low) * 255))


@pytest.mark.parametrize("model", [SAM, SAM2])
@pytest.mark.parametrize("span", [510, 530])  # with 530, float32 puts a half a little above
def test_radioactive_rounds_halves_of_8_bit_values_down(model: type[SAM | SAM2], span: int) -> None:
    array = np.tile(np.arange(span + 1, dtype=np.int16), (3, 7, 1))
    array[1:] = [[[0]], [[span]]]
    assert np.percentile(array, (0.5, 99.5)).tolist() == [0, span]
    image = model(policy="radioactive").slice_images(Volume.from_canonical(array))(0)
    assert image.dtype == np.uint8
    assert np.array_equal(image, rounded(array[0], 0, span, 1e-10))
    assert np.array_equal(image, np.ceil(array[0] * 255.0 / span - 0.5))  # there are halves
