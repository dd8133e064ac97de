"""Verifying results: honest ones pass, any change is found, and what cannot be verified is said."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import polars as pl
import pytest
import typer
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import intrabench
from intrabench.cli.results import add_results
from intrabench.datasets.cases import store as cases
from intrabench.engine import environment
from intrabench.engine import verify as verifying
from intrabench.engine.session_spec import CONTRACT
from intrabench.engine.verify import Trust, Verdict, verify
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from intrabench.results.parts import read_rows
from tests.wording import sentence_with

NETWORK = Path(__file__).parents[1] / "models" / "tiny_network.py"
SMALL = "phantom:shape=16x32x32,instances=2"
OUT = Path("out")
pytestmark = pytest.mark.usefixtures("data")


def run(**options: Any) -> pl.DataFrame:
    given = {"model": "box_fill", "prompter": "box_slice", "dataset": SMALL, "out": OUT}
    return intrabench.run(**{**given, **options})


PLUGIN = """
from dataclasses import dataclass
from pathlib import Path

from intrabench.models.box_fill import BoxFill


@dataclass(eq=False)
class Moody(BoxFill):
    name = "moody"

    def segment_one(self, volume, request):
        if Path("fault").exists():
            raise {"memory": MemoryError, "other": ValueError}[Path("fault").read_text()]("in a bad mood")
        return super().segment_one(volume, request)
"""


def found(**options: Any) -> dict[str, int]:
    """How many sessions came out how."""
    return dict(Counter(verdict.found for verdict in verify(OUT, **options)))


def only(**options: Any) -> Verdict:
    (verdict,) = verify(OUT, **options)
    return verdict


def tamper(**changes: Any) -> None:
    """Change values in a stored part, in its last row."""
    (part,) = sorted((OUT / "rows").iterdir())[-1:]
    frame = pl.read_parquet(part)
    last = pl.int_range(pl.len()) == pl.len() - 1
    frame.with_columns(
        pl.when(last).then(pl.lit(value)).otherwise(pl.col(name)).alias(name).cast(frame.schema[name])
        for name, value in changes.items()
    ).write_parquet(part)


def test_honest_results_pass() -> None:
    run(
        model=["box_fill", "random_walker"],
        prompter=["box_interp:n=2+scribble", "box_slice+click_slice+hand:jitter_mm=2,miss_rate=0.1", "point_interp"],
        seed=[0, 7],
        rounds=2,
        stop="dice=0.5",
        protocol="overlap@1",
        targets="blob.1",
    )
    run(protocol="intrabench@1", prompter=None, rounds=1)
    run(prompter="box_slice", strict=True, save_masks=True)
    rows = read_rows(OUT)
    assert {"ok", "stopped", "not_applicable"} <= set(rows["status"])
    files = sorted(OUT.rglob("*"))
    verdicts = list(verify(OUT, sample=1000))
    assert [verdict for verdict in verdicts if verdict.found != "equal"] == []
    assert {verdict.session for verdict in verdicts} == set(rows["session"])
    assert sorted(OUT.rglob("*")) == files


def test_a_sample_is_random_and_the_same_for_a_seed() -> None:
    run(seed=[0, 1, 2])
    samples = [[verdict.session for verdict in verify(OUT, 3, seed)] for seed in (0, 0, 1, 2)]
    assert samples[0] == samples[1]
    assert len({tuple(sample) for sample in samples}) > 1
    assert {len(set(sample)) for sample in samples} == {3}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("dice", 0.75),
        ("dice", None),
        ("nsd_2mm", 0.5),
        ("fn_voxels", 3),
        ("interactions", 1.0),
        ("status", "not_applicable"),
        ("status", "empty"),
        ("prompts_hash", "0123456789abcdef"),
        ("seen_in_training", "yes"),
        ("target_ml", 1e9),
        ("round", 2),
    ],
)
def test_a_tampered_row_is_found(column: str, value: Any, wording: SnapshotAssertion) -> None:
    rows = run(targets="blob.1", prompter="box_slice+scribble", rounds=1)
    assert found() == {"equal": 1}
    tamper(**{column: value})
    verdict = only()
    assert verdict.found == "differs"
    assert verdict.message == wording
    if value == 0.75:
        dice = rows["dice"][1]
        assert f"and {dice} in" in verdict.message
        assert f"replay, {abs(dice - 0.75):.3g} apart" in verdict.message
        assert verdict.message == wording


def test_a_missing_round_is_found(wording: SnapshotAssertion) -> None:
    run(targets="blob.1", prompter="box_slice+scribble", rounds=2)
    (part,) = (OUT / "rows").iterdir()
    pl.read_parquet(part).filter(pl.col("round") < 2).write_parquet(part)
    assert only().message == wording
    assert only().found == "differs"


@pytest.mark.parametrize(
    "changed", [{"seed": 5}, {"strict": True}, {"prompter": "box_volume"}, {"model": "random_walker"}], ids=str
)
def test_a_row_that_says_it_is_of_something_else_cannot_be_verified(
    changed: dict[str, Any], wording: SnapshotAssertion
) -> None:
    run(targets="blob.1")
    tamper(**changed)
    assert only().found == "unknown"
    assert only().message == wording


def test_a_session_of_another_contract_cannot_be_verified() -> None:
    run(targets="blob.1")
    tamper(contract=CONTRACT - 1)
    assert only().found == "unknown"
    assert "it is of an older version of intrabench" in only().message


def test_networks_have_a_tolerance() -> None:
    options = {"model": "tiny", "prompter": "points_slice:n=2", "plugin": [NETWORK], "weights": "random"}
    rows = run(targets="blob.1", **options)
    assert rows.select("model", "weights").row(0) == ("tiny", "random")
    assert found() == {"equal": 1}
    tamper(dice=rows["dice"][0] + 9e-4)
    assert only().found == "rounding"
    tamper(dice=rows["dice"][0] + 2e-3, fp_voxels=9)
    assert only().found == "differs"


def test_weights_brought_by_hand_are_found_where_the_run_had_them(wording: SnapshotAssertion) -> None:
    import torch

    from tests.models.tiny_network import Net

    hidden = partial(re.sub, r"\b[0-9a-f]{8}(?:[0-9a-f]{56})?\b|blob\.\d", "...")
    torch.save(Net().state_dict(), "mine.pth")
    run(model="tiny", prompter="points_slice:n=2", plugin=[NETWORK], weights=Path("mine.pth"))
    assert found() == {"unknown": 2}
    assert hidden(only(sample=1).message) == wording
    trusted = Trust(folder=True)
    assert found(trust=trusted) == {"equal": 2}
    torch.save(Net().state_dict(), "mine.pth")
    assert hidden(only(sample=1, trust=trusted).message) == wording
    Path("mine.pth").unlink()
    assert hidden(only(sample=1, trust=trusted).message) == wording


def test_models_of_files_are_found_by_the_run_and_are_unknown_without(wording: SnapshotAssertion) -> None:
    Path("plugin.py").write_text(PLUGIN)
    run(model="moody", prompter="box_slice+click_slice", rounds=2, plugin=[Path("plugin.py")])
    assert found() == {"equal": 2}
    Path("plugin.py").unlink()
    registry._plugins["models"].clear()
    assert found() == {"unknown": 2}
    assert only(sample=1).message.replace("blob.2", "blob.1") == wording


def test_a_folder_of_ones_own_is_found_where_the_run_had_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    array = np.zeros((8, 9, 10), np.int16)
    array[2:5, 3:6, 4:7] = 1
    for name in ("images", "labels"):
        (tmp_path / "scans" / name).mkdir(parents=True)
        nib.save(nib.Nifti1Image(array, np.eye(4)), tmp_path / "scans" / name / "one.nii.gz")
    run(dataset=str(tmp_path / "scans"), save_masks=True)
    assert "~/scans" in next((OUT / "runs").iterdir()).read_text()
    assert found() == {"equal": 1}
    array[2:5, 3:6, 4:8] = 1
    nib.save(nib.Nifti1Image(array, np.eye(4)), tmp_path / "scans" / "labels" / "one.nii.gz")
    assert only().message == wording
    shutil.rmtree(tmp_path / "scans")
    assert only().found == "unknown"
    assert only().message == wording


def test_a_scan_that_is_not_here_is_not_fetched(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    run(targets="blob.1")
    monkeypatch.setattr(cases, "to_download", lambda *_: ["something large"])
    assert found() == {"equal": 1}  # it is prepared already
    monkeypatch.setattr(cases, "_index", lambda *_: None)
    assert only().message == wording
    assert only().found == "unknown"


def test_other_package_versions_are_no_proof_of_tampering_with_a_network(
    monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    run(targets="blob.1")
    reproducible = verifying._is_reproducible
    assert reproducible(read_rows(OUT).row(0, named=True))  # box_fill: nothing of a package excuses a difference
    others = [{"device": "cuda"}, {"weights_sha256": "0" * 64}, {"prompter_version": "1.0123abcd"}]
    others += [{"model": one} for one in ("npz:command=true", "box_fill+masks:folder=F", "no_such_model")]
    others += [{"prompter": "box_slice+clickability:model=rclicks"}, {"dataset_version": "1.0123abcd"}]
    for other in others:
        assert not reproducible({**read_rows(OUT).row(0, named=True), **other}), other
    monkeypatch.setattr(verifying, "_is_reproducible", lambda row: False)
    then = environment.versions()
    now = {**then, "numpy": "9.9"}
    monkeypatch.setattr("intrabench.engine.verify.versions", lambda: now)
    monkeypatch.setattr("intrabench.engine.verify.versions_hash", lambda: "another")
    assert found() == {"equal": 1}
    tamper(dice=0.75)
    verdict = only()
    assert verdict.found == "unknown"
    assert "dice 0.75 in store" in verdict.message
    assert verdict.message.replace(then["numpy"], "VERSION") == wording


def test_a_failure_here_is_a_difference_unless_memory_is_short(wording: SnapshotAssertion) -> None:
    Path("plugin.py").write_text(PLUGIN)
    run(model="moody", targets="blob.1", plugin=[Path("plugin.py")])
    Path("fault").write_text("memory")
    assert only().found == "unknown"
    assert only().message == wording
    Path("fault").write_text("other")
    assert only().found == "differs"
    assert sentence_with(only().message, "and error") == wording


def test_what_did_not_succeed_is_not_verified(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        only()
    assert caught == wording
    run(targets="blob.1")
    with pytest.raises(IntraBenchError) as caught:
        only(sample=0)
    assert caught == wording
    tamper(status="error")
    with pytest.raises(IntraBenchError) as caught:
        only()
    assert caught == wording


def test_the_command() -> None:
    app = typer.Typer()
    add_results(app)
    run()
    said = CliRunner().invoke(app, ["verify", "out"])
    assert said.exit_code == 0
    assert said.stdout.splitlines()[0].startswith("ok                  phantom:shape=16x32x32,instances=2, case case-1")
    assert said.stdout.splitlines()[-1] == "2 ok"
    tamper(dice=0.75)
    said = CliRunner().invoke(app, ["verify", "out", "--sample", "5", "--seed", "3"])
    assert said.exit_code == 1
    assert said.stdout.splitlines()[-1] == "1 ok, 1 DIFFERS"
    shutil.rmtree(OUT)
    run(targets="blob.1")
    tamper(seed=5)
    said = CliRunner().invoke(app, ["verify", "out"])
    assert (said.exit_code, said.stdout.splitlines()[-1]) == (1, "1 cannot be verified")
