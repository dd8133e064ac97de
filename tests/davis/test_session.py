"""The drop-in session: equal to the recorded ones in compat, and right without it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.davis import Davis, DavisInteractiveSession
from intrabench.davis.metrics import batched_f_measure, batched_jaccard
from intrabench.davis.report import PUBLISHED
from intrabench.davis.sample import Sample
from intrabench.davis.session import MOST_INTERACTIONS, OutOfTurn
from intrabench.davis.utils.scribbles import annotated_frames, is_empty, scribbles2mask
from intrabench.errors import IntraBenchError
from tests.davis.golden import GOLDEN, REPORT, arrays, read

pytest.importorskip("skimage")
RUNS = read("sessions/sessions.json")["runs"]
TRUTH = arrays("sessions/ground_truth")
STEPS: dict[str, Callable[[int], float]] = {
    "S1": lambda number: 2.0 + number,
    "S2": lambda number: 10.0,
    "S3": lambda number: 1.0,
    "S5": lambda number: 1.5,
}
Options = dict[str, Any]


class FakeClock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def davis_folder(root: Path, truth: dict[str, np.ndarray], starts: dict[str, list[int]] | None = None) -> Path:
    """A folder in the layout of DAVIS; starts: the frames of the first scribbles."""
    for name, labels in truth.items():
        folder = root / "Annotations" / "480p" / name
        folder.mkdir(parents=True)
        for number, frame in enumerate(labels):
            picture = Image.fromarray(frame.astype(np.uint8), "P")
            picture.putpalette([0, 0, 0, 200, 0, 0, 0, 200, 0] + [255] * 759)
            picture.save(folder / f"{number:05}.png")
    for name, frames in (starts or {}).items():
        (root / "Scribbles" / name).mkdir(parents=True)
        for one, frame in enumerate(frames, 1):
            lines: list[list[Any]] = [[] for _ in truth[name]]
            lines[frame] = [{"path": [[0.3, 0.3], [0.4, 0.4]], "object_id": 1, "start_time": 500, "end_time": 2500}]
            told = {"sequence": name, "annotated_frame": frame, "scribbles": lines}
            (root / "Scribbles" / name / f"{one:03}.json").write_text(json.dumps(told))
    if starts:
        (root / "ImageSets" / "2017").mkdir(parents=True)
        (root / "ImageSets" / "2017" / "val.txt").write_text("\n".join(truth) + "\n")
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return davis_folder(tmp_path / "DAVIS", TRUTH, {"alpha": [0, 1], "beta": [0]})


def play(session: DavisInteractiveSession, clock: FakeClock, seconds: Callable[[int], float], **more: Any) -> list[Any]:
    """Submit the recorded answers; what was given and what came next."""
    log, number = [], 0
    with session:
        for sequence, scribbles, new in session.scribbles_iterator(only_last=True):
            number = 1 if new else number + 1
            clock.now += seconds(number)
            session.submit_masks(arrays(f"sessions/predictions_{sequence}")[f"i{number}"], **more)
            log.append((sequence, number, annotated_frames(scribbles), new))
    return log


@pytest.mark.parametrize("name", RUNS)
def test_the_recorded_sessions(name: str, root: Path, tmp_path: Path) -> None:
    expected, clock = RUNS[name], FakeClock()
    places = {"davis_root": root, "report_save_dir": tmp_path / "out"}
    session = DavisInteractiveSession(**places, **expected["params"], compat=True, clock=clock)
    candidates = [0, 1] if name == "S3_candidates_0_1" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = play(session, clock, STEPS[name[:2]], next_scribble_frame_candidates=candidates)
    assert log == [
        (one["sequence"], one["interaction"], one["given_scribble_frames"], one["new_sequence"])
        for one in expected["log"]
    ]
    stored = pl.read_csv(GOLDEN / "sessions" / f"{name[:2]}_report.csv", schema_overrides=REPORT)
    (file,) = (tmp_path / "out").glob("result_*.csv")
    assert not file.name.endswith(".tmp.csv")
    for found in (session.report.frame, pl.read_csv(file)):
        keys = ["sequence", "scribble_idx", "interaction", "object_id", "frame"]
        one, other = (
            table.select(*keys, "jaccard", "contour", "j_and_f", "timing").sort(keys) for table in (found, stored)
        )
        assert one.select(keys).equals(other.select(keys))
        for part in found.partition_by(keys[:3]):
            assert part.equals(part.sort("object_id", "frame"))
        assert np.allclose(one.drop(keys).to_numpy(), other.drop(keys).to_numpy(), rtol=0, atol=1e-12)
    assert pl.read_csv(file).columns == ["", *PUBLISHED] == expected["csv_columns"].split(",")
    metric = expected["params"].get("metric_to_optimize", "J_AND_F")
    made, told = session.get_global_summary(tmp_path / "summary.json"), expected["summary"]
    assert json.loads((tmp_path / "summary.json").read_text()) == made
    assert made.keys() == told.keys()
    assert made["auc"] == pytest.approx(told["auc"], abs=1e-12)
    assert made["metric_at_threshold"] == pytest.approx(told["metric_at_threshold"], abs=1e-12)
    assert np.allclose(made["curve"]["time"], told["curve"]["time"], rtol=0, atol=1e-12)
    assert np.allclose(made["curve"][metric], told["curve"][metric], rtol=0, atol=1e-12)


def test_all_scribbles_are_given_unless_only_the_last_are_asked_for(root: Path, tmp_path: Path) -> None:
    def strokes(**asked: bool) -> list[int]:
        session = DavisInteractiveSession(davis_root=root, report_save_dir=tmp_path, max_nb_interactions=3)
        found = []
        with session:
            for sequence, scribbles, _ in session.scribbles_iterator(**asked):
                found.append(sum(map(len, scribbles["scribbles"])))
                session.submit_masks(np.zeros_like(TRUTH[sequence]))
        return found[:3]

    one, two, three = strokes(only_last=True)
    assert min(one, two, three) > 0
    assert strokes() == [one, one + two, one + two + three]


def test_where_nobody_began_the_robot_begins_in_the_frame_with_most_of_the_objects(tmp_path: Path) -> None:
    truth = np.zeros((3, 60, 80), np.uint8)
    truth[0, :20, :20], truth[1, :30, :30], truth[2, :25, :25] = 2, 1, 2
    root = davis_folder(tmp_path / "DAVIS", {"alpha": truth}, {"alpha": []})
    (tmp_path / "davis").mkdir()
    sample = Sample.begin(Davis(root), "alpha", 1, False, 0, FakeClock())
    assert annotated_frames(sample.scribbles(only_last=True)) == [1]


def test_after_the_last_answer_nothing_is_drawn(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    monkeypatch.setattr(Sample, "draw", lambda self, *_: drawn.append(self.interaction))
    session = DavisInteractiveSession(davis_root=root, report_save_dir=tmp_path, max_nb_interactions=3)
    with session:
        for sequence, _, _ in session.scribbles_iterator():
            session.submit_masks(np.zeros_like(TRUTH[sequence]))
    assert drawn == [1, 2] * 3


@pytest.mark.parametrize("name", ["unlimited", "candidates"])
def test_the_published_package_without_a_limit_and_with_candidates_that_are_no_frames(
    name: str, root: Path, tmp_path: Path
) -> None:
    expected, clock, log, number = read("sessions/unlimited.json")[name], FakeClock(), [], 0
    options: Options = {"davis_root": root, "report_save_dir": tmp_path, "compat": True, "clock": clock}
    session = DavisInteractiveSession(**options, **expected["params"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sequence, scribbles, new in session.scribbles_iterator(only_last=True):
            number = 0 if new else number + 1
            clock.now += expected["seconds"]
            frames = [frame for frame, lines in enumerate(scribbles["scribbles"]) if lines]
            session.submit_masks(np.roll(TRUTH[sequence], number % 4, axis=2), expected["candidates"])
            log.append([sequence, number, frames])
    assert log == expected["log"]
    assert len(session.report.frame) == expected["rows"]
    made = session.get_global_summary()
    assert made["auc"] == pytest.approx(expected["auc"], abs=1e-12)
    assert np.allclose(made["curve"]["time"], expected["time"], rtol=0, atol=1e-12)
    assert np.allclose(made["curve"]["J_AND_F"], expected["J_AND_F"], rtol=0, atol=1e-12)


def test_only_the_published_package_plays_on_until_the_time_is_over(root: Path, tmp_path: Path) -> None:
    assert max(one for _, one, _ in read("sessions/unlimited.json")["unlimited"]["log"]) > MOST_INTERACTIONS
    options: Options = {"davis_root": root, "report_save_dir": tmp_path, "max_time": 600}
    assert DavisInteractiveSession(**options, max_nb_interactions=None).interactions == MOST_INTERACTIONS
    assert DavisInteractiveSession(**options, max_nb_interactions=99, compat=True).interactions == MOST_INTERACTIONS
    session = DavisInteractiveSession(**options, max_nb_interactions=None, compat=True)
    assert session.get_global_summary()["auc"] == 0, "nothing was played"


def test_the_report_of_pandas(root: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    session = DavisInteractiveSession(davis_root=root, report_save_dir=tmp_path, compat=True)
    assert isinstance(session.get_report(), pandas.DataFrame)
    assert list(session.get_report().columns) == list(PUBLISHED)


def test_a_late_answer_costs_what_is_left(root: Path, tmp_path: Path) -> None:
    clock = FakeClock()
    options: Options = {"max_nb_interactions": 4, "max_time": 25, "davis_root": root, "report_save_dir": tmp_path}
    session = DavisInteractiveSession(**options, clock=clock)
    with pytest.warns(UserWarning, match=r"alpha: the answer of interaction 3 came after 30\.0 s and is not scored"):
        play(session, clock, STEPS["S2"])
    rows = session.get_report().filter(pl.col("sequence") == "alpha", pl.col("scribble_idx") == 1, pl.col("frame") == 0)
    assert rows["status"].to_list() == ["ok", "ok", "late"]
    assert rows["timing"].to_list() == [10, 10, 5]
    assert rows["j_and_f"][2] == rows["j_and_f"][1] > 0
    assert rows["human_s"].to_list() == [2.0, 5.5, 5.5]  # the first scribble says when it was drawn
    found = session.get_global_summary()
    assert found["auc_step"] < found["auc"]
    assert found["metric_at_threshold"]["J_AND_F_step"] > 0


def test_the_time_of_robot_and_metrics_is_not_the_models(root: Path, tmp_path: Path) -> None:
    clock = FakeClock()
    options: Options = {"max_nb_interactions": 3, "max_time": 10, "davis_root": root, "report_save_dir": tmp_path}
    session = DavisInteractiveSession(**options, clock=clock)
    while session.next():
        clock.now += 1000  # before it is asked, and after it has answered
        sequence, _, _ = session.get_scribbles()
        clock.now += 1
        session.submit_masks(np.zeros_like(TRUTH[sequence]))
        clock.now += 1000
    assert session.get_report()["status"].unique().to_list() == ["ok"]
    assert session.get_report()["timing"].unique().to_list() == [1.0]


def test_a_failed_answer_ends_the_sample(root: Path, tmp_path: Path) -> None:
    session = DavisInteractiveSession(davis_root=root, report_save_dir=tmp_path, max_time=20, clock=FakeClock())
    assert session.next()
    session.get_scribbles()
    session.submit_masks(None)
    assert session.next()
    assert session.get_scribbles()[0::2] == ("alpha", True)
    rows = session.get_report()
    assert rows.select("status", "timing", "j_and_f").unique().rows() == [("failed", 20.0, 0.0)]


def test_it_ends_when_all_is_right_and_never_draws_there(root: Path, tmp_path: Path) -> None:
    session = DavisInteractiveSession(davis_root=root, report_save_dir=tmp_path, max_nb_interactions=4)
    asked = []
    for sequence, scribbles, _ in session.scribbles_iterator(only_last=True):
        answer = TRUTH[sequence].copy()
        if len(asked) == 0:
            answer[2] = 0
        elif len(asked) == 1:
            assert annotated_frames(scribbles) == [2]
        asked.append(sequence)
        session.submit_masks(answer)
    assert asked == ["alpha", "alpha", "alpha", "beta"]
    assert session.get_global_summary()["curve"]["J_AND_F"][-1] == 1.0


def test_the_robot_draws_first_where_nobody_did(tmp_path: Path) -> None:
    folder = davis_folder(tmp_path / "videos", TRUTH)
    session = DavisInteractiveSession(davis_root=folder, report_save_dir=tmp_path)
    assert session.samples == [("alpha", 1), ("beta", 1)]
    assert session.next()
    sequence, scribbles, new = session.get_scribbles()
    assert new
    drawn = scribbles2mask(scribbles, TRUTH[sequence].shape[1:])
    assert (drawn == 1).any()
    assert (TRUTH[sequence][drawn == 1] == 1).all()


@settings(max_examples=settings().max_examples // 5)  # each plays a session
@given(st.integers(0, 10**6))
def test_scribbles_are_in_the_error_pixel_by_pixel(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    from scipy import ndimage

    rng = np.random.default_rng(seed)
    truth, answer = (
        np.stack([ndimage.gaussian_filter(rng.random((48, 70)), 4) > 0.5 for _ in range(3)]).astype(int)
        for _ in range(2)
    )
    folder = davis_folder(tmp_path_factory.mktemp("noise"), {"noise": truth})
    session = DavisInteractiveSession(davis_root=folder, report_save_dir=folder, max_nb_interactions=4)
    answers = iter([answer] * 4)
    for _, scribbles, new in session.scribbles_iterator(only_last=True):
        drawn = scribbles2mask(scribbles, truth.shape[1:])
        wrong = truth != (0 * truth if new else answer)
        assert not is_empty(scribbles)
        assert wrong[drawn >= 0].all()
        assert (drawn == truth)[drawn >= 0].all()
        session.submit_masks(next(answers))


def test_void_pixels_count_in_compat_only(tmp_path: Path) -> None:
    truth = np.zeros((2, 40, 50), int)
    truth[:, 10:30, 10:30] = 1
    truth[:, 10:30, 30:33] = 255
    folder = davis_folder(tmp_path / "void", {"one": truth})
    answer = (truth > 0).astype(int)
    for compat, expected in ((True, 400 / 460), (False, 1.0)):
        session = DavisInteractiveSession(davis_root=folder, report_save_dir=tmp_path / str(compat), compat=compat)
        assert session.next()
        session.get_scribbles()
        session.submit_masks(answer)
        assert session.report.frame["jaccard"].to_list() == pytest.approx([expected, expected])


def test_all_scribbles_or_the_last(root: Path, tmp_path: Path) -> None:
    session = DavisInteractiveSession(davis_root=root, report_save_dir=tmp_path)
    assert session.next()
    sequence, _, _ = session.get_scribbles()
    session.submit_masks(arrays("sessions/predictions_alpha")["i1"])
    assert session.next()
    _, both, new = session.get_scribbles()
    assert annotated_frames(both) == [0, 1]
    assert not new
    assert sequence == both["sequence"] == "alpha"


def test_an_interrupted_session_goes_on(root: Path, tmp_path: Path) -> None:
    options: Options = {"davis_root": root, "report_save_dir": tmp_path / "out", "max_nb_interactions": 2}

    def steps(session: DavisInteractiveSession, count: int) -> list[tuple[str, bool]]:
        asked = []
        while len(asked) < count and session.next():
            sequence, _, new = session.get_scribbles()
            asked.append((sequence, new))
            session.submit_masks(arrays(f"sessions/predictions_{sequence}")["i1"])
        return asked

    steps(DavisInteractiveSession(**options, clock=FakeClock()), 3)
    (file,) = (tmp_path / "out").iterdir()
    with file.open("a") as torn:
        torn.write("x,alpha,2,2,1")  # killed while it wrote
    session = DavisInteractiveSession(**options, resume=file, clock=FakeClock())
    assert len(session.get_report()) == 2 * 4
    assert steps(session, 9) == [("alpha", True), ("alpha", False), ("beta", True), ("beta", False)]
    whole = DavisInteractiveSession(**{**options, "report_save_dir": tmp_path / "whole"}, clock=FakeClock())
    steps(whole, 9)
    assert session.get_report().drop("session_id").equals(whole.get_report().drop("session_id"))
    assert session.get_report()["session_id"].n_unique() == 1
    (done,) = (tmp_path / "out").iterdir()
    assert pl.read_csv(done).drop("session_id").equals(whole.get_report().drop("session_id"))


def test_verbs_out_of_turn(root: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    session = DavisInteractiveSession(davis_root=root, report_save_dir=tmp_path)
    with pytest.raises(OutOfTurn) as caught:
        session.get_scribbles()
    assert caught == wording
    with pytest.raises(OutOfTurn) as caught:
        session.submit_masks(TRUTH["alpha"])
    assert caught == wording
    assert session.next()
    session.get_scribbles()
    with pytest.raises(RuntimeError) as caught:
        session.get_scribbles()
    assert caught == wording
    with pytest.raises(OutOfTurn) as caught:
        session.next()
    assert caught == wording


def test_answers_that_do_not_fit_can_be_given_again(root: Path, tmp_path: Path) -> None:
    session = DavisInteractiveSession(davis_root=root, report_save_dir=tmp_path)
    assert session.next()
    session.get_scribbles()
    good = TRUTH["alpha"]
    for masks, candidates, told in (
        (good[:2], None, r"alpha: the masks have the shape \(2, 64, 96\), expected \(4, 64, 96\)"),
        (good / 2, None, "alpha: the masks are float64, expected integers"),
        (good * 4, None, "alpha: the masks have object 4, expected 0 to 1"),
        (good.astype(int) - 1, None, "alpha: the masks have object -1, expected 0 to 1"),
        (good, [], "next_scribble_frame_candidates is empty; give frames, or None"),
        (good, [0, 4], "next_scribble_frame_candidates has frame 4, but alpha has frames 0 to 3"),
    ):
        with pytest.raises(IntraBenchError, match=told):
            session.submit_masks(masks, candidates)
    assert session.get_report().is_empty()
    session.submit_masks(good * 0, [3])
    assert session.next()
    assert annotated_frames(session.get_scribbles(only_last=True)[1]) == [3]


@pytest.mark.parametrize(
    "options",
    [
        {"host": "interactive.davischallenge.org"},
        {"max_nb_interactions": None},
        {"max_nb_interactions": 0},
        {"max_time": 0},
        {"metric_to_optimize": "IoU"},
        {"subset": "test-dev"},
        {"subset": "train"},
        {"davis_root": "nowhere"},
        {"davis_root": None},
    ],
    ids=str,
)
def test_bad_options(
    options: Options, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DATASET_DAVIS", raising=False)
    with pytest.raises(IntraBenchError) as caught:
        DavisInteractiveSession(**{"davis_root": root, **options})
    assert caught == wording


def test_bad_folders(root: Path, wording: SnapshotAssertion) -> None:
    scribble = root / "Scribbles" / "beta" / "001.json"
    told = json.loads(scribble.read_text())
    for change, message in (
        (lambda line: line.update(object_id=7), "has scribbles of object 7, but beta has objects 1 to 2"),
        (lambda line: line.update(path=[[0.5, 1.5]]), r"has the point \[0.5, 1.5\], outside of the image"),
    ):
        broken = json.loads(json.dumps(told))
        change(broken["scribbles"][0][0])
        scribble.write_text(json.dumps(broken))
        with pytest.raises(IntraBenchError, match=message):
            Davis(root).load_scribble("beta", 1)
    scribble.write_text(json.dumps({**told, "scribbles": told["scribbles"][:2]}))
    with pytest.raises(IntraBenchError) as caught:
        Davis(root).load_scribble("beta", 1)
    assert caught == wording
    masks = root / "Annotations" / "480p"
    gap = np.where(TRUTH["beta"][0] == 2, 3, TRUTH["beta"][0])
    davis_folder(root, {"gap": gap[None], "empty": gap[None] * 0, "none": gap[:0, None]})
    for name, message in (("gap", "are 1, 3; number them 1, 2"), ("empty", "are none"), ("none", "has no masks")):
        with pytest.raises(IntraBenchError, match=message):
            Davis(root).load_annotations(name)
    Davis(root).load_annotations("alpha")  # the last one is kept in memory
    Image.fromarray(gap[:10]).save(masks / "beta" / "00002.png")
    with pytest.raises(IntraBenchError) as caught:
        Davis(root).load_annotations("beta")
    assert caught == wording


def test_metrics_by_their_published_names() -> None:
    truth, answer = TRUTH["beta"].astype(int), arrays("sessions/predictions_beta")["i2"].astype(int)
    j, f = batched_jaccard(truth, answer, average_over_objects=False), batched_f_measure(truth, answer, False)
    assert j.shape == f.shape == (3, 2)
    both = (truth == 1) & (answer == 1)
    assert j[1, 0] == both[1].sum() / ((truth == 1) | (answer == 1))[1].sum()
    assert batched_jaccard(truth, answer).tolist() == j.mean(axis=1).tolist()
    assert batched_f_measure(truth, answer, nb_objects=1).tolist() == f[:, 0].tolist()
