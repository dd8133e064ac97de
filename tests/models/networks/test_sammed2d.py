"""SAM-Med2D against what the official code computes with the same random weights."""

from __future__ import annotations

from typing import Any

import pytest

from intrabench.models.networks.sam import decode
from tests.models.networks.parity import close, filled, fixture, same_entries

CASES = (
    ("p1_multi", "p1"),
    ("p1_single", "p1"),
    ("p3_multi", "p3"),
    ("pm1_single", "pm1"),
    ("box_multi", "box"),
    ("box_single", "box"),
    ("p3_box_multi", "p3 box"),
    ("p3_mask_multi", "p3 mask"),
    ("box_mask_multi", "box mask"),
)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, build_sammed2d
    import torch

    from intrabench.models.networks.sammed2d import build_sammed2d


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return fixture("sam_med2d_vit_b")


@pytest.fixture(scope="module")
def network() -> Any:
    """With the first three blocks of its encoder, which need a quarter of the memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("intrabench.models.networks.sammed2d.DEPTH", 3)
        return filled(build_sammed2d(), "sam_med2d_vit_b")


@pytest.fixture(scope="module")
def whole() -> Any:
    return filled(build_sammed2d(), "sam_med2d_vit_b")


@pytest.fixture(scope="module")
def image(golden: dict[str, Any], network: Any) -> torch.Tensor:
    grey = torch.from_numpy(golden["input_u8"]).float()
    return network.preprocess(grey.expand(1, 3, -1, -1))


@pytest.fixture(scope="module")
def activations(whole: Any, image: torch.Tensor) -> dict[str, torch.Tensor]:
    """See `through_blocks`; with all blocks this takes six seconds."""
    return through_blocks(whole, image, 11)


def through_blocks(network: Any, image: torch.Tensor, *blocks: int) -> dict[str, torch.Tensor]:
    """The image embedding and what modules on the way to it put out, blocks among them."""
    seen: dict[str, torch.Tensor] = {}
    encoder = network.image_encoder
    modules = {"patch_embed": encoder.patch_embed, "block0_adapter": encoder.blocks[0].Adapter}
    modules |= {f"block{index}": encoder.blocks[index] for index in (0, 2, *blocks)}
    hooks = [
        module.register_forward_hook(lambda _, inputs, output, name=name: seen.update({name: output}))
        for name, module in modules.items()
    ]
    with torch.inference_mode():
        seen["embedding"] = encoder(image)
    for hook in hooks:
        hook.remove()
    return seen


def encoded(network: Any, golden: dict[str, Any], prompts: str) -> tuple[torch.Tensor, torch.Tensor]:
    points = boxes = masks = None
    for name in prompts.split():
        if name == "box":
            boxes = torch.from_numpy(golden["box"])
        elif name == "mask":
            masks = torch.from_numpy(golden["mask_in"])
        else:
            points = torch.from_numpy(golden[f"{name}_coords"])[None], torch.from_numpy(golden[f"{name}_labels"])[None]
    return network.prompt_encoder(points=points, boxes=boxes, masks=masks)


def test_entries_are_those_of_the_checkpoint() -> None:
    with torch.device("meta"):
        same_entries(build_sammed2d(), "sam_med2d_vit_b")


@pytest.mark.usefixtures("inference")
def test_first_blocks(golden: dict[str, Any], network: Any, image: torch.Tensor) -> None:
    """Of both kinds: those with windows, and one that attends to everything."""
    close(image[:, :, ::16, ::16], golden["input_norm_s"])
    seen = through_blocks(network, image)
    for name in ("patch_embed", "block0_adapter", "block0", "block2"):
        close(seen[name][:, ::4, ::4, ::16], golden[f"act_{name}"])


@pytest.mark.slow
def test_encoder(golden: dict[str, Any], activations: dict[str, torch.Tensor]) -> None:
    for name in ("patch_embed", "block0_adapter", "block0", "block2", "block11"):
        close(activations[name][:, ::4, ::4, ::16], golden[f"act_{name}"])
    close(activations["embedding"][:, ::8, ::2, ::2], golden["image_embedding_s"])


@pytest.mark.parametrize(("case", "prompts"), CASES)
@pytest.mark.usefixtures("inference")
def test_prompts(golden: dict[str, Any], network: Any, case: str, prompts: str) -> None:
    sparse, dense = encoded(network, golden, prompts)
    close(sparse, golden[f"{case}_sparse"])
    if "mask" in prompts:
        close(dense[:, ::8, ::2, ::2], golden[f"{case}_dense_s"])
    close(network.prompt_encoder.get_dense_pe()[:, ::4, ::2, ::2], golden["dense_pe_s"])


@pytest.mark.slow
@pytest.mark.parametrize(("case", "prompts"), CASES)
@pytest.mark.usefixtures("inference")
def test_masks(
    golden: dict[str, Any], whole: Any, activations: dict[str, torch.Tensor], case: str, prompts: str
) -> None:
    sparse, dense = encoded(whole, golden, prompts)
    positions = whole.prompt_encoder.get_dense_pe()
    low, iou = whole.mask_decoder(activations["embedding"], positions, sparse, dense, case.endswith("multi"))
    close(low, golden[f"{case}_low"])
    close(iou, golden[f"{case}_iou"])


@pytest.mark.slow
@pytest.mark.usefixtures("inference")
def test_best_mask_upscaled(golden: dict[str, Any], whole: Any, activations: dict[str, torch.Tensor]) -> None:
    sparse, dense = encoded(whole, golden, "box")
    positions = whole.prompt_encoder.get_dense_pe()
    low, iou = whole.mask_decoder(activations["embedding"], positions, sparse, dense, True)
    best = int(iou.argmax())
    assert [best] == golden["box_multi_best"].tolist()
    up = whole.postprocess_masks(low[:, best : best + 1], (256, 256), (200, 300))
    close(up[..., ::4, ::4], golden["box_multi_up_200x300_s"])
    assert int((up.sigmoid() > 0.5).sum()) == pytest.approx(int(golden["box_multi_up_fg"]), rel=1e-3)


@pytest.mark.usefixtures("inference")
def test_several_embeddings_with_a_prompt_each(golden: dict[str, Any], network: Any, image: torch.Tensor) -> None:
    embedding = network.image_encoder(image)
    embeddings = torch.cat([embedding, embedding.flip(3)])
    coords, masks = torch.from_numpy(golden["p3_coords"]), torch.from_numpy(golden["mask_in"])
    points = torch.stack([coords, 255 - coords]), torch.from_numpy(golden["p3_labels"]).expand(2, -1)
    masks = torch.cat([masks, masks.flip(3)])
    low, iou = decode(network, embeddings, points, None, masks, multimask=True)
    assert not torch.allclose(low[0], low[1], atol=0.1)
    for own in (slice(0, 1), slice(1, 2)):
        sparse, dense = network.prompt_encoder((points[0][own], points[1][own]), None, masks[own])
        own_low, own_iou = network.mask_decoder(
            embeddings[own], network.prompt_encoder.get_dense_pe(), sparse, dense, True
        )
        close(low[own], own_low.numpy(), atol=1e-5)
        close(iou[own], own_iou.numpy(), atol=1e-5)
