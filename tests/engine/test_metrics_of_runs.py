"""Metrics beside those of the protocol: from the command line and Python, in keys, tables, reports and comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.verify import verify
from intrabench.errors import IntraBenchError
from intrabench.identity.versions import version_of
from intrabench.metrics.lookup import metric
from intrabench.registry import registry
from intrabench.results.parts import read_rows
from intrabench.results.schema import metric_columns
from tests.conftest import Said
from tests.wording import line_with, sentence_with

SMALL = "phantom:shape=16x32x32,instances=2"
BOXES = ("-m", "box_fill", "-p", "box_slice", "-d", SMALL, "--protocol", "overlap@1")
OUT = Path("out")

MINE = '''
from dataclasses import dataclass

from intrabench import MaskPair, Metric


@dataclass(frozen=True)
class Brightness(Metric):
    """Mean of the image in the answer, over a scale."""

    name = "brightness"
    needs = frozenset({"mask", "image"})

    scale: float = 1.0

    def measure(self, pair: MaskPair) -> float:
        return pair.image_array[pair.answer_array].mean() / self.scale


@dataclass(frozen=True)
class Fragile(Metric):
    """Fails on the second instance."""

    name = "fragile"

    def measure(self, pair: MaskPair) -> float:
        if pair.target.instance == 2:
            raise ZeroDivisionError("no ground to stand on")
        return 0.5
'''


def run(**options: Any) -> pl.DataFrame:
    given = {"model": "box_fill", "prompter": "box_slice", "dataset": SMALL, "out": OUT, "protocol": "overlap@1"}
    return intrabench.run(**{**given, **options}).sort("target")


def test_a_metric_of_a_workspace_from_the_command_line(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    Path("intrabench.toml").touch()
    Path("metrics").mkdir()
    Path("metrics/mine.py").write_text(MINE)
    assert "brightness  " in say("list", "metrics").out
    assert line_with(say("info", "brightness").out, "number; default") == wording
    said = say("run", *BOXES, "--metric", "brightness", "--metric", "brightness:scale=2", "--metric", "nsd")
    assert (said.code, said.err.splitlines()[-1]) == (0, wording)
    rows = read_rows(Path("results"))
    own = version_of(metric("brightness"))  # which a hash of its source is part of
    assert set(rows["metrics"]) == {f"dice@1 iou@1 brightness@{own} brightness:scale=2@{own} nsd_2mm@1"}
    assert rows["brightness"].min() > 0
    assert (rows["brightness"] / 2 - rows["brightness:scale=2"]).abs().max() < 1e-9
    for name in ("brightness", "brightness:scale=2"):
        said = say("table", "--metric", name, "--interval", "--csv")
        assert said.code == 0
        assert f",{rows[name].mean():.3f} [-]" in said.out


def test_sessions_are_played_again_for_a_metric_that_they_lack() -> None:
    plain = run()
    assert metric_columns(plain) == []
    more = run(metric=["lesion_f1", "hd95"])
    assert set(plain["session"]).isdisjoint(more["session"])
    assert more.select("dice", "fp_voxels").equals(plain.select("dice", "fp_voxels"))
    assert metric_columns(more) == ["lesion_f1", "hd95_mm"]
    parts = len(list(OUT.glob("rows/*.parquet")))
    assert run(metric=["hd95_mm", "dice", "lesion_f1"])["session"].to_list() == more["session"].to_list()
    assert run()["session"].to_list() == plain["session"].to_list()
    assert len(list(OUT.glob("rows/*.parquet"))) == parts


def test_a_table_takes_the_sessions_that_measured_its_metric(wording: SnapshotAssertion) -> None:
    first = run(metric=["lesion_f1"])
    second = run(metric=["relative_volume_difference"])
    for rows, name in ((first, "lesion_f1"), (second, "relative_volume_difference")):
        table = intrabench.table(OUT, metric=name)
        assert table["sessions"].to_list() == [2]
        assert table["average"][0] == pytest.approx(rows[name].mean())
    with pytest.raises(IntraBenchError) as caught:
        intrabench.table(OUT, metric="nsd")
    assert caught == wording


def test_a_metric_that_fails_costs_nobody_else_a_score(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    Path("mine.py").write_text(MINE)
    said = say("run", *BOXES, "--plugin", "mine.py", "--metric", "fragile", "--metric", "nsd", "--out", "out")
    reason = "ZeroDivisionError: no ground to stand on, in line 28 of mine.py"
    assert said.code == 0
    assert said.err.splitlines()[-1] == wording
    rows = read_rows(OUT).sort("target")
    assert rows.select("status", "fragile", "error").rows() == [
        ("ok", 0.5, ""),
        ("ok", None, f"metric fragile: {reason}"),
    ]
    assert rows["dice"].min() > 0.5
    assert rows["nsd_2mm"].min() > 0.5
    assert say("table", "--plugin", "mine.py", "--metric", "fragile", "--csv", "--out", "out").out.endswith(
        ",0.5,0.5\n"
    )


def test_failures_count_as_the_worst_value_of_a_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    from intrabench.models.box_fill import BoxFill

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(BoxFill, "segment_one", broken)
    rows = run(metric=["hd95", "relative_volume_difference", "lesion_f1"])
    assert set(rows["status"]) == {"error"}
    worst = {"hd95": math.inf, "relative_volume_difference": -1.0, "dice": 0.0}
    assert {name: intrabench.table(OUT, metric=name)["average"][0] for name in worst} == worst


def test_two_lines_are_compared_by_any_metric(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    name = "relative_volume_difference"
    for prompter in ("box_volume", "box_slice"):
        run(prompter=prompter, metric=[name])
    said = say("compare", "box_volume", "box_slice", "--metric", name, "--out", "out")
    assert said.code == 0
    assert line_with(said.out, "distance from") == wording
    assert ["+0.442", "*", "1", "0", "2", "0.75"] in [
        line.replace("│", " ").split()[1:] for line in said.out.splitlines()
    ]


def test_folders_with_different_metrics_are_compared(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    run(metric=["lesion_f1"])
    run(metric=["nsd"], out=Path("other"))
    said = say("compare", "out", "other")
    assert said.code == 0
    assert ["+0.000", "*", "0", "0", "2", "0.50"] in [
        line.replace("│", " ").split()[1:] for line in said.out.splitlines()
    ]
    assert say("compare", "out", "other", "--metric", "nsd").err == wording


def test_a_metric_that_was_edited_gives_fresh_values(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    Path("intrabench.toml").touch()
    Path("metrics").mkdir()
    Path("metrics/mine.py").write_text(MINE)
    one, other = ("--targets", "blob.1"), ("--targets", "blob.2")
    assert say("run", *BOXES, "--metric", "brightness").code == 0
    first = read_rows(Path("results"))
    Path("metrics/mine.py").write_text(MINE.replace("/ self.scale", "+ 1000"))
    assert say("run", *BOXES, *one, "--metric", "brightness").code == 0
    said = say("table", "--metric", "brightness", "--csv")
    fresh = first.filter(target="blob.1")["brightness"].item() + 1000
    assert float(said.out.splitlines()[1].split(",")[-1]) == pytest.approx(fresh)
    assert said.err == wording
    assert say("table", "--csv").out.splitlines()[1].split(",")[-1] == str(first["dice"].mean())
    assert say("run", *BOXES, *other, "--metric", "brightness").code == 0
    said = say("table", "--metric", "brightness", "--csv")
    assert float(said.out.splitlines()[1].split(",")[-1]) == pytest.approx(first["brightness"].mean() + 1000)
    Path("metrics/mine.py").write_text(MINE)  # undone: the first values are there, and count again
    assert say("run", *BOXES, "--metric", "brightness").err == wording
    said = say("table", "--metric", "brightness", "--csv")
    assert float(said.out.splitlines()[1].split(",")[-1]) == pytest.approx(first["brightness"].mean())


def test_the_report_lists_what_was_measured(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    Path("mine.py").write_text(MINE)
    run(metric=["brightness", "lesion_f1"], plugin=[Path("mine.py")])
    assert say("report", "known.html", "--plugin", "mine.py", "--views", "0", "--out", "out").code == 0
    text = Path("known.html").read_text()
    assert sentence_with(text, "answer, over") == wording
    for told in (">Lesion F1</th>", ">brightness</th>", f"dice@1, iou@1, {metric('brightness').id}, lesion_f1@1"):
        assert told in text.replace('<button type="button">', ">").replace("</button>", ""), told
    registry._plugins["metrics"].clear()  # as on another machine, which has not the file
    assert say("report", "unknown.html", "--views", "0", "--out", "out").code == 0
    text = Path("unknown.html").read_text()
    assert ">Lesion F1<" in text
    assert ">brightness<" not in text
    said = say("table", "--metric", "brightness", "--out", "out")
    assert (said.code, said.err) == (2, wording)
    assert say("table", "--out", "out").code == 0


def test_a_session_with_more_metrics_is_verified(wording: SnapshotAssertion) -> None:
    run(metric=["lesion_f1", "nsd:tolerance_mm=1"])
    assert {verdict.found for verdict in verify(OUT)} == {"equal"}
    (part, *_) = OUT.glob("rows/*.parquet")
    pl.read_parquet(part).with_columns(lesion_f1=pl.lit(0.25)).write_parquet(part)
    (told, *_) = [verdict.message for verdict in verify(OUT) if verdict.found == "differs"]
    assert "lesion_f1 0.25" in told
    assert "and 1.0" in told
    assert told == wording


@pytest.mark.parametrize(
    "metrics",
    [
        ["dcie"],
        ['noted:words="left lung"'],
    ],
    ids=" ".join,
)
def test_metrics_that_cannot_be_measured(metrics: list[str], wording: SnapshotAssertion) -> None:
    Path("mine.py").write_text(MINE.replace('"fragile"', '"noted"\n    words: str = ""'))
    with pytest.raises(IntraBenchError) as caught:
        run(metric=metrics, plugin=[Path("mine.py")])
    assert caught == wording
    assert not OUT.exists()
