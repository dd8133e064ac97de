"""SAM-Med3D against what the official code computes with the same random weights."""

from __future__ import annotations

from typing import Any

import pytest

from tests.models.networks.parity import close, filled, fixture, same_entries, unfilled

CASES = ("p1_zeromask", "p1_nomask", "p3_zeromask", "p3_mask", "p1_zeromask_multi", "p3_prevlogits")


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, functional, Attention, SamMed3D, build_sammed3d
    import torch
    from torch.nn import functional

    from intrabench.models.networks.sammed3d import Attention, SamMed3D, build_sammed3d


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return fixture("sam_med3d_vit_b_ori")


@pytest.fixture(scope="module")
def network() -> SamMed3D:
    network = filled(unfilled(build_sammed3d), "sam_med3d_vit_b_ori")
    assert isinstance(network, SamMed3D)
    return network


@pytest.fixture(scope="module")
def activations(golden: dict[str, Any], network: SamMed3D) -> dict[str, torch.Tensor]:
    """The embedding of the volume and what modules on the way to it put out."""
    seen: dict[str, torch.Tensor] = {}
    encoder = network.image_encoder
    modules = {"patch_embed": encoder.patch_embed}
    modules |= {f"block{index}": encoder.blocks[index] for index in (0, 2, 11)}
    hooks = [
        module.register_forward_hook(lambda _, inputs, output, name=name: seen.update({name: output}))
        for name, module in modules.items()
    ]
    with torch.inference_mode():
        seen["embedding"] = network.encode((torch.from_numpy(golden["input_u8"])[None, None].float() - 100) / 50)
    for hook in hooks:
        hook.remove()
    return seen


def prompts(golden: dict[str, Any], case: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Points, labels and mask of a case."""
    points, mask = case.split("_")[:2]
    masks = {
        "zeromask": torch.zeros(1, 1, 32, 32, 32),
        "nomask": None,
        "mask": torch.from_numpy(golden["mask_in"]),
        "prevlogits": torch.from_numpy(golden["p1_zeromask_low"]),
    }
    coords, labels = torch.from_numpy(golden[f"{points}_coords"]), torch.from_numpy(golden[f"{points}_labels"])
    return coords[None], labels[None], masks[mask]


def test_entries_are_those_of_the_checkpoint(network: SamMed3D) -> None:
    same_entries(network, "sam_med3d_vit_b_ori")


def test_encoder(golden: dict[str, Any], activations: dict[str, torch.Tensor]) -> None:
    close(activations["patch_embed"].movedim(1, -1)[:, ::2, ::2, ::2, ::16], golden["act_patch_embed"])
    for name in ("block0", "block2", "block11"):
        close(activations[name][:, ::2, ::2, ::2, ::16], golden[f"act_{name}"])
    close(activations["embedding"][:, ::8, ::2, ::2, ::2], golden["image_embedding_s"])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("inference")
def test_prompts(golden: dict[str, Any], network: SamMed3D, activations: dict[str, torch.Tensor], case: str) -> None:
    given = prompts(golden, case)
    sparse, dense = network.prompt_encoder(*given)
    if f"{case}_sparse" in golden:
        close(sparse, golden[f"{case}_sparse"])
        close(dense[:, ::8, ::2, ::2, ::2], golden[f"{case}_dense_s"])
    low, iou = network.decode(activations["embedding"], *given, multimask=case.endswith("multi"))
    close(low, golden[f"{case}_low"])
    close(iou, golden[f"{case}_iou"])


def test_dense_positions(golden: dict[str, Any], network: SamMed3D) -> None:
    close(network.prompt_encoder.dense_positions()[:, ::3], golden["dense_pe_s"])


@pytest.mark.usefixtures("inference")
def test_mask_upscaled(golden: dict[str, Any], network: SamMed3D, activations: dict[str, torch.Tensor]) -> None:
    low, _ = network.decode(activations["embedding"], *prompts(golden, "p1_zeromask"))
    up = functional.interpolate(low, size=(128, 128, 128), mode="trilinear", align_corners=False)
    close(up[..., ::8, ::8, ::8], golden["p1_zeromask_up_s"])
    assert int((up.sigmoid() > 0.5).sum()) == pytest.approx(int(golden["p1_zeromask_up_fg_voxels"]), rel=1e-3)


@pytest.mark.usefixtures("inference")
def test_several_embeddings_with_a_prompt_each(
    golden: dict[str, Any], network: SamMed3D, activations: dict[str, torch.Tensor]
) -> None:
    embeddings = torch.cat([activations["embedding"], activations["embedding"].flip(2)])
    coords, labels, _ = prompts(golden, "p3_mask")
    points = torch.cat([coords, 127 - coords])
    masks = torch.cat([torch.zeros(1, 1, 32, 32, 32), torch.from_numpy(golden["mask_in"])])
    low, iou = network.decode(embeddings, points, labels.expand(2, -1), masks)
    assert not torch.allclose(low[0], low[1], atol=0.1)
    for index in range(2):
        own = slice(index, index + 1)
        own_low, own_iou = network.decode(embeddings[own], points[own], labels, masks[own])
        close(low[own], own_low.numpy(), atol=1e-5)
        close(iou[own], own_iou.numpy(), atol=1e-5)


@pytest.mark.usefixtures("inference")
def test_absent_points(golden: dict[str, Any], network: SamMed3D) -> None:
    coords, _, _ = prompts(golden, "p3_mask")
    sparse, _ = network.prompt_encoder(coords, torch.tensor([[1, -1, -1]]), None)
    assert torch.equal(sparse[:, 1], sparse[:, 3])
    assert torch.equal(sparse[:, 2], sparse[:, 3])


@pytest.mark.usefixtures("inference")
def test_window_is_the_cube_padded_by_zeros() -> None:
    torch.manual_seed(0)
    attention = Attention(8, 2, window=4)
    for parameter in attention.parameters():
        parameter.normal_()
    cube = torch.randn(2, 3, 3, 3, 8)
    padded = functional.pad(cube, (0, 0, 0, 1, 0, 1, 0, 1))
    close(attention(cube), attention(padded)[:, :3, :3, :3].numpy(), atol=1e-5)
