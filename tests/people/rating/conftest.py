"""A real study: two models on a phantom with several cases, rated by two people."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import intrabench
from intrabench.people.rating.design import Plan, design
from intrabench.people.rating.secret import signature
from intrabench.people.rating.study import Study
from tests.people.served import Running, running

PHANTOM = "phantom:shape=12x40x44,instances=2,scans=3"
PLAN = Plan(title="A study", inputs=4, raters=("r1", "r2"), anchors=0.5, repeats=0.25, training=2, seed=3)


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with masks, beside its data."""
    folder = tmp_path_factory.mktemp("rated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        intrabench.run(
            ["box_fill", "random_walker"],
            "box_interp:n=3",
            PHANTOM,
            metric=["hd95"],
            save_masks=True,
            workers=0,
            out=folder / "results",
        )
    return folder / "results"


@pytest.fixture(scope="session")
def designed(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that nobody changes."""
    folder = tmp_path_factory.mktemp("designed") / "study"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(results.parent / "data"))
        design(results, folder, PLAN)
    return folder


@pytest.fixture
def study(designed: Path, tmp_path: Path) -> Study:
    """A copy of it."""
    import shutil

    shutil.copytree(designed, tmp_path / "study")
    return Study.open(tmp_path / "study")


def rating(folder: Path, port: int = 0) -> AbstractContextManager[Running]:
    """`intrabench rate serve` while the context lasts."""
    return running(["rate", "serve", str(folder)], Study.open(folder).raters, port)


def kept(study: Study, rater: str, answers: list[Any]) -> dict[str, Any]:
    """The file that the page of a rater's bundle saves."""
    text = json.dumps(answers)
    own = signature(study.secret.of_answers(rater), text)
    return {"study": study.id, "rater": rater, "answers": text, "signature": own}


def answer(study: Study, rater: str, at: int, **more: Any) -> dict[str, Any]:
    """A complete answer of a rater at a place."""
    job = study.order(rater)[at]
    given = {
        "id": f"{rater}-{at:08d}",
        "place": at,
        "job": job,
        "score": 7,
        "seconds": 3.5,
        "seen": list(range(*study.see(job))),
        "views": 9,
    }
    return given | more
