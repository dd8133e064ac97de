"""Leases: how many there are, and when they end."""

from __future__ import annotations

import pytest

from intrabench.people.servers.leases import Full, Leases


@pytest.fixture
def now() -> list[float]:
    return [0.0]


@pytest.fixture
def leases(now: list[float]) -> Leases[list[int]]:
    return Leases(list, 2, idle=100, silent=10, clock=lambda: now[0])


def test_there_are_so_many_and_one_comes_free(leases: Leases[list[int]]) -> None:
    first, second = leases.claim(), leases.claim()
    assert first.token != second.token
    with pytest.raises(Full):
        leases.claim()
    assert leases.release(first.token) is first.content
    assert leases.release(first.token) is None
    assert leases.claim().token not in (first.token, second.token)
    assert leases.find(first.token) is None
    assert leases.find(None) is None


def test_silence_ends_a_lease_and_a_heartbeat_does_not_replace_an_action(
    leases: Leases[list[int]], now: list[float]
) -> None:
    silent, beating = leases.claim(), leases.claim()
    for at in range(1, 100, 9):
        now[0] = at
        leases.find(silent.token, seen=False)  # looking is no sign of life
        leases.find(beating.token)
    assert leases.left(beating) == 100 - 91
    assert leases.ended() == [silent.content]
    now[0] = 99.5
    leases.find(beating.token, acts=True)
    now[0] = 105
    assert leases.ended() == []
    assert leases.left(beating) == pytest.approx(94.5)
    now[0] = 200
    leases.find(beating.token)
    assert leases.ended() == [beating.content]
    assert len(leases) == 0
