"""Stored masks are scored with further metrics as if their sessions had been played with them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine import score as scoring
from intrabench.engine.verify import verify
from intrabench.models.parts.network_model import NetworkModel
from intrabench.registry import registry
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.run_status import run_status
from intrabench.results.store import Store
from tests.conftest import Said

pytestmark = pytest.mark.usefixtures("data")

THICK = "phantom:shape=24x12x28,spacing=1x4x1,instances=3"
"""Read in coronal slices by the default protocol."""
OUT, FRESH = Path("out"), Path("fresh")
METRICS = ["assd", "hd95:miss=diagonal", "dice_prompted", "destroyed", "brightness"]
OF_A_PLAY = ("run_id", "written_at", "encode_s", "segment_s", "prompt_s", "batch", "peak_memory_mb", "peak_gpu_mb")
"""Columns that differ from play to play."""

MINE = '''
from dataclasses import dataclass

from intrabench import MaskPair, Metric


@dataclass(frozen=True)
class Brightness(Metric):
    """Mean of the image in the answer; fails on the third instance."""

    name = "brightness"
    needs = frozenset({"mask", "image"})

    def measure(self, pair: MaskPair) -> float:
        if pair.target.instance == 3:
            raise ZeroDivisionError("no ground to stand on")
        return float(pair.image_array[pair.answer_array].mean())
'''


@pytest.fixture(autouse=True)
def _mine() -> None:
    Path("mine.py").write_text(MINE)
    registry.add_plugins([Path("mine.py")])


def run(out: Path = OUT, **options: Any) -> pl.DataFrame:
    given = {"model": "random_walker", "prompter": "box_interp:n=2+scribble", "dataset": THICK, "rounds": 2, "out": out}
    return intrabench.run(**{**given, "save_masks": True, "plugin": "mine.py", **options})


def sessions(out: Path, keys: pl.Series | None = None) -> pl.DataFrame:
    """What does not differ from play to play, of these sessions."""
    rows = read_rows(out).drop(OF_A_PLAY).sort("session", "round")
    rows = rows if keys is None else rows.filter(pl.col("session").is_in(keys.implode()))
    return rows.select(sorted(rows.columns))


@pytest.mark.parametrize("options", [{}, {"joint": "overlap=first"}])
def test_scored_sessions_are_those_of_a_run_with_the_metrics(options: dict[str, Any]) -> None:
    played = run(**options)
    assert intrabench.score(OUT, metric=METRICS, plugin="mine.py").scored == 3
    fresh = run(FRESH, metric=METRICS, **options)
    assert set(fresh["plane"]) == {"coronal"}
    assert fresh["assd"].is_finite().all()
    assert sessions(OUT, fresh["session"]).equals(sessions(FRESH))
    for session in fresh["session"].unique():
        turns = [read_turns(root, [session]).sort("turn") for root in (OUT, FRESH)]
        assert turns[0].equals(turns[1])
        for one, other in zip(read_masks(OUT, session), read_masks(FRESH, session), strict=True):
            assert one.box == other.box
            assert (one.array == other.array).all()
    (status,) = run_status(OUT, time.time())
    assert (status.done, status.total) == (3, 3)
    # The sessions that were played stay, and a run with the metrics finds all finished.
    assert set(played["session"]) < set(read_rows(OUT)["session"])
    parts = sorted(OUT.glob("rows/*.parquet"))
    assert run(metric=METRICS, **options)["session"].equals(fresh["session"])
    assert sorted(OUT.glob("rows/*.parquet")) == parts
    assert {one.found for one in verify(OUT)} == {"equal"}


def test_a_joint_session_is_scored_as_a_whole() -> None:
    """Its key tells all its targets, so a part of it would be a session that nobody can play."""
    played = run(joint="overlap=first")
    one = sorted(played["target"].unique())[0]
    assert intrabench.score(OUT, metric="assd", targets=[one]).scored == 3
    assert intrabench.score(OUT, metric="region_dice").scored == 3
    assert {found.found for found in intrabench.verify(OUT, sample=9, plugin="mine.py")} == {"equal"}
    newest = read_rows(OUT).filter(pl.col("metrics").str.contains("region_dice"), target=one)
    (session,) = {*newest["session"]}
    (OUT / "masks" / f"{session}.npz").unlink()
    found = intrabench.score(OUT, metric="hd")
    assert (found.scored, found.without_masks) == (0, 3)


def test_a_metric_that_is_given_twice_is_measured_once() -> None:
    run()
    assert intrabench.score(OUT, metric=["assd", "assd"]).scored == 3
    parts = sorted(OUT.glob("rows/*.parquet"))
    run(metric=["assd"])
    assert sorted(OUT.glob("rows/*.parquet")) == parts


def test_a_network_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    network = Path(__file__).parents[1] / "models" / "tiny_network.py"
    options = {"model": "tiny", "prompter": "points_slice:n=2", "plugin": [network], "weights": "random", "rounds": 0}
    run(**options)
    fresh = run(FRESH, metric=["assd"], **options)
    monkeypatch.setattr(NetworkModel, "load", lambda model: pytest.fail("the network was loaded"))
    assert intrabench.score(OUT, metric="assd", plugin=network).scored == 3
    assert sessions(OUT, fresh["session"]).equals(sessions(FRESH))


def test_what_is_not_scored_is_counted(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    played = run()
    first, second, third = sorted(played["session"].unique())
    (OUT / "masks" / f"{first}.npz").unlink()
    shutil.copy(OUT / "masks" / f"{third}.npz", OUT / "masks" / f"{second}.npz")
    said = say("score", "out", "--metric", "assd", "--metric", "brightness", "--plugin", "mine.py")
    assert said.code == 1
    assert said.out + said.err == wording
    again = say("score", "out", "--metric", "assd", "--plugin", "mine.py")
    assert again.code == 1
    assert again.out + again.err == wording


def test_a_metric_that_fails_leaves_other_values_and_names_its_line(say: Callable[..., Said]) -> None:
    run(FRESH, metric=METRICS)
    run()
    said = say("score", "out", *(word for name in METRICS for word in ("--metric", name)), "--plugin", "mine.py")
    reason = "ZeroDivisionError: no ground to stand on, in line 16 of mine.py"
    assert said.out.splitlines()[1:] == [f"metric brightness has no value in 1 session: {reason}"]
    rows = read_rows(OUT).filter(pl.col("brightness").is_not_null() | pl.col("error").str.contains("ground"))
    assert rows["brightness"].null_count() == 3  # the rounds of one session
    assert rows["assd"].null_count() == 0


def test_a_metric_that_was_changed_is_measured_anew() -> None:
    run(metric=["brightness"])
    Path("mine.py").write_text(MINE.replace("raise ZeroDivisionError", "return 1.0  #"))
    registry.add_plugins([Path("mine.py")])
    assert intrabench.score(OUT, metric="brightness", plugin="mine.py").scored == 3
    fresh = run(FRESH, metric=["brightness"])
    assert sessions(OUT, fresh["session"]).equals(sessions(FRESH))
    assert fresh["error"].unique().to_list() == [""]


def test_a_scan_that_has_changed_is_not_scored(wording: SnapshotAssertion, data: Path) -> None:
    """The truth is another one, by its fingerprint: distances to it would be of no session."""
    folder = Path("scans")
    Path("scans/imagesTr").mkdir(parents=True)
    Path("scans/labelsTr").mkdir()
    labels = np.zeros((12, 14, 16), np.uint8)
    labels[3:8, 3:9, 4:10] = 1
    image = 100 * labels.astype(np.int16)
    write(folder, image, labels)
    run(dataset="scans", prompter="box_slice", rounds=0)
    labels[4, 5, 4] = 0
    write(folder, image, labels)
    found = intrabench.score(OUT, metric="assd")
    assert found.scored == 0
    assert list(found.left.elements()) == wording
    shutil.rmtree(folder)
    found = intrabench.score(OUT, metric="assd")
    assert found.scored == 0
    assert list(found.left.elements()) == wording


def write(folder: Path, image: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> None:
    nib.save(nib.Nifti1Image(image, np.eye(4)), folder / "imagesTr" / "a_0000.nii.gz")
    nib.save(nib.Nifti1Image(labels, np.eye(4)), folder / "labelsTr" / "a.nii.gz")


def test_errors(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    assert sentences(say("score", "out", "--metric", "assd")) == wording
    run(prompter="box_slice", rounds=0)
    for words in ((), ("--metric", "asdd"), ("--metric", "dice"), ("--metric", "assd", "--model", "sam")):
        assert sentences(say("score", "out", *words)) == wording
    assert len(sorted(OUT.glob("rows/*.parquet"))) == 1


def sentences(said: Said) -> tuple[int, str]:
    return said.code, said.out + said.err


def test_it_goes_on_where_it_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    run(metric=["nsd"])
    write_part = Store.write_part
    with monkeypatch.context() as patch:
        patch.setattr(scoring, "PART_SECONDS", 0.0)
        patch.setattr(Store, "write_part", lambda store, rows, turns: killed(write_part, store, rows, turns))
        with pytest.raises(KeyboardInterrupt):
            intrabench.score(OUT, metric="assd")
    scored = read_rows(OUT).filter(pl.col("assd").is_not_null())
    assert scored["session"].n_unique() == 1
    rest = intrabench.score(OUT, metric="assd")
    assert (rest.already, rest.scored) == (1, 2)
    assert intrabench.table(OUT, metric="nsd")["sessions"].to_list() == [3]
    assert intrabench.table(OUT, metric="assd")["sessions"].to_list() == [3]


def killed(write_part: Any, store: Store, rows: Any, turns: Any) -> None:
    if store.parts:
        raise KeyboardInterrupt
    write_part(store, rows, turns)
