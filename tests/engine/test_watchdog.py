"""How long a worker may take: a wave has one clock, and every other step has its own."""

from __future__ import annotations

from intrabench.engine.executors.timeout import LOADING_SECONDS, PREPARING_SECONDS, Timeout


def waited(dog: Timeout, seconds: int) -> bool:
    """Whether it barks after so many seconds of silence."""
    for _ in range(4 * seconds):
        dog.tick(0.25)
    return dog.barks


def test_quick_slices_are_encoded_for_any_time_while_the_clock_of_the_wave_stands_still() -> None:
    dog = Timeout(10.0)
    dog.wave()
    dog.begins("playing")
    assert not waited(dog, 6)
    for _ in range(100):
        dog.begins("encoding", "encoding a slice")
        assert not waited(dog, 9)
        dog.begins("playing")
        assert not dog.barks
    assert not waited(dog, 4)
    assert waited(dog, 1)


def test_one_slow_slice_is_too_much_and_a_new_wave_begins_from_zero() -> None:
    dog = Timeout(10.0)
    dog.begins("encoding", "encoding a slice")
    assert waited(dog, 11)
    dog.begins("playing")
    assert not waited(dog, 10)
    dog.wave(share=0.5)
    assert not waited(dog, 5)
    assert waited(dog, 1)


def test_a_short_limit_is_meant_for_sessions_and_not_for_conversions_or_starts() -> None:
    dog = Timeout(1.0)
    dog.begins("preparing", "converting")
    assert not waited(dog, int(PREPARING_SECONDS))
    assert waited(dog, 1)
    dog.begins("preparing", "converting")  # a download that goes on
    assert not waited(dog, int(PREPARING_SECONDS))
    for phase in ("", "loading"):
        dog.begins(phase)
        assert not waited(dog, int(LOADING_SECONDS))
        assert waited(dog, 1)
    dog.begins("opening")
    assert waited(dog, 2)


def test_the_time_in_which_this_process_was_suspended_is_not_the_workers() -> None:
    dog = Timeout(10.0)
    dog.begins("playing")
    dog.tick(3600.0)
    assert not dog.barks
