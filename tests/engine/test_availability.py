"""A model or a data set that cannot take part does not keep the others from a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import FailedSessions, IntraBenchError
from intrabench.fetch.transfer import DownloadError
from intrabench.models.weights import fetch
from intrabench.results.parts import read_rows
from tests.conftest import Said

RUN = ("run", "-p", "box_slice", "-d", "phantom:shape=8x16x16,instances=1", "--out", "out")
SAM = "model sam is left out: the weights sam_vit_b are missing; run: intrabench weights get sam_vit_b (about "


@pytest.fixture(autouse=True)
def _installed() -> None:
    pytest.importorskip("segment_anything")


def test_a_model_without_weights_is_left_out(say: Callable[..., Said]) -> None:
    said = say(*RUN, "-m", "sam", "-m", "box_fill")
    assert said.code == 1
    assert said.err.splitlines()[0].startswith(SAM)
    assert said.err.splitlines()[-1].startswith(SAM)
    assert set(read_rows(Path("out"))["model"]) == {"box_fill"}
    with pytest.warns(FailedSessions, match=r"^model sam is left out: the weights sam_vit_b are missing"):
        rows = intrabench.run(["box_fill", "sam"], "box_slice", "phantom:shape=8x16x16,instances=1", out="out")
    assert set(rows["model"]) == {"box_fill"}


def test_without_any_model_there_is_no_run(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say(*RUN, "-m", "sam")
    assert (said.code, said.out) == (2, "")
    assert said.err == wording
    said = say(*RUN, "-m", "sam", "-m", "medsam")
    assert (said.code, said.err) == (2, wording)


def test_a_dry_run_lists_what_is_missing(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say(*RUN, "-m", "sam", "-m", "box_fill", "-d", "grabcut", "--dry-run")
    lines = said.out.splitlines()
    assert said.code == 0
    assert lines[0].startswith("grabcut: GrabCut.zip, ")
    assert lines[1:3] == wording
    assert lines[-1].startswith(SAM)
    assert any(line.startswith("box_fill: 0 sessions on cpu, 0 finished") for line in lines)
    said = say(*RUN, "-m", "sam", "--dry-run")
    assert (said.code, said.out.splitlines()[-1].startswith(SAM)) == (0, True)
    assert not Path("out").exists()


def test_fetch_says_the_licence_and_downloads(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    asked = []

    def refuse(id: str, progress: Any = None) -> Path:
        asked.append(id)
        raise DownloadError("no server")

    monkeypatch.setattr(fetch, "fetch", refuse)
    said = say(*RUN, "-m", "sam", "-m", "box_fill", "--fetch")
    assert (said.code, asked) == (1, ["sam_vit_b"])
    assert said.err.splitlines()[:2] == wording
    say(*RUN, "-m", "box_fill", "-m", "sam")
    assert asked == ["sam_vit_b"]  # only with --fetch


def test_a_data_set_that_cannot_be_had_is_left_out(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    def refuse(*_: Any) -> None:
        raise IntraBenchError("GrabCut.zip could not be downloaded")

    monkeypatch.setattr("intrabench.engine.plan.fetch_shared", refuse)
    said = say(*RUN, "-m", "box_fill", "-d", "grabcut")
    assert said.code == 1
    assert said.err.splitlines()[:2] == wording
    assert said.err.splitlines()[-1] == wording
    assert set(read_rows(Path("out"))["dataset"]) == {"phantom:shape=8x16x16,instances=1"}
    said = say("run", "-p", "box_slice", "-m", "box_fill", "-d", "grabcut", "-q")
    assert (said.code, said.err) == (2, wording)
