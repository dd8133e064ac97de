"""Typing the name of the target: where it comes from, what it costs, and how sessions go on."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import Answer, DatasetCard, Mask, Request, TypeText, Volume, VolumeModel
from intrabench.datasets.brain_mni import BrainMNI
from intrabench.datasets.cases import store
from intrabench.datasets.phantom import Phantom
from intrabench.datasets.spine_samples import SpineCT
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import IntraBenchError, NotApplicable
from intrabench.models.box_fill import BoxFill
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.combined import make_prompter
from intrabench.prompters.name import Name, names_of
from intrabench.prompters.user import User
from intrabench.protocols import protocol
from intrabench.target import Target, TargetInfo
from intrabench.turns import Turn
from tests.conftest import make_target


@dataclass(eq=False)
class Words(VolumeModel):
    """Fills as many slices as the text has words; with clicks, the clicked voxels, too."""

    name = "words"
    accepts = frozenset({"text", "point"})

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """From all turns that count."""
        texts = [turn.prompts.text for turn in request.given if turn.prompts.text is not None]
        answer = np.zeros(volume.shape, dtype=bool)
        answer[: len(texts[-1].split())] = True
        for z, y, x, label in np.vstack([turn.prompts.points for turn in request.given]).tolist():
            answer[z, y, x] = bool(label)
        return Answer(Mask.of(answer))


Z, Y, X = np.ogrid[:20, :24, :28]
BALL = (Z - 9) ** 2 + (Y - 12) ** 2 + (X - 15) ** 2 <= 36


def target(label: str = "kidney", **other: Any) -> Target:
    return replace(make_target(BALL), label=label, **other)


def first(one: Target, spec: str = "name") -> Turn:
    return next(make_prompter(spec).interact(User(one)))


def session(spec: str, model: Any = None, rounds: int = 2, **other: Any) -> Session:
    one = target(**{"names": ("left kidney", "kidney"), **other})
    volume = Volume.from_canonical(np.zeros(one.shape, dtype=np.int16), one.spacing_mm)
    model, rules = model or Words(), protocol("overlap@1")
    found = Session("", one, make_prompter(spec), model.abilities, rules, rounds=rounds, image=volume, keep_masks=True)
    with model.open(volume) as image:
        play([found], image)
    return found


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("kidney", "kidney"),
        ("left_kidney", "left kidney"),
        ("L1", "L1"),
        ("label_maker", "label maker"),
        ("Niere, links", "Niere, links"),
        ("object of desire", "object of desire"),
    ],
)
def test_without_a_card_the_label_is_typed(label: str, text: str) -> None:
    turn = first(target(label))
    assert (turn.prompts.text, turn.prompts.kinds) == (text, {"text"})
    assert turn.actions == (TypeText(len(text.split())),)


@pytest.mark.parametrize("label", ["object", "object 3", "label_2", "Object_12", "7", "_", "annotation", "target#4"])
def test_a_label_that_says_nothing_is_not_applicable(label: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(NotApplicable) as caught:
        first(target(label))
    assert caught == wording
    assert first(target(label, names=("spleen",))).prompts.text == "spleen"


def test_the_annotation_of_a_person_has_no_name() -> None:
    assert names_of(target("mary", person="mary")) == ()


def test_synonyms_are_chosen_by_number(wording: SnapshotAssertion) -> None:
    one = target(names=("vertebra L3", "third lumbar vertebra"))
    assert first(one).prompts.text == "vertebra L3"
    assert first(one, "name:synonym=1").prompts.text == "third lumbar vertebra"
    assert first(one, "name:synonym=1").actions == (TypeText(3),)
    with pytest.raises(NotApplicable) as caught:
        first(one, "name:synonym=2")
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        make_prompter("name:synonym=-1")
    assert caught == wording
    assert (make_prompter("name").spec, make_prompter("name:synonym=1").spec) == ("name", "name:synonym=1")


def test_cards_name_labels_and_single_targets() -> None:
    def info(label: str, instance: int) -> TargetInfo:
        return TargetInfo(label, instance, (0, 0, 0, 1, 1, 1), 1, 1, "")

    assert SpineCT.card.names_of(info("vertebra", 22)) == ("vertebra L3", "third lumbar vertebra")
    assert SpineCT.card.names_of(info("vertebra", 0)) == ()
    assert BrainMNI.card.names_of(info("left_precentral", 1)) == ("left precentral gyrus", "left primary motor cortex")


def test_stored_targets_have_the_names_of_their_card(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Named(Phantom):
        name = "named"
        card = replace(Phantom.card, names={"blob": ("ball",), "blob.2": ("second ball", "other ball")})

    data = Named(shape=(8, 40, 40), instances=2)
    store.prepare(data, "case-1", tmp_path)
    assert [one.names for one in store.open_case(data, "case-1", tmp_path).targets()] == [
        ("ball",),
        ("second ball", "other ball"),
    ]


@pytest.mark.parametrize("correction", ["click_component", "click_volume", "click_deepest", "scribble"])
def test_text_first_and_then_corrections_in_one_session(correction: str) -> None:
    one = session(f"name+{correction}")
    rows = one.rows
    assert [row["status"] for row in rows] == ["ok"] * 3
    assert (rows[0]["interactions"], rows[0]["dof"], rows[0]["seconds_human"]) == (2, 2, 3)
    assert rows[2]["interactions"] > rows[1]["interactions"] > 2
    given = [Turn.from_json(json.loads(turn["given"])) for turn in one.turns]
    assert [turn.prompts.text for turn in given] == ["left kidney", None, None]
    assert given[0].to_json() == first(one.target).to_json()


def test_the_text_counts_in_later_rounds_unless_the_earlier_prompts_are_dropped() -> None:
    kept = session("name+click_volume", rounds=3)
    two_slices = 2 * kept.target.shape[1] * kept.target.shape[2]
    assert kept.masks[0].voxels == two_slices
    assert all(abs(mask.voxels - two_slices) <= number for number, mask in enumerate(kept.masks))
    dropped = session("name+click_volume:previous=drop")
    assert [row["status"] for row in dropped.rows] == ["ok", "not_applicable"]


def test_a_model_without_text_is_not_applicable_for_a_name_alone_and_for_what_follows(
    wording: SnapshotAssertion,
) -> None:
    for spec in ("name", "name+click_volume", "name+scribble"):
        (row,) = session(spec, BoxFill()).rows
        assert (row["status"], row["dice"], row["round"]) == ("not_applicable", None, 0)
        assert row["error"] == wording


def test_a_hand_with_errors_types_what_it_means() -> None:
    assert session("name+hand:jitter_mm=5", rounds=0).rows[0]["interactions"] == 2


def test_keys_follow_the_names_of_the_card_for_this_prompter_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys() -> list[str]:
        specs = ("name", "name+scribble", "box_slice", "box_slice+scribble")
        begun = [ModelRunner(Words()).begun(protocol("overlap@1"), make_prompter(spec), Phantom()) for spec in specs]
        return [one.hexdigest() for one in begun]

    before = keys()
    monkeypatch.setattr(Phantom, "card", replace(Phantom.card, names={"blob": ("ball",)}))
    assert [one == other for one, other in zip(before, keys(), strict=True)] == [False, False, True, True]
    monkeypatch.setattr(Words, "reads_names", True)  # a model that does
    assert not set(before) & set(keys())


def test_taking_text_changes_the_keys_of_no_other_session() -> None:
    class Deaf(Words):
        accepts = frozenset({"point"})

    assert ModelRunner(Words()).identity[3:] == ModelRunner(Deaf()).identity[3:]


def test_name_is_in_the_public_interface() -> None:
    assert isinstance(intrabench.prompter("name:synonym=1"), Name)
    assert DatasetCard("a", "CT").names == {}
