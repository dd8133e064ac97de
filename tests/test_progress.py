"""Steps deep inside say what goes on, and what goes on again when they end; nobody has to listen."""

from __future__ import annotations

from contextlib import suppress

import pytest

from intrabench.progress import Phase, encoding, joined, listen, loading, proceed, step


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def __call__(self, phase: Phase, what: str, about: str) -> None:
        self.said.append((phase, joined(what, about)))


def test_a_step_is_said_when_it_begins_and_what_goes_on_again_when_it_ends() -> None:
    with listen(heard := Heard()), step("playing", "playing a case"):
        with encoding("encoding slice 1 of 2"), loading("loading sam"):
            pass
        with encoding("encoding slice 2 of 2"):
            pass
    assert heard.said == [
        ("playing", "playing a case"),
        ("encoding", "encoding slice 1 of 2"),
        ("loading", "loading sam"),
        ("encoding", "encoding slice 1 of 2"),
        ("playing", "playing a case"),
        ("encoding", "encoding slice 2 of 2"),
        ("playing", "playing a case"),
        ("", ""),
    ]


def test_steps_inside_say_what_they_are_done_for() -> None:
    with listen(heard := Heard()):
        with step("playing", "playing 4 sessions", "phantom, case 1"), encoding("encoding slice 1 of 2"):
            pass
        with loading("loading sam"):
            pass
    assert [what for _, what in heard.said] == [
        "playing 4 sessions: phantom, case 1",
        "encoding slice 1 of 2: phantom, case 1",
        "playing 4 sessions: phantom, case 1",
        "",
        "loading sam",
        "",
    ]


def test_a_step_that_proceeds_says_so_once_and_goes_on_with_that() -> None:
    proceed("nobody listens")
    with listen(heard := Heard()), step("playing", "playing", "case 1"):
        for number in (0, 0, 1):
            proceed(f"round {number}")
            with encoding("encoding"):
                pass
    assert heard.said == [
        ("playing", "playing: case 1"),
        *[("playing", "round 0: case 1"), ("encoding", "encoding: case 1")] * 2,
        ("playing", "round 0: case 1"),
        *[("playing", "round 1: case 1"), ("encoding", "encoding: case 1"), ("playing", "round 1: case 1")],
        ("", ""),
    ]


def test_ctrl_c_while_a_step_is_said_ends_it() -> None:
    def interrupted(phase: Phase, what: str, about: str) -> None:
        heard.append(what)
        if len(heard) == 2:
            raise KeyboardInterrupt

    def work() -> None:
        with step("playing", "playing"):
            with suppress(KeyboardInterrupt), encoding("encoding"):
                pytest.fail("the step began")
            with encoding("encoding again"):
                pass

    heard: list[str] = []
    with listen(interrupted):
        work()
    assert heard == ["playing", "encoding", "playing", "encoding again", "playing", ""]


def test_a_step_that_fails_ends() -> None:
    with listen(heard := Heard()), pytest.raises(MemoryError), encoding("encoding a crop"):
        raise MemoryError
    assert heard.said == [("encoding", "encoding a crop"), ("", "")]


def test_a_listener_hears_nothing_of_what_began_before_it_or_ends_after_it() -> None:
    outer, inner = Heard(), Heard()
    with encoding("nobody listens"):
        pass
    with listen(outer), loading("loading sam"):
        with listen(inner), encoding("encoding a crop"):
            pass
        assert inner.said == [("encoding", "encoding a crop"), ("", "")]
        with encoding("encoding slice 1 of 1"):
            pass
    assert outer.said == [
        ("loading", "loading sam"),
        ("encoding", "encoding slice 1 of 1"),
        ("loading", "loading sam"),
        ("", ""),
    ]


def test_what_a_listener_raises_is_dropped() -> None:
    def gone(phase: Phase, what: str, about: str) -> None:
        raise BrokenPipeError

    played = []
    with listen(gone), encoding("encoding a crop"):
        played.append(1)
    assert played == [1]
