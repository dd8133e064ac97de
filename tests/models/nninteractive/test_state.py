"""The state of nninteractive against being played alone."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intrabench.mask import Mask
from intrabench.models.base import Failure, Request
from intrabench.models.nninteractive import NnInteractive
from intrabench.progress import listen
from intrabench.prompts import Prompts, points
from intrabench.volume import Volume
from tests.models.nninteractive.played import (
    ALL,
    BOX2D,
    CLICK,
    CLICK_AWAY,
    DECAY,
    LOOP,
    LOOP_AWAY,
    POINT,
    STROKE,
    STROKE_AWAY,
    VOLUME,
    ask,
    channel,
    dense,
    made,
    phantom,
    play,
    same,
    turns_of,
)
from tests.models.nninteractive_folder import write_folder


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


class TestState:
    @pytest.fixture
    def replays(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        from intrabench.models.parts.nninteractive_image import OneImage

        counted: list[int] = []
        real = OneImage._replay

        def counting(self: Any, mask: Mask, earlier: Any) -> None:
            counted.append(len(earlier))
            real(self, mask, earlier)

        monkeypatch.setattr(OneImage, "_replay", counting)
        return counted

    def test_continued_equals_replayed(self, model: NnInteractive, image: Any, replays: list[int]) -> None:
        turns = turns_of(*ALL)
        continued = play(image, turns)
        assert replays == [0]
        states, replayed = [image.session.interactions.clone()], []
        for number in range(len(turns)):
            with model.open(VOLUME) as other:
                replayed.append(ask(other, turns[: number + 1], continued[number - 1] if number else None))
                states.append(other.session.interactions.clone())
                intensity = other.session.current_interaction_intensity
        assert same(continued, replayed)
        assert torch.equal(states[0], states[-1])
        assert intensity == image.session.current_interaction_intensity == pytest.approx(DECAY**-7)
        assert replays == [0, *range(7)]

    @settings(max_examples=8)
    @given(st.lists(st.sampled_from("abc"), max_size=8), st.integers(0, 3))
    def test_interleaved_sessions_answer_as_when_alone(
        self, model: NnInteractive, order: list[str], afresh: int
    ) -> None:
        scripts = {
            "a": turns_of(CLICK, CLICK_AWAY, BOX2D, LOOP),
            "b": turns_of(BOX2D, STROKE, CLICK),
            "c": turns_of(STROKE_AWAY, LOOP_AWAY, CLICK, CLICK_AWAY),
        }
        scripts["c"] = tuple(replace(turn, afresh=number == afresh) for number, turn in enumerate(scripts["c"]))
        found: dict[str, list[Mask]] = {name: [] for name in scripts}
        with model.open(VOLUME) as image:
            for name in order:
                done = len(found[name])
                if done < len(scripts[name]):
                    earlier = found[name][-1] if done else None
                    found[name].append(ask(image, scripts[name][: done + 1], earlier, name))
        for name, masks in found.items():
            with model.open(VOLUME) as image:
                assert same(masks, play(image, scripts[name][: len(masks)], name))

    def test_one_call_answers_all_in_their_order_and_a_bad_one_fails_alone(
        self, model: NnInteractive, image: Any
    ) -> None:
        good, bad = turns_of(CLICK), turns_of(points([(9, 12, 28)]))
        first, failure, third = image.segment([Request("a", good), Request("b", bad), Request("c", turns_of(BOX2D))])
        assert isinstance(failure, Failure)
        assert failure.status == "error"
        with model.open(VOLUME) as other:
            assert same([first.update, third.update], [ask(other, good), ask(other, turns_of(BOX2D), name="c")])
        assert not np.array_equal(dense(first.update), dense(third.update))

    def test_a_prediction_that_fails_leaves_nothing_behind(
        self, model: NnInteractive, image: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        turns = turns_of(CLICK, BOX2D, CLICK_AWAY)
        masks = play(image, turns[:2])
        with monkeypatch.context() as broken:
            broken.setattr(image.session, "_build_network_input", lambda *_: 1 / 0)
            [failure] = image.segment([Request("a", turns, masks[-1])])
        assert failure.message == "ZeroDivisionError: division by zero"
        with model.open(VOLUME) as other:
            assert same([ask(image, turns, masks[-1])], play(other, turns)[2:])

    def test_another_mask_than_its_own_last_answer_counts(self, image: Any, replays: list[int]) -> None:
        turns = turns_of(CLICK, CLICK_AWAY)
        (own,) = play(image, turns[:1])
        edited = Mask.of(np.ones((4, 4, 4), dtype=bool), (2, 3, 4))
        ask(image, turns, edited)
        assert replays == [0, 1]
        assert not same([own], [edited])

    def test_another_history_than_its_own_counts(self, image: Any, replays: list[int]) -> None:
        first, second, third = turns_of(CLICK, CLICK_AWAY, BOX2D)
        mask = ask(image, [first])
        ask(image, [second, third], mask)
        assert replays == [0, 1]
        assert not channel(image, POINT).any()

    def test_a_turn_without_prompts_changes_nothing(self, model: NnInteractive, image: Any) -> None:
        turns = turns_of(CLICK, Prompts(), CLICK_AWAY)
        masks = play(image, turns)
        assert masks[0] is masks[1]
        with model.open(VOLUME) as other:
            assert same(play(other, turns_of(CLICK, CLICK_AWAY)), [masks[0], masks[2]])

    def test_checkpoints_that_refuse_masks_from_elsewhere_can_be_replayed(self, tmp_path: Path, folder: Path) -> None:
        strict = made(write_folder(tmp_path / "strict", patch=32, bias=-0.8, info={"supports_initial_label": False}))
        strict.autozoom = False
        turns = turns_of(CLICK, BOX2D)
        with strict.open(VOLUME) as image:
            continued = play(image, turns)
        with strict.open(VOLUME) as image, pytest.warns(RuntimeWarning, match="initial_label"):
            assert same([ask(image, turns, continued[0])], continued[1:])

    def test_two_images_at_once_do_not_disturb_each_other(self, model: NnInteractive) -> None:
        darker = Volume.from_canonical(-phantom())
        with model.open(VOLUME) as one, model.open(darker) as two:
            found = [ask(one, turns_of(CLICK)), ask(two, turns_of(CLICK)), ask(one, turns_of(CLICK), name="b")]
            assert one.session.network is two.session.network
        assert one.session is None
        assert same(found[:1], found[2:])
        assert not same(found[:1], found[1:2])

    def test_it_says_once_that_it_loads(self, folder: Path) -> None:
        heard: list[tuple[str, str]] = []
        with listen(lambda phase, what, about: heard.append((phase, what))):
            loaded = made(folder, autozoom=False)
            loaded.load()
            loaded.load()
        assert heard == [("loading", "loading nninteractive"), ("", "")]

    def test_the_process_is_left_as_it_was(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        def state() -> Any:
            drawn = np.random.get_state()[1].tolist()  # noqa: NPY002
            return torch.get_num_threads(), torch.backends.cudnn.benchmark, drawn

        usual = torch.get_num_threads()
        torch.set_num_threads(1)  # the package would take up to 8
        try:
            before = state()
            with made(folder, autozoom=False).open(VOLUME) as image:
                ask(image, turns_of(CLICK))
            assert state() == before
        finally:
            torch.set_num_threads(usual)
        assert capsys.readouterr().out == ""
        assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ
