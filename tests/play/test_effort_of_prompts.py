"""Rows cost what the prompts cost that the hand gave, for every prompter, correction and kind of model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import intrabench
from intrabench.mask import Mask
from intrabench.models.base import Answer
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompts import Abilities, PromptKind, Prompts
from intrabench.protocols import protocol
from intrabench.turns import Turn, turns_by_round
from tests.conftest import make_target
from tests.play.test_session import Stub
from tests.prompters.masks import masks, targets
from tests.prompters.test_prompters import HAND, PROPAGATED, REFINED, SPECS

ALL = frozenset[PromptKind]({"point", "box2d", "box3d", "scribble", "lasso", "text"})
MODELS = {
    "slices": Abilities(2, ALL, feeds_back=True),
    "volumes": Abilities(3, ALL, derived="all", feeds_back=True),
    "video": Abilities(3, frozenset({"point", "box2d"}), one_box=True, feeds_back=True),
    "points": Abilities(3, frozenset({"point"})),
    "text": Abilities(3, frozenset({"text"}), unprompted=True),
}
PUBLISHED = "box_slice+scribble:one_slice=published"
"""Its strokes cost as strokes, on however few voxels."""

GIVEN = [
    *(*SPECS, *PROPAGATED, *REFINED, HAND, PUBLISHED),
    *("name", "name+scribble", "lesion_clicks", "points_volume:n=1+autopet:style=centerline"),
    *("box_slice:boxes=components+scribble", "points_volume:n=1+click_center:undo=0"),
]
ANSWERS = st.lists(st.composite(masks)(), min_size=1, max_size=3)


def hand(prompts: Prompts) -> dict[str, int]:
    """How often a hand must use each tool to give prompts; a stroke on one voxel is a click."""
    strokes = [len(np.unique(stroke.points, axis=0)) for stroke in (*prompts.scribbles, *prompts.lassos)]
    return {
        "click": len(prompts.clicked_points) + sum(voxels == 1 for voxels in strokes),
        "box2d": len(prompts.drawn_boxes2d),
        "box3d": int(prompts.box3d is not None),
        "stroke": sum(voxels > 1 for voxels in strokes),
        "word": len((prompts.text or "").split()),
    }


def dots(turns: list[Turn]) -> int:
    """How many strokes are single voxels."""
    return sum(len(np.unique(one.points, axis=0)) == 1 for turn in turns for one in turn.prompts.scribbles)


INTERACTIONS = {"click": 1, "box2d": 2, "box3d": 3, "stroke": 3, "word": 1, "undo": 1, "extent": 1}
SECONDS = {"click": 1.5, "box2d": 7.0, "box3d": 12.0, "stroke": 4.5, "word": 1.5, "undo": 1.9, "extent": 2.5}
ONCE = {"click": 1.0, "stroke": 1.0}
"""The price of each use of a tool, and what it costs once in a round, as the paper and docs/effort.md have it."""


def spent(turns: list[Turn], spec: str, number: int) -> tuple[float, float]:
    """Interactions and seconds of a round, from its prompts alone."""
    uses: dict[str, int] = {"undo": sum(turn.undoes for turn in turns)}
    uses["extent"] = 2 if number == 0 and spec.split(":")[0] in {one.split(":")[0] for one in PROPAGATED} else 0
    for turn in turns:
        for tool, used in hand(turn.prompts).items() if turn.actions else ():
            uses[tool] = uses.get(tool, 0) + used
    if spec == PUBLISHED and number:
        uses |= {"stroke": uses["stroke"] + dots(turns), "click": uses["click"] - dots(turns)}
    if spec == "box3d_slice":  # its hand draws one box, of which each slice gets its part
        uses |= {"box2d": 0, "box3d": 1}
    seconds = sum(SECONDS[tool] * count + ONCE.get(tool, 0.0) * (count > 0) for tool, count in uses.items())
    return sum(INTERACTIONS[tool] * count for tool, count in uses.items()), seconds


@pytest.mark.parametrize("spec", GIVEN)
@settings(max_examples=12)
@given(
    truth=targets, answers=ANSWERS, picture=st.booleans(), model=st.sampled_from(sorted(MODELS)), seed=st.integers(0, 9)
)
def test_every_row_costs_what_its_prompts_cost(
    spec: str, truth: np.ndarray, answers: list[np.ndarray], picture: bool, model: str, seed: int
) -> None:
    if picture:
        plane = int(np.flatnonzero(truth.any(axis=(1, 2)))[0])
        truth, answers = truth[plane : plane + 1], [answer[:1] for answer in answers]
    stub = Stub(lambda request: Answer(Mask.of(answers[(len(request.turns) - 1) % len(answers)])))
    played = Session(
        "key", make_target(truth), intrabench.prompter(spec), MODELS[model], protocol("overlap@1"), rounds=3, seed=seed
    )
    play([played], stub)
    gave = [turn for turns in turns_by_round(played.turns).values() for turn in turns if turn.prompts.kinds]
    for request in (request for batch in stub.batches for request in batch):  # the model saw nothing that is not paid
        assert len(request.turns) <= len(gave) or model == "text"
    # the published loop of autoPET fails where an answer leaves nothing to draw on
    statuses = {"ok", "empty", "stopped", "not_applicable", "error" if "autopet" in spec else "ok"}
    assert {row["status"] for row in played.rows} <= statuses
    rounds = turns_by_round(played.turns)
    interactions = seconds = 0.0
    for number, turns in rounds.items():
        more = spent(turns, spec, number)
        interactions, seconds = interactions + more[0], seconds + more[1]
        rows = [row for row in played.rows if row["round"] == number]
        for row in (row for row in rows if row["status"] not in ("not_applicable", "error")):
            assert row["interactions"] == interactions, (turns, row)
            assert row["seconds_human"] == pytest.approx(seconds), (turns, row)
