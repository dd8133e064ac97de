"""The prompters of people: in ordinary runs, and what people did given to other models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.verify import Trust, verify
from intrabench.errors import IntraBenchError
from intrabench.identity.versions import version_of
from intrabench.mask import Mask
from intrabench.play.gestures import Gesture
from intrabench.prompters.recorded import fits
from intrabench.prompts import Lasso, Prompts, Scribble, boxes, points
from intrabench.registry import registry
from intrabench.results.parts import read_rows
from tests.conftest import make_target
from tests.people.annotating.playing import DATA, NAMES, OUT, annotating, lasting, new_id, play, simulated, turns_of

pytestmark = pytest.mark.usefixtures("data")
OTHER = Path("other")


def annotate(rater: str = "ab", simulated_in: str = "simulated", number: int = 2, **options: object) -> pl.DataFrame:
    """A person does the first targets, with the turns of a simulated user."""
    rows = simulated(Path(simulated_in), **options)
    with annotating(model=options.get("model", "random_walker")) as people:
        for task in people.tasks(rater)[:number]:
            (session,) = rows.filter(target=task.target)["session"].unique()
            play(people, task.code, rater, turns_of(Path(simulated_in), session))
    return read_rows(OUT)


@pytest.mark.parametrize("spec", ["human", "human:rater=ab", "human:rater=ab+scribble"])
def test_an_ordinary_run_has_no_person(spec: str) -> None:
    with pytest.raises(IntraBenchError, match="use `intrabench annotate`"):
        intrabench.run("box_fill", spec, DATA, out=OUT)
    assert not OUT.exists()


@pytest.mark.parametrize("rater", ["", "Ann Smith", "a/b", "é", "x" * 41])
def test_a_rater_is_a_pseudonym(rater: str) -> None:
    with pytest.raises(IntraBenchError, match="is no pseudonym"):
        intrabench.prompter(f'human:rater="{rater}"')


def test_the_same_model_gives_the_same_rows() -> None:
    theirs = annotate()
    for prompter in ("recorded:out", "recorded:folder=out", "recorded:out,rater=ab", 'recorded:"out"'):
        folder = Path(f"again-{len(prompter)}")
        intrabench.run("random_walker", prompter, DATA, out=folder, rounds=5)
        rows = read_rows(folder)
        assert rows["prompter"][0].startswith("recorded:folder=out")
        assert lasting(rows, *NAMES) == lasting(theirs, *NAMES)
        assert [verdict.found for verdict in verify(folder, trust=Trust(folder=True))] == ["equal"] * 2
    assert max(rows["round"]) == 2


def test_another_model_gets_what_still_fits_and_the_rest_is_counted() -> None:
    with annotating(model="random_walker") as people:
        for task in people.tasks("cd"):
            truth = _truth(task.target)
            begun = [_click(truth.coordinates()[0]), *(_click(voxel, 0) for voxel in truth.coordinates()[-9:])]
            first = people.give(task.code, "cd", new_id(), begun)
            missed, wrong = truth.without(first.mask).coordinates(), first.mask.without(truth).coordinates()
            people.give(task.code, "cd", new_id(), [_click(missed[0])])
            second = people.give(task.code, "cd", new_id(), [_click((0, 0, 0), 0), *(_click(v, 0) for v in wrong[:1])])
            people.give(task.code, "cd", new_id(), [_click(truth.without(second.mask).coordinates()[-1])])
            people.finish(task.code, "cd", new_id())
    intrabench.run("random_walker", "recorded:out,rater=cd", DATA, out=OTHER, rounds=5)
    ours = read_rows(OUT)
    assert lasting(read_rows(OTHER), *NAMES) == lasting(ours, *NAMES)  # also the clicks beside all errors
    assert max(ours["round"]) == 3

    Path("own.py").write_text(OWN)
    found = {}
    for model in ("everything", "nothing"):
        rows = intrabench.run(model, "recorded:out,rater=cd", DATA, out=OTHER, rounds=5, plugin=[Path("own.py")])
        found[model] = rows.filter(target="blob.1").select("round", "adapted", "status").rows()
        first = rows.filter(round=0)["prompts_hash"].to_list()
        assert first == ours.filter(round=0).sort("target")["prompts_hash"].to_list()
    assert found["everything"] == [(0, "diverged:3", "ok")]  # nothing is missed any more
    assert found["nothing"][0] == (0, "", "empty")  # the same is missed
    assert found["nothing"][-1][1] in ("", "diverged:2")  # unless a click was on what was wrong


OWN = """
from dataclasses import dataclass

import numpy as np

from intrabench.mask import Mask
from intrabench.models.base import Answer, VolumeModel


@dataclass(eq=False)
class Everything(VolumeModel):
    name = "everything"
    accepts = frozenset({"point"})

    def segment_one(self, volume, request):
        return Answer(Mask.of(np.ones(volume.shape, bool)))


@dataclass(eq=False)
class Nothing(VolumeModel):
    name = "nothing"
    accepts = frozenset({"point"})

    def segment_one(self, volume, request):
        return Answer(Mask.empty())
"""


def _click(voxel: Sequence[int], label: int = 1) -> Gesture:
    return Gesture("click", tuple(map(int, voxel)), label)


def _truth(target: str) -> Mask:
    from intrabench.datasets.cases.store import open_case

    (found,) = open_case(registry.make("datasets", DATA), "case-1").targets([target])
    return found.mask


def test_a_seed_chooses_one_of_those_who_did_the_target(wording: SnapshotAssertion) -> None:
    annotate("ab", number=2)
    annotate("cd", "boxes", number=1, prompter="box_slice", rounds=0)
    first = {
        rater: read_rows(OUT).filter(prompter=f"human:rater={rater}", target="blob.1", round=0)["prompts_hash"][0]
        for rater in ("ab", "cd")
    }
    rows = intrabench.run("random_walker", "recorded:out", DATA, out=OTHER, seed=list(range(12)), rounds=5)
    chosen = rows.filter(target="blob.1", round=0)["prompts_hash"].to_list()
    assert set(chosen) == set(first.values())
    assert rows.filter(target="blob.2", round=0)["prompts_hash"].n_unique() == 1
    again = intrabench.run("box_fill", "recorded:out", DATA, out=OTHER, seed=list(range(12)), rounds=5)
    assert again.filter(target="blob.1", round=0).height == 12
    one = intrabench.run("random_walker", "recorded:out,rater=cd", DATA, out=OTHER, rounds=5)
    assert dict(one.select("target", "status").rows()) == {"blob.1": "ok", "blob.2": "not_applicable"}
    assert one.filter(target="blob.2")["error"][0] == wording


def test_the_version_is_that_of_what_people_did() -> None:
    annotate("ab", number=1)
    one = version_of(intrabench.prompter("recorded:out"))
    assert one == version_of(intrabench.prompter("recorded:folder=out,rater=ab"))
    annotate("cd", number=1)
    assert version_of(intrabench.prompter("recorded:out")) != one
    assert one.startswith("2/")


def test_a_folder_without_people_is_refused(wording: SnapshotAssertion) -> None:
    simulated(Path("simulated"))
    for spec, sentence in (
        ("recorded", "write recorded:FOLDER"),
        ("recorded:nowhere", "nowhere has no prompts of people"),
        ("recorded:simulated", "simulated has no prompts of people"),
        ("recorded:folder=simulated,who=ab", "there is no parameter 'who'"),
    ):
        with pytest.raises(IntraBenchError, match=sentence):
            intrabench.prompter(spec)
    annotate(number=1)
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("recorded:out,rater=zz")
    assert caught == wording


def test_what_fits(ball: np.ndarray) -> None:
    target, empty, whole = make_target(ball), Mask.empty(), Mask.of(np.ones_like(ball))
    inside, beside = (9, 12, 15), (0, 0, 0)
    for prompts, answer, fit in (
        (points([inside]), empty, True),
        (points([inside]), target.mask, False),
        (points([inside]), whole, False),
        (points([beside], 0), whole, True),
        (points([beside], 0), empty, False),
        (points([beside]), empty, False),
        (boxes({9: (0, 0, 20, 20)}), empty, True),
        (boxes({9: (0, 0, 20, 20)}), whole, False),
        (boxes({0: (0, 0, 20, 20)}), empty, False),
        (Prompts(box3d=np.array([0, 0, 0, 20, 20, 20])), empty, True),
        (Prompts(box3d=np.array([0, 0, 0, 20, 20, 20])), target.mask, False),
        (Prompts(scribbles=(Scribble(np.array([inside, (9, 12, 16), beside])),)), empty, True),
        (Prompts(scribbles=(Scribble(np.array([inside, beside, (0, 0, 1)])),)), empty, False),
        (Prompts(lassos=(Lasso(np.array([(0, 0, 0), (0, 0, 4), (0, 4, 4)]), 0),)), whole, True),
        (Prompts(lassos=(Lasso(np.array([(0, 0, 0), (0, 0, 4), (0, 4, 4)]), 0),)), empty, False),
    ):
        assert fits(target, prompts, None, answer) == fit
        assert fits(target, prompts, target.mask, answer)  # corrected nothing then, so it need not now
        assert fits(target, prompts, answer, answer)
