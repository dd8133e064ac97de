"""People who prompt give ordinary rows, and nothing that they did is lost or counted twice."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.verify import verify
from intrabench.errors import IntraBenchError
from intrabench.files.locks import locked
from intrabench.people.annotating.annotation import Annotation
from intrabench.people.annotating.log import FILE as LOG
from intrabench.people.annotating.log import Log, read_actions
from intrabench.play.gestures import Gesture
from intrabench.play.validate import Refused
from intrabench.results.masks import read_masks
from intrabench.results.merge import merge
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.runs import read_records
from tests.people.annotating.playing import (
    DATA,
    NAMES,
    OUT,
    annotating,
    gestures,
    lasting,
    new_id,
    play,
    simulated,
    turns_of,
)

pytestmark = pytest.mark.usefixtures("data")


def click(z: int, y: int, x: int, label: int = 1, seconds: float = 1.5) -> Gesture:
    return Gesture("click", (z, y, x), label, seconds, 1e9)


def middle(people: Annotation, number: int = 0) -> tuple[str, Gesture]:
    """The code of a task, and a click into the middle of its target."""
    task = people.tasks("ab")[number]
    assert task.middle is not None
    return task.code, click(*task.middle)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": "box_fill", "prompter": "box_slice+click_deepest", "protocol": "overlap@1", "rounds": 3},
        {"prompter": "points_volume:n=2+click_center", "metric": "lesion_f1", "strict": True},
    ],
)
def test_rows_are_those_of_a_simulated_user_with_the_same_turns(options: dict[str, object]) -> None:
    rows = simulated(Path("simulated"), **options)
    same = {name: value for name, value in options.items() if name not in ("prompter", "rounds")}
    with annotating(**same) as people:
        for task in people.tasks("ab"):
            (session,) = rows.filter(target=task.target)["session"].unique()
            turns = turns_of(Path("simulated"), session)
            assert len(turns) > 1 or "click_deepest" in str(options)
            view = play(people, task.code, "ab", turns)
            assert view.finished
            assert [turn.to_json() for turn in view.turns] == [turn.to_json() for turn in turns]
        assert {task.state for task in people.tasks("ab")} == {"finished"}
    ours = read_rows(OUT)
    assert set(ours["prompter"]) == {"human:rater=ab"}
    # a person decides when to stop, and draws what is drawn; a simulated user may be stopped, and says what it drew
    more = ["ended", "status", "adapted"]
    assert lasting(ours, *NAMES, *more) == lasting(rows, *NAMES, *more)
    assert set(ours["status"]) == {"ok"}
    for session in ours["session"].unique():
        assert len(read_masks(OUT, session)) == ours.filter(session=session).height
    verdicts = list(verify(OUT, 100))
    assert [verdict.found for verdict in verdicts] == ["equal"] * 2, verdicts


def test_seconds_are_measured_per_action_and_the_estimate_stays() -> None:
    with annotating() as people:
        code, first = middle(people)
        people.give(code, "ab", new_id(), [first, click(0, 0, 0, 0, 0.25)])
        people.give(code, "ab", new_id(), [click(0, 1, 0, 0, 4.0)])
        people.undo(code, "ab", new_id(), 0.75)
        people.give(code, "ab", new_id(), [Gesture("scribble", [(0, 0, x) for x in range(9)], 0, 2.5)])
        people.finish(code, "ab", new_id(), 3.0)
    rows = read_rows(OUT).sort("round")
    assert rows["interactions"].to_list() == [2, 5]
    assert rows["seconds_human"].to_list() == [4, 9.5]
    assert rows["dof"].to_list() == [6, 13]
    actions = read_actions(OUT).sort("event", "action")
    columns = ["event", "action", "round", "turn", "kind", "label", "seconds", "undone"]
    assert actions.select(columns).rows() == [
        (0, 0, 0, 0, "click", 1, 1.5, False),
        (0, 1, 0, 0, "click", 0, 0.25, False),
        (1, 0, None, None, "click", 0, 4.0, True),
        (2, 0, None, None, "undo", None, 0.75, False),
        (3, 0, 1, 1, "scribble", 0, 2.5, False),
        (4, 0, None, None, "finish", None, 3.0, False),
    ]
    assert actions["model_s"].is_null().to_list() == [True, False, False, True, False, True]
    assert set(actions["session"]) == set(rows["session"])
    assert set(actions["rater"]) == {"ab"}
    merged = merge([OUT], Path("merged"))
    assert merged.conflicts == []
    assert read_actions(Path("merged")).equals(read_actions(OUT))
    assert merge([OUT], Path("merged")).copied == 0


def test_undo_gives_the_answer_of_before(wording: SnapshotAssertion) -> None:
    with annotating() as people:
        code, first = middle(people)
        one = people.give(code, "ab", new_id(), [first])
        wrong = one.mask.coordinates()[0].tolist()
        two = people.give(code, "ab", new_id(), [click(*wrong, 0)])
        assert two.mask.voxels != one.mask.voxels
        back = people.undo(code, "ab", new_id())
        assert (back.mask.box, back.mask.array.tolist()) == (one.mask.box, one.mask.array.tolist())
        assert len(back.turns) == 1
        empty = people.undo(code, "ab", new_id())
        assert (empty.mask.voxels, empty.turns) == (0, ())
        assert [task.state for task in people.tasks("ab")] == ["new", "new"]
        with pytest.raises(Refused) as caught:
            people.undo(code, "ab", new_id())
        assert caught == wording
        with pytest.raises(Refused, match="nothing was given yet"):
            people.finish(code, "ab", new_id())
        people.give(code, "ab", new_id(), [first])
        people.finish(code, "ab", new_id())
    turns = read_turns(OUT)
    assert turns.select("round", "turn").rows() == [(0, 0)]


def test_a_change_that_arrives_twice_is_made_once(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    with annotating() as people:
        code, first = middle(people)
        views = [people.give(code, "ab", "the same id", [first]) for _ in range(3)]
        assert [len(view.turns) for view in views] == [1, 1, 1]
        people.give(code, "ab", new_id(), [click(0, 0, 0, 0)])
        assert len(people.give(code, "ab", "the same id", [first]).turns) == 2  # what it is now
        assert [len(people.undo(code, "ab", "undo once").turns) for _ in range(2)] == [1, 1]
        assert [people.finish(code, "ab", "finish once").finished for _ in range(2)] == [True, True]
        assert people.give(code, "ab", "the same id", [first]).finished
        with pytest.raises(Refused, match="this target is finished"):
            people.give(code, "ab", new_id(), [first])
        with pytest.raises(Refused) as caught:
            people.give(code, "cd", "the same id", [first])
        assert caught == wording
    assert len(pl.concat([pl.read_parquet(part) for part in (OUT / "rows").iterdir()])) == 1


def test_what_is_wrong_is_refused_and_changes_nothing(wording: SnapshotAssertion) -> None:
    with annotating(model="box_fill", rounds=1) as people:
        code, first = middle(people)
        z, y, x = first.place
        box = Gesture("box2d", (z, y - 3, x - 3, y + 3, x + 3))
        wrong = {
            "there is nothing to ask the model for": [],
            "outside of the volume": [box, click(99, 0, 0)],
            "has no voxel": [Gesture("box2d", (1, 5, 5, 5, 6))],
            "a point is z, y, x": [Gesture("click", (1, 2))],
            "in whole voxels": [Gesture("click", (1.5, 2, 3))],
            "a gesture has a place that is none": [Gesture("scribble", [(1, 2, 3), (1, 2)])],
            "corners on the slices 1, 2": [Gesture("lasso", [(1, 2, 3), (2, 2, 3)])],
            "the label 2": [click(1, 2, 3, 2)],
            "of the kind 'stare'": [Gesture("stare", (1, 2, 3))],  # type: ignore[arg-type]
            "seconds are -1": [click(1, 2, 3, 1, -1.0)],
            "seconds are nan": [click(1, 2, 3, 1, float("nan"))],
            "two boxes around the whole target": [Gesture("box3d", (1, 2, 3, 4, 5, 6))] * 2,
            "a box cannot be drawn around background": [Gesture("box2d", (1, 2, 3, 4, 5), 0)],
            "the model cannot take this": [first],
        }
        for sentence, given in wrong.items():
            with pytest.raises(Refused, match=sentence):
                people.give(code, "ab", new_id(), given)
        assert people.view(code, "ab").turns == ()
        people.give(code, "ab", new_id(), [box])
        with pytest.raises(Refused, match="outside of the volume"):
            people.give(code, "ab", new_id(), [click(99, 0, 0)])
        people.give(code, "ab", new_id(), [first])
        with pytest.raises(Refused) as caught:
            people.give(code, "ab", new_id(), [first])
        assert caught == wording
        assert people.finish(code, "ab", new_id()).finished
        for call in (people.view, people.scan):
            with pytest.raises(Refused) as caught:
                call(*("nonsense", "ab")[: 1 + (call == people.view)])
            assert caught == wording
        with pytest.raises(Refused, match="is no pseudonym"):
            people.tasks("Dr. Who")
        with pytest.raises(Refused, match="needs an id"):
            people.undo(code, "ab", "")
    rows = read_rows(OUT).sort("round")
    assert rows.select("round", "status", "ended").rows() == [(0, "ok", False), (1, "ok", True)]
    for data in (None, {"kind": "click"}, {"kind": "click", "place": [1, 2, 3], "more": 1}):
        with pytest.raises(Refused, match="a gesture"):
            Gesture.from_json(data)
    assert Gesture.from_json({"kind": "click", "place": [1, 2, 3]}) == Gesture("click", [1, 2, 3])


def test_the_stop_rule_holds_for_people() -> None:
    with annotating(stop="interactions=2") as people:
        code, first = middle(people)
        people.give(code, "ab", new_id(), [first])
        with pytest.raises(Refused, match="more than the budget"):
            people.give(code, "ab", new_id(), [click(0, 0, 0, 0), click(0, 0, 1, 0)])
        people.give(code, "ab", new_id(), [click(0, 0, 0, 0)])
        people.finish(code, "ab", new_id())
    with annotating(out=Path("good"), stop="dice=0.01") as people:
        people.give(code := middle(people)[0], "ab", new_id(), [first])
        with pytest.raises(Refused, match="good enough"):
            people.give(code, "ab", new_id(), [click(0, 0, 0, 0)])
        people.finish(code, "ab", new_id())
    with annotating(out=Path("handles"), model="interval", stop="interactions=5") as people:
        people.give(code := middle(people)[0], "ab", new_id(), [first])  # a click and two handles
        with pytest.raises(Refused, match="more than the budget"):
            people.give(code, "ab", new_id(), [click(0, 0, 0, 0)])
        people.finish(code, "ab", new_id())
    for folder in (OUT, Path("good"), Path("handles")):
        assert [verdict.found for verdict in verify(folder)] == ["equal"]


FAULTY = """
from dataclasses import dataclass
from pathlib import Path

from intrabench.models.random_walker import RandomWalker


@dataclass(eq=False)
class Moody(RandomWalker):
    name = "moody"

    def segment_one(self, volume, request):
        if Path("fault").exists():
            raise MemoryError("in a bad mood")
        return super().segment_one(volume, request)
"""


def test_a_model_that_fails_can_be_asked_again() -> None:
    Path("moody.py").write_text(FAULTY)
    with annotating(model="moody", plugin=[Path("moody.py")]) as people:
        code, first = middle(people)
        good = people.give(code, "ab", new_id(), [first])
        Path("fault").touch()
        bad = people.give(code, "ab", new_id(), [click(0, 0, 0, 0)])
        assert "in a bad mood" in bad.problem
        assert bad.mask.voxels == good.mask.voxels
        with pytest.raises(Refused, match="the model failed"):
            people.give(code, "ab", new_id(), [first])
        Path("fault").unlink()
        assert people.undo(code, "ab", new_id()).problem == ""
        people.give(code, "ab", new_id(), [click(0, 0, 0, 0)])
        people.finish(code, "ab", new_id())
        Path("fault").touch()
        other, second = middle(people, 1)
        assert people.give(other, "ab", new_id(), [second]).problem
        people.finish(other, "ab", new_id())  # as it is: a failure is a row
    rows = read_rows(OUT).sort("target", "round")
    assert rows.select("target", "round", "status").rows() == [
        ("blob.1", 0, "ok"),
        ("blob.1", 1, "ok"),
        ("blob.2", 0, "oom"),
    ]


def test_two_people_share_a_case_and_a_model() -> None:
    with annotating() as people:
        (one, first), (two, second) = middle(people), middle(people, 1)
        threads = [
            threading.Thread(target=people.give, args=(code, rater, new_id(), [given]))
            for rater in ("ab", "cd")
            for code, given in ((one, first), (two, second))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for rater in ("ab", "cd"):
            people.give(one, rater, new_id(), [click(0, 0, 0, 0)])
            people.finish(one, rater, new_id())
        assert [[task.state for task in people.tasks(rater)] for rater in ("ab", "cd", "ef")] == [
            *[["finished", "begun"]] * 2,
            ["new", "new"],
        ]
    rows = read_rows(OUT)
    assert rows.group_by("prompter").len().sort("prompter").rows() == [("human:rater=ab", 2), ("human:rater=cd", 2)]
    assert len(set(rows["session"])) == 2
    with annotating() as people:  # and goes on another day
        assert [task.turns for task in people.tasks("cd")] == [2, 1]
        assert people.view(two, "cd").mask.voxels > 0
        assert people.view(one, "cd").finished


def test_sessions_and_images_that_need_room_are_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intrabench.people.annotating.annotation.SESSIONS", 1)
    options = {"dataset": f"{DATA},scans=2"}
    with Annotation({"model": "random_walker", **options}, OUT, images=1) as people:
        for _ in range(2):
            for task in people.tasks("ab"):
                assert task.middle is not None
                people.give(task.code, "ab", new_id(), [click(*task.middle)])
        assert len(people._opened) == 1
        for task in people.tasks("ab"):
            assert people.finish(task.code, "ab", new_id()).finished
        assert people.scan(task.code).shape == task.shape == (16, 32, 32)
    assert read_rows(OUT).group_by("session").len()["len"].to_list() == [2] * 4
    assert [verdict.found for verdict in verify(OUT)] == ["equal"] * 4


def test_a_run_beside_does_no_harm() -> None:
    with annotating() as people:
        code, first = middle(people)
        with (
            locked(OUT / "locks" / people._tasks.image_task(code).lock_name),
            pytest.raises(IntraBenchError, match="elsewhere"),
        ):
            people.give(code, "ab", new_id(), [first])
        assert people.view(code, "ab").turns == ()
        people.give(code, "ab", new_id(), [first])
        with pytest.raises(IntraBenchError, match="annotate into out already"):
            annotating()
        people.give(code, "ab", new_id(), [click(0, 0, 0, 0)])
        people.finish(code, "ab", new_id())
    before = read_rows(OUT)
    with pytest.raises(IntraBenchError, match="use `intrabench annotate`"):
        intrabench.run("random_walker", "human:rater=ab", DATA, out=OUT, rounds=1000)
    assert read_rows(OUT).equals(before)
    with annotating() as people:
        assert [task.state for task in people.tasks("ab")] == ["finished", "new"]
        code, second = middle(people, 1)
        people.give(code, "ab", new_id(), [second])
        people.finish(code, "ab", new_id())
    assert set(read_rows(OUT)["status"]) == {"ok"}
    assert {record["state"] for record in read_records(OUT)} == {"finished"}


def test_what_nobody_looks_at_is_free_for_runs() -> None:
    with annotating() as people:
        code, first = middle(people)
        people.give(code, "ab", new_id(), [first])
        lock = OUT / "locks" / people._tasks.image_task(code).lock_name
        people.rest(60)
        assert lock.exists()
        people.rest(0)
        assert not lock.exists()
        intrabench.run("random_walker", "box_slice", DATA, out=OUT)
        assert len(people.view(code, "ab").turns) == 1  # and goes on
        assert people.finish(code, "ab", new_id()).finished


def test_what_is_not_played_target_by_target_is_refused() -> None:
    for options, sentence in (
        ({"prompter": "box_slice"}, "people prompt here"),
        ({"model": ["box_fill", "random_walker"]}, "2 models were given"),
        ({"joint": "others=ignore,overlap=keep"}, "not played target by target"),
        ({"seed": [1, 2]}, "people have no seeds"),
    ):
        with pytest.raises(IntraBenchError, match=sentence):
            annotating(**options)


def test_codes_tell_nothing_and_stay() -> None:
    with annotating() as people:
        codes = [task.code for task in people.tasks("ab")]
        assert codes == [task.code for task in people.tasks("cd")]
    with annotating(model="box_fill") as people:
        assert codes == [task.code for task in people.tasks("ab")]
    with annotating(out=Path("other")) as people:
        assert set(codes).isdisjoint(task.code for task in people.tasks("ab"))


def test_an_answer_costs_little_more_than_in_a_run() -> None:
    with annotating(model="box_fill") as people:
        code, first = middle(people)
        z, y, x = first.place
        people.view(code, "ab")
        costs = []
        for number in range(12):
            started = time.perf_counter()
            view = people.give(code, "ab", new_id(), [Gesture("box2d", (z, y - 3, x - 3, y + 3, x + 3 + number % 3))])
            costs.append(time.perf_counter() - started - view.model_s)
    assert sorted(costs)[6] < 0.05
    assert gestures(view.turns[0])[0].kind == "box2d"


def test_a_finished_target_is_opened_again_until_the_study_is_closed() -> None:
    with annotating() as people:
        code, first = middle(people)
        corner = Gesture("click", (0, 0, 0), 0, 1.0)
        for gesture in (first, corner, Gesture("click", (15, 31, 31), 0, 1.0)):
            people.give(code, "ab", new_id(), [gesture])
        assert people.finish(code, "ab", new_id(), comment="too bright").finished
        session = read_rows(OUT)["session"][0]
        assert len(read_rows(OUT)) == 3
    with annotating() as people:  # another process goes on
        reopened = people.reopen(code, "ab", "reopened once")
        assert (reopened.finished, len(reopened.turns)) == (False, 3)
        assert not people.reopen(code, "ab", "reopened once").finished  # sent again
        assert {task.code: task.state for task in people.tasks("ab")}[code] == "begun"
        assert len(read_rows(OUT)) == 3  # what was stored counts
        people.undo(code, "ab", new_id())
        people.undo(code, "ab", new_id())
        with pytest.raises(Refused, match="not finished"):
            people.reopen(code, "ab", new_id())
        assert people.finish(code, "ab", new_id()).finished
    assert read_rows(OUT)["round"].to_list() == [0]
    assert [len(turn.actions) for turn in turns_of(OUT, session)] == [1]
    assert len(read_masks(OUT, session)) == 1
    actions = read_actions(OUT)
    assert actions["kind"].to_list() == ["click"] * 3 + ["finish", "reopen", "undo", "undo", "finish"]
    assert actions["undone"].to_list() == [False, True, True] + 5 * [False]
    assert actions["comment"].drop_nulls().to_list() == ["too bright"]
    with annotating() as people:
        assert people.reopen(code, "ab", new_id()).turns
        people.give(code, "ab", new_id(), [corner])
        assert people.finish(code, "ab", new_id()).finished
    assert read_rows(OUT)["round"].to_list() == [0, 1]
    log = Log(OUT / "people" / LOG)
    log.set_closed(True)
    log.close()
    with annotating() as people:
        for call in (people.reopen, people.undo, people.finish):
            with pytest.raises(Refused, match="closed"):
                call(code, "ab", new_id())
