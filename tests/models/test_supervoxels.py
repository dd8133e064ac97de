"""The model that selects supervoxels: each kind of prompt, the order of prompts, its cache; and the bound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.metrics.mask_pair import MaskPair
from intrabench.models.base import Answer, Failure, Request, Runtime
from intrabench.models.parts import embedding_cache
from intrabench.models.supervoxels import PartitionPredictor, Supervoxels
from intrabench.prompters.user import User
from intrabench.prompts import Prompts, Scribble, box3d, boxes, points
from intrabench.superpixels.partitions.bound import Candidates
from intrabench.target import Target
from intrabench.turns import Turn
from intrabench.volume import Volume

SHAPE = (4, 8, 8)
"""With eight cells of 2 x 4 x 4."""
SPACING = (2.0, 1.0, 1.0)
VOLUME = Volume.from_canonical(np.random.default_rng(0).random(SHAPE).astype(np.float32), SPACING)


def selected(*prompts: Prompts, model: Supervoxels | None = None) -> set[int]:
    """The cells that are selected after these turns, played at once and one after the other."""
    with (model or Supervoxels("grid", 8)).open(VOLUME) as image:
        assert isinstance(image, PartitionPredictor)
        turns = [Turn(one) for one in prompts]
        (whole,) = image.segment([Request("a", tuple(turns))])
        memory, answer = None, Mask.empty()
        for n in range(len(turns)):
            (step,) = image.segment([Request("b", tuple(turns[: n + 1]), answer, memory)])
            assert isinstance(step, Answer)
            memory, answer = step.memory, step.update
        assert isinstance(whole, Answer)
        assert np.array_equal(whole.update.to_array(SHAPE), answer.to_array(SHAPE))
        inside = answer.to_array(SHAPE)
        labels = image.partition.labels
        chosen = set(np.unique(labels[inside]).tolist())
        assert inside.sum() == sum(int((labels == label).sum()) for label in chosen)
        return chosen


def test_points_select_and_deselect() -> None:
    one, other = points([(0, 0, 0), (3, 7, 7)]), points([(1, 3, 3)], 0)
    assert selected(one) == {0, 7}
    assert selected(one, other) == {7}
    assert selected(one, other, points([(0, 1, 1)])) == {0, 7}
    assert selected(points([(-3, 0, 99), (3, 7, 7)])) == {7}  # outside of the image there is nothing to select


def test_in_one_turn_the_majority_counts() -> None:
    both = Prompts(points=np.array([(0, 0, 0, 1), (0, 1, 0, 0), (0, 2, 0, 0), (0, 0, 7, 1), (0, 1, 7, 0)]))
    assert selected(points([(0, 0, 7)]), both) == {1}  # three to two against cell 0; a draw changes nothing
    stroke = Scribble(np.array([(0, 0, x) for x in range(8)]))
    assert selected(Prompts(scribbles=(stroke,))) == {0, 1}
    assert selected(Prompts(scribbles=(stroke,)), Prompts(scribbles=(Scribble(stroke.points[:2], 0),))) == {1}


def test_boxes_select_what_lies_in_them_by_more_than_half() -> None:
    assert selected(box3d((0, 0, 0, 2, 4, 6))) == {0}
    assert selected(box3d((0, 0, 0, 2, 4, 7))) == {0, 1}
    assert selected(box3d((0, 0, 0, 1, 8, 8))) == set()
    assert selected(boxes({0: (0, 0, 4, 6)})) == {0}
    assert selected(boxes({0: (0, 0, 4, 7), 3: (4, 4, 8, 8)})) == {0, 1, 7}
    both = Prompts(box3d=np.array((0, 0, 0, 2, 8, 8)), points=np.array([(0, 0, 0, 0)]))
    assert selected(both) == {1, 2, 3}  # a point is surer than a box


def test_a_number_far_from_the_wanted_one_is_told() -> None:
    for segments, notes in ((200, []), (5000, ["256 supervoxels instead of 5000"])):
        with Supervoxels("grid", segments).open(VOLUME) as image:
            (answer,) = image.segment([Request("a", (Turn(points([(0, 0, 0)])),))])
            assert isinstance(answer, Answer)
            assert [note for note in answer.notes if "assumed" not in note] == notes


def test_small_ones_can_join_others() -> None:
    with Supervoxels("grid", 256, least_voxels=9).open(VOLUME) as image:
        assert isinstance(image, PartitionPredictor)
        assert image.partition.sizes.min() >= 9
    assert Supervoxels("grid", 8).spec.endswith("derived=all")
    assert "least_voxels=9" in Supervoxels("grid", 8, least_voxels=9).spec


@pytest.mark.parametrize(
    "spec",
    [
        "supervoxels:segments=0",
        "supervoxels:method=slick",
        "supervoxels:method=slic:compact=1",
    ],
)
def test_what_is_wrong_is_said(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as error:
        intrabench.model(spec)
    assert str(error.value) == wording


def test_the_same_method_has_one_spec() -> None:
    assert Supervoxels("slic:compactness=10").spec == Supervoxels("slic").spec
    quoted = intrabench.model('supervoxels:method="slic:compactness=5,sigma=1",segments=9')
    assert intrabench.model(quoted.spec).spec == quoted.spec
    assert quoted.version == "2/1"


def test_an_image_is_divided_once_and_kept_across_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_cache, "FILE_S", -1e9)  # keep also what was made in no time
    calls: list[int] = []
    method = type(Supervoxels("grid").divides)
    segment = method.segment
    monkeypatch.setattr(method, "segment", lambda self, *given: calls.append(1) or segment(self, *given))
    labels = []
    for _ in range(2):
        volume, model = Volume(VOLUME.array, VOLUME.grid), Supervoxels("grid", 8)
        model.runtime = Runtime(embeddings=tmp_path)
        for _ in range(2):
            with model.open(volume) as image:
                assert isinstance(image, PartitionPredictor)
                labels.append(image.partition)
    assert len(calls) == 1
    assert all(np.array_equal(labels[0].labels, one.labels) for one in labels)
    assert [one.cpu_s for one in labels] == pytest.approx([labels[0].cpu_s] * 4, rel=1e-6)


def target_of(mask: np.ndarray) -> Target:
    return Target("case", "ball", 1, Mask.of(mask), SHAPE, SPACING)


def turns_of(spec: str, mask: np.ndarray, image: Volume | None = VOLUME) -> Sequence[Turn]:
    return list(intrabench.prompter(spec).interact(User(target_of(mask), image=image)))


def test_the_oracle_clicks_the_best_union() -> None:
    mask = np.zeros(SHAPE, bool)
    mask[:2, :, :5], mask[3, 7, 7] = True, True
    (turn,) = turns_of("oracle:method=grid,segments=8", mask)
    assert len(turn.actions) == len(turn.prompts.points) == 2
    assert selected(turn.prompts) == {0, 2}
    assert all(mask[z, y, x] for z, y, x, _ in turn.prompts.points)
    found = Candidates.of(Supervoxels("grid", 8).divided(VOLUME), target_of(mask).mask)
    assert found.dice(found.best()) == pytest.approx(2 * 64 / (81 + 64))
    one, other, *none = turns_of("oracle:method=grid,segments=8,clicks=20", mask)
    assert not none
    assert [len(step.actions) for step in (one, other)] == [1, 1]
    first, rest = turns_of("oracle:method=grid,segments=256,clicks=1", mask)
    assert [len(first.actions), len(rest.actions)] == [
        1,
        len(turns_of("oracle:method=grid,segments=256", mask)[0].actions) - 1,
    ]


def test_the_surface_may_want_another_union() -> None:
    random = np.random.default_rng(1)
    mask = np.zeros(SHAPE, bool)
    mask[1:4, 1:7, 1:7] = random.random((3, 6, 6)) < 0.8
    target = target_of(mask)
    values = {}
    for best in ("dice", "nsd"):
        (turn,) = turns_of(f"oracle:method=grid,segments=64,best={best}", mask)
        with Supervoxels("grid", 64).open(VOLUME) as image:
            (answer,) = image.segment([Request("a", (turn,))])
            assert isinstance(answer, Answer)
        pair = MaskPair(target, answer.update)
        values[best] = pair.overlap.dice, intrabench.metric("nsd").measure(pair)
    assert values["dice"][0] >= values["nsd"][0]
    assert values["nsd"][1] >= values["dice"][1]


def test_the_oracle_needs_an_image(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        turns_of("oracle", np.ones(SHAPE, bool), None)
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("oracle:clicks=-1")
    assert caught == wording


def test_bad_requests_do_not_harm_others() -> None:
    with Supervoxels("grid", 8).open(VOLUME) as image:
        bad, good = image.segment(
            [Request("a", (Turn(points([(0, 0, 0)])),), memory="nonsense"), Request("b", (Turn(points([(0, 0, 0)])),))]
        )
    assert isinstance(bad, Failure)
    assert isinstance(good, Answer)
    assert good.update.voxels == 32
