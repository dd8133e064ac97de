"""Content keys stay what they are: stored sessions are found by them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from intrabench.datasets.cases.store import prepare
from intrabench.engine.job import Job
from intrabench.engine.make_job import make_run
from intrabench.engine.options import chosen
from intrabench.engine.session_spec import CONTRACT, SessionSpec
from intrabench.identity.versions import version_of
from intrabench.target import WHOLE_CASE, TargetInfo

INFO = TargetInfo('lésion "x"', 2, (0, 0, 0, 1, 1, 1), 1, 1, "0123abcd")


def made(**options: object) -> Job:
    return make_run(chosen({"dataset": "phantom:scans=2", "seed": [0, 7], "protocol": "basic@1", **options}))


def specs(job: Job, info: TargetInfo | None = INFO) -> list[SessionSpec]:
    more = job.strict, tuple(one.id for one in job.metrics)
    return [
        SessionSpec(
            job.protocol,
            runner,
            prompter,
            dataset,
            case,
            () if info is None else (info,),
            seed,
            "feed",
            *more,
            "patient",
            "CT",
        )
        for dataset in job.datasets
        for case in ("case-1", "ünter ]")
        for runner in job.runners
        for prompter in job.prompters
        for seed in job.seeds
    ]


def as_ever(spec: SessionSpec) -> str:
    """The key by its definition."""
    target = [spec.targets[0].id, spec.targets[0].content_hash] if spec.targets else WHOLE_CASE
    parts: list[object] = [CONTRACT, spec.protocol.id, spec.protocol.stop.spec, spec.runner.identity]
    parts += [spec.prompter.spec, version_of(spec.prompter), spec.dataset.spec, version_of(spec.dataset)]
    parts += [spec.case, spec.image_hash, spec.modality, target, spec.seed, spec.strict, sorted(spec.metrics)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@pytest.mark.parametrize("info", [INFO, None])
@pytest.mark.parametrize(
    "options",
    [
        {"model": "box_fill", "prompter": "box_slice"},
        {"model": ["box_fill", "random_walker"], "prompter": ["box_slice+scribble", "box_interp:n=5"], "strict": True},
        {"model": "box_fill", "prompter": "box_slice+click_deepest", "stop": "dice=0.9", "metric": "lesion_f1"},
    ],
)
def test_keys_are_hashes_of_the_same_bytes_as_ever(options: dict[str, object], info: TargetInfo | None) -> None:
    found = specs(made(**options), info)
    assert [spec.key for spec in found] == [as_ever(spec) for spec in found]
    assert len({spec.key for spec in found}) == len(found) >= 4


@pytest.mark.parametrize("targets", ["", "blob.2"])
def test_keys_without_units_are_those_of_units(data: Path, targets: str) -> None:
    given = {"model": ["box_fill", "random_walker"], "prompter": ["box_slice", "box_volume"], "metric": "lesion_f1"}
    job = made(**given, strict=True, **({"targets": targets} if targets else {}))
    dataset = job.datasets[0]
    index = prepare(dataset, "case-1")
    for one in (None, index):
        for runner in job.runners:
            found = job.keys(dataset, "case-1", runner, one)
            assert found == [spec.key for spec in job.specs(dataset, "case-1", runner, one)]
    assert len(found) == 2 * 2 * (1 if targets else len(index.targets))


def test_keys_of_today() -> None:
    """If these change on purpose, `CONTRACT` or the version of a component has changed, too."""
    found = specs(made(model="box_fill", prompter="box_slice"))
    assert [spec.key for spec in found] == GOLDEN


def test_what_units_share_is_written_out_once(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    job, asked = made(model="box_fill", prompter="box_slice"), []
    cls = type(job.prompters[0])
    spec = cls.spec.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(cls, "spec", property(lambda self: asked.append(1) or spec(self)))
    assert len({spec.key for spec in specs(job)}) == 4
    assert len(asked) == 1


GOLDEN = [
    "5caee00734f0e394a4d803f3",
    "48eb98f9e650f57e172cc3f0",
    "2e541ae74116944b0f5ddf59",
    "a7165a28773ecac1cc7818f4",
]
