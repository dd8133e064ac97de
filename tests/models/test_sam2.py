"""SAM 2 on slices through its wrapper, against what the official image predictor gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from intrabench.models.base import Runtime
from intrabench.models.parts import resize
from intrabench.models.parts.slice_model import SliceItem
from intrabench.models.sam2 import SAM2, as_points
from intrabench.registry.registry import make
from intrabench.volume import Volume
from tests.models.networks.parity import close, fixture
from tests.models.stub import item

GOLDEN = fixture("sam2.1_hiera_t")
SHAPE = GOLDEN["input_u8"].shape


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, functional, LENGTH
    import torch
    from torch.nn import functional

    from intrabench.models.networks.sam2 import LENGTH


@pytest.fixture(scope="module")
def model() -> SAM2:
    pytest.importorskip("sam2")
    made = SAM2()
    made.runtime = Runtime(random=True)
    return made


@dataclass
class Reference:
    """An embedding, and what it is decoded to: of a case the best logits, strided, and the number of voxels."""

    embedding: np.ndarray
    best: Callable[[str], tuple[np.ndarray, int]]


@pytest.fixture(scope="module", params=["network", pytest.param("golden", marks=pytest.mark.slow)])
def reference(request: pytest.FixtureRequest, model: SAM2) -> Reference:
    """What the official code computed of the fixture's image, or what the network makes of something made up."""
    if request.param == "golden":
        (embedding,) = model.encode([image(model)])
        assert embedding.shape == (LENGTH,)
        return Reference(embedding, golden)
    made_up = torch.randn((1, LENGTH), generator=torch.Generator().manual_seed(3))
    return Reference(made_up[0].numpy(), lambda case: decoded(model.network, made_up, case))


def image(model: SAM2) -> np.ndarray:
    """The fixture's in colours, which no intensity policy changes."""
    colours = np.stack([GOLDEN["input_u8"]] * 3, axis=-1)
    return model.slice_images(Volume.from_canonical(colours[None]))(0)


def golden(case: str) -> tuple[np.ndarray, int]:
    best = GOLDEN[f"{case}_iou"].argmax()
    return GOLDEN[f"{case}_low_s"][best], int(GOLDEN[f"{case}_full_fg"][best])


def decoded(network: Any, embedding: torch.Tensor, case: str) -> tuple[np.ndarray, int]:
    """What the network gives for a case, with prompts in its own pixels."""
    xy, labels = np.zeros((0, 2)), np.zeros(0)
    if "box" in case:
        xy, labels = GOLDEN["box"].reshape(2, 2), np.array([2, 3])
    if case.startswith("p"):
        name = case.split("_")[0]
        xy, labels = np.vstack([xy, GOLDEN[f"{name}_coords"]]), np.append(labels, GOLDEN[f"{name}_labels"])
    points = torch.from_numpy(xy * [1024 / SHAPE[1], 1024 / SHAPE[0]])[None]
    mask = mask_prompt()[None] if "mask" in case else None
    low, iou = network.decode(embedding, points, torch.from_numpy(labels)[None], mask, case.endswith("multi"))
    best = low[:, iou[0].argmax()][:, None]
    full = functional.interpolate(best, SHAPE, mode="bilinear", align_corners=False)
    return best[0, 0, ::2, ::2].numpy(), int((full > 0).sum())


def mask_prompt() -> torch.Tensor:
    """The fixture's, ``(1, 256, 256)``."""
    return 4 * torch.randn((1, 256, 256), generator=torch.Generator().manual_seed(7))


def asked(case: str, embedding: np.ndarray) -> SliceItem:
    """The item of a case of the fixture."""
    rows = np.column_stack([GOLDEN["p3_coords"][:, ::-1], GOLDEN["p3_labels"]])
    x0, y0, x1, y1 = GOLDEN["box"].astype(int).tolist()
    return item(
        rows[: {"p1": 1, "p3": 3}.get(case[:2], 0)],
        (y0, x0, y1, x1) if "box" in case else None,
        mask_prompt()[0].numpy() if "mask" in case else None,
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
def test_answers_are_the_official_ones(model: SAM2, reference: Reference, case: str, official: str) -> None:
    (result,) = model.decode([asked(case, reference.embedding)])
    best, voxels = reference.best(official)
    close(result.logits[::2, ::2], best, atol=1e-3)
    assert np.count_nonzero(result.mask) == pytest.approx(voxels, rel=1e-3)


class Recorder:
    """A network that notes what it is asked, and answers with three masks; its embedding of an image are two rows."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        self.asked.append(images)
        return images[:, 0, :2].flatten(1)

    def decode(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return torch.arange(3.0).reshape(1, 3, 1, 1).expand(len(asked[0]), 3, 256, 256), torch.tensor([[0.0, 2, 1]])


def test_the_network_sees_the_prepared_image() -> None:
    model = SAM2()
    model.network = Recorder()
    (embedding,) = model.encode([image(model)])
    (seen,) = model.network.asked
    close(seen[:, :, ::64, ::64], GOLDEN["input_norm_s"], atol=1e-5)
    assert np.array_equal(embedding, seen[0, 0, :2].flatten())


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
