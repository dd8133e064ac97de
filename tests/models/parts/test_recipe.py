"""Recipes: which steps each policy of a 2D model has, how single steps are replaced, and what they do."""

from __future__ import annotations

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.parts import resize
from intrabench.models.parts.recipe import Recipe
from intrabench.registry.registry import make
from intrabench.specs.specs import short_spec_of, spec_of
from tests.models.stub import SIDE, item, stub

RECIPES = {
    "sam": Recipe("volume", "longest", "first_click", "logits"),
    "sam:policy=radioactive": Recipe("volume", "longest", "best", "sigmoid", 0.5, True, "rounded"),
    "medsam": Recipe("modality", "squash_cubic", "single", "none"),
    "medsam:policy=radioactive": Recipe("slice_positive", "squash_bicubic", "single", "none", 0.0, True, "kept"),
    "litemedsam": Recipe("modality", "longest_area", "single", "none"),
    "sammed2d": Recipe("volume", "squash_nearest", "best", "sigmoid"),
    "sammed2d:policy=radioactive": Recipe("slice", "squash_nearest", "best", "sigmoid", 0.0, True, "rounded"),
    "scribbleprompt_sam": Recipe("none", "squash", "best", "logits", fractions="kept"),
    "scribbleprompt_unet": Recipe("none", "squash", "single", "logits"),
    "scribbleprompt_unet:policy=radioactive": Recipe("none", "squash", "single", "sigmoid", 0.0, True),
    "sam2": Recipe("volume", "squash_smooth", "first_click", "logits"),
    "sam2:policy=radioactive": Recipe("volume", "squash_smooth", "single", "logits", 0.0, True, "rounded"),
}


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


@pytest.mark.parametrize("spec", RECIPES)
def test_policies(spec: str) -> None:
    model = make("models", spec)
    assert model.recipe == RECIPES[spec]
    assert model.predicts_all == spec.endswith("radioactive")
    assert model.feeds_back == (RECIPES[spec].feedback != "none")


def test_single_steps_are_replaced() -> None:
    model = make("models", "sam:threshold=0.5,feedback=none")
    assert model.recipe == Recipe("volume", "longest", "first_click", "none", 0.5)
    assert not model.feeds_back
    spec = "sammed2d:policy=radioactive,intensity=ct_soft,resize=squash,multimask=single,threshold=0"
    assert make("models", spec).recipe == Recipe("ct_soft", "squash", "single", "sigmoid", 0.0, True, "rounded")


def test_a_threshold_of_zero_is_a_step_too() -> None:
    assert make("models", "sam:policy=radioactive,threshold=0").recipe.threshold == 0


@pytest.mark.parametrize(
    "spec",
    [
        "litemedsam:policy=radioactive",
        "scribbleprompt_sam:policy=radioactive",
        "sam:policy=best",
        "sam:resize=crop",
        "sam:multimask=all",
        "sam:threshhold=1",
    ],
)
def test_what_does_not_exist_is_refused_in_a_sentence(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        make("models", spec)
    assert caught == wording


def test_specs_leave_steps_of_the_policy_out() -> None:
    assert spec_of(make("models", "sam")) == "sam:policy=official,size=b"
    assert spec_of(make("models", "medsam")) == "medsam:policy=official"
    spec = "sam:policy=official,feedback=none,threshold=0.5,size=b"
    assert spec_of(make("models", "sam:threshold=0.5,feedback=none")) == spec
    assert short_spec_of(make("models", spec)) == "sam:feedback=none,threshold=0.5"


POINT = (5, 5, 1)
BOX = (2, 2, 9, 9)
PREVIOUS = np.zeros((8, 8), dtype=np.float32)


@pytest.mark.parametrize(
    ("asked", "several"),
    [
        (item([POINT]), True),
        (item([(5, 5, 0)]), True),
        (item([POINT], previous=PREVIOUS), False),  # the mask says which of three is meant
        (item([POINT, POINT]), False),
        (item([POINT], BOX), False),
        (item([], BOX), False),
    ],
)
def test_first_click_wants_three_masks_of_one_point_without_box_and_mask(asked: object, several: bool) -> None:
    model = stub()
    model.decode([asked])  # type: ignore[list-item]
    assert model.asked[0]["multimask"] == several
    for multimask in ("best", "single"):
        model = stub(multimask=multimask)
        model.decode([asked])  # type: ignore[list-item]
        assert model.asked[0]["multimask"] == (multimask == "best")


def test_of_several_masks_the_one_with_the_highest_estimate_counts() -> None:
    results = stub(multimask="best").decode([item([(5, 5, 0)]), item([POINT])])
    assert [np.unique(result.logits).tolist() for result in results] == [[20], [21]]


def test_the_answer_comes_back_as_logits_as_sigmoid_or_not_at_all() -> None:
    fed = {way: stub(feedback=way).decode([item([], BOX)])[0].logits for way in ("logits", "sigmoid", "none")}
    assert fed["none"] is None
    assert (fed["logits"] == 7).all()  # the width of the box
    np.testing.assert_allclose(fed["sigmoid"], 1 / (1 + np.exp(-7)), rtol=1e-6)


def test_the_mask_prompt_is_the_previous_answer() -> None:
    model = stub()
    (result,) = model.decode([item([(5, 5, 0)], previous=np.full((8, 8), -3, dtype=np.float32), shape=(SIDE, SIDE))])
    assert torch.equal(model.asked[0]["masks"], torch.full((1, 1, 8, 8), -3.0))
    assert (result.logits == -3).all()


@pytest.mark.parametrize(("threshold", "found"), [(None, True), (6.5, True), (7, False)])
def test_the_threshold_is_on_logits(threshold: float | None, found: bool) -> None:
    (result,) = stub(threshold=threshold).decode([item([], BOX)])
    assert (result.mask == found).all()


RESIZES = ("longest", "longest_area", "squash", "squash_smooth", "squash_cubic", "squash_bicubic", "squash_nearest")


def resizes() -> list[object]:
    """All models of the SAM family with all resize policies."""
    return [
        pytest.param(name, policy)
        for name in ("sam", "medsam", "litemedsam", "sammed2d", "scribbleprompt_sam", "sam2")
        for policy in RESIZES
    ]


@pytest.mark.parametrize(("name", "policy"), resizes())
def test_prompts_and_masks_follow_the_resizing(name: str, policy: resize.Policy) -> None:
    model = make("models", f"{name}:resize={policy}")
    box = np.array([(10, 30), (30, 80)])
    image = np.zeros((40, 100), dtype=np.uint8)
    image[10:30, 30:80] = 255
    frame = resize.frame(policy, (40, 100), model.side)
    prepared = model.prepare(image)[0]
    bright = prepared > (prepared[0, 0] + prepared.max()) / 2
    np.testing.assert_allclose(model.coordinates(box, frame)[:, ::-1], extent(bright), atol=model.side / 40)
    low = torch.from_numpy(bright[:: model.side // 256, :: model.side // 256]).float()[None] * 10 - 5
    np.testing.assert_allclose(extent((model.full(low, frame) > model.cutoff)[0].numpy()), box, atol=1)


def extent(mask: np.ndarray) -> list[tuple[int, int]]:
    """The corners of the box around a mask, the second one outside."""
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    return [(rows[0], columns[0]), (rows[-1] + 1, columns[-1] + 1)]
