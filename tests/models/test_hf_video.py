"""Video networks of transformers through volumes: against the library's own session, and against `sam2_video`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.hf_video import HFVideo
from intrabench.prompts import Prompts, boxes, points
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.models.hub_folder import SIDES, VIDEOS, described
from tests.models.hub_keys import of_sam2
from tests.models.stub import answers, request

SHAPE = (8, 40, 50)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, transformers
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torchvision")
    pytest.importorskip("timm")
    import torch


def movie(shape: tuple[int, int, int] = SHAPE) -> np.ndarray:
    """A bright disc that moves, over noise; all grey values are there, so that percentiles change nothing."""
    y, x = np.mgrid[: shape[1], : shape[2]]
    noise = 60 * np.random.default_rng(0).random(shape)
    discs = [(y - 20) ** 2 + (x - 15 - 2 * z) ** 2 < 80 for z in range(shape[0])]
    return (noise + 150 * np.stack(discs)).astype(np.uint8)


FRAMES = movie()
COLOURS = np.repeat(FRAMES[..., None], 3, axis=3)
ROUNDS = [
    [points([(3, 20, 21)]), points([(3, 5, 5)], label=0), points([(6, 20, 27)])],
    [
        boxes({4: (10, 14, 30, 33), 7: (9, 20, 31, 40)}),
        points([(7, 20, 29), (1, 18, 16)]),
        points([(4, 2, 2)], label=0),
    ],
    [Prompts(points=[(0, 20, 15, 1), (0, 2, 2, 0)]), points([(2, 20, 19)]), points([(0, 20, 16), (5, 20, 25)])],
]


def opened(folder: Path, **parameters: Any) -> HFVideo:
    """The untrained model."""
    model = HFVideo(repo=str(folder), **parameters)
    model.runtime = Runtime(random=True)
    return model


@pytest.fixture(scope="module", params=VIDEOS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that is only described."""
    return described(tmp_path_factory.mktemp("hub") / request.param, request.param)


@cache
def network(folder: Path) -> Any:
    """Its network, which sees the object on all slices."""
    made = opened(folder).network
    made.mask_decoder.pred_obj_score_head.proj_out.bias.data.fill_(5)
    return made


class Library:
    """The library's own session on pictures."""

    def __init__(self, folder: Path) -> None:
        self.network, square = network(folder), {"height": SIDES[folder.name], "width": SIDES[folder.name]}
        third = folder.name.startswith("sam3")
        images = (transformers.Sam3ImageProcessor if third else transformers.Sam2ImageProcessor)(size=square)
        made = transformers.Sam3TrackerVideoProcessor if third else transformers.Sam2VideoProcessor
        means = {"image_mean": images.image_mean, "image_std": images.image_std}
        self.processor = made(images, transformers.Sam2VideoVideoProcessor(size=square, **means))
        self.session = self.processor.init_video_session(video=list(COLOURS))
        self.points: dict[int, list[np.ndarray]] = {}
        self.boxes: dict[int, np.ndarray] = {}

    def round(self, prompts: Prompts) -> np.ndarray:
        """Logits of all slices in low resolution."""
        with torch.inference_mode():
            return self._round(prompts)

    def _round(self, prompts: Prompts) -> np.ndarray:
        for z in prompts.slices():
            self.points.setdefault(z, []).extend(prompts.points[prompts.points[:, 0] == z, 1:])
            for box in prompts.boxes2d[prompts.boxes2d[:, 0] == z, 1:]:
                self.boxes[z] = box
            clicks, given = np.array(self.points[z]), {}
            if z in self.boxes:
                given["input_boxes"] = [[self.boxes[z][[1, 0, 3, 2]].tolist()]]
            if len(clicks):
                given["input_points"] = [[clicks[:, 1::-1].tolist()]]
                given["input_labels"] = [[clicks[:, 2].tolist()]]
            self.processor.add_inputs_to_inference_session(self.session, z, 1, **given)
            self.network(self.session, frame_idx=z)
        found = {}
        for reverse in (False, True):
            for answer in self.network.propagate_in_video_iterator(self.session, reverse=reverse):
                found[answer.frame_idx] = answer.pred_masks[0, 0].float().numpy()
        return np.stack([found[z] for z in range(len(FRAMES))])

    def full(self, logits: np.ndarray) -> np.ndarray:
        """Those of the pictures' size."""
        low = [torch.from_numpy(one)[None, None] for one in logits]
        full = self.processor.post_process_masks(low, [FRAMES.shape[1:]] * len(low), binarize=False)
        return np.stack([one[0, 0].numpy() for one in full])


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param(ROUNDS[0], marks=pytest.mark.slow, id="clicks"),
        pytest.param(ROUNDS[1], id="boxes"),
        pytest.param(ROUNDS[2], marks=pytest.mark.slow, id="from the first slice"),
    ],
)
def test_three_rounds_are_those_of_the_librarys_session(folder: Path, turns: list[Prompts]) -> None:
    library, memory = Library(folder), None
    for number in range(len(turns)):
        expected = library.round(turns[number])
        middle = float(np.median(expected))
        model = opened(folder, corrections="library", threshold=middle)
        model.network = network(folder)
        with model.open(Volume.from_canonical(COLOURS)) as image:
            (answer,) = answers(image, [request("a", *turns[: number + 1], memory=memory)])
        memory = answer.memory
        found = np.stack([memory[z].logits[0].numpy() for z in range(len(FRAMES))])
        # memories are kept in bfloat16, where a last bit of an image's features can turn the last of 8
        np.testing.assert_allclose(found, expected, atol=1e-4 if number == 0 else 5e-4)
        full = library.full(expected)
        sure = np.abs(full - middle) > 5e-4  # the threshold is in the middle of all logits
        assert np.array_equal(answer.update.to_array(SHAPE)[sure], full[sure] > middle)
        assert sure.mean() > 0.99
        assert expected.std() > 0.01


@pytest.mark.parametrize(("corrections", "counts"), [("conditioning", True), ("library", False)])
def test_what_a_correction_says_is_lost_in_the_librarys_session(folder: Path, corrections: str, counts: bool) -> None:
    model = opened(folder, corrections=corrections)
    model.network = network(folder)
    first, inside, outside = points([(3, 20, 21)]), points([(6, 20, 27)]), points([(6, 5, 5)], label=0)
    with model.open(Volume.from_canonical(COLOURS)) as image:
        one, other = (answers(image, [request("a", first, second)])[0].memory for second in (inside, outside))
    for z in (4, 5, 6, 7):
        assert ((one[z].logits - other[z].logits).abs().max() > 1e-4) == counts


def test_slices_are_encoded_once_for_all_sessions(folder: Path) -> None:
    asked = [request(str(n), points([(n, 20, 20)])) for n in range(3)]
    model = opened(folder)
    model.network = network(folder)
    with model.open(Volume.from_canonical(FRAMES)) as image:
        together = answers(image, asked)
        alone = answers(image, asked[:1])[0]
        assert image.store.encoded == len(FRAMES)  # type: ignore[attr-defined]
    assert np.array_equal(together[0].update.array, alone.update.array)


def test_families_without_a_video_network_are_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        opened(described(tmp_path / "sam", "sam")).check_runnable()
    assert caught == wording


def small_sam2(folder: Path, side: int) -> tuple[Any, HFVideo]:
    """SAM 2.1 T for small images as `sam2_video` and as `hf_video`, with the same weights."""
    from intrabench.models.networks.sam2 import build_sam2
    from intrabench.models.sam2_video import SAM2Video

    own = SAM2Video(fill_holes=0)
    own.side = side  # type: ignore[misc]
    from intrabench.models.parts.random_weights import fill_randomly

    own.network = build_sam2("t", "2.1", side)
    fill_randomly(own.network)
    grid = side // 16
    levels = [[4 * grid] * 2, [2 * grid] * 2, [grid] * 2]
    config = transformers.Sam2VideoConfig(
        vision_config={"model_type": "sam2_vision_model", "backbone_feature_sizes": levels},
        prompt_encoder_config={"image_size": side},
        image_size=side,
        memory_attention_rope_feat_sizes=[grid, grid],
    )
    config.save_pretrained(folder)
    theirs = opened(folder)
    theirs.network.load_state_dict(of_sam2(own.network.state_dict()))
    own.frame = theirs.frame  # type: ignore[method-assign]
    return own, theirs


def test_rounds_are_those_of_sam2_video(tmp_path: Path) -> None:
    pytest.importorskip("sam2")
    models = small_sam2(tmp_path, 64)
    turns = [
        Turn(Prompts(points=[(3, 20, 21, 1), (5, 20, 25, 1)])),
        Turn(boxes({1: (8, 8, 30, 30)})),
        Turn(points([(1, 3, 3), (7, 30, 8)], label=0)),
    ]
    found = []
    for model in models:
        with model.open(Volume.from_canonical(COLOURS)) as image:
            memory, rounds = None, []
            for number in range(3):
                (answer,) = answers(image, [request("a", *turns[: number + 1], memory=memory)])
                memory = answer.memory
                logits = np.stack([memory[z].logits[0].numpy() for z in range(len(FRAMES))])
                rounds.append((logits, answer.update.to_array(SHAPE)))
        found.append(rounds)
    for (own, mask), (theirs, same) in zip(*found, strict=True):
        np.testing.assert_allclose(theirs, own, atol=2e-3)
        assert (mask != same).sum() <= 5
        assert mask.any()
