"""The model npz: a predictor of fifteen lines, alone and in joint sessions, by every launcher."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.engine.check import check as findings_of
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.base import Answer, JointAnswer, JointRequest, open_image
from intrabench.models.npz import Npz
from intrabench.registry import registry
from intrabench.volume import Volume
from tests.conftest import Said
from tests.models.outside.made import NPZ_PREDICTOR, SHAPE, boxed, clicked, predictor, scan, shell, stand_in

BOXES = (0, 1, 2, 3, 4, 5), (3, 0, 0, 5, 2, 2)


def filled(*box: int) -> np.ndarray:
    array = np.zeros(SHAPE, bool)
    array[box[0] : box[3], box[1] : box[4], box[2] : box[5]] = True
    return array


def rounds(model: Npz, volume: Volume) -> list[list[Answer]]:
    """Two rounds of two targets: boxes, and then a click on the background and one on the target."""
    with open_image(model, volume) as image:
        first: Any = image.segment([boxed(*box) for box in BOXES])
        assert all(isinstance(one, Answer) for one in first), first
        turns = (clicked((0, 1, 2, 0)),), (clicked((0, 0, 6, 1)),)
        asked = [
            boxed(*box, turns=turn, mask=answer.update) for box, turn, answer in zip(BOXES, turns, first, strict=True)
        ]
        second: Any = image.segment(asked)
    return [first, second]


def expected() -> list[list[np.ndarray]]:
    first = [filled(*box) for box in BOXES]
    second = [one.copy() for one in first]
    second[0][0, 1, 2], second[1][0, 0, 6] = False, True
    return [first, second]


def check(found: list[list[Answer]]) -> None:
    for answers, masks in zip(found, expected(), strict=True):
        for answer, mask in zip(answers, masks, strict=True):
            np.testing.assert_array_equal(answer.update.to_array(SHAPE), mask)
            assert answer.batch == 2
            assert answer.seconds > 0
            assert answer.encode_seconds > 0


@pytest.mark.parametrize("axes", ["SAR", "SPL"])
def test_a_command(tmp_path: Path, axes: Any) -> None:
    check(rounds(Npz(command=predictor(tmp_path), axes=axes), scan()))


def test_one_at_a_time(tmp_path: Path) -> None:
    model = Npz(command=predictor(tmp_path))
    model.runtime = type(model.runtime)(batch="1")
    found = rounds(model, scan())
    assert {answer.batch for answers in found for answer in answers} == {1}
    np.testing.assert_array_equal(found[1][1].update.to_array(SHAPE), expected()[1][1])


def test_as_many_at_once_as_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intrabench.models.npz.MOST_BYTES", 2 * 2 * int(np.prod(SHAPE)))
    with open_image(Npz(command=predictor(tmp_path)), scan()) as image:
        found = image.segment([boxed(*BOXES[number % 2]) for number in range(5)])
        assert image.costly_calls
    assert [one.batch for one in found if isinstance(one, Answer)] == [2, 2, 2, 2, 1]
    for number, one in enumerate(found):
        assert isinstance(one, Answer)
        np.testing.assert_array_equal(one.update.to_array(SHAPE), filled(*BOXES[number % 2]))


def test_whoever_runs_in_a_container_may_read_and_write(tmp_path: Path) -> None:
    modes = f'stat -c %a "$INPUTS" "$INPUTS"/* "$OUTPUTS" > {tmp_path}/modes'
    before = os.umask(0o077)
    try:
        with open_image(Npz(command=shell(tmp_path, modes)), scan()) as image:
            image.segment([boxed(*BOXES[0])])
    finally:
        os.umask(before)
    assert (tmp_path / "modes").read_text().split() == ["755", "644", "777"]


def test_a_joint_session(tmp_path: Path) -> None:
    with open_image(Npz(command=predictor(tmp_path)), scan()) as image:
        asked = JointRequest("j", tuple(boxed(*box) for box in BOXES), (True, True))
        (first,) = image.segment_jointly([asked])
        assert isinstance(first, JointAnswer)
        masks = [Mask.of(first.labels == label, first.start) for label in (1, 2)]
        for mask, box in zip(masks, BOXES, strict=True):
            np.testing.assert_array_equal(mask.to_array(SHAPE), filled(*box))
        asked = JointRequest(
            "j",
            (boxed(*BOXES[0], mask=masks[0]), boxed(*BOXES[1], turns=(clicked((0, 0, 6, 1)),), mask=masks[1])),
            (False, True),
            first.memory,
        )
        (second,) = image.segment_jointly([asked])
    assert isinstance(second, JointAnswer)
    assert second.memory == ((1, 1), (1, 2))
    np.testing.assert_array_equal(
        Mask.of(second.labels == 2, second.start).to_array(SHAPE), filled(*BOXES[1]) | filled(0, 0, 6, 1, 1, 7)
    )


def test_the_image_is_that_of_the_challenge(tmp_path: Path) -> None:
    """CT is windowed to 8 bits, other scans by percentiles; raw voxels stay."""
    keep = shell(tmp_path, f'cp "$INPUTS"/*.npz {tmp_path}/kept.npz; exit 3')
    values = np.linspace(-1000, 1000, int(np.prod(SHAPE))).reshape(SHAPE).astype(np.int16)
    volume = Volume(values, Volume.from_canonical(values, (3.0, 2.0, 1.5)).grid, "CT", case="p/1")
    for intensity, wanted in (("modality", (values.clip(-160, 240) + 160) / 400 * 255), ("raw", values)):
        with open_image(Npz(command=keep, intensity=intensity), volume) as image:  # type: ignore[arg-type]
            image.segment([boxed(0, 0, 0, 1, 1, 1)])
        with np.load(tmp_path / "kept.npz") as found:
            assert found["imgs"].dtype == (np.int16 if intensity == "raw" else np.uint8)
            np.testing.assert_allclose(found["imgs"], wanted, atol=1)
            assert found["spacing"].tolist() == [1.5, 2.0, 3.0]


@pytest.mark.parametrize("stay", [False, True])
def test_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stay: bool) -> None:
    log = stand_in(tmp_path / "bin", "docker", predictor(tmp_path).split())
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    command = predictor(tmp_path)
    model = Npz(docker="mine", command=command, stay=stay, memory_gb=1.5, options="--user 1:2")
    assert model.version == "1/0123456789ab"
    check(rounds(model, scan()))
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    runs = [call for call in calls if call[0] == "run"]
    assert len(runs) == (1 if stay else 2)
    for call in runs:
        text = " ".join(call)
        assert "--network none" in text
        assert "--memory 1536m --memory-swap 1536m" in text
        assert "no-new-privileges" in text
        assert "--user 1:2" in text
        assert "--gpus" not in text
        volumes = [call[at + 1] for at, word in enumerate(call) if word == "--volume"]
        assert [volume.partition(":")[2] for volume in volumes] == ["/workspace/inputs:ro", "/workspace/outputs"]
        assert call[call.index("mine") + 1 :] == (["2147483647"] if stay else command.split())
    names = [call[call.index("--name") + 1] for call in runs]
    assert len(set(names)) == len(runs)
    assert {call[-1] for call in calls if call[0] == "rm"} == set(names)
    assert sum(call[0] == "exec" for call in calls) == (2 if stay else 0)


def test_what_docker_is_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network and a GPU on demand, and without a command what the challenge runs."""
    stand_in(tmp_path, "docker", [])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    model = Npz(docker="mine", network=True, memory_gb=0)
    model.runtime = type(model.runtime)(device="cuda")
    words = model.launcher.once("name", tmp_path, tmp_path)
    assert words[words.index("--gpus") + 1] == '"device=2,3"'
    assert not {"--network", "--memory"} & set(words)
    assert words[-3:] == ["mine", "sh", "predict.sh"]


@pytest.mark.parametrize("stay", [False, True])
def test_apptainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stay: bool) -> None:
    log = stand_in(tmp_path / "bin", "apptainer", [])
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "mine.sif").write_bytes(b"image")
    model = Npz(apptainer=str(tmp_path / "mine.sif"), command=predictor(tmp_path), stay=stay)
    check(rounds(model, scan()))
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    begun = [call for call in calls if "--containall" in call]
    assert len(begun) == (1 if stay else 2)
    assert all("--net --network none" in " ".join(call) and "--memory 32768M" in " ".join(call) for call in begun)
    assert all("/workspace/inputs:ro" in " ".join(call) for call in begun)
    assert sum(call[:2] == ["instance", "stop"] for call in calls) == int(stay)
    before = model.version
    (tmp_path / "mine.sif").write_bytes(b"another")
    assert Npz(apptainer=str(tmp_path / "mine.sif")).version != before


def test_apptainer_with_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "apptainer", [])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    model = Npz(apptainer="mine.sif")
    model.runtime = type(model.runtime)(device="cuda")
    text = " ".join(model.launcher.once("name", tmp_path, tmp_path))
    assert "--nv --env CUDA_VISIBLE_DEVICES=1" in text
    assert "--pwd /workspace mine.sif" in text


@pytest.mark.parametrize(("takes", "failed"), [("", {"prompt point"}), ("box3d", set())])
def test_a_check_says_how_to_give_a_program_no_clicks(takes: str, failed: set[str], tmp_path: Path) -> None:
    boxes = predictor(tmp_path, NPZ_PREDICTOR.replace("segs[z, y, x] = value", "pass"))
    findings = findings_of(ModelRunner(Npz(command=boxes, takes=takes)))
    found = list(takewhile(lambda one: one.name != "determinism", findings))
    told = {
        one.name for one in found if one.message.endswith("if the program ignores them, add takes=box3d to the model")
    }
    assert told == {one.name for one in found if one.ok is False} == failed
    assert "prompt box3d" in {one.name for one in found}


def test_a_run(tmp_path: Path, say: Callable[..., Said]) -> None:
    """Boxes and clicks on a phantom, alone and jointly: the same Dice, and rows with times and versions."""
    spec = f'npz:command="{predictor(tmp_path)}"'
    words = ["--model", spec, "--prompter", "box_interp:n=3+click_center", "--dataset", "phantom:shape=12x24x24"]
    found = []
    for number, more in enumerate([[], ["--joint", "overlap=keep"]]):
        out = tmp_path / str(number)
        said = say("run", *words, "--rounds", "2", "--out", str(out), "--workers", "0", *more)
        assert said.code == 0, said.err
        rows = pl.read_parquet(out / "rows" / "*.parquet").sort("target", "round")
        assert rows["round"].to_list() == [0, 1, 2] * 3
        assert rows["adapted"].to_list() == ["box2d->box3d", "", ""] * 3
        assert (rows["segment_s"] > 0).all()
        assert (rows["encode_s"] > 0).all()
        assert rows["dice"].min() > 0.5  # type: ignore[operator]
        found.append(rows["dice"].to_list())
    assert found[0] == pytest.approx(found[1], abs=0.02)
    assert found[0] != sorted(found[0])[::-1]
    before = rows["model_version"][0]
    (tmp_path / "predict.py").write_text("another program")
    assert registry.make("models", spec).version != before


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("npz", "nothing to run; give command="),
        ("npz:command=sh,stay=true", "only containers can stay up"),
        ("npz:docker=a,apptainer=b", "docker and apptainer are both given"),
        ("npz:command='sh \"'", "cannot be read"),
        ("npz:apptainer=nowhere.sif", "nowhere.sif cannot be read"),
        ("npz:docker=other", "there is no docker image other here (Error: No such image: other)"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, say: Callable[..., Said], spec: str, sentence: str
) -> None:
    stand_in(tmp_path, "docker", [])
    monkeypatch.setenv("PATH", str(tmp_path))
    said = say("run", "--model", spec, "--prompter", "box_slice", "--dataset", "phantom", "--out", str(tmp_path / "o"))
    assert said.code == 2
    assert sentence in " ".join(said.err.split())
    assert not (tmp_path / "o").exists()


def test_without_docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IntraBenchError) as caught:
        Npz(docker="mine").check_runnable()
    assert caught == wording
    Npz(docker=f"mine@sha256:{'ab' * 32}").launcher.identity  # noqa: B018  # its digest is known


@pytest.mark.parametrize("wrong", ["memory_gb=-1", "time_limit_s=-1", "takes=lasso", 'takes="point,box2d"'])
def test_wrong_parameters(wrong: str) -> None:
    with pytest.raises(IntraBenchError):
        registry.make("models", f"npz:command=x,{wrong}")


def test_starting_a_program_and_the_program_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker says when the program began; here it takes a while to start, and then a while to work."""
    stand_in(tmp_path / "bin", "docker", [])
    text = (tmp_path / "bin" / "docker").read_text()
    slow = 'import time; time.sleep(0.5)\n        open(home + "/" + name + ".begun"'
    (tmp_path / "bin" / "docker").write_text(text.replace('open(home + "/" + name + ".begun"', slow))
    np.savez(tmp_path / "ready.npz", segs=np.zeros(SHAPE, np.uint8))
    command = shell(tmp_path, f"sleep 0.2; cp {tmp_path}/ready.npz outputs/case.npz")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with open_image(Npz(docker="mine", command=command), scan()) as image:
        (found,) = image.segment([boxed(*BOXES[0])])
    assert isinstance(found, Answer)
    assert 0.2 <= found.seconds < 0.5 <= found.encode_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-11-25T08:49:22.888281298Z", 1795596562.888281),
        ("2026-11-25 08:49:22.888281298 +0000 UTC", 1795596562.888281),
        ("2026-11-25T09:49:22+01:00", 1795596562.0),
        ("0", None),
    ],
)
def test_times_as_docker_and_podman_write_them(text: str, seconds: float | None) -> None:
    from intrabench.models.outside.launchers import _seconds

    assert _seconds(text) == pytest.approx(seconds)


def test_what_it_takes() -> None:
    assert registry.make("models", "npz:command=x").abilities.accepts == {"point", "box3d"}
    assert registry.make("models", "npz:command=x,takes=point").abilities.accepts == {"point"}
