"""A folder that states no modality: rows say what was assumed, and stating it computes the sessions again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.results.current import counting
from intrabench.results.parts import read_rows
from tests.datasets.folder.made import SHAPE, labels, save

pytest.importorskip("cv2")
pytestmark = pytest.mark.usefixtures("data")


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """Hounsfield units, without a modality."""
    image = np.rint(np.random.default_rng(0).normal(20, 8, SHAPE)).astype(np.int16)
    image[labels() == 1] += 130
    image[:, -2:] = -1000
    save(tmp_path / "lab" / "images" / "a.nii.gz", image)
    save(tmp_path / "lab" / "labels" / "a.nii.gz", (labels() == 1).astype("u1"))
    return tmp_path / "lab"


def run(lab: Path, model: str = "grabcut:intensity=modality", strict: bool = False) -> pl.DataFrame:
    return intrabench.run(model, "box_slice", str(lab), out="out", strict=strict)


def test_rows_say_what_was_assumed_until_it_is_stated(lab: Path) -> None:
    assumed = run(lab)
    assert assumed["adapted"].to_list() == ["assumed CT"]
    assert run(lab)["session"].to_list() == assumed["session"].to_list()
    for modality in ("CT", "MR"):
        (lab / "dataset.toml").write_text(f'modality = "{modality}"')
        stated = run(lab)
        assert stated["adapted"].to_list() == [""]
        assert stated["session"].to_list() != assumed["session"].to_list()


def test_strict_wants_the_modality(lab: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("intrabench.models.base.Model.open", None)  # nothing is opened to be refused
        patch.setattr("intrabench.models.parts.slice_model.SliceModel.open", None)
        rows = run(lab, strict=True)
    assert rows.select("status", "adapted", "interactions").rows() == [("not_applicable", "", 0.0)]
    assert rows["error"].to_list() == wording
    assert run(lab, "grabcut", strict=True)["status"].to_list() == ["ok"]  # which does not depend on it


def test_tables_show_the_sessions_of_the_latest_run_also_if_it_computed_nothing(
    lab: Path, wording: SnapshotAssertion
) -> None:
    """The modality is changed and changed back: what was computed first is the newest again."""
    first = run(lab)
    (lab / "dataset.toml").write_text('modality = "MR"')
    assert run(lab)["session"].to_list() != first["session"].to_list()
    (lab / "dataset.toml").unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("intrabench.engine.player.play", None)
        assert run(lab)["session"].to_list() == first["session"].to_list()
    rows, told = counting(read_rows(Path("out")), Path("out"))
    assert rows["session"].to_list() == first["session"].to_list()
    assert told == wording
