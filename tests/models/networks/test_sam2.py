"""SAM 2 against what the official image predictor gave (tests/golden/models/sam2.1_hiera_t)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.models.networks.parity import close, filled, fixture, same_entries

KEYS = "sam2.1_hiera_t"
CASES = ("p1_multi", "p1_single", "p3_single", "box_single", "p3_box_single", "p3_mask_single")
DATA = fixture(KEYS)
SCALE = np.array([1024 / 900, 1024 / 768], dtype=np.float32)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, functional, LENGTH, Sam2Network, build_sam2, unpack
    import torch
    from torch.nn import functional

    from intrabench.models.networks.sam2 import LENGTH, Sam2Network, build_sam2, unpack


def prepare(image: np.ndarray) -> torch.Tensor:
    """A slice as the model prepares it."""
    from intrabench.models.sam2 import SAM2

    return torch.from_numpy(SAM2().prepare(image))


@cache
def built() -> Sam2Network:
    """SAM 2.1 t with the fixture's weights, shared by all tests: what changes it has to change it back."""
    pytest.importorskip("sam2")
    from intrabench.models.networks.sam2 import build_sam2

    network = build_sam2("t", "2.1")
    filled(network, KEYS)
    return network


@pytest.fixture(scope="module")
def encoded() -> Iterator[tuple[Sam2Network, torch.Tensor]]:
    """The network and its embedding of the fixture's image."""
    network = built()
    yield network, network.encode(prepare(DATA["input_u8"])[None])
    built.cache_clear()  # so that no later file holds it


def prompts(case: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Points, labels and mask of a case, for one image."""
    points, labels = np.zeros((0, 2), dtype=np.float32), np.zeros(0, dtype=np.int64)
    if "box" in case:
        points, labels = DATA["box"].reshape(2, 2), np.array([2, 3])
    if case.startswith("p"):
        name = case.split("_")[0]
        points, labels = np.vstack([points, DATA[f"{name}_coords"]]), np.append(labels, DATA[f"{name}_labels"])
    mask = 4 * torch.randn((1, 1, 256, 256), generator=torch.Generator().manual_seed(7)) if "mask" in case else None
    return torch.from_numpy(points * SCALE)[None], torch.from_numpy(labels)[None], mask


def test_only_logits_that_are_fed_back_are_clamped() -> None:
    """As SAM2ImagePredictor does it: masks are resized from the logits as they are."""
    fed = []

    class Encoder:
        def __call__(self, points: object, boxes: object, masks: torch.Tensor) -> tuple[None, None]:
            fed.extend(masks.flatten().tolist())
            return None, None

        def get_dense_pe(self) -> None:
            """Not looked at."""

    class Module(torch.nn.Module):
        no_mem_embed, sam_prompt_encoder = torch.zeros(1, 1, 256), Encoder()

        def sam_mask_decoder(self, *args: object, **kwargs: object) -> tuple[torch.Tensor, torch.Tensor, None, None]:
            return torch.tensor([[[[-90.0, 40]]]]), torch.ones(1, 1), None, None

    clicks, masks = torch.zeros(1, 1, 2), torch.tensor([[[[-90.0, 40, 3]]]])
    logits, _ = Sam2Network(Module()).decode(torch.zeros(1, LENGTH), clicks, torch.ones(1, 1), masks)
    assert logits.flatten().tolist() == [-90, 40]
    assert fed == [-32, 32, 3]


def test_prepared() -> None:
    image = DATA["input_u8"]
    close(prepare(image)[None, :, ::64, ::64], DATA["input_norm_s"], atol=1e-5)
    np.testing.assert_array_equal(prepare(image), prepare(np.stack([image] * 3, axis=2)))


def test_entries_are_those_of_the_checkpoint(encoded: tuple[Sam2Network, torch.Tensor]) -> None:
    same_entries(encoded[0], KEYS)


def test_embedding(encoded: tuple[Sam2Network, torch.Tensor]) -> None:
    network, embedding = encoded
    assert embedding.shape == (1, LENGTH)
    assert embedding.dtype == torch.float32
    image, high0, high1 = unpack(embedding)
    close((image + network.no_memory.view(1, -1, 1, 1))[:, ::8, ::4, ::4], DATA["image_embed_s"])
    close(high0[:, ::8, ::16, ::16], DATA["high_res0_s"])
    close(high1[:, ::8, ::8, ::8], DATA["high_res1_s"])


@pytest.mark.parametrize("case", CASES)
def test_prompts(encoded: tuple[Sam2Network, torch.Tensor], case: str) -> None:
    network, embedding = encoded
    points, labels, mask = prompts(case)
    logits, iou = network.decode(embedding, points, labels, mask, multimask="multi" in case)
    close(logits[0, :, ::2, ::2], DATA[f"{case}_low_s"], atol=1e-3)
    close(iou[0], DATA[f"{case}_iou"])
    full = functional.interpolate(logits, DATA["input_u8"].shape, mode="bilinear", align_corners=False)
    np.testing.assert_allclose((full[0] > 0).sum(dim=(1, 2)), DATA[f"{case}_full_fg"], rtol=1e-3)


def slow(*values: Any) -> Any:
    """A case for the slow tests."""
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(("multimask", "fed_back"), [slow(False, False), (True, True)])
def test_pairs_do_not_touch_each_other(
    encoded: tuple[Sam2Network, torch.Tensor], multimask: bool, fed_back: bool
) -> None:
    network, embedding = encoded
    embeddings = torch.cat([embedding, embedding.roll(64 * 64 * 3 + 5), embedding])
    points = torch.tensor([[[300.0, 345], [606, 322]], [[200, 200], [500, 600]], [[105, 600], [0, 0]]])
    labels = torch.tensor([[1, 0], [2, 3], [1, -1]])
    masks = 4 * torch.randn((3, 1, 256, 256), generator=torch.Generator().manual_seed(1)) if fed_back else None
    logits, iou = network.decode(embeddings, points, labels, masks, multimask)
    assert logits.shape == (3, 3 if multimask else 1, 256, 256)
    for i in range(3):
        mask = None if masks is None else masks[i : i + 1]
        alone, own = network.decode(embeddings[i : i + 1], points[i : i + 1], labels[i : i + 1], mask, multimask)
        close(logits[i], alone[0].numpy())
        close(iou[i], own[0].numpy())
    mask = None if masks is None else masks[2:]
    unpadded, _ = network.decode(embeddings[2:], points[2:, :1], labels[2:, :1], mask, multimask)
    close(logits[2], unpadded[0].numpy())  # what pads is ignored
    assert (logits[0] - logits[1]).abs().max() > 0.1


def test_other_checkpoints_are_refused(encoded: tuple[Sam2Network, torch.Tensor]) -> None:
    network, _ = encoded
    state = dict(network.state_dict())
    first, *_, last = state
    for wrong in (
        {key: value for key, value in state.items() if key != last},
        state | {"sam_prompt_encoder.extra": torch.zeros(1)},
        state | {first: torch.zeros(1, 2)},
    ):
        with pytest.raises(RuntimeError):
            network.load_state_dict(wrong)


@pytest.mark.parametrize(
    ("size", "release"),
    [("t", "2.0"), ("t", "2.1"), ("s", "2.1"), slow("b+", "2.1"), slow("l", "2.1")],
)
def test_configurations_are_those_of_the_papers_sizes(size: Any, release: Any) -> None:
    """Millions of weights, as the table of checkpoints in the repository of SAM 2 has them."""
    pytest.importorskip("sam2")
    network = build_sam2(size, release)
    millions = sum(weights.numel() for weights in network.parameters()) / 1e6
    assert millions == pytest.approx({"t": 38.9, "s": 46, "b+": 80.8, "l": 224.4}[size], abs=0.07)
    assert network.module.proj_tpos_enc_in_obj_ptrs == (release == "2.1")


def test_building_leaves_global_state_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sam2")
    from hydra import initialize_config_module
    from hydra.core.global_hydra import GlobalHydra

    GlobalHydra.instance().clear()
    stream = torch.random.get_rng_state()
    for _ in range(2):
        monkeypatch.delitem(sys.modules, "sam2")  # so that its import runs again
        build_sam2("t")
        assert not GlobalHydra.instance().is_initialized()
    assert torch.equal(torch.random.get_rng_state(), stream)
    with initialize_config_module("tests", version_base="1.2"):
        mine = GlobalHydra.instance().hydra
        monkeypatch.delitem(sys.modules, "sam2")
        build_sam2("t")
        assert GlobalHydra.instance().hydra is mine
    GlobalHydra.instance().clear()


@pytest.mark.parametrize("wrong", [("h", "2.1"), ("t", "3")])
def test_what_does_not_exist(wrong: tuple[Any, Any]) -> None:
    with pytest.raises(ValueError, match="SAM 2 comes as"):
        build_sam2(*wrong)
