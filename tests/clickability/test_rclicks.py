"""The published clickability model: its maps, and what it says without its file."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.rclicks import RClicks
from intrabench.errors import IntraBenchError
from intrabench.specs import specs
from tests.models.networks.clickability import filled, golden, one_core
from tests.wording import without_reasons

IMAGE, MASK = np.zeros((8, 8, 3), np.uint8), np.ones((8, 8), bool)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


@pytest.fixture(scope="module", autouse=True)
def _one_core() -> Iterator[None]:
    with one_core():
        yield


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    return golden("applied")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "own.pth"
    torch.save(filled().state_dict(), path)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of weights."""
    monkeypatch.setenv("INTRABENCH_WEIGHTS", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("antialias", [False, True])
def test_maps(expected: dict[str, Any], checkpoint: Path, antialias: bool) -> None:
    model = specs.build(RClicks, {"weights": str(checkpoint), "antialias": str(antialias).lower()}, "rclicks")
    for shape in ("60x100",) if antialias else ("60x100", "150x90"):
        image, target, error = (expected[f"apply_{shape}/{part}"] for part in ("image", "gt", "err"))
        found = model.probability(image, target > 0, error > 0)
        assert found.dtype == np.float32
        wanted = expected[f"apply_{shape}/output_antialias" if antialias else f"apply_{shape}/output"]
        np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_the_published_file_is_found_in_the_folder_of_weights(checkpoint: Path, folder: Path) -> None:
    (folder / "clickability_model.pth").symlink_to(checkpoint)
    model = RClicks(size=32)
    found = model.probability(IMAGE, MASK, MASK)
    assert found.shape == (8, 8)
    assert found.min() >= 0
    assert found.max() <= 1
    assert model.file == folder / "clickability_model.pth"
    assert RClicks().other_weights == RClicks(weights=str(checkpoint)).other_weights == ""  # the same file
    assert model.other_weights == "at32"
    other = folder / "other.pth"
    other.write_bytes(b"other")
    assert RClicks(weights=str(other)).other_weights == sha256(b"other").hexdigest()[:12]


def test_without_its_file_it_says_where_it_is(folder: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        RClicks().probability(IMAGE, MASK, MASK)
    assert str(caught.value) == wording


def test_other_files_are_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    model = RClicks(weights=str(tmp_path / "none.pth"))
    with pytest.raises(IntraBenchError) as caught:
        model.probability(IMAGE, MASK, MASK)
    assert caught == wording
    (tmp_path / "page.pth").write_text("<html>")
    with pytest.raises(IntraBenchError) as caught:
        RClicks(weights=str(tmp_path / "page.pth")).probability(IMAGE, MASK, MASK)
    assert without_reasons(str(caught.value)) == wording
    torch.save({"some.weight": torch.zeros(2)}, tmp_path / "other.pth")
    with pytest.raises(IntraBenchError) as caught:
        RClicks(weights=str(tmp_path / "other.pth")).probability(IMAGE, MASK, MASK)
    assert caught == wording


def test_it_needs_an_image(checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="needs the image"):
        RClicks(weights=str(checkpoint)).probability(None, MASK, MASK)


def test_a_network_that_overflows_is_noticed(checkpoint: Path, tmp_path: Path) -> None:
    state = torch.load(checkpoint, weights_only=True)
    state["encoder_decoder.decode_head.0.conv_seg.bias"] += float("inf")
    torch.save(state, tmp_path / "broken.pth")
    with pytest.raises(FloatingPointError, match=r"broken\.pth answered with NaN"):
        RClicks(weights=str(tmp_path / "broken.pth"), size=32).probability(IMAGE, MASK, MASK)
