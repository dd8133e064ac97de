"""What became of each lesion in stored masks, from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.results.parts import read_rows
from tests.conftest import Said
from tests.own_classes import MODEL

Say = Callable[..., Said]
DATA = "phantom:shape=16x40x40,instances=3,spacing=5x1x1+whole"
METRICS = (
    "lesion_recall:iou=0.1",
    "lesion_precision:iou=0.1",
    "region_dice",
    "fpv:connectivity=26,iou=0.1",
    "fnv:connectivity=26,iou=0.1",
)


@pytest.fixture
def played(say: Say, tmp_path: Path) -> str:
    """Results of a model on lesions of two cases, with all masks."""
    out = str(tmp_path / "out")
    more = (part for metric in METRICS for part in ("--metric", metric))
    said = say(
        *("run", "-m", "box_fill", "-p", "box_interp:n=3+click_deepest", "-d", DATA, "--cases", "first:2"),
        *("--rounds", "1", "--save-masks", "--out", out, *more),
    )
    assert said.code == 0, said.err
    return out


def test_rows_add_up_to_the_metrics_of_the_run(say: Say, played: str, tmp_path: Path) -> None:
    file = tmp_path / "lesions.parquet"
    said = say("export", "lesions", str(file), "--out", played, "--iou", "0.1")
    assert said.code == 0, said.err
    lesions, rows = pl.read_parquet(file), read_rows(Path(played))
    assert len(lesions) > len(rows)
    assert set(lesions["lesion"]) <= {"found", "missed", "false"}
    true, false = lesions.filter(pl.col("lesion") != "false"), lesions.filter(pl.col("lesion") == "false")
    assert false["iou"].null_count() == len(false)
    assert (true["target"].unique().to_list(), true["round"].unique().sort().to_list()) == (["blob.0"], [0, 1])
    key = ["session", "round"]
    found, missed = pl.col("lesion") == "found", pl.col("lesion") == "missed"
    of_lesions = true.group_by(key).agg(
        pl.len().alias("lesions"),
        found.mean().alias(METRICS[0]),
        pl.col("region_dice").mean(),
        pl.col("ml").filter(missed).sum().alias(METRICS[4]),
        pl.col("ml").sum().alias("target_ml"),
    )
    wanted = rows.select(*key, METRICS[0], "region_dice", METRICS[4], "target_ml").sort(key)
    assert_frame_equal(of_lesions.drop("lesions").select(wanted.columns).sort(key), wanted)
    wrong = rows.select(*key, METRICS[3]).join(false.group_by(key).agg(pl.col("ml").sum()), on=key, how="left")
    assert wrong["ml"].fill_null(0).to_list() == pytest.approx(wrong[METRICS[3]].to_list())


def test_one_round_as_text(say: Say, played: str, tmp_path: Path) -> None:
    for ending in ("csv", "jsonl"):
        file = tmp_path / f"lesions.{ending}"
        assert say("export", "lesions", str(file), "--out", played, "--round", "1", "--cases", "first:1").code == 0
    read = pl.read_csv(tmp_path / "lesions.csv")
    assert_frame_equal(read, pl.read_ndjson(tmp_path / "lesions.jsonl"), check_dtypes=False)
    assert read["round"].unique().to_list() == [1]
    assert read["case"].n_unique() == 1
    assert (read["diameter_mm"] ** 3 * 3.141592653589793 / 6000).to_list() == pytest.approx(read["ml"].to_list())


def test_places_are_those_of_the_masks_that_are_exported(say: Say, played: str, tmp_path: Path) -> None:
    assert say("export", "masks", str(tmp_path / "masks"), "--out", played, "--round", "1").code == 0
    lesions = intrabench.lesions(played, round=1, connectivity=6).filter(pl.col("lesion") == "found")
    for (case,), rows in lesions.group_by("case"):
        (file,) = (tmp_path / "masks").glob(f"*/{case}/*.nii.gz")
        mask: Any = nibabel.load(file)
        inverse = np.linalg.inv(mask.affine)
        places = rows.select("x_mm", "y_mm", "z_mm").to_numpy() @ inverse[:3, :3].T + inverse[:3, 3]
        assert (mask.get_fdata()[tuple(np.rint(places).astype(int).T)] == 1).all()
    assert len(lesions) > 1


def test_in_python_they_are_the_same(say: Say, played: str, tmp_path: Path) -> None:
    file = tmp_path / "lesions.parquet"
    words = ("--iou", "0.3", "--matching", "merge", "--seed", "0", "--cases", "first:1")
    assert say("export", "lesions", str(file), "--out", played, *words).code == 0
    assert_frame_equal(
        intrabench.lesions(played, iou=0.3, matching="merge", seed=0, cases="first:1"), pl.read_parquet(file)
    )
    with pytest.raises(intrabench.IntraBenchError, match="connectivity=8 is unknown"):
        intrabench.lesions(played, connectivity=8)
    with pytest.raises(intrabench.IntraBenchError, match="--round -1 is no number of corrections"):
        intrabench.lesions(played, round=-1)


def test_an_empty_answer_misses_all(say: Say, tmp_path: Path) -> None:
    out, file, plugin = str(tmp_path / "out"), tmp_path / "lesions.jsonl", tmp_path / "mine.py"
    plugin.write_text(MODEL)
    words = ("-m", "mine", "--plugin", str(plugin), "-p", "box_volume", "-d", DATA)
    assert say("run", *words, "--save-masks", "--out", out).code == 0
    assert say("export", "lesions", str(file), "--out", out).code == 0
    assert pl.read_ndjson(file)["lesion"].to_list() == ["missed"] * 3


@pytest.mark.parametrize("given", [("--matching", "best"), ("--connectivity", "8"), ("--iou", "2")])
def test_parameters_that_mean_nothing(
    say: Say, tmp_path: Path, given: tuple[str, str], wording: SnapshotAssertion
) -> None:
    said = say("export", "lesions", str(tmp_path / "lesions.csv"), "--out", str(tmp_path), *given)
    assert said.code
    assert said.err.replace("python -m pytest.", "") == wording  # what a process without workers is called


def test_without_masks_nothing_is_written(say: Say, tmp_path: Path, wording: SnapshotAssertion) -> None:
    out, file = str(tmp_path / "out"), tmp_path / "lesions.csv"
    assert say("run", "-m", "box_fill", "-p", "box_slice", "-d", DATA, "--cases", "first:1", "--out", out).code == 0
    said = say("export", "lesions", str(file), "--out", out)
    assert said.code == 2
    assert said.err.replace(str(tmp_path), "") == wording
    assert not file.exists()


def test_masks_of_targets_that_are_gone_are_told(
    say: Say, played: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(StoredCase, "targets", lambda case: [])
    said = say("export", "lesions", str(tmp_path / "lesions.csv"), "--out", played, "--round", "0")
    assert (said.code, len(pl.read_csv(tmp_path / "lesions.csv"))) == (1, 0)
    assert said.err == wording
