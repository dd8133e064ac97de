"""VISTA3D's wrapper against MONAI's own transforms and inferers over several rounds, and what it encodes when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.models.base import Request, Runtime
from intrabench.models.parts.random_weights import fill_randomly
from intrabench.models.vista3d import VISTA3D
from intrabench.prompts import Prompts, points
from intrabench.turns import Click, Turn
from intrabench.volume import Volume
from tests.models.stub import answers

SIDE = 32
"""Of windows in these tests."""
CLICKS = ((14, 30, 25, 1), (9, 50, 12, 0), (25, 59, 55, 1))
"""One a round, rows ``z, y, x, label``; the last one is the corner voxel of `scan`."""
SPACING = (2.5, 1.2, 0.75)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("monai")
    global torch, monai, network3d
    import monai.apps.vista3d.inferer
    import monai.apps.vista3d.transforms
    import monai.inferers
    import monai.networks.nets
    import monai.transforms
    import torch

    from intrabench.models.networks import vista3d as network3d


@pytest.fixture(scope="module")
def network() -> Any:
    """VISTA3D with few channels and random weights; ``network.seen`` has the arguments of all calls of its encoder."""
    small = monai.networks.nets.vista3d132(encoder_embed_dim=8).eval().requires_grad_(False)
    fill_randomly(small)
    small.seen = []
    small.image_encoder.register_forward_pre_hook(lambda _, args: small.seen.append(args))
    return small


@pytest.fixture
def model(network: Any, monkeypatch: pytest.MonkeyPatch) -> VISTA3D:
    """The model with that network and small windows; nothing was encoded yet."""
    monkeypatch.setattr(network3d, "WINDOW", (SIDE,) * 3)
    network.seen.clear()
    one = VISTA3D()
    one.network = network
    return one


def scan(shape: Sequence[int] = (26, 60, 56), spacing: Sequence[float] = SPACING) -> Volume:
    """Noise with something brighter in it, and air at two sides."""
    values = np.random.default_rng(0).normal(0, 300, shape).astype(np.float32)
    values[8:20, 20:50, 10:40] += 500
    values[:2], values[:, :5] = -1000, -1000
    return Volume.from_canonical(values, spacing)


def asked(label: str, *clicks: Sequence[int], memory: Any = None) -> Request:
    """A session that clicks once in every round."""
    turns = tuple(Turn(points([click[:3]], label=click[3]), (Click(),)) for click in clicks)
    return Request("session", turns, memory=memory, label=label)


class Bundle:
    """What the authors' bundle does with one file, put together from MONAI's parts; axes are ``x, y, z``."""

    def __init__(self, volume: Volume, network: Any) -> None:
        self.network = network
        self.affine = torch.diag(torch.tensor([*volume.spacing_mm[::-1], 1.0], dtype=torch.float64))
        array = torch.from_numpy(np.ascontiguousarray(volume.array.transpose(2, 1, 0)))[None].float()
        image, low, high = "image", -963.8247715525971, 1053.678477684517
        self.preparation = monai.transforms.Compose(
            [
                monai.transforms.Spacingd(image, (1.5, 1.5, 1.5), mode="bilinear"),
                monai.transforms.CropForegroundd(image, source_key=image, margin=10, allow_smaller=True),
                monai.transforms.ScaleIntensityRanged(image, low, high, 0, 1, clip=True),
                monai.transforms.Orientationd(image, axcodes="RAS"),
                monai.transforms.CastToTyped(image, dtype=torch.float32),
            ]
        )
        self.data = self.preparation({image: monai.data.MetaTensor(array, affine=self.affine)})
        self.image = self.data[image]

    def automatic(self, index: int) -> Any:
        """Logits ``(1, 1, x, y, z)`` of a class."""
        windows = monai.inferers.SlidingWindowInferer(
            (SIDE,) * 3, overlap=0.3, mode="gaussian", padding_mode="replicate", with_coord=True
        )
        return windows(self.image[None], self.network, transpose=True, class_vector=torch.tensor([[index]]))

    def clicked(self, clicks: Any, index: int, **more: Any) -> Any:
        """Logits ``(1, 1, x, y, z)`` after clicks ``z, y, x, label``."""
        rows = np.array(clicks)
        to_image = np.linalg.inv(self.image.affine.numpy()) @ self.affine.numpy()
        places = (np.column_stack([rows[:, 2::-1], np.ones(len(rows))]) @ to_image.T)[None, :, :3]
        special = 2 * (index in (23, 24, 25, 26, 27, 57, 128))
        return monai.apps.vista3d.inferer.point_based_window_inferer(
            self.image[None],
            (SIDE,) * 3,
            self.network,
            torch.from_numpy(places),
            torch.from_numpy(rows[None, :, 3] + special),
            prompt_class=torch.tensor([[index]]),
            transpose=True,
            **more,
        )

    def mask(self, logits: Any, index: int) -> Any:
        """The mask ``(z, y, x)`` in the file's grid."""
        post = monai.apps.vista3d.transforms.VistaPostTransformd("pred")
        pred = post({"pred": logits[0].clone(), "label_prompt": torch.tensor([index])})["pred"]
        back = monai.transforms.Invertd("pred", self.preparation, orig_keys="image", nearest_interp=True)
        inverted = back({**self.data, "pred": monai.data.MetaTensor(pred)})["pred"]
        return inverted[0].numpy().transpose(2, 1, 0) == index


@pytest.mark.parametrize(
    ("label", "index"), [("screw", 133), pytest.param("liver", 1, marks=pytest.mark.slow), ("Lung_Tumour", 23)]
)
def test_rounds_equal_monais_own_inferers(model: VISTA3D, label: str, index: int) -> None:
    volume, memory = scan(), None
    bundle = Bundle(volume, model.network)
    with torch.inference_mode(), model.open(volume) as image:
        logits = None if index == 133 else bundle.automatic(index)
        masks = []
        for number in range(1, 1 + len(CLICKS)):
            (answer,) = answers(image, [asked(label, *CLICKS[:number], memory=memory)])
            memory, before = answer.memory, None if logits is None else logits.nan_to_num(nan=-9999)
            logits = bundle.clicked(CLICKS[:number], index, prev_mask=before, point_start=number - 1)
            masks.append(answer.update.to_array(volume.shape))
            np.testing.assert_array_equal(masks[-1], bundle.mask(logits, index))
            place = tuple(slice(at, at + n) for at, n in zip(memory["start"], memory["logits"].shape, strict=True))
            here = logits[0, 0][place].nan_to_num(nan=-9999)
            np.testing.assert_allclose(memory["logits"], here.numpy(), rtol=0, atol=1e-4)
    assert all((one != other).any() for one, other in pairwise(masks))
    assert all(0.05 < mask.mean() < 0.95 for mask in masks)


def test_class_and_click_are_what_monai_gives_for_both_at_once(model: VISTA3D) -> None:
    volume = scan((SIDE,) * 3, (1.5, 1.5, 1.5))  # a single window
    bundle = Bundle(volume, model.network)
    with torch.inference_mode(), model.open(volume) as image:
        (answer,) = answers(image, [asked("liver", (16, 20, 12, 1))])
        both = bundle.clicked([(16, 20, 12, 1)], 1, class_vector=torch.tensor([[1]]))
    np.testing.assert_array_equal(answer.update.to_array(volume.shape), bundle.mask(both, 1))


def test_a_class_is_found_without_a_click(model: VISTA3D) -> None:
    volume = scan()
    waiting = Request("session", (Turn(Prompts()),), label="spleen")
    with torch.inference_mode(), model.open(volume) as image:
        named = replace(waiting, label="organ", names=("the milt", "spleen"))  # of the data set's card
        found, same, unknown = answers(image, [waiting, named, replace(waiting, label="screw")])
        bundle = Bundle(volume, model.network)
        np.testing.assert_array_equal(found.update.to_array(volume.shape), bundle.mask(bundle.automatic(3), 3))
    assert (found.notes, unknown.notes) == (("taken as CT", "class spleen"), ("taken as CT",))
    np.testing.assert_array_equal(same.update.to_array(volume.shape), found.update.to_array(volume.shape))
    assert same.notes == found.notes
    assert found.memory is None
    assert not unknown.update.any()


def test_without_classes_a_label_says_nothing(model: VISTA3D) -> None:
    plain = VISTA3D(classes="none")
    plain.network = model.network
    with model.open(scan()) as image:
        (zero_shot,) = answers(image, [asked("screw", CLICKS[0])])
    with plain.open(scan()) as image:
        (answer,) = answers(image, [asked("liver", CLICKS[0])])
    np.testing.assert_array_equal(answer.memory["logits"], zero_shot.memory["logits"])


def test_each_window_is_encoded_once(model: VISTA3D) -> None:
    with model.open(scan()) as image:
        asks = [asked("screw", *CLICKS[:2]), asked("nail", CLICKS[0]), asked("nail", *CLICKS[1::-1])]
        for _ in range(2):
            answers(image, asks)
    assert len(model.network.seen) == 2


def test_classes_of_one_group_are_looked_for_together(model: VISTA3D) -> None:
    with model.open(scan()) as image:
        shape = image.prepared.image.shape[1:]  # type: ignore[attr-defined]
        windows = np.prod([-(-(n - SIDE) // int(SIDE * 0.7)) + 1 if n > SIDE else 1 for n in shape])
        first, *others = answers(image, [replace(asked(name), turns=(Turn(Prompts()),)) for name in ("liver", "aorta")])
        answers(image, [replace(asked("bladder"), turns=(Turn(Prompts()),)), asked("liver", CLICKS[0])])
    assert len(model.network.seen) == windows + 1
    assert first.encode_seconds > 0
    assert all(other.encode_seconds == 0 for other in others)


def test_windows_around_clicks_do_not_fill_the_disk(model: VISTA3D) -> None:
    model.runtime = Runtime(memory_mb=0)
    with model.open(scan()) as image:
        answers(image, [asked("screw", CLICKS[0]), asked("screw", CLICKS[1]), asked("screw", CLICKS[0])])
        assert image.store._spilled is None  # type: ignore[attr-defined]
    assert len(model.network.seen) == 3


def test_a_lost_memory_is_rebuilt(model: VISTA3D) -> None:
    with model.open(scan()) as image:
        (first,) = answers(image, [asked("liver", CLICKS[0])])
        (second,) = answers(image, [asked("liver", *CLICKS[:2], memory=first.memory)])
        (rebuilt,) = answers(image, [asked("liver", *CLICKS[:2])])
    np.testing.assert_array_equal(rebuilt.memory["logits"], second.memory["logits"])


def test_clicks_outside_of_the_image_change_nothing(model: VISTA3D) -> None:
    values = np.full((30, 60, 60), -1000, dtype=np.float32)
    values[10:20, 40:50, 40:50] = 100
    volume = Volume.from_canonical(values, (1.5, 1.5, 1.5))
    with model.open(volume) as image:
        (before,) = answers(image, [asked("screw", (15, 45, 45, 1))])
        turns = asked("screw", (15, 45, 45, 1), (15, 2, 2, 0), memory=before.memory)
        (after,) = answers(image, [turns])
    assert before.reach == (0, 30, 30, 30, 60, 60)
    assert after.memory is before.memory
    np.testing.assert_array_equal(after.update.to_array(volume.shape), before.update.to_array(volume.shape))


@pytest.mark.parametrize("voxel", [(0, 0, 0), (39, 39, 39), (39, 0, 20)])
def test_clicks_at_the_border_count(model: VISTA3D, voxel: tuple[int, int, int]) -> None:
    """MONAI ignores a point at 0 and fails where it rounds one to the end of a window."""
    volume = Volume.from_canonical(np.random.default_rng(1).normal(100, 50, (40, 40, 40)), (1.45, 1.45, 1.45))
    with model.open(volume) as image:
        for clicks in ([(*voxel, 1)], [(*voxel, 1), (20, 20, 20, 0)], [(20, 20, 20, 0), (*voxel, 1)]):
            (answer,) = answers(image, [asked("screw", *clicks)])
            assert (answer.memory["logits"] > -9999).any()


def test_a_point_at_the_end_of_a_window_stays_in_it() -> None:
    place = [slice(0, SIDE), slice(10, 10 + SIDE), slice(5, 5 + SIDE)]
    rows = torch.tensor([[[31.7, 41.9, 36.99], [32.0, 20.0, 20.0], [31.4, 41.0, 0.0]]], dtype=torch.float64)
    moved = network3d._rounding_inside(rows, place)
    expected = [[31.499, 41.499, 36.499], [32.0, 20.0, 20.0], [31.4, 41.0, 0.001]]
    np.testing.assert_allclose(moved[0].numpy(), expected)


@pytest.mark.parametrize("spacing", [(1.5, 1.5, 1.5), (3, 0.75, 0.75), (5, 0.7031, 0.9766), (0.5, 0.6, 4)])
def test_the_way_back_is_monais(model: VISTA3D, spacing: tuple[float, float, float]) -> None:
    volume = scan((20, 47, 50), spacing)
    with model.open(volume) as image:
        prepared = image.prepared  # type: ignore[attr-defined]
        bundle = Bundle(volume, model.network)
        torch.testing.assert_close(bundle.image.as_tensor(), prepared.image, rtol=0, atol=0)
        found = torch.from_numpy(np.random.default_rng(2).normal(size=prepared.image.shape))
        mask = prepared.paste(found[0].numpy() > 0, (0, 0, 0))
        np.testing.assert_array_equal(mask.to_array(volume.shape), bundle.mask(found[None], 1))
        part = prepared.paste(found[0, 3:9, 2:20, 1:5].numpy() > 0, (3, 2, 1)).to_array(volume.shape)
    inside = np.zeros(volume.shape, dtype=bool)
    inside[tuple(slice(None) for _ in range(3))] = part
    assert not (inside & ~mask.to_array(volume.shape)).any()


def test_the_published_checkpoint_has_as_many_numbers() -> None:
    with torch.device("meta"):
        full = network3d.build_vista3d()
    count = sum(tensor.numel() for tensor in full.state_dict().values())
    assert 0 < 871_970_895 - 4 * count < 400_000  # bytes of the file: the rest is names


@pytest.mark.parametrize(
    "array",
    [np.zeros((4, 20, 20, 3), dtype=np.uint8), np.full((9, 20, 20), -1000.0)],
)
def test_what_it_cannot_see_is_said(model: VISTA3D, array: Any, wording: SnapshotAssertion) -> None:
    with pytest.raises(ValueError) as caught, model.open(Volume.from_canonical(array)):
        pass
    assert caught == wording
