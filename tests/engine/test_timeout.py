"""How long a worker may take: a wave has one clock, and every other step has its own."""

from __future__ import annotations

from intrabench.engine.executors.timeout import LOADING_SECONDS, PREPARING_SECONDS, Timeout


def waited(timeout: Timeout, seconds: int) -> bool:
    """Whether it barks after so many seconds of silence."""
    for _ in range(4 * seconds):
        timeout.tick(0.25)
    return timeout.expired


def test_quick_slices_are_encoded_for_any_time_while_the_clock_of_the_wave_stands_still() -> None:
    timeout = Timeout(10.0)
    timeout.batch()
    timeout.begins("playing")
    assert not waited(timeout, 6)
    for _ in range(100):
        timeout.begins("encoding", "encoding a slice")
        assert not waited(timeout, 9)
        timeout.begins("playing")
        assert not timeout.expired
    assert not waited(timeout, 4)
    assert waited(timeout, 1)


def test_one_slow_slice_is_too_much_and_a_new_wave_begins_from_zero() -> None:
    timeout = Timeout(10.0)
    timeout.begins("encoding", "encoding a slice")
    assert waited(timeout, 11)
    timeout.begins("playing")
    assert not waited(timeout, 10)
    timeout.batch(share=0.5)
    assert not waited(timeout, 5)
    assert waited(timeout, 1)


def test_a_short_limit_is_meant_for_sessions_and_not_for_conversions_or_starts() -> None:
    timeout = Timeout(1.0)
    timeout.begins("preparing", "converting")
    assert not waited(timeout, int(PREPARING_SECONDS))
    assert waited(timeout, 1)
    timeout.begins("preparing", "converting")  # a download that goes on
    assert not waited(timeout, int(PREPARING_SECONDS))
    for phase in ("", "loading"):
        timeout.begins(phase)
        assert not waited(timeout, int(LOADING_SECONDS))
        assert waited(timeout, 1)
    timeout.begins("opening")
    assert waited(timeout, 2)


def test_the_time_in_which_this_process_was_suspended_is_not_the_workers() -> None:
    timeout = Timeout(10.0)
    timeout.begins("playing")
    timeout.tick(3600.0)
    assert not timeout.expired
