"""What is odd about the official script and its files: equal to the golden data, or as docs/challenges.md says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import FailedSessions
from intrabench.mask import Mask
from intrabench.prompters.click_component import SEED, deepest_voxel
from intrabench.protocols import PROTOCOLS
from intrabench.results.parts import read_turns
from intrabench.statistics.measures import measured
from tests.cvpr25.golden import GOLDEN, Stub, arrays, clicks_of, traces

EXACT = 1e-12
NUMBERS = dict(PROTOCOLS["cvpr25@1"].numbers)


def run(folder: Path, case: str, kind: Any, protocol: str = "cvpr25@1") -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows and turns of a case under its own name; its image may not be constant."""
    (folder / "cases").mkdir()
    image = arrays(case)["imgs"].copy()
    image[0, 0, 0] += 1
    np.savez_compressed(folder / "cases" / f"{case}.npz", **{**arrays(case), "imgs": image})
    out, where = folder / protocol, str(folder / "cases")
    rows = intrabench.run(Stub(kind=kind), dataset=where, protocol=protocol, out=out, progress=False)
    return rows.sort("round"), read_turns(out)


def reported(rows: pl.DataFrame, protocol: str = "cvpr25@1") -> dict[str, Any]:
    return {head: measured(rows, spec)["value"].mean() for head, spec in PROTOCOLS[protocol].numbers}


@pytest.mark.parametrize(
    ("case", "kind"),
    [("e3_dsc_exactly_0.2", "fixed"), ("e4c_c_order_twin", "empty"), ("e6_tolerance_inclusive", "fixed")],
)
def test_equal_to_the_script(tmp_path: Path, data: Path, case: str, kind: str) -> None:
    rows, turns = run(tmp_path, case, kind)
    recorded = traces("edge_traces")[case, kind]
    clicks = clicks_of(turns, rows["session"][0])
    for step in recorded["steps"][1:]:
        assert clicks[step["step"]] == {key: step["clicks"][0][key] for key in ("kind", "at")}
    assert reported(rows) == {head: pytest.approx(value, abs=EXACT) for head, value in recorded["final"].items()}


def test_a_mean_dice_of_exactly_the_threshold_is_not_above_it(tmp_path: Path, data: Path) -> None:
    rows, _ = run(tmp_path, "e3_dsc_exactly_0.2", "fixed")
    assert rows["dice"].to_list() == [0.2] * 6
    assert rows["nsd:spacing=xyz"].min() > 0.7
    assert measured(rows, NUMBERS["NSD_AUC"])["value"].item() == 0
    assert measured(rows, NUMBERS["NSD_AUC"].replace("above=0.2", "above=0.1999"))["value"].item() > 2.8


def test_a_missing_answer_counts_as_the_one_before(tmp_path: Path, data: Path, wording: SnapshotAssertion) -> None:
    with pytest.warns(FailedSessions, match="1 of 1 session failed"):
        rows, turns = run(tmp_path, "e5_container_failures", "failtwo")
    recorded = traces("edge_traces")["e5_container_failures", "failtwo"]
    assert rows["status"].to_list() == ["ok", "ok", "error", "ok", "error", "ok"]
    assert rows["error"].to_list()[2] == wording
    clicks = clicks_of(turns, rows["session"][0])
    assert clicks == {
        step["step"]: {key: step["clicks"][0][key] for key in ("kind", "at")} for step in recorded["steps"][1:]
    }
    assert rows["dice"].to_list() == pytest.approx([step["DSC"] for step in recorded["steps"]], abs=EXACT)
    assert reported(rows) == {head: pytest.approx(value, abs=EXACT) for head, value in recorded["final"].items()}
    counted = measured(rows, "cvpr25_auc")["value"].item()
    first, third, fifth = (recorded["steps"][step]["DSC"] for step in (1, 3, 5))
    assert counted == pytest.approx(first / 2 + third + fifth / 2), "elsewhere a missing answer counts as 0"
    assert measured(rows, "dice", round=2)["value"].item() == 0


def test_a_case_without_any_answer_is_left_out_of_means_and_counted(tmp_path: Path, data: Path) -> None:
    with pytest.warns(FailedSessions):
        rows, turns = run(tmp_path, "e5_container_failures", "never")
    recorded = traces("edge_traces")["e5_container_failures", "never"]
    assert rows["status"].to_list() == ["error"] * 6
    assert clicks_of(turns, rows["session"][0])[5]["at"] == recorded["steps"][5]["clicks"][0]["at"]
    assert recorded["in_csv"] is False
    assert reported(rows) == dict.fromkeys(NUMBERS)
    assert measured(rows, NUMBERS["DSC_AUC"])["failed"].item()
    assert measured(rows, "cvpr25_auc")["value"].item() == 0


def test_so_is_one_without_a_box(tmp_path: Path, data: Path) -> None:
    with pytest.warns(FailedSessions):
        rows, _ = run(tmp_path, "e4c_c_order_twin", "never")
    assert rows["status"].to_list() == ["empty", *["error"] * 5]
    assert rows["interactions"].to_list() == [0, 1, 2, 3, 4, 5]
    assert reported(rows) == dict.fromkeys(NUMBERS)


def test_a_session_with_a_missing_answer_is_tried_again(tmp_path: Path, data: Path) -> None:
    case = "e5_container_failures"
    with pytest.warns(FailedSessions):
        run(tmp_path, case, "failtwo")
    with pytest.warns(FailedSessions):
        again = intrabench.run(
            Stub(kind="failtwo"),
            dataset=str(tmp_path / "cases"),
            protocol="cvpr25@1",
            out=tmp_path / "cvpr25@1",
            progress=False,
        )
    assert again.height == 6
    assert again["status"].to_list().count("error") == 2


def test_columns_first_arrays_are_clicked_as_rows_first_ones(tmp_path: Path, data: Path) -> None:
    """The script takes another click there: memory order decides between its equally large components."""
    rows, turns = run(tmp_path, "e4_fortran_order_ties", "empty")
    twin = traces("edge_traces")["e4c_c_order_twin", "empty"]
    assert clicks_of(turns, rows["session"][0])[1]["at"] == twin["steps"][1]["clicks"][0]["at"]


def test_the_lowest_label_is_a_target_without_a_background_too(tmp_path: Path, data: Path) -> None:
    """The script drops it."""
    rows, _ = run(tmp_path, "e2_no_zero_label", "empty")
    assert rows["label"].unique().sort().to_list() == ["label_1", "label_2"]


def test_very_large_errors_are_searched_on_blocks() -> None:
    """Two ellipsoids above the limit and one below it; their depths alone would give other voxels."""
    for item in json.loads((GOLDEN / "large_component.json").read_text())["items"]:
        z, y, x = (
            axis - centre
            for axis, centre in zip(np.ogrid[tuple(map(slice, item["shape"]))], item["centre"], strict=True)
        )
        az, ay, ax = item["semi"]
        inside = z**2 * (ay * ax) ** 2 + y**2 * (az * ax) ** 2 + x**2 * (az * ay) ** 2 <= (az * ay * ax) ** 2
        assert deepest_voxel(Mask.of(inside), (1.0, 1.0, 1.0)).tolist() == item["click"]


def test_the_choice_among_equals_depends_on_their_number() -> None:
    recorded = json.loads((GOLDEN / "traces.json").read_text())["tie_index_for_n_from_1"]
    for count, index in enumerate(recorded, 1):
        row = Mask((3, 4, 5), np.ones((1, 1, count), bool))
        assert deepest_voxel(row, (1.0, 1.0, 1.0)).tolist() == [3, 4, 5 + index]
    assert SEED == 42
