"""SegVol's zoom-out and zoom-in: against what the official code computes, and step by step by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from intrabench.mask import box_slices
from tests.models.networks.parity import close, filled, fixture, unfilled

SHAPE = (40, 270, 262)
WHOLE = (0, 0, 0, *SHAPE)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, functional, WINDOW, build_segvol, upscaled
    global Crop, Prompts, drawn, in_crop, region, segment, windows, zoom_in
    import torch
    from torch.nn import functional

    from intrabench.models.networks.segvol import WINDOW, build_segvol, upscaled
    from intrabench.models.networks.segvol_zoom import Crop, Prompts, drawn, in_crop, region, segment, windows, zoom_in


class Recorder:
    """Encoder and decoder of a network that note what they are asked."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.embeddings: dict[Any, torch.Tensor] = {}
        self.sums: list[float] = []
        self.fed: list[tuple[torch.Tensor | None, ...]] = []
        self.logits: list[torch.Tensor] = []

    def encode(self, key: Any, image: torch.Tensor) -> torch.Tensor:
        assert image.shape == (1, 1, *WINDOW)
        self.sums.append(float(image.sum()))
        if key not in self.embeddings:
            self.embeddings[key] = self.network.encode(image)
        return self.embeddings[key]

    def decode(self, embedding: torch.Tensor, *prompts: torch.Tensor | None) -> torch.Tensor:
        self.fed.append(prompts)
        low = self.network.decode(embedding, *prompts)
        self.logits.append(upscaled(low))
        return low


class Threshold:
    """Stands in for the network: the embedding is the image, the logits are its brightness less `level`."""

    def __init__(self, level: float) -> None:
        self.level = level

    def encode(self, image: torch.Tensor) -> torch.Tensor:
        return image

    def decode(self, embedding: torch.Tensor, *prompts: torch.Tensor | None) -> torch.Tensor:
        return functional.avg_pool3d(embedding, (1, 4, 4)) - self.level


@pytest.fixture(scope="module")
def network() -> Any:
    return filled(unfilled(build_segvol), "segvol")


@pytest.fixture(scope="module")
def crop() -> Crop:
    return Crop(fixture("segvol")["volume_u8"] / np.float32(255), (0, 0, 0))


@pytest.fixture(scope="module")
def embedding(network: Any, crop: Crop) -> torch.Tensor:
    """Of the frame."""
    with torch.inference_mode():
        return network.encode(crop.frame())


def asked(mode: str) -> Prompts:
    """The fixture's prompts, which are in the frame already."""
    golden = fixture("segvol")
    if mode == "box":
        return Prompts(box=torch.from_numpy(golden["box"]))
    return Prompts(torch.from_numpy(golden["p3_coords"])[None], torch.from_numpy(golden["p3_labels"])[None])


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["box", "point"])
@pytest.mark.usefixtures("inference")
def test_zoom_is_the_official_one(network: Any, crop: Crop, embedding: torch.Tensor, mode: str) -> None:
    golden = {key.removeprefix(f"{mode}_"): value for key, value in fixture("segvol_zoom").items() if mode in key}
    model, prompts = Recorder(network), asked(mode)

    frame = upscaled(network.decode(embedding, *prompts))
    close(frame[None, None, ::4, ::16, ::16], golden["zoomout_logits_s"], atol=1e-3)
    frame = frame - float(golden["bias"])
    roi = region(frame, SHAPE)
    assert roi == (*golden["roi"][:3], *np.minimum(golden["roi"][3:] + 1, SHAPE))
    assert [1, 1, *np.subtract(roi[3:], roi[:3])] == golden["crop_shape"].tolist()
    found = in_crop(frame, SHAPE, roi) > 0
    assert int(found.sum()) == pytest.approx(int(golden["global_fg"]), rel=1e-3)

    logits = zoom_in(crop, roi, frame, prompts, model.encode, model.decode, torch.Generator().manual_seed(0))
    assert len(windows(roi)) == len(model.fed) == golden["n_windows"]
    np.testing.assert_allclose(model.sums, golden["win_sum"], rtol=1e-5)
    close(torch.cat([fed[2] for fed in model.fed]), golden["win_boxes"])
    close(torch.stack(model.logits)[:, None, ::4, ::16, ::16], golden["win_logits_s"], atol=1e-3)
    if mode == "point":
        close(torch.cat([fed[0] for fed in model.fed]), golden["win_points"])
        close(torch.cat([fed[1] for fed in model.fed]), golden["win_labels"])
    else:
        assert all(fed[:2] == (None, None) for fed in model.fed)

    final = in_crop(frame, SHAPE, WHOLE)
    assert not (final > 0)[roi[3] :].any()
    final[box_slices(roi)] = logits
    close(final[::2, ::8, ::8], golden["zoomin_logits_s"], atol=1e-3)
    assert int((final > 0).sum()) == pytest.approx(int(golden["final_fg"]), rel=1e-3)
    assert int((final > 0).sum()) == int((logits > 0).sum())  # so the region's logits are the whole answer


def zoomed(network: Any, crop: Crop) -> torch.Tensor:
    """The logits of a region that is one window, after comparing what the network is fed with the official code's."""
    golden, model = fixture("segvol_zoom1"), Recorder(network)
    roi = (*golden["slices"][:, 0].tolist(), *golden["slices"][:, 1].tolist())
    prompts = Prompts(box=torch.from_numpy(golden["box"]))
    logits = zoom_in(crop, roi, torch.zeros(WINDOW), prompts, model.encode, model.decode, torch.Generator())
    assert len(model.fed) == golden["n_windows"]
    close(model.fed[0][2], golden["win_box"])
    np.testing.assert_allclose(model.sums, golden["win_sum"], rtol=1e-5)
    return logits


def test_one_window_is_fed_as_by_the_official_code(crop: Crop) -> None:
    found = (zoomed(Threshold(0.3), crop) > 0).numpy()
    z, y, x = (slice(*sides) for sides in fixture("segvol_zoom1")["slices"])
    bright = crop.image[z, y, x] > 0.3
    assert 0.4 < found.mean() < 0.5
    assert (found == bright).mean() > 0.98  # the stand-in averages 4 x 4 voxels


@pytest.mark.slow
@pytest.mark.usefixtures("inference")
def test_zoom_with_one_window_is_the_official_one(network: Any, crop: Crop) -> None:
    golden, logits = fixture("segvol_zoom1"), zoomed(network, crop)
    close(logits[None, None, ::2, ::8, ::8], golden["logits_s"], atol=1e-3)
    assert int((logits > 0).sum()) == pytest.approx(int(golden["fg"]), rel=1e-3)


def test_scene_scales_the_foreground_and_cuts_off_the_rest() -> None:
    volume = np.zeros((6, 8, 10), dtype=np.int16)
    volume[2:5, 3:7, 4:8] = np.arange(100, 148).reshape(3, 4, 4)
    crop = Crop.of(volume)
    low, high = np.percentile(np.arange(100, 148), (0.05, 99.95))
    assert crop.start == (2, 3, 4)
    assert crop.image.shape == (3, 4, 4)
    assert crop.image.dtype == np.float32
    assert crop.image[0, 0, 0] == 0  # 100 lies below the percentile 0.05
    assert crop.image[-1, -1, -1] == 1
    np.testing.assert_allclose(crop.image[1, 0, 0], (116 - low) / (high - low), rtol=1e-5)


def test_scene_does_what_the_official_steps_do() -> None:
    volume = np.random.default_rng(3).normal(-300, 400, (9, 20, 31)).astype(np.float32)
    inside = volume[volume > volume.mean()]
    scored = (np.clip(volume, *np.percentile(inside, (0.05, 99.95))) - inside.mean()) / inside.std()
    scaled = (scored - scored.min()) / (scored - scored.min()).max()
    padded = np.pad(scaled, [(12, 11), (118, 118), (112, 113)])  # to 32 x 256 x 256
    where = np.argwhere(padded > 0)
    z, y, x = (slice(first, last + 1) for first, last in zip(where.min(axis=0), where.max(axis=0), strict=True))
    crop = Crop.of(volume)
    np.testing.assert_allclose(crop.image, padded[z, y, x], atol=1e-5)
    assert crop.start == (z.start - 12, y.start - 118, x.start - 112)


def test_scene_does_not_mind_where_the_zero_of_intensity_is() -> None:
    volume = np.random.default_rng(4).integers(0, 200, (5, 12, 12)).astype(np.int16)
    above, below = Crop.of(volume), Crop.of(volume - 1000)
    np.testing.assert_allclose(above.image, below.image, atol=1e-4)
    assert above.start == below.start


@pytest.mark.parametrize("value", [0, -1000, 7])
@pytest.mark.parametrize("dtype", [np.int16, np.float32])
def test_scene_of_a_constant_volume_is_all_of_it(value: int, dtype: Any) -> None:
    crop = Crop.of(np.full((3, 5, 7), value + (0.1 if dtype == np.float32 else 0), dtype=dtype))
    assert crop.start == (0, 0, 0)
    assert crop.image.shape == (3, 5, 7)
    assert not crop.image.any()
    assert crop.frame().shape == (1, 1, *WINDOW)


def test_points_go_where_their_centres_lie_and_into_the_frame() -> None:
    crop = Crop(np.zeros((64, 128, 512), dtype=np.float32), (10, 20, 30))
    points = np.array([[10, 20, 30, 1], [13, 21, 35, 0], [73, 147, 541, 1], [0, 500, 31, 0]])
    prompts = Prompts.of(crop, points)
    # halved, doubled, halved; the doubled voxel 1 fills 2 and 3, between which its centre lies
    assert prompts.points.tolist() == [[[0, 1, 0], [1, 3, 2], [31, 255, 255], [0, 255, 0]]]
    assert prompts.labels.tolist() == [[1, 0, 1, 0]]
    assert prompts.box is None


@pytest.mark.parametrize("shape", [(40, 270, 262), (64, 128, 512), (5, 33, 700), (32, 256, 256)])
def test_boxes_are_bounds_of_the_resized_mask(shape: tuple[int, int, int]) -> None:
    crop = Crop(np.zeros(shape, dtype=np.float32), (3, 0, 1))
    rng = np.random.default_rng(5)
    for _ in range(5):
        low = [int(rng.integers(0, side - side // 3)) for side in shape]
        high = [first + side // 3 for first, side in zip(low, shape, strict=True)]
        mask = torch.zeros(1, 1, *shape)
        mask[0, 0][box_slices((*low, *high))] = 1
        places = functional.interpolate(mask, WINDOW, mode="nearest-exact")[0, 0].nonzero()
        prompts = Prompts.of(crop, box=np.add((*low, *high), (3, 0, 1) * 2).tolist())
        assert prompts.box.tolist() == [[*places.min(dim=0)[0].tolist(), *places.max(dim=0)[0].tolist()]]
        assert prompts.points is prompts.labels is None


def test_thin_and_stray_boxes_still_have_a_voxel() -> None:
    crop = Crop(np.zeros((320, 256, 256), dtype=np.float32), (0, 0, 0))
    assert Prompts.of(crop, box=(6, 10, 20, 7, 11, 22)).box.tolist() == [[0, 10, 20, 0, 10, 21]]
    assert Prompts.of(crop, box=(-50, 300, -9, -40, 310, 300)).box.tolist() == [[0, 255, 0, 0, 255, 255]]


def test_without_points_there_are_none() -> None:
    crop = Crop(np.zeros((4, 4, 4), dtype=np.float32), (0, 0, 0))
    assert Prompts.of(crop, np.zeros((0, 4), dtype=np.int64)) == (None, None, None)


@pytest.mark.parametrize("shape", [(40, 270, 262), (82, 300, 130), (20, 100, 511), (7, 256, 1)])
def test_values_of_the_frame_in_a_box_are_those_of_the_whole_resized(shape: tuple[int, int, int]) -> None:
    frame = torch.randn(WINDOW, generator=torch.Generator().manual_seed(1))
    box = (*(side // 3 for side in shape), *(side - side // 5 for side in shape))
    whole = functional.interpolate(frame[None, None], shape, mode="nearest")[0, 0]
    assert torch.equal(in_crop(frame, shape, box), whole[box_slices(box)])


def logits_with(*boxes: tuple[int, int, int, int, int, int]) -> torch.Tensor:
    frame = torch.full(WINDOW, -1.0)
    for box in boxes:
        frame[box_slices(box)] = 1.0
    return frame


def test_region_grows_to_a_window() -> None:
    frame = logits_with((10, 100, 100, 14, 120, 131))
    # one to one: 4, 20 and 31 voxels lack 28, 236 and 225: 14, 118 and (rounded down) 112 on each side, cut at edges
    assert region(frame, WINDOW) == (0, 0, 0, 28, 238, 243)
    # 4 times as large: 16 x 80 x 124 voxels from 40, 400, 400
    assert region(frame, (128, 1024, 1024)) == (32, 312, 334, 64, 568, 590)


def test_region_of_something_large_is_its_bounds() -> None:
    frame = logits_with((0, 20, 30, 2, 22, 32), (31, 200, 210, 32, 202, 212))
    assert region(frame, (64, 1024, 512)) == (0, 80, 60, 64, 808, 424)


@pytest.mark.parametrize("shape", [(40, 270, 262), (82, 300, 130), (20, 100, 511)])
def test_region_does_what_the_official_steps_do(shape: tuple[int, int, int]) -> None:
    for seed in range(2):
        z, y, x = np.random.default_rng(seed).integers(2, [28, 200, 200]).tolist()
        frame = logits_with((z, y, x, z + 3, y + 30, x + 17), (z - 1, y + 4, x - 2, z, y + 5, x))
        whole = functional.interpolate(frame[None, None], shape, mode="nearest")[0, 0] > 0
        low, high = whole.nonzero().min(dim=0)[0], whole.nonzero().max(dim=0)[0]
        half = (torch.tensor(WINDOW) - (high - low + 1)).clamp(min=0) // 2
        expected = (*(low - half).clamp(min=0).tolist(), *torch.minimum(high + half + 1, torch.tensor(shape)).tolist())
        assert region(frame, shape) == expected


def test_there_is_no_region_where_the_scene_shows_nothing() -> None:
    assert region(logits_with(), SHAPE) is None
    # a crop of half the frame's height shows the frame's even rows only
    assert region(logits_with((3, 51, 60, 5, 52, 70)), (32, 128, 256)) is None
    assert region(logits_with((3, 50, 60, 5, 51, 70)), (32, 128, 256)) is not None


def test_windows_are_those_of_monai() -> None:
    monai = pytest.importorskip("monai.data.utils")
    for sides in [(32, 256, 256), (33, 256, 257), (37, 255, 254), (48, 384, 100), (49, 400, 513), (3, 700, 4)]:
        padded = [max(side, window) for side, window in zip(sides, WINDOW, strict=True)]
        steps = [w if side == w else w // 2 for side, w in zip(padded, WINDOW, strict=True)]
        slices = monai.dense_patch_slices(padded, WINDOW, steps)
        expected = [
            (*(s.start for s in window), *(min(s.stop, side) for s, side in zip(window, sides, strict=True)))
            for window in slices
        ]
        assert windows((0, 0, 0, *sides)) == expected


def test_windows_by_hand() -> None:
    assert windows((1, 5, 10, 38, 205, 266)) == [(1, 5, 10, 33, 205, 266), (6, 5, 10, 38, 205, 266)]
    assert [box[1] for box in windows((0, 100, 0, 32, 600, 256))] == [100, 228, 344]


def test_five_points_are_drawn() -> None:
    voxels = torch.arange(60).reshape(20, 3)
    points, labels = drawn(voxels, torch.Generator().manual_seed(0))
    torch.manual_seed(0)  # the official code draws from the global generator, in this order
    expected = voxels[torch.cat([torch.randint(20, (1,)), torch.randperm(20)[:4]])]
    assert points.tolist() == [expected.tolist()]
    assert labels.tolist() == [[1] * 5]
    points, labels = drawn(voxels[:2], torch.Generator().manual_seed(0))
    assert sorted(points[0, 1:3].tolist()) == voxels[:2].tolist()
    assert points[0, 3:].tolist() == [[-1] * 3] * 2
    assert labels.tolist() == [[1, 1, 1, -1, -1]]
    points, labels = drawn(voxels[:0], torch.Generator())
    assert points.tolist() == [[[-1] * 3]]
    assert labels.tolist() == [[-1]]


def segmented(volume: np.ndarray, level: float, **prompts: Any) -> tuple[Recorder, Any]:
    model, crop = Recorder(Threshold(level)), Crop.of(volume)
    asked = Prompts.of(crop, **prompts)
    return model, segment(crop, asked, model.encode, model.decode, torch.Generator().manual_seed(0))


@pytest.mark.parametrize("shape", [(12, 100, 90), (40, 300, 260)])
@pytest.mark.parametrize("offset", [0, -2000])
def test_a_bright_block_is_found_again(shape: tuple[int, int, int], offset: int) -> None:
    volume = np.random.default_rng(6).integers(100, 120, shape)
    volume[:, :, :35] = 0  # enough air to keep the mean below the tissue; it is cut off
    volume[4:9, 30:60, 40:70] += 600
    _, mask = segmented(volume + offset, 0.5, box=(4, 30, 40, 9, 60, 70))
    found = mask.to_array(shape)
    block = np.zeros(shape, dtype=bool)
    block[4:9, 30:60, 40:70] = True
    assert 2 * (found & block).sum() / (found.sum() + block.sum()) > 0.85
    assert np.abs(np.subtract(mask.box, (4, 30, 40, 9, 60, 70))).max() <= 4  # the stand-in averages 4 x 4 voxels


def test_nothing_in_the_frame_is_an_empty_answer_without_windows() -> None:
    volume = np.random.default_rng(7).integers(0, 200, (20, 50, 60))
    model, mask = segmented(volume, 2.0, points=np.array([[5, 5, 5, 1]]))
    assert not mask.any()
    assert list(model.embeddings) == [None]


def test_a_constant_volume_can_be_asked() -> None:
    _, mask = segmented(np.full((5, 6, 7), -1000), 0.5, points=np.array([[9, 9, 9, 1]]))
    assert not mask.any()
    _, mask = segmented(np.full((5, 6, 7), -1000), -0.5, points=np.array([[9, 9, 9, 1]]))
    assert mask.box == (0, 0, 0, 5, 6, 7)


def test_windows_get_the_box_of_what_was_found_in_them_or_none() -> None:
    crop = Crop(np.zeros((40, 256, 300), dtype=np.float32), (0, 0, 0))
    frame = logits_with((0, 10, 20, 4, 30, 40), (0, 10, 250, 4, 30, 256))
    model = Recorder(Threshold(0.5))
    roi = (0, 0, 0, 40, 40, 300)
    prompts = Prompts.of(crop, np.array([[2, 20, 30, 1], [2, 25, 290, 1], [2, 5, 5, 0]]))
    zoom_in(crop, roi, frame, prompts, model.encode, model.decode, torch.Generator())
    assert list(model.embeddings) == windows(roi)
    assert [box[:3] for box in model.embeddings] == [(0, 0, 0), (0, 0, 44), (8, 0, 0), (8, 0, 44)]
    boxes = [fed[2].tolist()[0] for fed in model.fed]
    # y lies in the middle of the window, 108 voxels of zeros before it; columns 20 to 39 of the frame are 24 to 46
    assert boxes[0] == [0, 118, 24, 4, 137, 46]
    assert boxes[1] == [0, 118, 0, 4, 137, 255]
    assert boxes[2:] == [[-1] * 6] * 2
    # points lack these 108 voxels and have moved by one on their way through the frame; background points are left out
    assert {tuple(row) for row in model.fed[0][0][0].tolist()} == {(3, 20, 31), (-1, -1, -1)}
    assert {tuple(row) for row in model.fed[1][0][0].tolist()} == {(3, 25, 246), (-1, -1, -1)}
    assert [fed[1].tolist() for fed in model.fed[2:]] == [[[-1]]] * 2


def test_embeddings_can_be_kept_by_key() -> None:
    volume = np.random.default_rng(8).integers(0, 200, (36, 60, 70))
    model = Recorder(Threshold(0.5))
    crop = Crop.of(volume)
    prompts = Prompts.of(crop, box=(5, 5, 5, 40, 40, 40))
    first = segment(crop, prompts, model.encode, model.decode, torch.Generator())
    keys = list(model.embeddings)
    second = segment(crop, prompts, model.encode, model.decode, torch.Generator())
    assert list(model.embeddings) == keys
    assert keys[0] is None
    assert len(keys) > 2
    assert first.box == second.box
    assert np.array_equal(first.array, second.array)
