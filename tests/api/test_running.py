"""Runs, previews and checks from Python, with objects and classes as well as specs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import (
    Answer,
    Click,
    Dataset,
    DatasetCard,
    DrawBox3D,
    IntraBenchError,
    Mask,
    Metric,
    Prompter,
    Turn,
    VolumeModel,
    box3d,
    points,
    targets_of,
)
from intrabench.cli.run import run as command
from intrabench.datasets.phantom import Phantom
from intrabench.engine.options import DEFAULTS
from intrabench.errors import FailedSessions
from intrabench.models.base import Runtime
from intrabench.models.box_fill import BoxFill
from intrabench.prompters.box_slice import BoxSlice
from intrabench.prompters.scribble import ScribbleRefinement
from intrabench.volume import Volume

SMALL = "phantom:shape=16x32x32,instances=2"

pytestmark = pytest.mark.usefixtures("data")


@dataclass(eq=False)
class Shrunk(VolumeModel):
    """The 3D box, smaller by so many voxels on each side."""

    name = "shrunk"
    accepts = frozenset({"box3d", "point"})
    by: int = 0

    def segment_one(self, volume: Volume, request: intrabench.Request) -> Answer:
        z0, y0, x0, z1, y1, x1 = (int(v) for v in request.turns[0].prompts.box3d)
        size = (z1 - z0 - 2 * self.by, y1 - y0 - 2 * self.by, x1 - x0 - 2 * self.by)
        return Answer(Mask.of(np.ones(size, bool), (z0 + self.by, y0 + self.by, x0 + self.by)))


@dataclass(frozen=True)
class BoxThenClick(Prompter):
    """A 3D box, then clicks on the first missed voxel."""

    name = "box_then_click"

    def interact(self, user: intrabench.User) -> Iterator[Turn]:
        mask = yield Turn(box3d(user.target.mask.box), (DrawBox3D(),))
        while (missed := user.target.mask.without(mask)).any():
            mask = yield Turn(points(missed.coordinates()[0]), (Click(),))


@dataclass(frozen=True)
class Cube(Dataset):
    """A cube of 4 voxels."""

    name = "cube"
    version = "1"
    card = DatasetCard("A cube", "synthetic")

    def cases(self) -> tuple[str, ...]:
        return ("one",)

    def load(self, case: str, files: intrabench.Files) -> Any:
        labels = np.zeros((8, 10, 12), np.uint8)
        labels[2:6, 3:7, 4:8] = 1
        volume = Volume.from_canonical(labels.astype(np.float32))
        return volume, targets_of(labels, {1: ("cube", 1)}, case, volume.spacing_mm)


@dataclass(frozen=True)
class Cubes(Cube):
    """Three of them, two of one patient."""

    name = "cubes"

    def cases(self) -> tuple[str, ...]:
        return "P1 before", "P1 after", "P2"

    def patient(self, case: str) -> str:
        return case.partition(" ")[0]


@dataclass(frozen=True)
class Missed(Metric):
    """The number of missed voxels."""

    name = "missed"
    best = "low"
    worst = float("inf")

    def measure(self, pair: intrabench.MaskPair) -> float:
        return float(pair.truth.without(pair.answer).voxels)


def run(**options: Any) -> pl.DataFrame:
    return intrabench.run(**{"model": "box_fill", "prompter": "box_slice", "dataset": SMALL, **options})


def test_rows_name_the_patient() -> None:
    rows = run(dataset=[Cubes(), SMALL], out="r").filter(pl.col("round") == 0)
    assert set(rows.select("case", "patient").rows()) == {
        ("P1 before", "P1"),
        ("P1 after", "P1"),
        ("P2", "P2"),
        ("case-1", "case-1"),
    }


def test_objects_classes_and_specs_are_mixed() -> None:
    rows = intrabench.run(
        [Shrunk(by=1), Shrunk, "box_fill"], [BoxThenClick(), "box_volume"], [Cube, SMALL], rounds=1, out="r"
    )
    cube = rows.filter(pl.col("dataset") == "cube")
    scores = {(row["model"], row["prompter"], row["round"]): row["dice"] for row in cube.iter_rows(named=True)}
    assert scores == {
        ("box_fill", "box_then_click", 0): 1.0,
        ("box_fill", "box_volume", 0): 1.0,
        ("shrunk", "box_then_click", 0): 1.0,
        ("shrunk", "box_volume", 0): 1.0,
        ("shrunk:by=1", "box_then_click", 0): 2 * 8 / (64 + 8),
        ("shrunk:by=1", "box_then_click", 1): 2 * 8 / (64 + 8),
        ("shrunk:by=1", "box_volume", 0): 2 * 8 / (64 + 8),
    }
    assert rows["dataset"].unique().sort().to_list() == ["cube", "phantom:shape=16x32x32,instances=2"]


def test_an_object_and_its_spec_are_one() -> None:
    rows = run(model=["box_fill", BoxFill(), BoxFill], prompter=[BoxSlice(), "box_slice"], dataset=[Phantom, "phantom"])
    assert rows["model"].unique().to_list() == ["box_fill"]
    assert rows["prompter"].unique().to_list() == ["box_slice"]
    assert len(rows) == len(run(dataset="phantom"))


def test_refinements_and_metrics_are_given_as_objects_too() -> None:
    refine = [ScribbleRefinement(), "click_center"]
    rows = run(prompter=BoxSlice, refine=refine, metric=Missed(), hand="jitter_mm=1", rounds=1)
    assert {spec.split("+")[1] for spec in rows["prompter"]} == {"scribble", "click_center"}
    assert all(spec.endswith("+hand:jitter_mm=1") for spec in rows["prompter"])
    assert rows["missed"].to_list() == rows["fn_voxels"].to_list()


def test_the_second_run_of_an_object_computes_nothing_and_it_stays_as_it_was() -> None:
    given = Shrunk(by=1)
    first = run(model=given, prompter=BoxThenClick())
    assert given.runtime == Runtime()
    files = sorted(Path("intrabench-results/rows").iterdir())
    assert run(model=given, prompter=BoxThenClick()).equals(first)
    assert sorted(Path("intrabench-results/rows").iterdir()) == files


def test_results_of_objects_are_looked_at_and_played_again_by_name(wording: SnapshotAssertion) -> None:
    run(model=Shrunk(by=1), prompter=BoxThenClick(), dataset=Cube(), out="r")
    assert [verdict.found for verdict in intrabench.verify("r")] == ["equal"]
    assert intrabench.run("shrunk:by=1", "box_then_click", "cube", out="r")["dice"].to_list() == [2 * 8 / (64 + 8)]
    intrabench.registry.registry._plugins["models"].clear()  # as in another process
    (verdict,) = intrabench.verify("r")
    assert (verdict.found, verdict.message) == ("unknown", wording)


def test_a_class_that_is_defined_again_by_the_same_code_is_one(wording: SnapshotAssertion) -> None:
    """As a notebook's cell that runs twice."""
    source = "@dataclass(eq=False)\nclass Again(Shrunk):\n    name = 'again'\n"
    first, second, edited = ({**globals(), "__name__": "__main__"} for _ in range(3))
    for names, code in ((first, source), (second, source), (edited, f"{source}    dims = 2\n")):
        exec(code, names)
    rows = run(model=[first["Again"](), second["Again"], second["Again"](by=1)], prompter="box_volume")
    assert sorted(rows["model"]) == ["again", "again", "again:by=1", "again:by=1"]
    with pytest.raises(IntraBenchError) as caught:
        run(model=[first["Again"], edited["Again"](by=1)])
    assert caught == wording


def test_a_path_is_a_data_set(tmp_path: Path) -> None:
    for folder, array in (("images", np.zeros((4, 8, 8), np.int16)), ("labels", np.zeros((4, 8, 8), np.uint8))):
        array[1:3, 2:6, 2:6] = 1
        Path("mine", folder).mkdir(parents=True)
        intrabench.volume.write_nifti(Path("mine", folder, "a.nii.gz"), array, Volume.from_canonical(array).grid)
    assert run(dataset=Path("mine"))["case"].to_list() == ["a"]
    assert run(dataset=intrabench.dataset("./mine"), out="objects")["case"].to_list() == ["a"]
    assert [verdict.found for verdict in intrabench.verify("objects")] == ["equal"]


def twin(name: str) -> type[VolumeModel]:
    @dataclass(eq=False)
    class Twin(Shrunk):
        pass

    Twin.name = name
    return Twin


def missed_too() -> type[Metric]:
    @dataclass(frozen=True)
    class MissedToo(Missed):
        pass

    return MissedToo


@dataclass(eq=False)
class Holding(Shrunk):
    name = "holding"
    network: Any = None


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"model": twin("box_fill")},
            "model 'box_fill' of class Twin exists already in intrabench; give it another name",
        ),
        ({"model": [twin("same"), twin("same")]}, "two classes are both called same; give one a different name"),
        ({"model": [twin("same")(by=1), twin("same")]}, "two classes are both called same; give one a different name"),
        ({"metric": [Missed, missed_too()]}, "two classes are both called missed; give one a different name"),
        ({"prompter": ""}, "'' is malformed; write PROMPTER+REFINEMENT, for example box_interp:n=3+scribble"),
        ({"metric": ""}, "'' is not a valid spec; write NAME or NAME:key=value,key=value"),
        ({"model": Holding(network=np.zeros(3))}, "Holding.network holds a ndarray, which cannot be part of its name"),
        ({"model": Shrunk(by="big")}, "'shrunk:by=big': by=big does not fit; by takes a whole number"),
        (
            {"model": "box_fill", "dataset": "phantom:shape=2x3"},
            "shape takes three numbers from 1 to 4096, for example 3x2x1",
        ),
        ({"model": int}, "model=<class 'int'> does not fit; model takes a spec, or an object or a class of Model"),
        ({"model": []}, "model=[] is empty; give at least one, or omit model"),
        ({"model": None}, "protocol basic@2 has no models of its own; give --model, such as --model random_walker, or"),
        ({"prompter": []}, "prompter=[] is empty; give at least one, or omit prompter"),
        (
            {"prompter": Cube()},
            "does not fit; prompter takes a spec, or an object or a class of Prompter or Refinement",
        ),
        ({"rounds": "3"}, "rounds='3' does not fit; rounds takes a whole number"),
        ({"seed": [0, True]}, "seed=True does not fit; seed takes a whole number"),
        ({"strict": "no"}, "strict='no' does not fit; strict takes True or False"),
        ({"out": "r", "refin": "scribble"}, "there is no option 'refin', did you mean 'refine'?; options are model,"),
        ({"model": Shrunk(), "python": "python3"}, "--python cannot run an object in another interpreter"),
        ({"model": Shrunk(), "weights": "random.pth"}, "model shrunk has no weights that --weights could replace"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(IntraBenchError) as caught:
        run(**given)
    assert sentence in str(caught.value)
    assert not Path("r").exists()
    assert not Path("intrabench-results").exists()


def test_a_class_that_is_not_a_dataclass_is_refused(wording: SnapshotAssertion) -> None:
    class Bare(Prompter):
        name = "bare"
        n: int = 3

        def interact(self, user: intrabench.User) -> Iterator[Turn]:
            yield Turn(points([1, 2, 3]), (Click(),))

    with pytest.raises(IntraBenchError) as caught:
        run(prompter=Bare())
    assert caught == wording


def test_an_object_keeps_a_runtime_of_its_own(wording: SnapshotAssertion) -> None:
    given = Shrunk()
    given.runtime = Runtime(batch="7")
    rows = run(model=given, prompter="box_volume")
    assert len(rows) == 2
    with pytest.raises(IntraBenchError) as caught:
        run(model=given, batch=3, memory=100)
    assert caught == wording


@pytest.mark.parametrize("seeds", [range(2), np.arange(2), (0, 1), iter([0, 1])])
def test_numbers_come_in_any_sequence(seeds: Any) -> None:
    assert run(seed=seeds, rounds=np.int64(0))["seed"].unique().sort().to_list() == [0, 1]


@dataclass(eq=False)
class Sick(Shrunk):
    name = "sick"

    def segment_one(self, volume: Volume, request: intrabench.Request) -> Answer:
        raise RuntimeError("no mood")


def test_failures_are_a_warning_and_rows() -> None:
    with pytest.warns(FailedSessions, match="2 of 4 sessions failed\n2 sessions: error: .*no mood"):
        rows = run(model=["box_fill", Sick()], prompter="box_volume")
    assert sorted(rows["status"]) == ["error", "error", "ok", "ok"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(run(prompter="box_volume")) == 2


def test_nothing_is_printed_unless_progress_is_asked_for(
    capsys: pytest.CaptureFixture[str], wording: SnapshotAssertion
) -> None:
    run()
    run(progress=False)
    assert capsys.readouterr() == ("", "")
    run(progress=True)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", wording)


def test_a_preview_is_pictures_and_written_if_asked(wording: SnapshotAssertion) -> None:
    (first,) = intrabench.preview(BoxThenClick(), Cube())
    rounds = intrabench.preview(BoxThenClick, Cube, model=Shrunk(by=1), rounds=1, out="p/q.png")
    assert len(rounds) == 2
    assert sorted(path.name for path in Path("p").iterdir()) == ["q_round0.png", "q_round1.png"]
    green, magenta = ((np.asarray(first) == colour).all(axis=2).sum() for colour in ((90, 200, 90), (235, 80, 235)))
    assert (green > 50, magenta) == (True, 0)
    assert all((np.asarray(image) == (235, 80, 235)).all(axis=2).sum() > 50 for image in rounds)
    with pytest.raises(IntraBenchError) as caught:
        intrabench.preview("box_slice", Cube(), targt="cube.1")  # type: ignore[call-arg]
    assert caught == wording


def test_a_check_is_a_list_of_findings(wording: SnapshotAssertion) -> None:
    found = {finding.name: finding.ok for finding in intrabench.check(Shrunk())}
    assert found["prompt box3d"] is True
    assert found["prompts"] is False  # it accepts points, but cannot do without a box
    assert {finding.ok for finding in intrabench.check("box_fill")} == {True, None}
    with pytest.raises(IntraBenchError) as caught:
        intrabench.check(["box_fill", Shrunk()])  # type: ignore[arg-type]
    assert caught == wording


def test_an_option_is_called_the_same_everywhere() -> None:
    """Adding one means: a field of `Options`, a parameter of the command, one of the function, with one default."""
    options = set(vars(DEFAULTS))
    typed, called = (inspect.signature(function).parameters for function in (command, intrabench.run))
    assert set(typed) - {"out", "dry_run", "trial", "quiet", "verbose", "config", "context"} == options
    assert set(called) - {"out", "progress", "unknown"} == options
    for name, default in vars(DEFAULTS).items():
        several = isinstance(default, tuple)
        for function in (typed, called):
            given = function[name].default
            if several:
                given = () if given in (None, [], inspect.Parameter.empty) else given
                given = tuple(given) if isinstance(given, list | tuple) else (given,)
            assert given == default or (name, given) == ("dataset", ()), name


def test_models_prompters_and_data_sets_by_spec_or_class() -> None:
    assert intrabench.model("box_fill").spec == intrabench.model(BoxFill).spec == "box_fill"
    assert intrabench.prompter(BoxThenClick, "scribble").spec == intrabench.prompter("box_then_click+scribble").spec
    assert intrabench.dataset(Cube).cases() == ("one",)
    with pytest.raises(IntraBenchError, match="scribble cannot begin"):
        intrabench.prompter(ScribbleRefinement())
