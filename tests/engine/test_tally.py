"""The numbers of a run in words, by a clock that the test sets."""

from __future__ import annotations

import math

import pytest

from intrabench.engine.progress.tally import Pace, Rate, Tally, lasting


def tally(total: int = 10, done: int = 0) -> Tally:
    made = Tally(0.0)
    made.begin(0.0, total, done)
    return made


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (99.4, "99 s"),
        (99.5, "2 min"),
        (5969, "99 min"),
        (5971, "1 h 40 min"),
        (11100, "3 h 05 min"),
        (48 * 3600, "2 days 0 h"),
        (100 * 3600, "4 days 4 h"),
    ],
)
def test_lengths_of_time(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


def test_the_rate_is_known_after_three_notices_and_ten_seconds_and_the_first_gap_does_not_count() -> None:
    rate = Rate()
    rate.add(1000.0, 7)  # a quarter of an hour of loading says nothing about sessions
    assert rate.at(1000.0, 1000) is None
    rate.add(1008.0, 4)
    assert rate.at(1008.0, 1000) is None
    assert rate.at(1018.0, 1000) is None  # two notices
    rate.add(1009.0, 1)
    assert rate.at(1009.0, 1000) is None  # nine seconds
    rate.add(1017.0, 4)
    assert rate.at(1017.0, 1000) == pytest.approx(9 / 17, rel=0.02)


def test_few_notices_are_enough_after_a_minute_of_playing_and_a_tenth_of_the_sessions() -> None:
    slow = tally(16)
    slow.doing(500.0, "cpu", "loading litemedsam")
    slow.doing(520.0, "cpu", "playing 8 sessions: spine_ct, case ct-22, litemedsam")
    slow.advance(1060.0, 8, 0, [])
    assert slow.facts(1060.0)[1] == "about 9 min left"
    assert slow.facts(1300.0)[1] == "about 9 min left"
    assert slow.facts(1900.0)[1] == "about 14 min left"  # nothing for 14 minutes
    first = tally(96)
    first.doing(20.0, "cpu", "playing 1 session: spine_ct, case ct-22, litemedsam")  # for which the image is encoded
    first.advance(90.0, 1, 0, [])
    assert first.facts(90.0) == ["0 failed"]
    short = tally(16)
    short.doing(20.0, "cpu", "playing 8 sessions: spine_ct, case ct-22, litemedsam")
    short.advance(70.0, 8, 0, [])
    assert short.facts(70.0) == ["0 failed"]


def test_a_steady_rate_is_that_rate_however_slow() -> None:
    for gap in (0.5, 20.0, 3600.0):
        rate = Rate()
        for number in range(60):
            rate.add(gap * number, 2)
        assert rate.at(gap * 59, 1000) == pytest.approx(2 / gap)
        assert rate.at(gap * 60, 1000) == pytest.approx(2 / gap)  # the next is not late yet
        late = rate.at(gap * 70, 1000)
        assert late is not None
        assert late < 0.9 * 2 / gap


def test_the_rate_follows_what_happens_now() -> None:
    rate = Rate()
    for number in range(600):
        rate.add(float(number), 10)
    for number in range(200):
        rate.add(600.0 + 10 * number, 1)
    assert rate.at(2590.0, 1000) == pytest.approx(0.1, rel=0.2)  # it was a hundred times that; the mean of all is 2.4


def test_what_is_shown_grows_with_what_is_known() -> None:
    run = tally(96, 5)
    assert (run.counts, run.facts(0.0)) == ("5 of 96 sessions", ["0 failed"])
    for number in range(1, 7):
        run.advance(10.0 * number, 2, int(number == 3), [0.7, 0.8])
    assert run.counts == "17 of 96 sessions"
    assert run.facts(60.0) == ["1 failed", "about 7 min left", "Dice 0.750", "12/min"]
    run.cases = 3
    run.total += 4
    assert run.counts == "17 of 100+ sessions"
    assert run.facts(60.0) == ["1 failed", "at least 7 min left", "Dice 0.750", "12/min", "3 cases to prepare"]
    assert run.closing(200.0) == "17 of 100+ sessions, 1 failed, Dice 0.750, in 3 min"


def test_a_slow_rate_keeps_two_digits() -> None:
    run = tally()
    for number in range(1, 5):
        run.advance(400.0 * number, 1, 0, [])
    assert run.facts(1600.0) == ["0 failed", "about 40 min left", "0.15/min"]


def test_no_time_is_left_when_all_is_played_and_scores_that_are_none_do_not_count() -> None:
    run = tally(8)
    for number in range(1, 5):
        run.advance(10.0 * number, 2, 2, [math.nan, 0.5])
    assert run.facts(40.0) == ["8 failed", "Dice 0.500", "12/min"]
    assert not run.open
    run.cases = 1
    assert run.open
    assert run.facts(200.0)[-1] == "nothing heard for 3 min"


def test_sessions_that_are_dropped_and_others_that_come() -> None:
    run = tally(1)
    assert run.counts == "0 of 1 session"
    run.total -= 1
    assert (run.counts, run.open) == ("0 of 0 sessions", False)


def test_what_workers_do_and_since_when() -> None:
    run = tally()
    run.doing(1.0, "10", "encoding slice 1 of 9")
    run.doing(2.0, "2", "playing a\ncase")
    run.doing(3.0, "1", "loading sam")
    run.doing(30.0, "10", "encoding slice 1 of 9")  # a sign of life, but the same step
    run.doing(30.0, "1", "")
    assert run.workers(62.0) == [("2", r"playing a\ncase", "silent for 60 s"), ("10", "encoding slice 1 of 9", "61 s")]
    run.doing(63.0, "2", "playing another")
    assert run.workers(64.0) == [("2", "playing another", "1 s"), ("10", "encoding slice 1 of 9", "63 s")]


def test_a_line_names_what_two_workers_do_and_counts_more() -> None:
    run = tally()
    run.doing(0.0, "1", "playing phantom, case 1, box_fill")
    run.doing(0.0, "2", "encoding slice 3 of 9")
    assert run.line(7.0) == (
        "0 of 10 sessions, 0 failed; 1: playing phantom, case 1, box_fill, 7 s; 2: encoding slice 3 of 9, 7 s"
    )
    run.doing(50.0, "3", "playing phantom, case 2, box_fill")
    assert run.line(70.0) == "0 of 10 sessions, 0 failed; 2 playing, 1 encoding; 1: silent for 70 s; 2: silent for 70 s"


def lines(run: Tally, until: int, events: dict[int, int]) -> dict[int, str]:
    """The lines of a run whose sessions are finished at these seconds, looked at every second."""
    pace, found = Pace(0.0), {}
    for now in range(until):
        if now in events:
            run.advance(float(now), events[now], 0, [])
        if text := pace.line(float(now), run):
            found[now] = text
    return found


def test_lines_come_at_growing_intervals() -> None:
    found = lines(tally(1000), 300, dict.fromkeys(range(300), 2))
    assert list(found) == [5, 15, 35, 75, 135, 195, 255]
    assert found[5] == "12 of 1000 sessions, 0 failed"
    assert found[15] == "32 of 1000 sessions, 0 failed, about 8 min left, 120/min"


def test_nothing_is_repeated_in_vain_but_silence_is_told_at_growing_intervals() -> None:
    found = lines(tally(10), 2000, {3: 1, 4: 1, 16: 2})
    assert list(found) == [5, 35, 135, 255, 495, 975, 1935]
    assert found[5] == "2 of 10 sessions, 0 failed"
    assert found[35] == "4 of 10 sessions, 0 failed, about 60 s left, 7/min"
    assert found[135] == "4 of 10 sessions, 0 failed, about 4 min left, 1.4/min, nothing heard for 2 min"
    assert found[1935] == "4 of 10 sessions, 0 failed, about 65 min left, 0.092/min, nothing heard for 32 min"
