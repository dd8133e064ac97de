"""SegNeXt-B of RClicks against what the official code computes with the same random weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.models.networks.clickability import filled, golden, one_core
from tests.models.networks.parity import close


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, Tensor, DropPath, Factorisation, SegNeXtClickability
    import torch
    from torch import Tensor

    from intrabench.models.networks.mscan import DropPath
    from intrabench.models.networks.segnext import Factorisation, SegNeXtClickability


@pytest.fixture(scope="module", autouse=True)
def _one_core() -> Iterator[None]:
    with one_core():
        yield


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return golden("network")


@pytest.fixture(scope="module")
def network() -> SegNeXtClickability:
    return filled()


def given(expected: dict[str, Any], case: str) -> tuple[Tensor, Tensor]:
    """Image and masks of a case."""
    masks = torch.from_numpy(expected[f"{case}/coord_features"]).float()
    if case == "a":
        return torch.from_numpy(expected["a/image"]), masks
    drawn = np.random.RandomState(12).standard_normal((1, 3, 416, 416))
    return torch.from_numpy(drawn.astype(np.float32)), masks


def test_it_has_the_published_number_of_parameters_and_entries(network: SegNeXtClickability) -> None:
    assert sum(parameter.numel() for parameter in network.parameters()) == 27_604_290
    assert len(network.state_dict()) == 862


@pytest.mark.usefixtures("inference")
def test_stages(expected: dict[str, Any], network: SegNeXtClickability) -> None:
    images, masks = given(expected, "a")
    stages = network.encoder_decoder.backbone(images, network.maps_transform(masks))
    for number, stage in enumerate(stages, start=1):
        close(stage[:, ::16], expected[f"a/stage{number}"])


@pytest.mark.usefixtures("inference")
def test_answers(expected: dict[str, Any], network: SegNeXtClickability) -> None:
    images, masks = given(expected, "a")
    close(network.logits(images, masks), expected["a/logits"])
    close(network(images, masks), expected["a/output"])


@pytest.mark.usefixtures("inference")
def test_answers_of_the_published_size(expected: dict[str, Any], network: SegNeXtClickability) -> None:
    images, masks = given(expected, "b")
    close(network.logits(images, masks), expected["b/logits"])


@pytest.mark.usefixtures("inference")
def test_each_of_a_batch_is_stretched_by_itself(expected: dict[str, Any], network: SegNeXtClickability) -> None:
    images, masks = given(expected, "a")
    together = network(torch.cat([images, images.flip(3)]), torch.cat([masks, masks.flip(3)]))
    close(together[:1], network(images, masks).numpy(), atol=1e-5)
    assert together.amin(dim=(1, 2, 3)).tolist() == [0, 0]
    assert together.amax(dim=(1, 2, 3)).tolist() == pytest.approx([1, 1])


@pytest.mark.usefixtures("inference")
def test_factorisation_finds_what_has_the_rank() -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        factorisation = Factorisation(12, 3)
    features = (torch.rand(2, 12, 3, generator=generator) @ torch.rand(2, 3, 35, generator=generator)).view(2, 12, 5, 7)
    errors = []
    for training in (True, False):
        found = factorisation.train(training)(features)
        assert (found >= 0).all()
        errors.append(float((found - features).norm() / features.norm()))
    assert errors[1] < errors[0] < 0.2  # seven updates come closer than the six of training


def test_drop_path_leaves_out_whole_samples() -> None:
    branch = torch.ones(64, 2, 3, 3)
    assert torch.equal(DropPath(0.5).eval()(branch), branch)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        dropped = DropPath(0.5).train()(branch)
    assert sorted(set(dropped.flatten(1).sum(dim=1).tolist())) == [0, 36]
    assert set(dropped.unique().tolist()) == {0, 2}
