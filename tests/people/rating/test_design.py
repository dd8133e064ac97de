"""A study: what is rated, by whom, and that nothing that browsers get says what a mask is."""

from __future__ import annotations

import base64
import gzip
import json
import math
import shutil
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.people.rating.design import Plan, design
from intrabench.people.rating.study import Study
from intrabench.registry import registry
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows
from tests.conftest import Said
from tests.people.rating.conftest import PHANTOM, PLAN


@pytest.fixture
def with_data(results: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INTRABENCH_DATA", str(results.parent / "data"))
    return results


def shown(study: Study, job: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((study.folder / "jobs" / f"{job}.json").read_text())
    return found


def mask_of(packed: dict[str, Any]) -> Mask:
    box = packed["box"]
    bits = np.frombuffer(zlib.decompress(base64.b64decode(packed["bits"])), np.uint8)
    return Mask.unpack(box[:3], [box[axis + 3] - box[axis] for axis in range(3)], bits)


def masks_of(study: Study) -> dict[str, dict[str, Any]]:
    """What each mask is, once."""
    return {key["mask"]: key for key in study.key.values()}


def test_all_models_are_rated_on_the_same_inputs(study: Study) -> None:
    masks = masks_of(study)
    kinds = Counter(key["kind"] for key in masks.values())
    assert kinds == {"answer": 8, "truth": 2, "damaged": 2, "training": 2}
    answers = [key for key in masks.values() if key["kind"] == "answer"]
    assert Counter(key["name"] for key in answers) == {"box_fill": 4, "random_walker": 4}
    inputs = Counter((key["case"], key["target"]) for key in answers)
    assert set(inputs.values()) == {2}
    assert len({case for case, _ in inputs}) == 3  # of as many cases as there are
    for rater in study.raters:
        order = study.masks(rater)
        assert len(order) == 12 + 2
        assert sorted(set(order)) == sorted(mask for mask, key in masks.items() if key["kind"] != "training")
        twice = [mask for mask, count in Counter(order).items() if count == 2]
        assert len(twice) == 2
        codes = [masks[mask]["code"] for mask in order]
        most = max(Counter(codes).values())
        # second looks may be at the case that has most, too
        assert sum(a == b for a, b in pairwise(codes)) <= max(0, 2 * most - len(codes) - 1) + len(twice)
    assert study.masks("r1") != study.masks("r2")


def test_masks_images_and_prompts_are_those_of_the_run(study: Study, with_data: Path) -> None:
    dataset = registry.make("datasets", PHANTOM)
    rows = read_rows(with_data)
    for job, key in study.key.items():
        page = shown(study, job)
        stored = store.open_case(dataset, key["case"])
        (target,) = stored.targets([key["target"]])
        (mask,) = map(mask_of, page["masks"])
        if key["kind"] == "answer":
            (kept,) = read_masks(with_data, key["session"])
            assert np.array_equal(mask.to_array(target.shape), kept.to_array(target.shape))
            assert key["dice"] == rows.filter(pl.col("session") == key["session"])["dice"][-1]
        elif key["kind"] == "truth":
            assert np.array_equal(mask.to_array(target.shape), target.mask.to_array(target.shape))
        else:
            common = (mask.to_array(target.shape) & target.mask.to_array(target.shape)).sum()
            assert key["dice"] == pytest.approx(2 * common / (mask.voxels + target.mask.voxels))
        alike = [id for id, other in study.key.items() if other["mask"].split("-")[0] == key["mask"].split("-")[0]]
        masks = [mask_of(shown(study, id)["masks"][0]).occupied_slices for id in alike]
        occupied = np.concatenate([*masks, target.mask.occupied_slices])
        first, last = study.see(job)
        assert {study.see(id) for id in alike} == {(first, last)}
        assert max(0, occupied.min() - 3) <= first <= max(0, occupied.min() - 1)
        assert min(12, occupied.max() + 2) <= last <= min(12, occupied.max() + 4)
        assert len(page["marks"]["boxes"]) == len(target.mask.occupied_slices)
        about = study.cases[page["case"]]
        slabs = [(study.image_file(page["case"], str(n)) or Path()).read_bytes() for n in range(1)]
        image = np.frombuffer(gzip.decompress(slabs[0]), about["dtype"]).reshape(about["shape"])
        values = image * about["slope"] + about["intercept"]
        assert np.allclose(values, stored.volume.array, atol=about["slope"])


def test_training_says_what_a_mask_is_and_what_score_is_plausible(study: Study, wording: SnapshotAssertion) -> None:
    first, second = (shown(study, job)["feedback"] for job in study.training("r1"))
    assert "is 1.00" in first["text"]
    assert first["text"] == wording
    assert (first["from"], first["to"]) == (9, 10)
    assert "is 0.90" in second["text"]
    assert second["text"].rpartition("; ")[2] == wording  # what was done to the mask is drawn
    assert (second["from"], second["to"]) == (6, 9)
    trained = {(key["case"], key["target"]) for key in study.key.values() if key["kind"] == "training"}
    assert trained.isdisjoint((key["case"], key["target"]) for key in study.key.values() if key["kind"] == "answer")


def test_nothing_that_a_browser_gets_says_what_a_mask_is(study: Study) -> None:
    served = json.dumps([study.about("r1"), *(shown(study, job) for job in study.order("r1"))])
    secrets = {"box_fill", "random_walker", "truth", "damaged", "session", "dice", "phantom", "severity"}
    cases = {key["case"] for key in study.key.values()}
    for word in secrets | cases:
        assert word not in served
    assert study.image_file("../c1", "0") is None
    assert study.image_file("c1", "../0") is None
    assert study.image_file("c1", "99") is None
    assert study.job_file("r1", "../key") is None
    assert (study.folder / "key.json").stat().st_mode & 0o77 == 0
    assert (study.folder / "raters.json").stat().st_mode & 0o77 == 0


def test_a_seed_chooses_what_is_rated_and_nothing_that_raters_must_not_know(
    study: Study, with_data: Path, tmp_path: Path
) -> None:
    again, _ = design(with_data, tmp_path / "again", PLAN)
    inputs = [{(key["case"], key["target"]) for key in one.key.values()} for one in (study, again)]
    assert inputs[0] == inputs[1]
    assert set(again.key).isdisjoint(study.key)
    assert again.tokens != study.tokens
    assert again.secret != study.secret


def test_fewer_raters_per_input(with_data: Path, tmp_path: Path) -> None:
    plan = replace(PLAN, inputs=6, raters=("a", "b", "c"), each=2, anchors=0, repeats=0)
    study, notes = design(with_data, tmp_path / "study", plan)
    assert notes == []
    assert [len(study.order(rater)) for rater in study.raters] == [8, 8, 8]
    masks = Counter(mask for rater in study.raters for mask in study.masks(rater))
    assert set(masks.values()) == {2}


def test_pairs_have_two_masks_in_an_order_by_chance(
    with_data: Path, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    study, notes = design(with_data, tmp_path / "study", replace(PLAN, inputs=9, questions=("pair",)))
    assert notes == wording
    assert len(masks_of(study)) == 6
    assert {len(shown(study, job)["masks"]) for job in study.key} == {2}
    named = Counter((key["name"], key["b"]["name"]) for key in masks_of(study).values())
    assert set(named) <= {("box_fill", "random_walker"), ("random_walker", "box_fill")}


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": 0},
        {"raters": ()},
        {"raters": ("r1", "r1")},
        {"raters": ("Dr. Who",)},
        {"each": 3},
        {"anchors": 1.5},
    ],
    ids=str,
)
def test_a_plan_that_means_nothing(change: dict[str, Any], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as error:
        replace(PLAN, **change)
    assert str(error.value) == wording


def test_what_cannot_be_designed(
    say: Callable[..., Said], tmp_path: Path, study: Study, wording: SnapshotAssertion
) -> None:
    empty = say("rate", "design", "s", "--out", str(tmp_path / "nothing"))
    assert (empty.code, "has no results yet" in empty.err) == (2, True)
    assert say("run", "--model", "box_fill", "--prompter", "box_volume", "-d", PHANTOM, "--out", "plain").code == 0
    without = say("rate", "design", "s", "--out", "plain")
    assert (without.code, without.err) == (2, wording)
    there = say("rate", "design", str(study.folder), "--out", "plain")
    assert there.code == 2
    assert not Path("s").exists()
    assert not list(Path().glob(".s*"))
    nowhere = say("rate", "serve", "plain")
    assert (nowhere.code, nowhere.err) == (2, wording)


def test_a_study_is_never_overwritten(with_data: Path, study: Study, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        design(with_data, study.folder, Plan())
    assert caught == wording


def test_the_key_keeps_infinite_distances(with_data: Path, tmp_path: Path) -> None:
    shutil.copytree(with_data, tmp_path / "results")
    for part in (tmp_path / "results" / "rows").glob("*.parquet"):
        pl.read_parquet(part).with_columns(hd95_mm=pl.lit(math.inf)).write_parquet(part)
    design(tmp_path / "results", tmp_path / "study", PLAN)
    masks = json.loads((tmp_path / "study" / "key.json").read_text(), parse_constant=pytest.fail)["masks"]
    assert {one["hd95_mm"] for one in masks.values() if one["kind"] == "answer"} == {"Infinity"}
    key = Study.open(tmp_path / "study").key
    assert {one["hd95_mm"] for one in key.values() if one["kind"] == "answer"} == {math.inf}


def test_a_study_chooses_the_window_of_ct(with_data: Path, study: Study, tmp_path: Path) -> None:
    made, _ = design(with_data, tmp_path / "other", replace(PLAN, window="lung"))
    names = [{about["presets"][about["preset"]]["name"] for about in one.cases.values()} for one in (study, made)]
    assert names == [{"soft tissue"}, {"lung"}]
