"""SAM 2 on slices through its wrapper, against what the official image predictor gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from intrabench.models.base import Runtime
from intrabench.models.parts import resize
from intrabench.models.parts.slice_model import SliceItem
from intrabench.models.sam2 import SAM2, as_points
from intrabench.registry import make
from intrabench.volume import Volume
from tests.models.networks.parity import close, fixture
from tests.models.stub import item

GOLDEN = fixture("sam2.1_hiera_t")
SHAPE = GOLDEN["input_u8"].shape


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, LENGTH
    import torch

    from intrabench.models.networks.sam2 import LENGTH


@pytest.fixture(scope="module")
def model() -> SAM2:
    pytest.importorskip("sam2")
    made = SAM2()
    made.runtime = Runtime(random=True)
    return made


@pytest.fixture(scope="module")
def embedding(model: SAM2) -> np.ndarray:
    """Of the fixture's image in colours, which no intensity policy changes."""
    colours = np.stack([GOLDEN["input_u8"]] * 3, axis=-1)
    (embedding,) = model.encode([model.slice_images(Volume.from_canonical(colours[None]))(0)])
    assert embedding.shape == (LENGTH,)
    return embedding


def asked(case: str, embedding: np.ndarray) -> SliceItem:
    """The item of a case of the fixture."""
    rows = np.column_stack([GOLDEN["p3_coords"][:, ::-1], GOLDEN["p3_labels"]])
    x0, y0, x1, y1 = GOLDEN["box"].astype(int).tolist()
    mask = 4 * torch.randn((1, 256, 256), generator=torch.Generator().manual_seed(7))[0].numpy()
    return item(
        rows[: {"p1": 1, "p3": 3}.get(case[:2], 0)],
        (y0, x0, y1, x1) if "box" in case else None,
        mask if "mask" in case else None,
        embedding=embedding,
        shape=SHAPE,
    )


@pytest.mark.parametrize(
    ("case", "official"),
    [
        ("p1", "p1_multi"),
        ("p3", "p3_single"),
        ("box", "box_single"),
        ("p3_box", "p3_box_single"),
        ("p3_mask", "p3_mask_single"),
    ],
)
def test_answers_are_the_official_ones(model: SAM2, embedding: np.ndarray, case: str, official: str) -> None:
    (result,) = model.decode([asked(case, embedding)])
    best = GOLDEN[f"{official}_iou"].argmax()
    close(result.logits[::2, ::2], GOLDEN[f"{official}_low_s"][best], atol=1e-3)
    assert np.count_nonzero(result.mask) == pytest.approx(int(GOLDEN[f"{official}_full_fg"][best]), rel=1e-3)


class Recorder:
    """A network that notes what it is asked, and answers with three masks."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def decode(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return torch.arange(3.0).reshape(1, 3, 1, 1).expand(len(asked[0]), 3, 256, 256), torch.tensor([[0.0, 2, 1]])


def test_boxes_are_two_points_before_all_clicks_scaled_by_each_axis() -> None:
    model = SAM2()
    model.network = Recorder()
    rows = [(10, 40, 1), (0, 79, 0)]
    (result,) = model.decode([item(rows, (5, 20, 30, 60), embedding=np.zeros(4, dtype=np.float32), shape=(64, 80))])
    ((_, points, labels, masks, multimask),) = model.network.asked
    np.testing.assert_allclose(points[0], np.array([(20, 5), (60, 30), (40, 10), (79, 0)]) * [1024 / 80, 1024 / 64])
    assert labels.tolist() == [[2, 3, 1, 0]]
    assert masks is None
    assert not multimask
    assert (result.logits == 1).all()  # the mask of the highest estimate
    assert result.mask.shape == (64, 80)


def test_points_and_boxes_alone() -> None:
    points = torch.tensor([[[1.0, 2]], [[3, 4]]]), torch.tensor([[1], [0]])
    boxes = torch.tensor([[5.0, 6, 7, 8], [1, 2, 3, 4]])
    assert all(torch.equal(a, b) for a, b in zip(as_points(points, None), points, strict=True))
    coordinates, labels = as_points(None, boxes)
    assert coordinates.tolist() == [[[5, 6], [7, 8]], [[1, 2], [3, 4]]]
    assert labels.tolist() == [[2, 3]] * 2


def test_masks_come_straight_from_the_low_logits() -> None:
    low = torch.full((1, 256, 256), -3.0)
    low[:, :64, 128:] = 3
    (mask,) = SAM2().full(low, resize.frame("squash_smooth", (100, 600), 1024)) > SAM2().cutoff
    rows, columns = (np.flatnonzero(mask.any(dim=axis)) for axis in (1, 0))
    assert mask.shape == (100, 600)
    assert (rows[0], rows[-1], columns[0], columns[-1]) == (0, 24, 300, 599)
    noise = torch.randn((1, 256, 256), generator=torch.Generator().manual_seed(0))
    assert torch.equal(SAM2().full(noise, resize.frame("squash_smooth", (256, 256), 1024)), noise)
    assert SAM2(threshold=4).cutoff == 4


def test_grey_and_colour_slices_are_prepared_alike() -> None:
    image = np.random.default_rng(0).integers(0, 256, (30, 40)).astype(np.uint8)
    grey, colour = SAM2().prepare(image), SAM2().prepare(np.stack([image] * 3, axis=-1))
    assert grey.shape == (3, 1024, 1024)
    np.testing.assert_array_equal(grey, colour)


@pytest.mark.parametrize("name", ["sam2", "sam2_video"])
@pytest.mark.parametrize(
    ("parameters", "weights"), [("size=t", "sam2.1_t"), ("size=b+,release=2.0", "sam2_b+"), ("size=l", "sam2.1_l")]
)
def test_sizes_and_releases(name: str, parameters: str, weights: str) -> None:
    model = make("models", f"{name}:{parameters}")
    assert (model.weights, model.extra, model.requires) == (weights, "sam2", ("sam2",))
