"""`autopet5@1` on the golden cases: sessions equal to those of the published loop, to the last digit."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import ndimage

import intrabench
from intrabench import Answer, Dataset, DatasetCard, Mask, Request, Volume, VolumeModel, targets_of
from intrabench.errors import FailedSessions
from intrabench.prompts import turns_by_round
from intrabench.results.parts import read_turns
from intrabench.statistics.measures import measured

pytest.importorskip("skimage")
GOLDEN = Path(__file__).parents[1] / "golden" / "autopet5"
TRACES = json.loads((GOLDEN / "traces.json").read_text())["runs"]
CASES = sorted(path.stem for path in (GOLDEN / "cases").iterdir())
ROWS = {"official": "nothing+autopet:style={}", "empty_side_counts_zero": "nothing+autopet:style={},empty=counts_zero"}
EXACT = {"rel": 0, "abs": 1e-12}


@cache
def stored(case: str) -> dict[str, np.ndarray]:
    """Arrays ``(z, y, x)`` and the spacing in that order."""
    with np.load(GOLDEN / "cases" / f"{case}.npz") as found:
        arrays = {name: np.ascontiguousarray(found[name].T) for name in ("label", "pet")}
        return {**arrays, "spacing": found["spacing"][::-1].astype(float)}


@dataclass(frozen=True)
class Pet(Dataset):
    name = "golden_pet"
    version = "1"
    card = DatasetCard("Synthetic PET", "PET")

    def cases(self) -> tuple[str, ...]:
        return tuple(CASES)

    def load(self, case: str, files: Any) -> tuple[Volume, Sequence[Any]]:
        found = stored(case)
        volume = Volume.from_canonical(found["pet"], found["spacing"])
        lesions, count = ndimage.label(found["label"] > 0, np.ones((3, 3, 3)))
        names = {number: ("lesion", number) for number in range(1, count + 1)}
        return volume, targets_of(lesions, names, case, volume.spacing_mm)


class Automatic(VolumeModel):
    """Base of the stub models, each of which also answers without prompts."""

    accepts = frozenset({"scribble", "point"})
    unprompted = True

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        return Answer(Mask.of(self.predicted(volume, request)))

    def predicted(self, volume: Volume, request: Request) -> np.ndarray:
        raise NotImplementedError


@dataclass(eq=False)
class PetBall(Automatic):
    """PET from 3.5 on; balls of radius 2 around all points of positive scribbles; then the negative ones cleared."""

    name = "petball"

    def predicted(self, volume: Volume, request: Request) -> np.ndarray:
        found, places = volume.array >= 3.5, np.indices(volume.shape)
        strokes = [stroke for turn in request.turns for stroke in turn.prompts.scribbles]
        for label in (1, 0):
            for point in [point for stroke in strokes if stroke.label == label for point in stroke.points]:
                found[((places - point.reshape(3, 1, 1, 1)) ** 2).sum(axis=0) <= 4] = bool(label)
        return found


@dataclass(eq=False)
class TruthFrom3(Automatic):
    """The label, but in its first three answers shifted by two voxels."""

    name = "gtfrom3"

    def predicted(self, volume: Volume, request: Request) -> np.ndarray:
        label = stored(volume.case)["label"] > 0
        return label if len(request.turns) > 3 else np.roll(label, 2, axis=2)


@dataclass(eq=False)
class Under(Automatic):
    """The label, eroded."""

    name = "under"

    def predicted(self, volume: Volume, request: Request) -> np.ndarray:
        return ndimage.binary_erosion(stored(volume.case)["label"] > 0)


@dataclass(eq=False)
class Over(Automatic):
    """The label, dilated."""

    name = "over"

    def predicted(self, volume: Volume, request: Request) -> np.ndarray:
        return ndimage.binary_dilation(stored(volume.case)["label"] > 0)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The rows and turns of all models, kinds of scribbles and both variants on all cases."""
    root = tmp_path_factory.mktemp("autopet")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("INTRABENCH_DATA", str(root / "data"))
        patch.chdir(root)
        warnings.simplefilter("ignore", FailedSessions)
        models = [PetBall(), TruthFrom3(), Under(), Over()]
        whole = intrabench.dataset(Pet(), "whole:label=lesion")
        rows = intrabench.run(models, dataset=whole, protocol="autopet5@1", out=root / "out")
        return rows, read_turns(root / "out")


def key(trace: dict[str, Any]) -> tuple[str, str, str]:
    return trace["case"], trace["predictor"], ROWS[trace["variant"]].format(trace["strategy"])


def of(rows: pl.DataFrame, trace: dict[str, Any]) -> pl.DataFrame:
    case, model, prompter = key(trace)
    found = rows.filter(pl.col("case") == case, pl.col("model") == model, pl.col("prompter") == prompter)
    return found.sort("round")


IDS = ["-".join((t["case"], t["predictor"], t["strategy"], t["variant"])) for t in TRACES]


@pytest.mark.parametrize("trace", TRACES, ids=IDS)
def test_sessions_are_those_of_the_published_loop(played: Any, trace: dict[str, Any]) -> None:
    rows, turns = played
    session = of(rows, trace)
    assert session["target"].unique().to_list() == ["lesion.0"]
    stored_turns = turns.filter(pl.col("session") == session["session"][0]).sort("turn").to_dicts()
    given = turns_by_round(stored_turns)
    failed = next((n for n, step in enumerate(trace["iterations"]) if step.get("failed")), 6)
    assert session.height == min(failed + 1, 6)
    points: list[int] = []
    for row, step in zip(session.to_dicts(), trace["iterations"], strict=False):
        if step.get("failed"):
            assert row["status"] == "error"
            assert "the published loop fails" in row["error"]
            assert row["dice"] == step["dice"] == 0
            break
        assert row["dice"] == pytest.approx(step["dice"], **EXACT)
        for column, name in (("dmm", "dmm"), ("fpv", "fpv_ml"), ("fnv", "fnv_ml")):
            wanted = step[name]
            assert row[column] is None if wanted is None else row[column] == pytest.approx(wanted, **EXACT)
        assert row["pred_voxels"] == step["voxels"]
        (turn,) = given[row["round"]]
        strokes = [(stroke.label, stroke.points[:, ::-1].tolist()) for stroke in turn.prompts.scribbles]
        added = step.get("added")
        assert strokes == ([(int(added["sign"] == "tumor"), added["points"])] if added else [])
        points.append(sum(len(stroke) for _, stroke in strokes))
        assert list(accumulate(points))[-1] == sum(step["accumulated"].values())
    assert len(given) == trace["model_calls"], "a model is asked once per iteration, and not where the loop failed"


@pytest.mark.parametrize(("last", "name"), [(5, "auc"), (4, "auc_with_default_max_iters_5")])
def test_areas_are_the_published_ones(played: Any, last: int, name: str) -> None:
    rows, _ = played
    traces = [trace for trace in TRACES if name in trace]
    assert len(traces) >= 12
    for trace in traces:
        expected = trace[name]
        for metric in ("dice", "dmm"):
            found = measured(of(rows, trace), f"autopet5_auc:metric={metric},last={last}")["value"].to_list()
            wanted = expected[f"auc_{metric}"]
            assert found == [None if wanted is None else pytest.approx(wanted, **EXACT)], (key(trace), metric)


def test_waiting_costs_nothing(played: Any) -> None:
    rows, _ = played
    first = rows.filter(pl.col("round") == 0)
    assert first["interactions"].unique().to_list() == [0.0]
    assert first["seconds_human"].unique().to_list() == [0.0]
    none = rows.filter(pl.col("case") == "p4_no_lesion")
    assert none["interactions"].unique().to_list() == [0.0]
    assert set(none["status"]) == {"ok", "empty"}


def test_both_variants_are_equal_where_no_side_is_ever_empty(played: Any) -> None:
    rows, _ = played
    for trace in (trace for trace in TRACES if trace["predictor"] == "petball"):
        one, other = (of(rows, {**trace, "variant": variant}) for variant in ROWS)
        assert one["prompts_hash"].to_list() == other["prompts_hash"].to_list()


def test_the_last_round_stands_although_the_loop_would_fail_in_the_next(data: Path) -> None:
    shared = {"model": TruthFrom3(), "dataset": intrabench.dataset(Pet(), "whole"), "cases": "p1_round_lesions"}
    rows = intrabench.run(**shared, protocol="autopet5@1", only="Centerline", rounds=3, out="out")
    assert rows["status"].to_list() == ["ok"] * 4
    assert rows["dice"][-1] == 1.0
    with pytest.warns(FailedSessions, match="no missed and no wrongly included voxels, with which the published loop"):
        rows = intrabench.run(**shared, protocol="autopet5@1", only="Centerline", rounds=4, out="out")
    assert rows["status"].to_list() == ["ok"] * 4 + ["error"]


def test_without_a_label_a_case_without_lesions_is_left_out(data: Path) -> None:
    rows = intrabench.run(Under(), "nothing", Pet(), protocol="autopet5@1", out="out")
    assert rows["dataset"].unique().to_list() == ["golden_pet+whole"]
    assert rows["case"].to_list() == CASES[:3]
