"""VoxTell with a stand-in for its package: what the package is asked, how often, and what is missing or unsafe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.check import check
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import IntraBenchError
from intrabench.models.base import Failure, Request, Runtime
from intrabench.models.voxtell import VoxTell
from intrabench.prompts import Prompts, points
from intrabench.registry.registry import make
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.engine.test_run import lasting
from tests.models.stub import answers, request
from tests.models.voxtell_package import write_folder, write_package
from tests.wording import without_reasons

PHANTOM = "phantom:shape=16x32x32,instances=3,spacing=3x1x2,noise=0"


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder with the stand-in, which is found here and by other interpreters."""
    path = write_package(tmp_path / "site")
    monkeypatch.syspath_prepend(str(path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH")])))
    yield path
    for name in [name for name in sys.modules if name.partition(".")[0] == "voxtell"]:
        del sys.modules[name]


def model(tmp_path: Path, **given: Any) -> VoxTell:
    folder = tmp_path / "voxtell_v1.1"
    made = VoxTell(**{"encoder": str(tmp_path), **given})
    made.runtime = Runtime(weights=folder if folder.exists() else write_folder(folder))
    return made


def calls(kind: str) -> list[Any]:
    return [one[1:] for one in sys.modules["voxtell.inference.predictor"].CALLS if one[0] == kind]


def scan() -> Volume:
    return Volume.from_canonical(np.arange(4 * 5 * 6, dtype=np.int16).reshape(4, 5, 6))


def test_the_package_gets_the_canonical_scan_and_the_text(tmp_path: Path) -> None:
    with model(tmp_path).open(scan()) as image:
        (answer,) = answers(image, [request("a", Prompts(text="Liver"))])
    assert calls("embed") == [(["liver"],)]
    assert calls("predict") == [((1, 4, 5, 6), 5.0)]
    assert np.array_equal(answer.update.to_array((4, 5, 6)), scan().array > 50)
    assert answer.valid.box is answer.valid.slices is answer.reach is None


def test_each_text_is_asked_once_for_an_image_however_many_targets_and_rounds(tmp_path: Path) -> None:
    made = model(tmp_path)
    texts = [Prompts(text=text) for text in ("liver", "spleen", "LIVER", "liver")]
    with made.open(scan()) as image:
        for number in range(3):
            answers(image, [request(f"{number} {place}", text) for place, text in enumerate(texts)])
        assert [text for _, text in calls("predict")] == [5.0, 6.0]
    with made.open(scan()) as image:
        answers(image, [request("a", texts[0])])
    assert len(calls("predict")) == 3


def test_answers_do_not_depend_on_what_was_asked_before(tmp_path: Path) -> None:
    made = model(tmp_path)
    for _ in range(2):  # the package computes the embedding, then it has it in half precision
        with made.open(scan()) as image:
            answers(image, [request("a", Prompts(text="liver"))])
    assert [text for _, text in calls("predict")] == [5.0, 5.0]


def test_the_newest_text_that_counts_is_asked(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with model(tmp_path).open(scan()) as image:
        answers(image, [request("a", Prompts(text="liver"), Prompts(text="left kidney"))])
        afresh = Request("b", (Turn(Prompts(text="liver")), Turn(Prompts(points=[[0, 0, 0, 1]]), afresh=True)))
        (failed,) = image.segment([afresh])
    assert [text for _, text in calls("predict")] == [11.0]
    assert isinstance(failed, Failure)
    assert failed.message == wording


def test_a_request_without_a_text_fails_alone(tmp_path: Path) -> None:
    with model(tmp_path).open(scan()) as image:
        failed, fine = image.segment([request("a", points([(1, 1, 1)])), request("b", Prompts(text="liver"))])
    assert isinstance(failed, Failure)
    assert not isinstance(fine, Failure)


def test_nothing_of_the_package_is_printed_or_left_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.backends.cudnn.benchmark = False
    with model(tmp_path).open(scan()) as image:
        answers(image, [request("a", Prompts(text="liver"))])
    assert capsys.readouterr() == ("", "")
    assert not torch.backends.cudnn.benchmark
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


def test_embeddings_of_a_bank_need_no_encoder_and_count_in_the_version(
    tmp_path: Path, wording: SnapshotAssertion
) -> None:
    bank = tmp_path / "bank.npz"
    np.savez(bank, labels=np.array(["Liver"]), embeddings=np.array([[2.0]], dtype=np.float16))
    made = model(tmp_path, encoder="Qwen/Nowhere", bank=str(bank))
    made.check_runnable()
    with made.open(scan()) as image:
        (answer,) = answers(image, [request("a", Prompts(text="liver"))])
        assert answer.update.voxels == (scan().array > 20).sum()
        (failed,) = image.segment([request("b", Prompts(text="spleen"))])
    assert isinstance(failed, Failure)
    assert without_reasons(failed.message) == wording
    before = made.version
    np.savez(bank, labels=np.array(["Liver"]), embeddings=np.array([[3.0]], dtype=np.float16))
    assert make("models", f"voxtell:bank={bank}").version != before
    assert (VoxTell().version, VoxTell().spec) == ("1", "voxtell")


def refusal(made: VoxTell) -> str:
    with pytest.raises(IntraBenchError) as caught, made.open(scan()):
        pass
    return str(caught.value)


def test_what_is_missing_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setenv("INTRABENCH_WEIGHTS", str(tmp_path / "none"))
    assert refusal(VoxTell()) == wording
    for runtime, told in (
        (Runtime(random=True), "voxtell has no random weights: its architecture comes with the weights"),
        (Runtime(dtype="bfloat16"), "voxtell chooses its own precision; omit --dtype bfloat16"),
        (Runtime(weights=tmp_path / "no folder"), f"--weights {tmp_path / 'no folder'} is not a folder"),
    ):
        made = VoxTell()
        made.runtime = runtime
        assert refusal(made).startswith(told)
    for given, told in (
        ({"bank": "no.npz"}, "voxtell: bank=no.npz is no file; give an .npz with embeddings, or omit it"),
        ({"encoder": "./no"}, "voxtell: encoder=./no is no folder; give that of the text encoder"),
    ):
        with pytest.raises(IntraBenchError) as caught:
            VoxTell(**given).check_runnable()
        assert str(caught.value) == told
    made = model(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "voxtell"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "voxtell", None)
    assert refusal(made) == wording


class Runs:
    """Makes a folder when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


def test_no_code_of_a_model_folder_is_run(tmp_path: Path, wording: SnapshotAssertion) -> None:
    for folder, written in (
        ("pickle", lambda path: write_folder(path, more=Runs())),
        ("plans", lambda path: write_folder(path, layer="os.system")),
        ("empty", lambda path: path.mkdir()),
    ):
        path = tmp_path / folder
        written(path)
        made = VoxTell()
        made.runtime = Runtime(weights=path)
        assert without_reasons(refusal(made)) == wording
    assert not Path("unpickled").exists()


def test_colour_images_are_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="grey volumes"),
        model(tmp_path).open(Volume.from_canonical(np.zeros((2, 4, 4, 3), dtype=np.uint8))),
    ):
        pass


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    found = list(check(ModelRunner(model(tmp_path))))
    assert [finding for finding in found if finding.ok is False] == []
    assert "prompt text" in {finding.name for finding in found}


def run(tmp_path: Path, out: str, **options: Any) -> pl.DataFrame:
    """Rows of a run on a phantom whose bright balls are found."""
    folder = tmp_path / "folder"
    weights = folder if folder.exists() else write_folder(folder, level=10.0)
    prompters = ["name", "name+click_component", "box_volume"]
    return intrabench.run(
        f"voxtell:encoder={tmp_path}", prompters, PHANTOM, out=out, weights=weights, rounds=1, **options
    ).sort("prompter", "target", "round")


def test_rows_of_a_run_and_the_same_in_another_interpreter(tmp_path: Path) -> None:
    here = run(tmp_path, "here")
    told = dict(zip(*here.group_by("prompter").agg(pl.col("status")).to_dict(as_series=False).values(), strict=True))
    named = next(spec for spec in told if spec.startswith("name+"))
    assert told == {
        "name": ["ok"] * 3,
        named: ["ok", "not_applicable"] * 3,
        "box_volume": ["not_applicable"] * 3,
    }
    assert set(here.filter(status="not_applicable")["error"]) == {"the model takes neither boxes nor points"}
    assert here.filter(prompter="name")["dice"].min() > 0.05
    assert (here.filter(prompter="name")["interactions"] == 1).all()
    assert len(calls("predict")) == 1
    there = run(tmp_path, "there", python=Path(sys.executable))
    assert lasting(there).equals(lasting(here))
    assert len(calls("predict")) == 1  # the other process asked
