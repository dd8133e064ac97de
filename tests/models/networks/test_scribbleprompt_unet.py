"""ScribblePrompt's U-Net against what the official code computes with the same random weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.models.networks.parity import close, filled, fixture, same_entries

CASES = {
    "p1": "p1",
    "p3": "p3",
    "box": "box",
    "scrib": "scribbles",
    "p3_box": "p3 box",
    "p3_mask": "p3 mask",
    "all": "p3 box scribbles mask",
    "none": "",
}


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, ScribblePromptUNet
    import torch

    from intrabench.models.networks.scribbleprompt_unet import ScribblePromptUNet


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return fixture("scribbleprompt_unet")


@pytest.fixture(scope="module")
def network() -> torch.nn.Module:
    return filled(ScribblePromptUNet(), "scribbleprompt_unet")


def network_input(golden: dict[str, Any], case: str) -> torch.Tensor:
    """The five channels of a case, `(1, 5, 128, 128)`."""
    given = CASES[case].split()
    channels = torch.zeros(1, 5, 128, 128)
    channels[0, 0] = torch.from_numpy(golden["input_u8"]) / 255
    if "box" in given:
        x0, y0, x1, y1 = golden["box"][0, 0]
        channels[0, 1, y0:y1, x0:x1] = 1
    count = 3 if "p3" in given else 1 if "p1" in given else 0
    for (x, y), label in zip(golden["pts"][0, :count], golden["lab"][0], strict=False):
        channels[0, 2 if label else 3, y, x] = 1
    if "scribbles" in given:
        channels[:, 2:4] = channels[:, 2:4].maximum(torch.from_numpy(golden["scribbles"]))
    if "mask" in given:
        channels[:, 4:] = torch.from_numpy(golden["mask_in"])
    return channels


def test_entries_are_those_of_the_checkpoint(network: torch.nn.Module) -> None:
    same_entries(network, "scribbleprompt_unet")


OTHERS = {"p1", "box", "scrib", "p3_box", "p3_mask"}
"""Whose prompts are all in the rest."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow) if case in OTHERS else case for case in CASES]
)
@pytest.mark.usefixtures("inference")
def test_logits(golden: dict[str, Any], network: torch.nn.Module, case: str) -> None:
    channels = network_input(golden, case)
    close(channels.sum(dim=(2, 3)), golden[f"{case}_input_chan_sums"], atol=1e-2)
    close(network(channels), golden[f"{case}_logits"])


@pytest.mark.usefixtures("inference")
def test_activations(golden: dict[str, Any], network: Any) -> None:
    seen: dict[str, torch.Tensor] = {}
    modules = {"down0": network.downs[0], "bottleneck": network.bottleneck, "up_last": network.ups[7]}
    hooks = [
        module.register_forward_hook(lambda _, inputs, output, name=name: seen.update({name: output}))
        for name, module in modules.items()
    ]
    network(network_input(golden, "p3"))
    for hook in hooks:
        hook.remove()
    close(seen["down0"][:, ::16, ::16, ::16], golden["act_p3_down0"])
    close(seen["bottleneck"][:, ::16], golden["act_p3_bottleneck"])
    close(seen["up_last"][:, ::16, ::16, ::16], golden["act_p3_up_last"])


def test_inputs_are_those_of_the_fixture(golden: dict[str, Any]) -> None:
    np.testing.assert_array_equal(network_input(golden, "p3")[:, 2:4], golden["p3_input_click_u8"])
    np.testing.assert_array_equal(network_input(golden, "box")[:, 1:2], golden["box_input_u8"])


@pytest.mark.usefixtures("inference")
def test_other_sizes() -> None:
    network = ScribblePromptUNet(inputs=4, outputs=2, widths=(3, 4, 5))
    assert network(torch.zeros(2, 4, 24, 40)).shape == (2, 2, 24, 40)
