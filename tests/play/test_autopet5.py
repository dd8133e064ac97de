"""`autopet5@1` on the golden cases: sessions equal to those of the published loop, to the last digit."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import polars as pl
import pytest
from scipy import ndimage
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import Answer, Dataset, DatasetCard, Mask, Request, Volume, VolumeModel, targets_of
from intrabench.errors import FailedSessions, IntraBenchError
from intrabench.protocols.autopet_paper import STYLES
from intrabench.results.parts import read_turns
from intrabench.statistics.measures import measured, summary
from intrabench.turns import turns_by_round
from tests.conftest import Said
from tests.wording import sentence_with

pytest.importorskip("skimage")
GOLDEN = Path(__file__).parents[1] / "golden" / "autopet5"
TRACES = json.loads((GOLDEN / "traces.json").read_text())["runs"]
CASES = sorted(path.stem for path in (GOLDEN / "cases").iterdir())
ROWS = {
    "official": "nothing+autopet:style={},axes=file",
    "empty_side_counts_zero": "nothing+autopet:style={},empty=counts_zero",
}
EXACT = {"rel": 0, "abs": 1e-12}
BALL = np.array([step for step in itertools.product(range(-2, 3), repeat=3) if np.square(step).sum() <= 4])


@cache
def stored(case: str) -> dict[str, np.ndarray]:
    """Arrays and spacing in the order of the file, ``(x, y, z)``."""
    with np.load(GOLDEN / "cases" / f"{case}.npz") as found:
        return {name: found[name] for name in ("label", "pet", "spacing")}


def affine_of(codes: str, spacing: np.ndarray) -> np.ndarray:
    """The affine of a file whose axes are named by `codes`, such as LPS."""
    affine = np.eye(4)
    affine[:3, :3] = nib.orientations.inv_ornt_aff(nib.orientations.axcodes2ornt(tuple(codes)), (1, 1, 1))[:3, :3].T
    affine[:3, :3] *= spacing
    assert "".join(nib.aff2axcodes(affine)) == codes
    return affine


@dataclass(frozen=True)
class Pet(Dataset):
    name = "golden_pet"
    version = "1"
    card = DatasetCard("Synthetic PET", "PET")
    codes: str = "RAS"

    def cases(self) -> tuple[str, ...]:
        return tuple(CASES)

    def load(self, case: str, files: Any) -> tuple[Volume, Sequence[Any]]:
        found = stored(case)
        volume = Volume.from_file_order(found["pet"], affine_of(self.codes, found["spacing"]))
        label = volume.grid.to_canonical(found["label"])
        lesions, count = ndimage.label(label > 0, np.ones((3, 3, 3)))
        names = {number: ("lesion", number) for number in range(1, count + 1)}
        return volume, targets_of(lesions, names, case, volume.spacing_mm)


def in_file(volume: Volume, points: np.ndarray) -> np.ndarray:
    """Rows ``z, y, x`` as rows ``x, y, z`` of the file, by nibabel."""
    matrix = np.linalg.inv(volume.grid.affine) @ volume.affine
    return np.rint(nib.affines.apply_affine(matrix, points)).astype(int)


class Automatic(VolumeModel):
    """Base of the stub models, each of which also answers without prompts; they work on the axes of the file."""

    accepts = frozenset({"scribble", "point"})
    unprompted = True

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        return Answer(Mask.of(volume.grid.to_canonical(self.predicted(volume, request))))

    def predicted(self, volume: Volume, request: Request) -> np.ndarray:
        raise NotImplementedError


@dataclass(eq=False)
class PetBall(Automatic):
    """PET from 3.5 on; balls of radius 2 around all points of positive scribbles; then the negative ones cleared."""

    name = "petball"

    def predicted(self, volume: Volume, request: Request) -> np.ndarray:
        found = volume.grid.from_canonical(volume.array) >= 3.5
        strokes = [stroke for turn in request.turns for stroke in turn.prompts.scribbles]
        for label in (1, 0):
            for stroke in (stroke for stroke in strokes if stroke.label == label):
                voxels = (in_file(volume, stroke.points)[:, None] + BALL).reshape(-1, 3)
                voxels = voxels[((voxels >= 0) & (voxels < found.shape)).all(axis=1)]
                found[tuple(voxels.T)] = bool(label)
        return found


@dataclass(eq=False)
class TruthFrom3(Automatic):
    """The label, but in its first three answers shifted by two voxels."""

    name = "gtfrom3"

    def predicted(self, volume: Volume, request: Request) -> np.ndarray:
        label = stored(volume.case)["label"] > 0
        return label if len(request.turns) > 3 else np.roll(label, 2, axis=0)


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
    """The rows and turns of all models, kinds of scribbles and both variants on all cases, and with other axes."""
    root = tmp_path_factory.mktemp("autopet")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setenv("INTRABENCH_DATA", str(root / "data"))
        patch.chdir(root)
        warnings.simplefilter("ignore", FailedSessions)
        shared = {"protocol": "autopet5@1", "out": root / "out"}
        whole = intrabench.dataset(Pet(), "whole:label=lesion")
        rows = intrabench.run([PetBall(), TruthFrom3(), Under(), Over()], dataset=whole, **shared)
        others = [intrabench.dataset(Pet(codes), "whole:label=lesion") for codes in ("LPS", "PIR")]
        more = intrabench.run([PetBall(), TruthFrom3()], dataset=others, only=list(STYLES), **shared)
        return pl.concat([rows, more], how="diagonal"), read_turns(root / "out")


def of(rows: pl.DataFrame, trace: dict[str, Any], codes: str = "RAS") -> pl.DataFrame:
    """The session of a trace."""
    name = "golden_pet" if codes == "RAS" else f"golden_pet:codes={codes}"
    chosen = {
        **{"case": trace["case"], "model": trace["predictor"], "dataset": f"{name}+whole:label=lesion"},
        "prompter": ROWS[trace["variant"]].format(trace["strategy"]),
    }
    return rows.filter(*(pl.col(column) == value for column, value in chosen.items())).sort("round")


IDS = ["-".join((t["case"], t["predictor"], t["strategy"], t["variant"])) for t in TRACES]


@pytest.mark.parametrize("trace", TRACES, ids=IDS)
def test_sessions_are_those_of_the_published_loop(played: Any, trace: dict[str, Any]) -> None:
    check(*played, trace, "RAS")


@pytest.mark.parametrize("codes", ["LPS", "PIR"])
def test_so_are_those_of_files_with_other_axes(played: Any, codes: str) -> None:
    traces = [
        trace for trace in TRACES if trace["variant"] == "official" and trace["predictor"] in ("petball", "gtfrom3")
    ]
    assert len(traces) == 24
    for trace in traces:
        check(*played, trace, codes)


def check(rows: pl.DataFrame, turns: pl.DataFrame, trace: dict[str, Any], codes: str) -> None:
    """Compare a session with its trace."""
    session = of(rows, trace, codes)
    volume, _ = Pet(codes).load(trace["case"], None)
    assert session["target"].unique().to_list() == ["lesion.0"]
    given = turns_by_round(turns.filter(pl.col("session") == session["session"][0]).sort("turn").to_dicts())
    failed = next((n for n, step in enumerate(trace["iterations"]) if step.get("failed")), 6)
    assert session.height == min(failed + 1, 6)
    points = 0
    for row, step in zip(session.to_dicts(), trace["iterations"], strict=False):
        if step.get("failed"):
            assert (row["status"], row["dice"]) == ("error", step["dice"])
            assert "the published loop fails" in row["error"]
            break
        assert row["dice"] == pytest.approx(step["dice"], **EXACT)
        for column, name in (("dmm", "dmm"), ("fpv", "fpv_ml"), ("fnv", "fnv_ml")):
            wanted = step[name]
            assert row[column] is None if wanted is None else row[column] == pytest.approx(wanted, **EXACT)
        assert row["pred_voxels"] == step["voxels"]
        (turn,) = given[row["round"]]
        strokes = [(stroke.label, in_file(volume, stroke.points).tolist()) for stroke in turn.prompts.scribbles]
        added = step.get("added")
        assert strokes == ([(int(added["sign"] == "tumor"), added["points"])] if added else [])
        points += sum(len(stroke) for _, stroke in strokes)
        assert points == sum(step["accumulated"].values())
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
            assert found == [None if wanted is None else pytest.approx(wanted, **EXACT)], (trace["case"], metric)


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


def test_a_model_that_needs_prompts_gets_only_the_mended_rows(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    words = ("run", "--protocol", "autopet5@1", "-m", "box_fill", "-m", "random_walker", "-d", "phantom:shape=24x48x48")
    said = say(*words, "--cases", "first:1", "--only", "Centerline*", "--out", "out", "--strict")
    assert said.code == 2
    assert said.err == wording
    said = say(*words[:3], *words[5:], "--only", "Random")
    assert said.code == 2
    assert " ".join(said.err.split()) == wording
    said = say(*words[:3], *words[5:], "--cases", "first:1", "--only", "C*", "--out", "out")
    assert said.code == 0, said.err
    assert "Centerline (mended)" in said.out
    assert "Centerline " not in said.out.replace("Centerline (mended)", "")
    assert "phantom:shape=24x48x48+whole" in said.out
    shown = say("table", "--out", "out", "--protocol", "autopet5@1", "--metric", "autopet5_auc:metric=dmm")
    assert sentence_with(" ".join(shown.out.split()), "area under") == wording
    assert "autopet5@1" in say("info", "autopet5@1").out
    assert say("verify", "out", "--sample", "2").out.startswith("ok  ")
    with pytest.raises(IntraBenchError, match="last=1 or more"):
        summary("autopet5_auc:last=0")


def test_the_last_round_stands_although_the_loop_would_fail_in_the_next(data: Path) -> None:
    shared = {"model": TruthFrom3(), "dataset": intrabench.dataset(Pet(), "whole"), "cases": "p1_round_lesions"}
    shared |= {"prompter": "nothing+autopet:style=centerline,axes=file", "stop": "dice=inf", "out": "out"}
    rows = intrabench.run(**shared, rounds=3)
    assert rows["status"].to_list() == ["ok"] * 4
    assert rows["dice"][-1] == 1.0
    with pytest.warns(FailedSessions, match="no missed and no wrongly included voxels, with which the published loop"):
        rows = intrabench.run(**shared, rounds=4)
    assert rows["status"].to_list() == ["ok"] * 4 + ["error"]


def test_without_a_label_a_case_without_lesions_is_left_out(data: Path) -> None:
    rows = intrabench.run(Under(), "nothing", Pet(), protocol="autopet5@1", out="out")
    assert rows["dataset"].unique().to_list() == ["golden_pet+whole"]
    assert rows["case"].to_list() == CASES[:3]
