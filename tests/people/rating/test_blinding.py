"""Attacks of raters on the blinding: what they hold must not tell what a mask is, and nobody answers for another."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.people.rating.answers import Answers
from intrabench.people.rating.bundle import write_bundle
from intrabench.people.rating.design import Plan, design
from intrabench.people.rating.secret import Secret
from intrabench.people.rating.study import Study
from intrabench.randomness import stream
from tests.conftest import Said
from tests.people.rating.conftest import answer, kept, rating


def _held(study: Study, rater: str) -> dict[str, dict[str, Any]]:
    """The jobs that a rater can load, by id."""
    return {job: study.job(job) for job in (*study.training(rater), *study.order(rater))}


def _input(job: dict[str, Any]) -> str:
    """What a rater can tell alike: the scan and the prompts."""
    return json.dumps([job["case"], job["label"], job["marks"], "feedback" in job])


def test_no_seed_gives_the_ids(study: Study) -> None:
    """Once they were drawn from the plan's seed, in the order of inputs and models, truths, damaged and training."""
    ids = [int(job[1:11], 16) for rater in study.raters for job in _held(study, rater)]
    masks = len({key["mask"] for key in study.key.values()})
    assert len({*ids}) == len(ids)
    for seed in range(10_001):
        drawn = stream("rating ids", seed).choice(2**40, size=masks, replace=False)
        assert set(drawn.tolist()).isdisjoint(ids), seed


def test_raters_and_looks_have_ids_of_their_own(study: Study) -> None:
    one, other = (_held(study, rater) for rater in study.raters)
    assert not {*one} & {*other}
    assert {study.key[job]["mask"] for job in one} == {study.key[job]["mask"] for job in other}
    for rater in study.raters:
        assert len({*study.order(rater)}) == len(study.order(rater))  # also of masks that come twice
        twice = [mask for mask, count in Counter(study.masks(rater)).items() if count == 2]
        assert len(twice) == 2
        for mask in twice:
            looks = [job for job in study.order(rater) if study.key[job]["mask"] == mask]
            assert sum(a == b for a, b in zip(*looks, strict=True)) < 12  # of 25 letters, a sixteenth by chance
        assert [job for job in study.order(rater) if study.job_file(study.raters[rater == "r1"], job)] == []


def test_nothing_but_voxels_differs_between_the_masks_of_an_input(study: Study) -> None:
    for rater in study.raters:
        alike = defaultdict(list)
        for id, job in _held(study, rater).items():
            alike[_input(job)].append((id, job))
        assert len(alike) == 4 + 2  # inputs, and those of the training
        for jobs in alike.values():
            same = {(tuple(job), json.dumps(job["see"]), len(job["masks"]), len(json.dumps(job))) for _, job in jobs}
            assert len(same) == 1
            sizes = {(study.folder / "jobs" / f"{id}.json").stat().st_size for id, _ in jobs}
            assert len(sizes) == 1
        assert study.secret.text not in json.dumps(study.about(rater))
        assert not study.about(rater).keys() & {"seed", "secret", "masks", "key"}


def test_boxes_are_tight_wherever_a_mask_is_from() -> None:
    import numpy as np

    from intrabench.mask import Mask
    from intrabench.people.images import packed

    array = np.zeros((6, 8, 9), bool)
    array[2:4, 3:5, 1:7] = True
    assert packed(Mask((1, 2, 3), array)) == packed(Mask.of(array, (1, 2, 3)))


def test_anchors_do_not_come_of_the_seed(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor how they are damaged, nor the order; no reference is shown twice, and what comes twice may be an anchor."""
    monkeypatch.setenv("INTRABENCH_DATA", str(results.parent / "data"))
    plan = Plan(inputs=6, raters=("r1",), anchors=0.34, repeats=1.0, training=2, seed=3)
    anchored, damage, orders, again, apart = set(), set(), set(), set(), set()
    for number in range(8):
        study, notes = design(results, tmp_path / str(number), plan)
        key = study.key.values()
        shown = [(one["case"], one["target"]) for one in key if one["kind"] == "truth"]
        trained = {(one["case"], one["target"]) for one in key if one["kind"] == "training"}
        assert notes == []
        assert len({*shown}) == 2
        assert not {*shown} & trained
        anchored.add(tuple(sorted({*shown})))
        harmed = [one for one in key if one["kind"] == "damaged"]
        damage.add(tuple(sorted((one["damage"], one["severity"]) for one in harmed)))
        apart |= {round(abs(one["dice"] - one["severity"]), 2) for one in harmed}
        masks = study.masks("r1")
        orders.add(tuple(masks))
        again |= {study.key[job]["kind"] for job, mask in zip(study.order("r1"), masks, strict=True)
                  if masks.count(mask) == 2}  # fmt: skip
    assert min(map(len, (anchored, damage))) > 1
    assert max(apart) > 0  # a Dice of exactly 0.9 would tell who compares masks which is the reference
    assert len(orders) == 8
    assert again == {"answer", "truth", "damaged"}


def test_a_reference_that_is_known_is_no_anchor(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(results.parent / "data"))
    plan = Plan(inputs=6, raters=("r1",), anchors=1.0, training=4)
    study, notes = design(results, tmp_path / "study", plan)
    assert notes == wording
    truths = Counter((one["case"], one["target"]) for one in study.key.values() if one["kind"] == "truth")
    assert len(truths) == 2


def test_the_files_of_a_bundle_say_nothing(study: Study, tmp_path: Path) -> None:
    """Whoever holds it: no secret but the one of this rater, one time for all files, and one size for an input."""
    write_bundle(study, "r1", tmp_path / "bundle")
    files = [path for path in (tmp_path / "bundle").rglob("*") if path.is_file()]
    assert len({path.stat().st_mtime_ns for path in files}) == 1
    text = "".join(path.read_text() for path in files)
    others = [study.secret.text, study.secret.of_answers("r2"), *study.tokens.values(), *study.order("r2")]
    assert not [secret for secret in others if secret in text]
    own = study.secret.of_answers("r1")
    known = [own, study.id, *map(str, range(100))]
    masks = [f"{letter}{place}-{n}" for letter in "mt" for place in range(6) for n in range(4)]
    tried = {Secret(one).code("job", "r1", mask, look)[:24] for one in known for mask in masks for look in range(2)}
    assert not tried & {job[1:] for job in _held(study, "r1")}
    sizes = defaultdict(set)
    for id, job in _held(study, "r1").items():
        sizes[_input(job)].add((tmp_path / "bundle" / "data" / f"job-{id}.js").stat().st_size)
    assert all(len(found) == 1 for found in sizes.values())


def test_a_server_gives_raters_their_own_jobs_only_and_alike(study: Study, wording: SnapshotAssertion) -> None:
    import urllib.request

    with rating(study.folder) as server:
        client = server.client("r1")
        headers, sizes = set(), defaultdict(set)
        for id, job in _held(study, "r1").items():
            asked = urllib.request.Request(
                f"{client.address}api/job/{id}", headers={"Authorization": f"Bearer {client.token}"}
            )
            with urllib.request.urlopen(asked, timeout=60) as given:
                headers.add(tuple(sorted(name.lower() for name in given.headers)))
                sizes[_input(job)].add((given.headers["Content-Length"], len(given.read())))
        assert not {"etag", "last-modified"} & {*next(iter(headers))}
        assert len(headers) == 1
        assert all(len(found) == 1 for found in sizes.values())
        assert client.ask(f"api/job/{study.order('r2')[0]}") == (404, {"error": wording})


@pytest.mark.parametrize("forged", ["no signature", "of another rater", "another secret", "changed answers"])
def test_nobody_answers_for_another(
    say: Callable[..., Said], study: Study, tmp_path: Path, forged: str, wording: SnapshotAssertion
) -> None:
    """r1 has their own bundle and knows the ids of r2, say, over r2's shoulder."""
    given = kept(study, "r2", [answer(study, "r2", 0)])
    if forged == "no signature":
        del given["signature"]
    elif forged == "of another rater":
        given["signature"] = kept(study, "r1", json.loads(given["answers"]))["signature"]
    elif forged == "another secret":
        given["signature"] = hashlib.sha256(given["answers"].encode()).hexdigest()
    else:
        given["answers"] = given["answers"].replace('"score": 7', '"score": 1')
    (tmp_path / "a.json").write_text(json.dumps(given))
    said = say("rate", "import", str(study.folder), str(tmp_path / "a.json"))
    assert (said.code, said.err) == (2, wording)
    assert not study.answers_file.exists() or Answers(study.answers_file).all() == []


@pytest.mark.parametrize("answers", ["{", "7", "[" * 9999, '{"id": 1}'])
def test_a_signed_text_that_is_no_list_of_answers(
    say: Callable[..., Said], study: Study, tmp_path: Path, answers: str, wording: SnapshotAssertion
) -> None:
    from intrabench.people.rating.secret import signature

    own = signature(study.secret.of_answers("r1"), answers)
    (tmp_path / "a.json").write_text(
        json.dumps({"study": study.id, "rater": "r1", "answers": answers, "signature": own})
    )
    said = say("rate", "import", str(study.folder), str(tmp_path / "a.json"))
    assert (said.code, said.err) == (2, wording)


@pytest.fixture
def older(study: Study, tmp_path: Path) -> Study:
    """The study as it was made before: the same ids for all raters and looks, no secret."""
    folder = tmp_path / "older"
    shutil.copytree(study.folder, folder)
    first = {key["mask"]: job for job, key in reversed(study.key.items())}
    masks = {
        first[key["mask"]]: {name: one for name, one in key.items() if name != "mask"} for key in study.key.values()
    }
    orders = {rater: [first[mask] for mask in study.masks(rater)] for rater in study.raters}
    training = [first[study.key[job]["mask"]] for job in study.training("r1")]
    content = {**study.content, "format": 1, "orders": orders, "training": training}
    (folder / "study.json").write_text(json.dumps(content))
    (folder / "key.json").write_text(json.dumps(masks))
    return Study.open(folder)


def test_an_older_study_is_read_but_nobody_is_asked_any_more(
    say: Callable[..., Said], older: Study, tmp_path: Path
) -> None:
    given = [answer(older, "r1", place) for place in range(len(older.order("r1")))]
    content = {"study": older.id, "rater": "r1", "answers": given}
    (tmp_path / "a.json").write_text(json.dumps(content))
    assert say("rate", "import", str(older.folder), str(tmp_path / "a.json")).code == 0
    said = say("rate", "export", str(older.folder), str(tmp_path / "all.csv"))
    assert (said.code, "wrote 14 answers" in said.out) == (0, True), said.err
    assert (tmp_path / "all.csv").read_text().count(",true,") == 2
    for words in (("serve", str(older.folder)), ("bundle", str(older.folder), str(tmp_path / "b"), "--rater", "r1")):
        refused = say("rate", *words)
        assert (refused.code, "design a new study" in refused.err) == (2, True)
        assert not (tmp_path / "b").exists()
