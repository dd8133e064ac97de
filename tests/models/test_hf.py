"""Networks of transformers on slices: against the library's own processor, model and post-processing."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.hf import HF
from intrabench.prompts import Prompts, points
from intrabench.volume import Volume
from tests.models.hub_folder import KINDS, SIDES, config, described, saved
from tests.models.stub import answers, item, request
from tests.wording import without_reasons

PICTURE = np.random.default_rng(1).integers(0, 256, (1, 37, 50, 3)).astype(np.uint8)
CLICKS = np.array([[9, 40, 1], [30, 3, 0]])
BOX = (4, 10, 33, 45)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch, transformers
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torchvision")
    pytest.importorskip("timm")
    import torch


COVERED = {"sam2", "edgetam", "sam3_tracker"}
"""Families whose networks are those of their video networks."""


@pytest.fixture(
    scope="module", params=[pytest.param(kind, marks=pytest.mark.slow) if kind in COVERED else kind for kind in KINDS]
)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with weights, whose processor has means of its own."""
    path = saved(tmp_path_factory.mktemp("hub") / request.param, request.param)
    processor_of(path).image_processor.save_pretrained(path)
    return path


def opened(folder: Path) -> HF:
    model = HF(repo=str(folder))
    model.runtime = Runtime(random=not any(folder.glob("*.safetensors")))
    return model


def processor_of(folder: Path) -> Any:
    """The library's processor of prompts and pictures."""
    kind, side = folder.name, SIDES[folder.name]
    square = {"height": side, "width": side}
    means = {"image_mean": [0.3, 0.4, 0.5], "image_std": [0.2, 0.3, 0.4]}
    if kind in ("sam", "sam_hq"):
        images = transformers.SamImageProcessor(size={"longest_edge": side}, pad_size=square, **means)
        return (transformers.SamHQProcessor if kind == "sam_hq" else transformers.SamProcessor)(images)
    third = kind.startswith("sam3")
    images = (transformers.Sam3ImageProcessor if third else transformers.Sam2ImageProcessor)(size=square, **means)
    return (transformers.Sam3TrackerProcessor if third else transformers.Sam2Processor)(images)


def by_the_library(
    folder: Path, clicks: Any, box: Any, mask: Any, several: bool, middle: bool = False
) -> tuple[Any, Any, float]:
    """What its own pipeline gives: low-resolution logits, mask, and the threshold of the mask.

    Of several masks it is the one with the largest score. middle: the threshold divides the logits in halves, because
    those of untrained networks may all have one sign.
    """
    processor = processor_of(folder)
    given = {} if box is None else {"input_boxes": [[[box[1], box[0], box[3], box[2]]]]}
    if len(clicks):
        given |= {"input_points": [[clicks[:, 1::-1].tolist()]], "input_labels": [[clicks[:, 2].tolist()]]}
    inputs = processor(images=PICTURE[0], return_tensors="pt", **given)
    sizes = [inputs.pop(name) for name in ("original_sizes", "reshaped_input_sizes") if name in inputs]
    inputs = {key: value.float() if value.is_floating_point() else value for key, value in inputs.items()}
    masks = None if mask is None else torch.from_numpy(mask)[None, None]
    with torch.inference_mode():
        answer = network_of(folder)(**inputs, input_masks=masks, multimask_output=several)
    best = answer.iou_scores[0, 0].argmax()
    low = answer.pred_masks[:, :, best][:, :, None]
    threshold = float(low.median()) if middle else 0.0
    (full,) = processor.post_process_masks(low, *sizes, mask_threshold=threshold)
    return low[0, 0, 0].numpy(), full[0, 0].numpy(), threshold


@cache
def network_of(folder: Path) -> Any:
    """The library's network for images."""
    auto = transformers.AutoModelForMaskGeneration
    return (transformers.Sam3TrackerModel if "tracker_video" in folder.name else auto).from_pretrained(folder).eval()


@pytest.mark.parametrize(
    ("clicks", "box", "previous"),
    [(CLICKS[:1], None, False), (CLICKS, None, True), (CLICKS[:0], BOX, False), (CLICKS, BOX, True)],
    ids=["click", "clicks+mask", "box", "all"],
)
def test_answers_are_those_of_the_library(folder: Path, clicks: Any, box: Any, previous: bool) -> None:
    model = opened(folder)
    (embedding,) = model.encode([model.slice_images(Volume.from_canonical(PICTURE))(0)])
    mask = by_the_library(folder, CLICKS[:1], None, None, True)[0] if previous else None
    several = len(clicks) == 1 and box is None and mask is None
    low, expected, model.threshold = by_the_library(folder, clicks, box, mask, several, middle=True)
    asked = item(clicks, box, mask, embedding=embedding, shape=PICTURE.shape[1:3])
    (result,) = model.decode([asked])
    np.testing.assert_allclose(result.logits, low, atol=1e-5)
    assert (result.mask != expected).sum() <= 2  # which pixels are undecided depends on the processor
    assert 0.2 < expected.mean() < 0.8


def test_sessions_of_rounds(folder: Path) -> None:
    """The mask prompt is kept in half precision between rounds; all prompts of a slice count."""
    model = opened(folder)
    turns = points([(0, 9, 40)]), points([(0, 30, 3)], label=0), Prompts(boxes2d=[(0, *BOX)])
    with model.open(Volume.from_canonical(PICTURE)) as image:
        memory, mask = None, None
        for number in range(3):
            (answer,) = answers(image, [request("a", *turns[: number + 1], memory=memory)])
            box = BOX if number == 2 else None
            mask, expected, _ = by_the_library(folder, CLICKS[: number + 1], box, mask, number == 0)
            mask = mask.astype(np.float16).astype(np.float32)
            assert np.array_equal(answer.update.to_array(PICTURE.shape[:3])[0], expected)
            memory = answer.memory
        assert image.store.encoded == 1  # type: ignore[attr-defined]


def test_slices_of_many_requests_are_encoded_once(folder: Path) -> None:
    scan = np.random.default_rng(0).integers(-1000, 1000, (3, 20, 30)).astype(np.int16)
    asked = [request(str(n), points([(z, 5, 5) for z in (0, 1, 2)])) for n in range(3)]
    with opened(folder).open(Volume.from_canonical(scan)) as image:
        alone = answers(image, asked[:1])[0]
        together = answers(image, asked)
        assert image.store.encoded == 3  # type: ignore[attr-defined]
    assert all(np.array_equal(one.update.array, alone.update.array) for one in together)


def test_scans_become_8_bits_by_percentiles(folder: Path) -> None:
    scan = np.random.default_rng(0).integers(-1000, 1000, (2, 20, 30)).astype(np.int16)
    image = opened(folder).slice_images(Volume.from_canonical(scan))(1)
    low, high = np.percentile(scan, (0.5, 99.5))
    assert image.dtype == np.uint8
    assert np.abs(image - np.floor((scan[1].clip(low, high) - low) / (high - low) * 255)).max() <= 1


def test_a_folder_with_only_its_description_runs_untrained(
    folder: Path, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    model = opened(described(tmp_path / folder.name, folder.name))
    assert model.side == SIDES[folder.name]
    own = {key: tensor.numpy() for key, tensor in model.network.state_dict().items()}
    for key, tensor in opened(folder).network.state_dict().items():
        assert np.array_equal(own[key], tensor.numpy())
    with pytest.raises(IntraBenchError) as caught:
        HF(repo=str(tmp_path / folder.name)).load()
    assert caught == wording


def test_the_version_is_that_of_the_description(tmp_path: Path) -> None:
    first = HF(repo=str(described(tmp_path / "a", "sam2"))).version
    assert first == HF(repo=str(described(tmp_path / "b", "sam2"))).version
    assert first != HF(repo=str(described(tmp_path / "b", "sam2", initializer_range=0.5))).version
    assert HF().version == "1"


@pytest.mark.parametrize(
    "repo",
    [
        "",
        "{here}/nowhere",
        "{here}",
        "{here}/bert",
        "{here}/text",
    ],
)
def test_what_is_no_repository_is_refused(repo: str, tmp_path: Path, wording: SnapshotAssertion) -> None:
    described(tmp_path / "bert", "sam", model_type="bert")
    described(tmp_path / "text", "sam").joinpath("config.json").write_text("{")
    with pytest.raises(IntraBenchError) as caught:
        HF(repo=repo.format(here=tmp_path)).check_runnable()
    assert caught == wording


def test_a_folder_has_no_revisions(tmp_path: Path, wording: SnapshotAssertion) -> None:
    folder = described(tmp_path / "sam", "sam")
    with pytest.raises(IntraBenchError) as caught:
        HF(repo=str(folder), revision="v1").check_runnable()
    assert caught == wording


def test_other_weights_and_damaged_ones_are_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    folder = saved(tmp_path / "sam2", "sam2")
    described(folder, "sam2", no_such_thing=1)
    opened(folder).load()
    content = (folder / "model.safetensors").read_bytes()
    described(folder, "sam")
    with pytest.raises(IntraBenchError) as caught:
        opened(folder).load()
    assert without_reasons(str(caught.value)) == wording
    described(folder, "sam2", mask_decoder_config=config("sam2")["mask_decoder_config"] | {"num_hidden_layers": 3})
    with pytest.raises(IntraBenchError) as caught:
        opened(folder).load()
    assert without_reasons(str(caught.value)) == wording
    described(folder, "sam2", mask_decoder_config=config("sam2")["mask_decoder_config"] | {"num_hidden_layers": 1})
    with pytest.raises(IntraBenchError) as caught:
        opened(folder).load()
    assert without_reasons(str(caught.value)) == wording
    described(folder, "sam2", mask_decoder_config=config("sam2")["mask_decoder_config"] | {"mlp_dim": 16})
    with pytest.raises(IntraBenchError) as caught:
        opened(folder).load()
    assert without_reasons(str(caught.value)) == wording
    described(folder, "sam2")
    (folder / "model.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(IntraBenchError) as caught:
        opened(folder).load()
    assert without_reasons(str(caught.value)) == wording


def test_only_squares(tmp_path: Path, wording: SnapshotAssertion) -> None:
    folder = described(tmp_path / "sam2", "sam2")
    transformers.Sam2ImageProcessor(size={"height": 64, "width": 32}).save_pretrained(folder)
    with pytest.raises(IntraBenchError) as caught:
        _ = opened(folder).side
    assert without_reasons(str(caught.value)) == wording


def test_unpickling_is_never_tried(tmp_path: Path) -> None:
    folder = described(tmp_path / "sam", "sam")
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x02.")
    with pytest.raises(IntraBenchError, match="only safetensors are read"):
        HF(repo=str(folder)).load()
