"""SAM and MedSAM through their wrappers against what the official networks computed (tests/golden/models/sam_vit_b)."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.models.base import Runtime
from intrabench.models.medsam import MedSAM
from intrabench.models.parts import resize
from intrabench.models.parts.sam_family import MEAN, STD
from intrabench.models.parts.slice_model import SliceItem
from intrabench.models.sam import SAM
from intrabench.models.scribbleprompt_sam import ScribblePromptSAM
from intrabench.volume import Volume
from tests.models.networks.parity import FOLDER, close, fixture
from tests.models.stub import item

SIDE = 1024
GOLDEN = fixture("sam_vit_b")
SHAPES = {
    key: entry["shape"] for key, entry in json.loads((FOLDER / "sam_vit_b.keys.json").read_text())["keys"].items()
}


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("segment_anything")
    global torch, functional
    import torch
    from torch.nn import functional


@dataclass
class Reference:
    """A model, an embedding, and what others compute of it: of a case the logits with the highest estimate, strided."""

    sam: SAM
    embedding: np.ndarray
    best: Callable[[str], np.ndarray]


@pytest.fixture(scope="module", params=["package", pytest.param("golden", marks=pytest.mark.slow)])
def reference(request: pytest.FixtureRequest) -> Reference:
    """The package's own predictor with a made-up embedding; the fixture's embedding takes 20 seconds and 3 GB."""
    model = SAM()
    model.runtime = Runtime(random=True)
    if request.param == "golden":
        return Reference(model, encoded(model), lambda case: GOLDEN[f"{case}_low_s"][0, GOLDEN[f"{case}_iou"].argmax()])
    encoder = torch.nn.Identity()
    encoder.img_size = SIDE
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["segment_anything.build_sam"], "ImageEncoderViT", lambda **_: encoder)
        model.load()
    made_up = torch.randn((1, 256, 64, 64), generator=torch.Generator().manual_seed(3))
    return Reference(model, made_up[0].numpy(), Predicted(model.network, made_up))


class Predicted:
    """The package's predictor for an embedding."""

    def __init__(self, network: Any, features: torch.Tensor) -> None:
        from segment_anything import SamPredictor

        self.predictor = SamPredictor(network)
        self.predictor.is_image_set, self.predictor.features = True, features
        self.predictor.original_size = self.predictor.input_size = (SIDE, SIDE)

    def __call__(self, case: str) -> np.ndarray:
        """Of a case."""
        prompts, mask = case.split("_")[0], mask_prompt().numpy() if "mask" in case else None
        clicks = prompts.startswith("p")
        _, iou, low = self.predictor.predict(
            GOLDEN[f"{prompts}_coords"] if clicks else None,
            GOLDEN[f"{prompts}_labels"] if clicks else None,
            GOLDEN["box"][0] if "box" in case else None,
            mask,
            multimask_output=case.endswith("multi"),
        )
        return low[iou.argmax(), ::2, ::2]


@pytest.fixture(scope="module")
def medsam(reference: Reference) -> MedSAM:
    """The fixture has the same weights for both."""
    model = MedSAM()
    model.network = reference.sam.network
    return model


def encoded(model: Any) -> np.ndarray:
    """The embedding of the fixture's image, a slice in colours, which no intensity policy changes."""
    colours = np.stack([GOLDEN["input_u8"]] * 3, axis=-1)
    (embedding,) = model.encode([model.slice_images(Volume.from_canonical(colours[None]))(0)])
    return embedding


def asked(case: str, embedding: np.ndarray, side: int = SIDE) -> SliceItem:
    """The item of a case of the fixture; its prompts on a slice of another size if wanted."""
    points = boxes = previous = None
    if case.startswith("p"):
        rows = np.column_stack([GOLDEN[f"{case[:2]}_coords"][:, ::-1] * side / SIDE, GOLDEN[f"{case[:2]}_labels"]])
        points = rows.astype(np.int64)
    if "box" in case:
        x0, y0, x1, y1 = (GOLDEN["box"][0] * side / SIDE).astype(int).tolist()
        boxes = y0, x0, y1, x1
    if "mask" in case:
        previous = mask_prompt()[0].numpy()
    return item(() if points is None else points, boxes, previous, embedding=embedding, shape=(side, side))


def mask_prompt() -> torch.Tensor:
    """The fixture's, ``(1, 256, 256)``."""
    return 4 * torch.randn((1, 1, 256, 256), generator=torch.Generator().manual_seed(7))[0]


def upscaled(logits: np.ndarray) -> np.ndarray:
    """Logits at the size of the fixture's image."""
    return functional.interpolate(torch.from_numpy(logits)[None, None], (SIDE, SIDE), mode="bilinear")[0, 0].numpy()


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["golden"], indirect=True)
def test_embedding_is_the_official_one(reference: Reference) -> None:
    close(reference.embedding[None, ::8, ::4, ::4], GOLDEN["image_embedding_s"])


@pytest.mark.parametrize(
    ("case", "official"),
    [("p1", "p1_multi"), ("p3", "p3_single"), ("box", "box_single"), ("p3_mask", "p3_mask_single")],
)
def test_answers_are_the_official_ones(reference: Reference, case: str, official: str) -> None:
    (result,) = reference.sam.decode([asked(case, reference.embedding)])
    close(result.logits[::2, ::2], reference.best(official), atol=1e-3)
    assert np.array_equal(result.mask, upscaled(result.logits) > 0)
    assert 0.01 < result.mask.mean() < 0.99


@pytest.mark.parametrize("case", ["p1", "p3", "p3_box"])
def test_radioactive_answers_with_the_best_of_three_masks_above_half(reference: Reference, case: str) -> None:
    model = SAM(policy="radioactive")
    model.network = reference.sam.network
    (result,) = model.decode([asked(case, reference.embedding)])
    official = reference.best(f"{case}_multi")
    close(result.logits[::2, ::2], 1 / (1 + np.exp(-official)), atol=1e-3)
    logits = np.log(result.logits / (1 - result.logits))
    assert np.mean(result.mask == (upscaled(logits) > 0.5)) > 0.999


def test_slices_of_another_size_have_their_prompts_scaled(reference: Reference) -> None:
    (small,) = reference.sam.decode([asked("box", reference.embedding, 256)])
    close(small.logits[::2, ::2], reference.best("box_single"), atol=1e-3)
    assert small.mask.shape == (256, 256)
    again = functional.interpolate(torch.from_numpy(upscaled(small.logits))[None, None], (256, 256), mode="bilinear")
    assert np.array_equal(small.mask, again[0, 0] > 0)


def test_different_images_in_a_batch_are_answered_as_one_by_one(reference: Reference) -> None:
    sam, embedding = reference.sam, reference.embedding
    items = [asked("p3_mask", embedding), asked("p3_mask", np.roll(embedding, 21, axis=2))]
    with sam.computing():
        together = sam.low_logits(items)
        assert torch.equal(sam.low_logits(items[::-1]), together.flip(0))
        for one, logits in zip(items, together, strict=True):
            close(sam.low_logits([one])[0], logits.numpy())
    assert (together[0] - together[1]).abs().max() > 0.1


def test_broken_values_are_told(reference: Reference, wording: SnapshotAssertion) -> None:
    with pytest.raises(FloatingPointError) as caught:
        reference.sam.decode([asked("p1", reference.embedding * np.float32("nan"))])
    assert caught == wording


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["golden"], indirect=True)
def test_medsam_is_the_official_one(medsam: MedSAM) -> None:
    embedding = encoded(medsam)
    close(embedding[None, ::8, ::4, ::4], GOLDEN["medsam_embedding_s"])
    items = [asked("box", embedding, side) for side in (SIDE, 512)]
    close(medsam.low_logits(items[:1])[:, ::2, ::2], GOLDEN["medsam_box_low_s"][0], atol=1e-3)
    (result,) = medsam.decode(items[1:])
    assert result.logits is None
    assert np.count_nonzero(result.mask) == pytest.approx(int(GOLDEN["medsam_up512_fg"]), rel=1e-3)


def test_medsam_decodes_boxes_as_sam_does(medsam: MedSAM, reference: Reference) -> None:
    low = medsam.low_logits([asked("box", reference.embedding)])[0, ::2, ::2]
    close(low, reference.best("box_single"), atol=1e-3)


def test_medsam_takes_boxes_only_and_has_the_network_of_sam(wording: SnapshotAssertion) -> None:
    assert MedSAM().abilities.accepts == {"box2d"}
    with torch.device("meta"):
        state = MedSAM().build().state_dict()
    assert {key: list(value.shape) for key, value in state.items()} == SHAPES
    with pytest.raises(ValueError) as caught:
        MedSAM().decode([item([(1, 1, 1)])])
    assert caught == wording


def test_medsam_resizes_probabilities_straight_to_the_slice() -> None:
    low = torch.full((1, 256, 256), 1.0)
    low[..., ::2] = -10
    shape = (128, 1024)
    frame = resize.frame("squash_cubic", shape, SIDE)
    masks = MedSAM().full(low, frame) > MedSAM().cutoff
    # between the columns the share of 1 is 3/8, 5/8, 7/8, 7/8, 5/8, ...: the logits there are all negative
    assert masks[0, 5, :12].tolist() == [False] * 5 + [True] * 2 + [False] * 5
    strict = MedSAM(threshold=0.9)
    assert not (strict.full(low, frame) > strict.cutoff)[0, 5, :12].any()


@pytest.mark.parametrize(("model", "cutoff"), [(SAM(), 0.0), (MedSAM(), 0.5), (MedSAM(threshold=0.9), 0.7109)])
def test_scores_are_above_the_cutoff_where_the_mask_is(model: Any, cutoff: float) -> None:
    asked = [item([], box=(2, 2, 40, 40), scores=scores) for scores in (False, True)]
    low = torch.randn(1, 256, 256, generator=torch.Generator().manual_seed(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(model), "low_logits", lambda *_: low)
        (without,), (with_,) = model.decode(asked[:1]), model.decode(asked[1:])
    assert without.scores is None
    assert np.array_equal(with_.mask, without.mask)
    assert 0 < with_.mask.sum() < with_.mask.size
    assert np.array_equal(with_.scores > model.cutoff, with_.mask)
    assert model.cutoff == pytest.approx(cutoff, abs=1e-4)


def test_sam_cuts_the_padding_off() -> None:
    low = torch.full((1, 256, 256), -3.0)
    low[:, :64, 128:] = 3  # in the square the rows to 256 and the columns from 512
    (mask,) = SAM().full(low, resize.frame("longest", (300, 600), SIDE)) > SAM().cutoff
    rows, columns = (np.flatnonzero(mask.any(dim=axis)) for axis in (1, 0))
    assert mask.shape == (300, 600)
    assert (rows[0], rows[-1], columns[0], columns[-1]) == (0, 149, 300, 599)


def test_preparing_normalises_then_pads_with_zeros() -> None:
    image = np.random.default_rng(0).integers(0, 256, (512, SIDE, 3)).astype(np.uint8)
    prepared = SAM().prepare(image)
    assert prepared.shape == (3, SIDE, SIDE)
    assert prepared.dtype == np.float32
    assert not prepared[:, 512:].any()
    for given in (image, image[..., 1]):
        colours = given if given.ndim == 3 else given[..., None]
        expected = (colours - [123.675, 116.28, 103.53]) / [58.395, 57.12, 57.375]
        np.testing.assert_allclose(SAM().prepare(given)[:, :512], np.moveaxis(expected, -1, 0), atol=1e-5)
    square = image.repeat(2, axis=0).clip(40, 90)
    np.testing.assert_allclose(MedSAM().prepare(square), np.moveaxis((square - 40.0) / 50, -1, 0), atol=1e-6)


def test_slices_are_cut_to_whole_numbers_but_for_scribbleprompt() -> None:
    volume = Volume.from_canonical(np.array([[[-1000, 0, 41, 3000]]], dtype=np.int16))
    image = SAM(intensity="ct_soft").slice_images(volume)(0)
    assert image.dtype == np.uint8
    assert image.tolist() == [[0, 102, 128, 255]]  # 128.14
    exact = ScribblePromptSAM(intensity="ct_soft").slice_images(volume)(0)
    np.testing.assert_allclose(exact, [[0, 102, 128.1375, 255]], rtol=1e-5)


def test_scribbleprompt_squashes_floats_and_normalises_them() -> None:
    image = np.linspace(0.25, 254.75, 64 * 128, dtype=np.float32).reshape(64, 128)
    prepared = ScribblePromptSAM().prepare(image)
    np.testing.assert_allclose(prepared[1], (resize.fit(image, "squash", SIDE)[0] - 116.28) / 57.12, atol=1e-5)
    np.testing.assert_allclose(prepared[:, -1, -1], ((254.75 - MEAN) / STD)[:, 0, 0], atol=1e-5)


@pytest.mark.parametrize("modality", ["CT", "MR"])
def test_medsam_windows_ct(modality: str) -> None:
    array = np.arange(-500, 500, dtype=np.int16).reshape(1, 20, 50)
    plain = Volume.from_canonical(array)
    image = MedSAM().slice_images(Volume(plain.array, plain.grid, modality))(0)
    low, high = (-160, 240) if modality == "CT" else np.percentile(np.arange(1, 500), (0.5, 99.5))
    assert np.array_equal(image, np.floor((array[0].clip(low, high) - low) / (high - low) * 255 + 1e-4))


def test_medsam_cuts_fractions_off_after_resizing_but_not_in_radioactive() -> None:
    image = np.arange(48 * 40, dtype=np.float32).reshape(48, 40) % 251
    exact = resize.fit(image, "squash_bicubic", SIDE)
    assert (exact % 1).any()
    assert np.array_equal(MedSAM(policy="radioactive").resized(image), exact)
    assert np.array_equal(MedSAM().resized(image), np.floor(resize.fit(image, "squash_cubic", SIDE)))


# the published configurations: width, blocks, heads, blocks that attend to everything
SIZES = {
    "b": (768, 12, 12, [2, 5, 8, 11]),
    "l": (1024, 24, 16, [5, 11, 17, 23]),
    "h": (1280, 32, 16, [7, 15, 23, 31]),
}


@pytest.mark.parametrize("size", SIZES)
def test_sizes_are_the_published_ones(size: Any) -> None:
    width, blocks, heads, everywhere = SIZES[size]
    assert SAM(size=size).weights == f"sam_vit_{size}"
    with torch.device("meta"):
        state = SAM(size=size).build().state_dict()
    encoder = {key: value for key, value in state.items() if key.startswith("image_encoder.")}
    assert {key: list(state[key].shape) for key in state if key not in encoder} == {
        key: shape for key, shape in SHAPES.items() if not key.startswith("image_encoder.")
    }
    reach = [len(state[f"image_encoder.blocks.{block}.attn.rel_pos_h"]) for block in range(blocks)]
    assert reach == [127 if block in everywhere else 27 for block in range(blocks)]  # 2 * 64 - 1 or 2 * 14 - 1
    assert f"image_encoder.blocks.{blocks}.norm1.weight" not in state
    patches = (3 * 16 * 16 + 1) * width + 64 * 64 * width
    layers = (4 * width + 4) * width + 5 * width + (8 * width + 4) * width  # attention, norms and biases, MLP
    neck = 256 * width + 256 * 256 * 9 + 4 * 256
    tables = sum(2 * length * width // heads for length in reach)
    assert sum(value.numel() for value in encoder.values()) == patches + blocks * layers + tables + neck
    if size == "b":
        assert {key: list(value.shape) for key, value in state.items()} == SHAPES
        assert sum(map(math.prod, SHAPES.values())) == sum(value.numel() for value in state.values())
