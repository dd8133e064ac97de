"""Saliency baselines: TranSalNet as its authors' network (tests/golden/models/transalnet), and a centre prior."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.center_prior import CenterPrior
from intrabench.clickability.named import click_model
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.models.networks.parity import close, filled, fixture, same_entries

GOLDEN = fixture("transalnet")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture's weights in a file as published."""
    pytest.importorskip("torchvision")
    import torch

    from intrabench.models.networks.transalnet import TranSalNet

    network = TranSalNet()
    same_entries(network, "transalnet")
    path = tmp_path_factory.mktemp("weights") / "TranSalNet_Res.pth"
    torch.save(filled(network, "transalnet").state_dict(), path)
    return path


def test_network_is_the_official_one(checkpoint: Path) -> None:
    import torch

    model = click_model(f'transalnet:weights="{checkpoint}"')
    picture = torch.rand(1, 3, 288, 384, generator=torch.Generator().manual_seed(int(GOLDEN["seed"])))
    close(model.network(picture)[0, 0, ::8, ::8], GOLDEN["saliency_s"])  # type: ignore[attr-defined]
    assert len(model.other_weights) == 12


@pytest.mark.parametrize("shape", [(30, 61), (77, 20)])
def test_pictures_are_padded_as_by_its_authors(checkpoint: Path, shape: tuple[int, int]) -> None:
    """The padding is computed here with OpenCV, as there."""
    cv2 = pytest.importorskip("cv2")
    import torch

    model = click_model(f'transalnet:weights="{checkpoint}"')
    crop = np.random.default_rng(2).integers(0, 255, (*shape, 3), np.uint8)
    square = np.ones((288, 384, 3), np.uint8)
    if shape[0] / 288 > shape[1] / 384:
        columns = shape[1] * 288 // shape[0]
        left = (384 - columns) // 2
        window = slice(None), slice(left, left + columns)
        square[window] = cv2.resize(crop[..., ::-1], (columns, 288))
    else:
        rows = shape[0] * 384 // shape[1]
        top = (288 - rows) // 2
        window = slice(top, top + rows), slice(None)
        square[window] = cv2.resize(crop[..., ::-1], (384, rows))
    whole = model.network(torch.from_numpy(square / np.float32(255)).permute(2, 0, 1)[None])  # type: ignore[attr-defined]
    expected = cv2.resize(whole[0, 0].numpy()[window], shape[::-1])
    close(model.saliency(crop), expected, atol=1e-3)  # type: ignore[attr-defined]


def test_missing_files_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    monkeypatch.setenv("INTRABENCH_WEIGHTS", str(tmp_path))
    for spec in ("transalnet", "transalnet:weights=nothing.pth"):
        with pytest.raises(IntraBenchError) as error:
            _ = click_model(spec).other_weights
        assert str(error.value).replace(str(tmp_path), "FOLDER") == wording


def test_the_centre_prior_is_highest_in_the_middle_of_the_error() -> None:
    error = np.zeros((40, 60), bool)
    error[10:21, 20:41] = True
    image = np.zeros((40, 60, 3), np.uint8)
    found = registry.make("clickability", "center_prior").probability(image, error, error)
    assert np.unravel_index(found.argmax(), found.shape) == (15, 30)
    assert found.sum() == pytest.approx(1, abs=1e-5)
    assert not found[~error].any()
    np.testing.assert_allclose(found[10:21, 20:41], found[10:21, 20:41][::-1, ::-1], rtol=1e-5)
    wide, narrow = (CenterPrior(sigma=sigma).saliency(np.zeros((11, 21, 3), np.uint8)) for sigma in (0.5, 0.1))
    assert wide[5, 10] == narrow[5, 10] == 1
    assert wide[0, 0] > narrow[0, 0]
