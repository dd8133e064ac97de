"""Examples for raters: made of the study's own data at the distances that they tell, and shown on the page."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from intrabench.datasets.base import Files
from intrabench.mask import Mask
from intrabench.people.rating import guideline
from intrabench.people.rating.bundle import write_bundle
from intrabench.people.rating.design import design
from intrabench.people.rating.gallery import Slice, gallery
from intrabench.people.rating.study import ANCHORS, Study
from intrabench.registry import registry
from tests.people.browsing import serious
from tests.people.rating.conftest import PLAN, rating
from tests.people.rating.test_page import Browsers, Rater


@pytest.fixture(scope="module")
def slices() -> list[Slice]:
    dataset = registry.make("datasets", "phantom:shape=6x48x48,instances=2,spacing=3x2x1")
    volume, targets = dataset.load(dataset.cases()[0], Files(None, None))  # type: ignore[arg-type]
    return [Slice.of(target, volume) for target in targets]


def test_each_score_has_an_example_at_its_distance(slices: list[Slice]) -> None:
    found = gallery(slices, np.random.default_rng(1))
    assert [one["score"] for one in found["scores"]] == list(range(1, 11))
    for one in found["scores"]:
        assert one["dice"] == pytest.approx(guideline.EXAMPLES[one["score"]], abs=0.02)
        assert one["text"] == guideline.text_of(one["score"])


def test_each_kind_of_error_has_a_picture_that_shows_it(slices: list[Slice]) -> None:
    found = gallery(slices, np.random.default_rng(1))
    assert [one["id"] for one in found["errors"]] == [one["id"] for one in guideline.ERRORS]
    dice = {one["id"]: one["dice"] for one in found["errors"]}
    assert dice["prompt"] == 0
    assert all(0.5 < dice[id] < 1 for id in dice if id != "prompt")
    (none,) = found["no_errors"]
    assert 0.7 < none["dice"] < 1
    for one in [*found["scores"], *found["errors"], none]:
        picture = Image.open(io.BytesIO(base64.b64decode(one["picture"].partition(",")[2])))
        assert max(picture.size) == 220


def test_a_slice_is_where_the_target_is_largest_and_keeps_its_proportions(slices: list[Slice]) -> None:
    dataset = registry.make("datasets", "phantom:shape=6x48x48,instances=2,spacing=3x2x1")
    _, targets = dataset.load(dataset.cases()[0], Files(None, None))  # type: ignore[arg-type]
    for one, target in zip(slices, targets, strict=True):
        assert np.count_nonzero(one.area) == target.mask.array.sum(axis=(1, 2)).max()
        assert one.aspect == 2


def test_no_examples_are_made_of_what_cannot_show_every_error(slices: list[Slice]) -> None:
    (shape,) = {one.area.shape for one in slices}
    full, small = np.ones((1, *shape), bool), np.zeros((1, *shape), bool)
    small[0, :5, :5] = True
    for area in (full, small):
        unfit = [replace(one, target=replace(one.target, mask=Mask.of(area, (0, 0, 0)))) for one in slices]
        assert gallery(unfit, np.random.default_rng(0)) == {}
    assert gallery([], np.random.default_rng(0)) == {}


def test_no_example_shows_a_reference_that_is_hidden_among_the_masks(study: Study) -> None:
    """Examples are of the targets of the training, which no anchor is of."""
    key = study.key.values()
    trained = {(one["case"], one["target"]) for one in key if one["kind"] == "training"}
    hidden = {(one["case"], one["target"]) for one in key if one["kind"] in ANCHORS}
    assert trained
    assert not trained & hidden
    assert study.about("r1")["gallery"] is True
    assert set(study.gallery()) == {"scores", "errors", "no_errors"}


def test_without_training_there_are_none(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(results.parent / "data"))
    made, _ = design(results, tmp_path / "plain", replace(PLAN, training=0))
    assert made.about("r1")["gallery"] is False
    assert made.gallery() == {}


def test_raters_look_at_examples(browsers: Browsers, study: Study, axe: Any, tmp_path: Path) -> None:
    write_bundle(study, "r2", tmp_path / "bundle")
    with rating(study.folder) as server:
        online = Rater(browsers[0], server.links["r1"], "light")
        offline = Rater(browsers[1], (tmp_path / "bundle" / "index.html").as_uri(), "dark", (820, 1180))
        for one in (online, offline):
            one.press("Enter")
            one.until("window.rating.state().job && !document.querySelector('dialog[open]')")
            one.press("b")
            one.until("document.querySelectorAll('#showing[open] img').length === 19")
            one.until("[...document.querySelectorAll('#showing img')].every((image) => image.naturalWidth > 50)")
            assert serious(axe, one.page) == []
            one.press("Escape", "b")
            one.until("document.querySelector('#showing[open]')")
            assert one.page.evaluate("document.querySelectorAll('#showing img').length") == 19
            assert one.leaves() == []
    assert json.dumps(study.gallery()).count("data:image/png") == 19
