"""Runs: rows, resume, retries, order, two runs at once, broken cases, and a run that is really killed."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store as cases
from intrabench.engine import task_queue, write_buffer
from intrabench.errors import IntraBenchError, PartialResults
from intrabench.results.export import export
from intrabench.results.parts import read_rows, read_turns
from tests.processes import Process, command

SMALL = "phantom:shape=16x32x32,instances=3,scans=2"
PASSING = ["encode_s", "segment_s", "prompt_s", "batch", "peak_memory_mb", "run_id", "written_at"]

PLUGIN = '''
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intrabench.mask import Mask
from intrabench.models.base import Answer, VolumeModel
from intrabench.models.box_fill import BoxFill
from intrabench.prompters.base import Prompter
from intrabench.prompts import box3d, points
from intrabench.turns import Click, DrawBox3D, Turn


@dataclass(eq=False)
class Moody(VolumeModel):
    """Fills boxes; fails while a file named `fault` exists, and is as slow as asked until one named `hurry` does."""

    name = "moody"
    accepts = frozenset({"point", "box2d", "box3d"})
    seconds: float = 0.0

    def segment_one(self, volume, request):
        time.sleep(0 if Path("hurry").exists() else self.seconds)
        Path("calls").open("a").write(request.session + "\\n")
        if Path("fault").exists():
            raise RuntimeError("in a bad mood")
        return Answer(BoxFill().segment_one(volume, request).update)


@dataclass(frozen=True)
class Fumbling(Prompter):
    """A box, then clicks on random voxels of the target."""

    name = "fumbling"

    def interact(self, user):
        yield Turn(box3d(user.target.mask.box), (DrawBox3D(),))
        while True:
            yield Turn(points(user.rng("voxel").choice(user.target.mask.coordinates())), (Click(),))
'''


@pytest.fixture(autouse=True)
def plugin(data: Path) -> Path:
    path = Path("moody.py").resolve()
    path.write_text(PLUGIN)
    return path


def lasting(rows: pl.DataFrame) -> pl.DataFrame:
    """What must be equal between runs: all but times, memory and the run's name."""
    return rows.drop(PASSING).sort("session", "round")


def run(**options: object) -> pl.DataFrame:
    return intrabench.run(**{"model": "box_fill", "prompter": "box_slice", "dataset": SMALL, **options})  # type: ignore[arg-type]


def calls() -> list[str]:
    return Path("calls").read_text().split() if Path("calls").exists() else []


def test_one_row_per_target_and_round_with_who_it_is() -> None:
    rows = run(prompter=["box_slice", "box_interp:n=2"], seed=[0, 1])
    assert len(rows) == 2 * 3 * 2 * 2
    first = rows.filter(pl.col("target") == "blob.1", pl.col("prompter") == "box_interp:n=2").row(0, named=True)
    assert (first["protocol"], first["plane"]) == ("basic@2", "axial")
    assert first["model"] == "box_fill"
    assert first["dataset"] == "phantom:shape=16x32x32,scans=2"  # parameters at their defaults are left out
    assert first["interactions"] == 4
    assert first["target_voxels"] > 0
    assert first["target_ml"] == pytest.approx(first["target_voxels"] * 2 / 1000)
    assert first["pred_voxels"] == first["target_voxels"] - first["fn_voxels"] + first["fp_voxels"]
    assert 0 < first["nsd_2mm"] <= 1
    assert set(rows["status"]) == {"ok"}
    assert Path("intrabench-results/rows").is_dir()


def test_the_same_run_again_computes_nothing_and_returns_the_same(plugin: Path) -> None:
    first = run(model="moody", plugin=[plugin])
    before = calls()
    again = run(model="moody", plugin=[plugin])
    assert calls() == before
    assert again.equals(first)
    parts = list(Path("intrabench-results/rows").iterdir())
    run(model="moody", plugin=[plugin], cases=["*"], targets=["blob.2"])
    assert list(Path("intrabench-results/rows").iterdir()) == parts


def test_new_units_are_added_and_only_they_are_computed(plugin: Path) -> None:
    run(model="moody", plugin=[plugin], targets=["blob.1"])
    assert len(calls()) == 2
    rows = run(model="moody", plugin=[plugin])
    assert len(calls()) == 6
    assert len(rows) == 6


def test_failed_sessions_are_tried_again_and_the_newer_row_counts(plugin: Path) -> None:
    Path("fault").touch()
    rows = run(model="moody", plugin=[plugin])
    assert set(rows["status"]) == {"error"}
    assert set(rows["dice"]) == {0.0}
    assert "in a bad mood" in rows["error"][0]
    assert intrabench.table()["failed"].to_list() == [6]
    Path("fault").unlink()
    assert set(run(model="moody", plugin=[plugin])["status"]) == {"ok"}
    assert intrabench.table()["failed"].to_list() == [0]


def test_more_rounds_go_on_from_the_same_beginning_and_fewer_are_served(plugin: Path) -> None:
    options = {"model": "moody", "prompter": "fumbling", "plugin": [plugin], "dataset": SMALL}
    short = run(rounds=1, **options)
    assert short["round"].to_list() == [0, 1] * 6
    long = run(rounds=3, **options)
    assert long["round"].to_list() == [0, 1, 2, 3] * 6
    assert lasting(long.filter(pl.col("round") < 2)).equals(lasting(short))
    before = len(calls())
    assert lasting(run(rounds=1, **options)).equals(lasting(short))
    assert len(calls()) == before


def test_any_order_sharding_and_repetition_give_the_same_rows(plugin: Path) -> None:
    prompters = ["points_volume:n=3,placement=random", "box_interp:n=3+scribble", "box_volume+click_slice", "fumbling"]
    options = {"plugin": [plugin], "model": "moody", "rounds": 2, "seed": [0, 7]}
    whole = run(prompter=prompters, out="whole", **options)
    for shard in (prompters[::-1], prompters[1:], prompters[:1]):
        for case in ("2", "1"):
            run(prompter=shard, out="shards", cases=[f"*{case}"], **options)
    shards = run(prompter=prompters, out="shards", **options)
    assert lasting(shards).equals(lasting(whole))
    assert read_turns(Path("shards")).sort("session", "turn").equals(read_turns(Path("whole")).sort("session", "turn"))
    assert whole.filter(pl.col("seed") == 0)["prompts_hash"].n_unique() > 3


def test_the_model_never_changes_a_prompt(plugin: Path) -> None:
    rows = run(model=["moody", "box_fill"], prompter="fumbling", plugin=[plugin])
    assert rows.group_by("case", "target").agg(pl.col("prompts_hash").n_unique())["prompts_hash"].to_list() == [1] * 6


BROKEN = """
from dataclasses import dataclass

import numpy as np

from intrabench.datasets.base import Dataset, DatasetCard
from intrabench.datasets.cases import store as cases
from intrabench.errors import IntraBenchError
from intrabench.target import targets_of
from intrabench.volume import Volume


@dataclass(frozen=True)
class Broken(Dataset):
    name = "broken"
    version = "1"
    card = DatasetCard("broken", "none")

    def cases(self):
        return ("bad", "bare", "good")

    def load(self, case, files):
        from pathlib import Path
        if case == "bad" and not Path("mended").exists():
            raise IntraBenchError("bad.nii.gz is truncated; fetch it again")
        image = np.arange(6 * 7 * 8).reshape(6, 7, 8).astype(np.int16)
        labels = (image > 200).astype(np.uint8) * (case != "bare")
        volume = Volume.from_canonical(image)
        return volume, targets_of(labels, {1: ("top", 1)}, case, volume.spacing_mm)
"""


def test_a_broken_case_is_a_failed_row_and_the_others_go_on(wording: SnapshotAssertion) -> None:
    Path("broken.py").write_text(BROKEN)
    rows = run(dataset="broken", plugin=[Path("broken.py")])
    assert rows.select("case", "target", "status", "round").rows() == [
        ("bad", "*", "no_data", 0),
        ("good", "top.1", "ok", 0),
    ]
    assert rows["error"][0] == wording
    with pytest.warns(PartialResults, match=r"^left out, for their data could not be read: 1 case of broken \(see"):
        table = intrabench.table()
    assert table["failed"].to_list() == [0]
    assert table["broken"][0] == pytest.approx(rows["dice"][1])
    table = intrabench.table(failed="all")
    assert table["failed"].to_list() == [1]
    assert table["broken"][0] == pytest.approx(rows["dice"][1] / 2)  # the broken case counts as 0
    Path("mended").touch()
    rows = run(dataset="broken", plugin=[Path("broken.py")])
    assert rows["target"].to_list() == ["top.1", "top.1"]
    assert intrabench.table().select("failed", "not_applicable", "sessions").row(0) == (0, 0, 2)


def test_a_case_that_broke_later_counts_as_failed_until_it_is_mended(data: Path) -> None:
    Path("broken.py").write_text(BROKEN)
    Path("mended").touch()
    run(dataset="broken", plugin=[Path("broken.py")])
    Path("mended").unlink()
    shutil.rmtree(next(data.glob("cases/broken-1/bad")))
    run(dataset="broken", plugin=[Path("broken.py")])
    assert intrabench.table(failed="all").select("failed", "sessions").row(0) == (1, 2)
    Path("mended").touch()
    run(dataset="broken", plugin=[Path("broken.py")])
    assert intrabench.table().select("failed", "sessions").row(0) == (0, 2)


def test_damaged_targets_fail_their_case_only(data: Path) -> None:
    intrabench.run("box_fill", "box_slice", SMALL, targets="blob.1")
    (stored,) = sorted(data.glob("cases/*/*1/targets*"))
    stored.write_bytes(bytes(stored.stat().st_size))
    rows = intrabench.run("box_fill", "box_interp", SMALL, targets="blob.1")
    assert sorted(rows["status"]) == ["no_data", "ok"]


def test_masks_are_made_up_for_when_they_were_not_kept() -> None:
    first = run(targets=["blob.1"])
    again = run(targets=["blob.1"], save_masks=True)
    assert lasting(again).equals(lasting(first))
    assert export(Path("intrabench-results"), Path("nii")) == (len(first), [], [], []) == (2, [], [], [])


def test_a_data_set_that_cannot_name_its_cases_is_one_sentence(wording: SnapshotAssertion) -> None:
    Path("nameless.py").write_text(
        BROKEN.replace("broken", "nameless").replace('return ("bad", "bare", "good")', "raise KeyError('list.csv')")
    )
    with pytest.raises(IntraBenchError) as caught:
        run(dataset="nameless", plugin=[Path("nameless.py")])
    assert caught == wording


def test_a_single_word_does_in_python() -> None:
    assert len(run(targets="blob.1", cases="*", batch=1)) == 2


def test_a_damaged_image_fails_its_sessions_only(data: Path) -> None:
    intrabench.run("box_fill", "box_slice", SMALL, targets=["blob.1"])
    (image,) = sorted(data.glob("cases/*/*1/image*"))
    image.write_bytes(bytes(image.stat().st_size))
    rows = intrabench.run("box_fill", "box_interp", SMALL, targets=["blob.1"])
    assert sorted(rows["status"]) == ["no_data", "ok"]
    assert "image" in rows.filter(pl.col("status") == "no_data")["error"][0]


def test_what_is_named_twice_is_run_once(plugin: Path) -> None:
    rows = run(
        model=["moody", "moody:seconds=0"], prompter=["box_interp", "box_interp:n=3"], seed=[0, 0], plugin=[plugin]
    )
    assert len(rows) == len(calls()) == 6


def test_an_image_is_read_once_for_each_model_and_models_come_one_by_one(
    plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real = cases.open_case
    monkeypatch.setattr(cases, "open_case", lambda dataset, case: opened.append(case) or real(dataset, case))
    run(model=["box_fill", "moody"], prompter=["box_slice", "box_volume"], plugin=[plugin])
    assert opened == ["case-1", "case-2"] * 2


def test_a_run_says_what_it_was(plugin: Path) -> None:
    rows = run(targets=["blob.1"])
    (path,) = Path("intrabench-results/runs").iterdir()
    record = json.loads(path.read_text())
    assert {record["run_id"]} == set(rows["run_id"])
    assert {record["package_versions_hash"]} == set(rows["package_versions_hash"])
    assert record["options"]["targets"] == ["blob.1"]
    assert "numpy" in record["versions"]
    run(targets=["blob.1"])
    assert list(Path("intrabench-results/runs").iterdir()) == [path]


def test_wrong_words_are_told_before_anything_is_computed() -> None:
    wrong = {
        "model": ("box_fil", "did you mean 'box_fill'"),
        "prompter": ("box_interp:m=3", "no parameter 'm'"),
        "dataset": ("phantoms", "did you mean 'phantom'"),
        "datasets": ("./scans", "scans does not exist"),
        "protocol": ("basic@9", "did you mean 'basic@"),
        "cases": (["x*"], "no case that matches 'x\\*'"),
        "targets": (["blob.1", "liver*"], "'liver\\*' matches no target"),
        "rounds": (-1, "not a number of corrections"),
        "memory": (-1, "negative"),
        "seed": ([1.5], "seed=1.5 does not fit; seed takes a whole number"),
        "weights": (Path("w.pth"), "has no weights that --weights could replace"),
        "device": ("tpu", "auto, cpu or cuda"),
        "batch": ("many", "fixed, auto or a number"),
    }
    for option, (value, words) in wrong.items():
        with pytest.raises(IntraBenchError, match=words):
            run(**{option.replace("datasets", "dataset"): value})
    assert not list(Path().glob("*/rows/*.parquet"))


def test_a_folder_that_cannot_be_written_is_told_at_once() -> None:
    Path("file").write_text("no folder")
    with pytest.raises(IntraBenchError, match=r"cannot write to file.*--out"):
        run(out="file")


def test_a_full_disk_is_one_sentence_and_leaves_nothing_half_written(
    monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:  # `undo` would take back the folder of this test, too
        patched.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(IntraBenchError) as caught:
            run()
        assert caught == wording
    assert not list(Path("intrabench-results").rglob("*.parquet"))
    assert not list(Path("intrabench-results").rglob("*.tmp"))
    assert len(run()) == 6


def begin(plugin: Path, *extra: str, seconds: float = 0.02) -> Process:
    words = f"run -m moody:seconds={seconds} -p box_slice -p fumbling -d phantom:shape=16x32x32,instances=8 --rounds 2"
    return Process(hasty, *words.split(), "--plugin", str(plugin), *extra)


def hasty(*words: str) -> None:
    """A command that writes what was played at once, and soon asks again for what another run holds."""
    write_buffer.LEAST_SECONDS, task_queue.PAUSE_SECONDS = 0.0, 0.1
    command(*words)


def wait_for_part(folder: Path, process: Process) -> None:
    deadline = time.monotonic() + 180
    while not list(folder.glob("rows/*.parquet")):
        assert process.wait(0.01) is None, "the run ended before it could be disturbed"
        assert time.monotonic() < deadline


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_or_interrupted_is_completed_by_the_next(plugin: Path, sign: signal.Signals) -> None:
    process = begin(plugin, "--out", "killed", seconds=0.2)
    wait_for_part(Path("killed"), process)
    process.send_signal(sign)
    code, _, errors = process.ended()
    kept = read_rows(Path("killed"))
    assert 0 < kept["session"].n_unique() < 16
    if sign == signal.SIGINT:
        assert code == 130
        assert "the same command continues" in errors
        assert "Traceback" not in errors
    Path("hurry").touch()
    given = {"model": "moody:seconds=0.2", "prompter": ["box_slice", "fumbling"], "rounds": 2, "plugin": [plugin]}
    killed, whole = (run(dataset="phantom:shape=16x32x32,instances=8", out=out, **given) for out in ("killed", "whole"))
    assert killed["session"].n_unique() == 16
    assert lasting(killed).equals(lasting(whole))
    survivors = killed.join(kept.select("session", "round", "written_at"), on=["session", "round", "written_at"])
    assert len(survivors) == len(kept)  # what was finished was not computed again


def test_two_runs_at_once_share_the_work(plugin: Path) -> None:
    words = ["--out", "shared", "-d", "phantom:shape=16x32x32,instances=8,seed=1"]
    for process in [begin(plugin, *words) for _ in range(2)]:
        code, _, errors = process.ended()
        assert code == 0, errors
    rows = [pl.read_parquet(path) for path in Path("shared/rows").iterdir()]
    sessions = pl.concat(rows).select("session", "round")
    assert len(sessions) == len(sessions.unique()) == 2 * 8 + 2 * 8 * 3
