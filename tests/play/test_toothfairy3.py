"""`toothfairy3@1`: scores equal to those of the published evaluation, areas and ranks, and what a user sees."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import intrabench
from intrabench import Dataset, DatasetCard, Volume, VolumeModel, targets_of
from intrabench.models.base import Answer, JointAnswer, JointRequest, Request
from intrabench.protocols import PROTOCOLS
from intrabench.reporting.numbers import RANK, numbers_table
from intrabench.reporting.table import Layout
from intrabench.results.parts import read_rows
from intrabench.statistics.aggregate import AGGREGATIONS, aggregate
from intrabench.statistics.measures import best, measured
from tests.conftest import Said

GOLDEN = Path(__file__).parents[1] / "golden" / "toothfairy3"
SCORES = json.loads((GOLDEN / "scores.json").read_text())
CANALS = {1: ("Left", 1), 2: ("Right", 1)}
EXACT: dict[str, Any] = {"rel": 0, "abs": 1e-12}


def stored(name: str) -> np.ndarray:
    with np.load(GOLDEN / "answers.npz") as found:
        return np.asarray(found[name])


@dataclass(frozen=True)
class Canals(Dataset):
    """Scans with both canals, with one of them, and with the other."""

    name = "canals"
    version = "1"
    card = DatasetCard("Synthetic canals", "CT")

    def cases(self) -> tuple[str, ...]:
        return tuple(sorted(SCORES))

    def load(self, case: str, files: Any) -> tuple[Volume, Sequence[Any]]:
        labels = stored(f"{case}_truth")
        volume = Volume.from_canonical(labels.astype(np.int16), (2.0, 0.5, 1.0))
        return volume, targets_of(labels, CANALS, case, volume.spacing_mm)


@dataclass(eq=False)
class Recorded(VolumeModel):
    """Gives the recorded answers, one per round."""

    name = "recorded_canals"
    accepts = frozenset({"point"})
    joint = True
    unprompted = True
    fails: int = -1
    """The round in which it does not answer."""

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        raise NotImplementedError

    def segment_together(self, volume: Volume, request: JointRequest) -> JointAnswer:
        number = max(len(one.turns) for one in request.requests) - 1
        if number == self.fails:
            raise ValueError("no answer")
        return JointAnswer((0, 0, 0), stored(f"{volume.case}_answers")[number])


@pytest.fixture
def rows(data: Path) -> pl.DataFrame:
    whole = intrabench.dataset(Canals(), "whole:label='Left,Right'")
    return intrabench.run(Recorded(), dataset=whole, protocol="toothfairy3@1", out="out")


def means(rows: pl.DataFrame, spec: str, keys: Sequence[str] = ("case",)) -> dict[str, float]:
    found = measured(rows, spec).group_by(*keys).agg(pl.col("value").mean())
    return dict(found.iter_rows())


def test_scores_are_those_of_the_published_evaluation(rows: pl.DataFrame) -> None:
    assert rows["round"].unique().sort().to_list() == [0, 1, 2, 3, 4, 5]
    assert rows.height == 3 * 2 * 6, "an absent canal is scored in every round"
    called = {"Left": "Left Inferior Alveolar Canal", "Right": "Right Inferior Alveolar Canal"}
    for row in rows.to_dicts():
        step = SCORES[row["case"]]["steps"][row["round"]]
        assert row["dice"] == pytest.approx(step["dice"][called[row["label"]]], **EXACT)
        assert row["hd95_medpy"] == pytest.approx(step["hd95"][called[row["label"]]], **EXACT)


def test_areas_and_last_values_are_the_published_ones(rows: pl.DataFrame) -> None:
    for head, spec in PROTOCOLS["toothfairy3@1"].numbers:
        found = means(rows, spec)
        assert found == {case: pytest.approx(scores[head], **EXACT) for case, scores in SCORES.items()}
        (whole,) = aggregate(measured(rows, spec), ["model"], AGGREGATIONS["case"])["value"]
        assert whole == pytest.approx(np.mean([scores[head] for scores in SCORES.values()]), **EXACT)
        assert best(spec) == ("low" if "HD95" in head else "high")


def test_in_mm_without_absent_canals_and_with_a_failure(data: Path) -> None:
    with pytest.warns(UserWarning, match="no answer"):
        rows = intrabench.run(
            Recorded(fails=3), dataset=Canals(), cases=["both", "absent"], protocol="toothfairy3-fixed@1", out="out"
        )
    assert rows.select("case", "label").n_unique() == 3
    assert rows.filter(round=5)["status"].unique().to_list() == ["ok"], "the session goes on"
    column = "hd95_medpy:spacing=mm"
    first = rows.filter(pl.col("case") == "both", pl.col("round") == 0)[column].to_list()
    assert first == [pytest.approx(np.linalg.norm(np.array([24, 20, 22]) * [2.0, 0.5, 1.0]))] * 2
    assert np.isinf(list(means(rows, f"toothfairy3_auc:metric='{column}'").values())).all()
    dice = [step["dice"]["Left Inferior Alveolar Canal"] for step in SCORES["both"]["steps"]]
    area = measured(rows, "toothfairy3_auc").filter(case="both", label="Left")["value"].to_list()
    dice[3] = 0
    assert area == [pytest.approx(np.trapezoid(dice))]


def test_lines_are_ranked_by_all_four_numbers(say: Callable[..., Said]) -> None:
    models = ("--model", "random_walker", "--model", "graph_cut", "--model", "supervoxels")
    shared = ("--dataset", "phantom:shape=12x24x24,scans=2", "--out", "out")
    said = say("run", "--protocol", "toothfairy3@1", *models, *shared)
    assert said.code == 0, said.err
    table = list(csv.DictReader(io.StringIO(say("table", "--protocol", "toothfairy3@1", "--csv", "--out", "out").out)))
    heads = [head for head, _ in PROTOCOLS["toothfairy3@1"].numbers]
    values = {head: np.array([float(line[head]) for line in table]) for head in heads}
    signed = [values[head] if "HD95" in head else -values[head] for head in heads]
    expected = np.mean([[1 + (number < mine).sum() for mine in number] for number in signed], axis=0)
    assert [float(line["mean_rank"]) for line in table] == expected.tolist()
    assert len(set(expected)) > 1
    played = read_rows(Path("out"))
    few = played.filter((pl.col("model") != "graph_cut") | (pl.col("case") == played["case"].min()))
    lines = numbers_table(few, Layout(by=("model",)), [PROTOCOLS["toothfairy3@1"]])
    assert dict(lines.select("model", RANK).iter_rows())["graph_cut"] is None
    assert sorted(lines[RANK].drop_nulls()) != []
    assert say("report", "report.html", "--out", "out").code == 0
    page = re.sub("<[^>]*>", "", Path("report.html").read_text())
    assert "mean_rank" in page


def test_info_tells_the_traps(say: Callable[..., Said]) -> None:
    told = " ".join(say("info", "toothfairy3@1").out.split())
    for trap in ("in the order of the array, z, y, x", "HD95 is in voxels", "scores Dice 1 and HD95 0 if nothing"):
        assert trap in told
    assert "HD95 is in mm" in " ".join(say("info", "toothfairy3-fixed@1").out.split())
