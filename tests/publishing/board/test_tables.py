"""The tables of a board: what is ranked, what is withheld, and what never shares a column."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.protocols import PROTOCOLS
from intrabench.publishing.board.availability import trained_on
from intrabench.publishing.board.lines import columns_of
from intrabench.publishing.board.submission import Submission, read_submission
from intrabench.publishing.board.tables import INCOMPLETE, RANKED, WITHHELD, Table, address, tables
from intrabench.reporting.table import Layout, effort_table, round_table
from intrabench.statistics.aggregate import AGGREGATIONS
from tests.publishing.board.conftest import remade


@pytest.fixture(scope="module")
def lab_a(played: Path) -> Submission:
    """The submission, read."""
    return read_submission(played / "lab-a")


Make = Callable[..., Submission]


@pytest.fixture
def another(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Make one from the same results with other values in some columns; it was read again, as all are."""
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    return partial(remade, played / "results", tmp_path)


def rows_of(submission: Submission) -> pl.DataFrame:
    assert submission.rows is not None
    return submission.rows


def made(*read: Submission) -> list[Table]:
    assert [one.problems for one in read] == [[]] * len(read)
    return list(tables(read))


def test_the_numbers_are_those_of_tables(lab_a: Submission) -> None:
    (table,) = made(lab_a)
    rows = rows_of(lab_a)
    ours = {(line.model, line.spec): line for line in table.lines}
    for metric, id in (("dice", "dice@1"), ("hd95_mm", "hd95_mm@1")):
        for row in effort_table(rows, Layout(metric=metric)).to_dicts():
            line = ours[row["model"], row["prompter"]]
            assert line.means[id][0] == pytest.approx(row["average"])
            assert line.effort["interactions"] == pytest.approx(row["interactions"])
            assert line.counts == {"sessions": 6, "targets": 6, "failed": 0, "not_applicable": 0}
    best = max(line.means["dice@1"][0] or 0 for line in table.lines)
    assert {line.number for line in table.lines if line.means["dice@1"][0] == best} == {
        number for number, rank in table.ranks(table.columns[0]).items() if rank == 1
    }


def test_a_budget_gives_what_can_be_reached_with_it(lab_a: Submission) -> None:
    (table,) = made(lab_a)
    rows = rows_of(lab_a).filter(model="supervoxels:method=grid", prompter="box_slice+click_slice")
    (line,) = (one for one in table.lines if one.model.startswith("super") and "click" in one.spec)
    budgets, values = table.budgets["interactions"], line.budgets["dice@1"]["interactions"]
    assert len(budgets) == len(values) > 1
    most = rows["interactions"].max()
    for budget, value in zip(budgets, values, strict=True):
        reached = rows.filter(pl.col("interactions") <= budget).group_by("target", "case").agg(pl.col("dice").last())
        expected = reached["dice"].sum() / 6  # all targets are instances of one class; each case has as many
        assert value == pytest.approx(expected, abs=1e-4)
        assert budget < most  # type: ignore[operator]
    assert "hd95_mm@1" not in line.budgets  # it does not grow from 0
    points = [one for one in (table.curves or {})["points"] if one[1] == line.number]
    per_round = round_table(rows).to_dicts()
    assert [point[3] for point in points] == pytest.approx([row["average"] for row in per_round], rel=1e-4)


def test_two_versions_of_data_do_not_share_a_column(lab_a: Submission, another: Make) -> None:
    newer = another("lab-b", dataset_version="2")
    found = made(lab_a, newer)
    assert [(one.key["dataset_version"], {line.submission for line in one.lines}) for one in found] == [
        ("1", {"lab-a"}),
        ("2", {"lab-b"}),
    ]
    assert found[0].id != found[1].id


@pytest.mark.parametrize(
    "columns",
    [
        {"protocol": "overlap@1", "metrics": "dice@1 iou@1", "nsd_2mm": None, "hd95_mm": None},
        {"stop": "dice=0.9"},
        {"joint_rules": "order=given"},
    ],
    ids=str,
)
def test_nor_do_two_protocols(lab_a: Submission, another: Make, columns: dict[str, str | None]) -> None:
    found = made(lab_a, another("lab-b", **columns))
    assert [{line.submission for line in one.lines} for one in found] in (
        [{"lab-a"}, {"lab-b"}],
        [{"lab-b"}, {"lab-a"}],
    )


def test_nor_do_two_versions_of_a_metric(lab_a: Submission, another: Make) -> None:
    ids = "dice@1 iou@1 nsd_2mm@9 hd95_mm@1"
    (table,) = made(lab_a, another("lab-b", metrics=ids))
    assert sorted(column.id for column in table.columns) == ["dice@1", "hd95_mm@1", "iou@1", "nsd_2mm@1", "nsd_2mm@9"]
    for line in table.lines:
        has = "nsd_2mm@1" if line.submission == "lab-a" else "nsd_2mm@9"
        assert {one for one in line.means if one.startswith("nsd")} == {has}


def test_a_model_that_was_trained_on_the_data_is_withheld(lab_a: Submission, another: Make) -> None:
    seen = (
        pl.when((pl.col("model") == "box_fill") & (pl.col("case") == "case-2"))
        .then(pl.lit("yes"))
        .otherwise("seen_in_training")
    )
    (table,) = made(lab_a, another("lab-b", seen_in_training=seen))
    (column,) = (one for one in table.columns if one.id == "dice@1")
    for line in table.lines:
        withheld = line.submission == "lab-b" and line.model == "box_fill"
        assert line.status == (WITHHELD if withheld else RANKED)
        assert line.means["dice@1"][0] is not None  # shown all the same
        assert (line.number in table.ranks(column)) != withheld
    names = [line["notes"] for line in (table.curves or {})["lines"]]
    assert names.count("lab-b, withheld") == 2


def test_what_is_known_now_counts_not_only_what_was_known_then() -> None:
    row = {"weights": "registered", "dataset_version": "1", "seen_in_training": "no"}
    known = {"model": "sammed2d", "dataset": "adrenal_acc"}
    assert trained_on({**row, **known, "seen_in_training": "yes"}) == "yes"
    assert trained_on({**row, **known}) == "no"
    assert trained_on({**row, "model": "vista3d", "dataset": "colorectal_livermets"}) == "yes"  # whatever the row says
    assert trained_on({**row, "model": "mine", "dataset": "../x"}) == "no"


def test_lines_that_lack_targets_have_no_rank(lab_a: Submission, another: Make, wording: SnapshotAssertion) -> None:
    fewer = pl.when((pl.col("model") == "box_fill") & (pl.col("case") == "case-2"))
    folder = another(
        "lab-b",
        status=fewer.then(pl.lit("not_applicable")).otherwise("status"),
        **{name: fewer.then(None).otherwise(pl.col(name)) for name in ("dice", "iou", "nsd_2mm", "hd95_mm")},
    )
    (table,) = made(lab_a, folder)
    found = {(line.submission, line.model): (line.status, line.why) for line in table.lines}
    assert found["lab-b", "box_fill"] == (INCOMPLETE, wording)
    assert found["lab-b", "supervoxels:method=grid"] == found["lab-a", "box_fill"] == (RANKED, "")


def test_nobody_chooses_the_column_that_ranks_others(lab_a: Submission, another: Make) -> None:
    ids = "boundary_iou@1 hd95_mm@1 " + str(rows_of(lab_a)["metrics"][0])
    other = another("a-first", metrics=ids.replace("dice@1", "dice@9"), boundary_iou=1.0)
    (table,) = made(other, lab_a)
    assert [column.id for column in table.columns] == [*PROTOCOLS["basic@1"].metrics, "boundary_iou@1", "dice@9"]
    status = {line.submission: line.status for line in table.lines}
    assert status == {"lab-a": RANKED, "a-first": INCOMPLETE}


def test_own_code_is_marked_and_has_a_page_of_its_own(lab_a: Submission, another: Make) -> None:
    (table,) = made(lab_a, another("lab-b", model_version="1.3f9a0c2e"), another("lab-c", model_version="1.3f9a0c2e"))
    marked = {line.submission for line in table.lines if line.marks}
    assert marked == {"lab-b", "lab-c"}
    assert {line.marks for line in table.lines if line.submission == "lab-b"} == {
        ("own model: its code is not part of IntraBench",)
    }
    pages = {line.submission: line.of for line in table.lines if line.model == "box_fill"}
    assert len(set(pages.values())) == 3


def test_addresses_depend_on_what_they_name_alone(lab_a: Submission, another: Make) -> None:
    """They are promised to stay, so a change of these texts breaks links of others."""
    (alone,) = made(lab_a)
    (both,) = made(lab_a, another("lab-b"))
    assert alone.id == both.id
    words = [alone.dataset, "version", "1"]
    pinned = address([*words, "basic@1"], "table", {**alone.key, "contract": 4, "protocol": "basic@1"})
    assert pinned == "phantom-shape-16x32x32-scans-2-version-1-basic-1-82fbca42"
    assert alone.id == address([*words, "basic@2"], "table", alone.key)
    ids = {(line.model, line.spec): (line.id, line.of) for line in alone.lines}
    again = {(line.model, line.spec): (line.id, line.of) for line in both.lines if line.submission == "lab-a"}
    assert ids == again
    assert ids["box_fill", "box_slice"][1] == "box-fill-9edaf887"
    assert len({line.id for line in both.lines}) == 8


def test_protocols_with_numbers_of_their_own_show_these(another: Make) -> None:
    id = next(id for id, preset in PROTOCOLS.items() if preset.numbers and not preset.partition and not preset.joint)
    ids = " ".join(PROTOCOLS[id].metrics)
    names = {one.rpartition("@")[0] for one in PROTOCOLS[id].metrics} - {"dice", "iou"}
    lab_n = another("lab-n", protocol=id, metrics=ids, **dict.fromkeys(names, 0.5))
    (table,) = made(lab_n)
    assert [column.id for column in table.columns] == [f"{head} ({id})" for head, _ in PROTOCOLS[id].numbers]
    assert all(line.means for line in table.lines)


def test_curves_are_of_the_metric_that_leads(another: Make) -> None:
    """The number of clicks is of IoU, so IoU is drawn, averaged over targets as rclicks@1 does."""
    columns = {"protocol": "rclicks@1", "metrics": "dice@1 iou@1 boundary_iou@1", "boundary_iou": 0.5}
    lab_n = another("lab-n", **columns, nsd_2mm=None, hd95_mm=None)
    (table,) = made(lab_n)
    assert table.columns[0].spec == "noc:threshold=0.9,metric=iou"
    assert table.curves is not None
    assert table.curves["title"] == "IoU"
    expected = round_table(rows_of(lab_n), Layout(metric="iou", how=AGGREGATIONS["pooled"])).to_dicts()
    drawn = {(table.lines[one[1]].spec, table.lines[one[1]].model, one[2]): one[3] for one in table.curves["points"]}
    assert drawn == pytest.approx(
        {(row["prompter"], row["model"], row["round"]): row["average"] for row in expected}, rel=1e-5
    )


@pytest.mark.parametrize(("protocol", "averages"), [("rclicks@1", "pooled"), ("cvpr25@1", "case")])
def test_numbers_of_a_protocol_are_averaged_as_it_says(protocol: str, averages: str) -> None:
    found = columns_of(pl.DataFrame({"protocol": [protocol]}))
    assert {column.how.name for column in found} == {averages}
