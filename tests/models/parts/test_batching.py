"""Batches: one outcome for each item whatever happens, with its share of the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from intrabench.models.parts.batching import batched, portions, release_memory, room_for

Call = Callable[[Sequence[int]], list[int]]


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


def doubling(asked: list[list[int]], trouble: Callable[[Sequence[int]], None] = lambda items: None) -> Call:
    """Twice each item, and a list of what it was called with."""

    def call(items: Sequence[int]) -> list[int]:
        asked.append(list(items))
        trouble(items)
        return [2 * item for item in items]

    return call


def outcomes(call: Call, items: Sequence[int], size: int, pad: bool = False) -> tuple[list[Any], list[int]]:
    """Results, with exceptions as their text, and sizes of batches."""
    found = list(batched(call, items, size, pad))
    told = [str(one.result) if isinstance(one.result, Exception) else one.result for one in found]
    assert all(one.seconds >= 0 for one in found)
    return told, [one.batch for one in found]


def test_items_are_cut_into_batches_in_order() -> None:
    asked: list[list[int]] = []
    assert outcomes(doubling(asked), range(5), 2) == ([0, 2, 4, 6, 8], [2, 2, 2, 2, 1])
    assert asked == [[0, 1], [2, 3], [4]]
    assert outcomes(doubling(asked), [], 2) == ([], [])


def test_padding_repeats_the_last_item_and_answers_it_once() -> None:
    asked: list[list[int]] = []
    assert outcomes(doubling(asked), range(5), 3, pad=True) == ([0, 2, 4, 6, 8], [3] * 5)
    assert asked == [[0, 1, 2], [3, 4, 4]]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, [(8, 1)]),
        (8, [(8, 8)]),
        (13, [(8, 13)]),
        (14, [(16, 14)]),
        (45, [(32, 32), (8, 13)]),
        (150, [(64, 64), (64, 64), (16, 16), (8, 6)]),
    ],
)
def test_a_request_is_divided_into_batches_that_are_nearly_full(count: int, expected: list[tuple[int, int]]) -> None:
    assert list(portions(count, (8, 16, 32, 64))) == expected


def memory_for(most: int, error: type[Exception]) -> Callable[[Sequence[int]], None]:
    def trouble(items: Sequence[int]) -> None:
        if len(items) > most:
            raise error("all gone")

    return trouble


@pytest.mark.parametrize("gpu", [False, True])
def test_batches_are_halved_when_memory_runs_out(gpu: bool) -> None:
    error = torch.OutOfMemoryError if gpu else MemoryError
    asked: list[list[int]] = []
    assert outcomes(doubling(asked, memory_for(2, error)), range(8), 8) == ([0, 2, 4, 6, 8, 10, 12, 14], [2] * 8)
    assert asked == [[*range(8)], [0, 1, 2, 3], [0, 1], [2, 3], [4, 5, 6, 7], [4, 5], [6, 7]]
    assert outcomes(doubling([], memory_for(2, error)), range(3), 3) == ([0, 2, 4], [1, 1, 1])


def test_padded_batches_are_halved_to_a_padded_size() -> None:
    asked: list[list[int]] = []
    told, sizes = outcomes(doubling(asked, memory_for(2, MemoryError)), range(3), 4, pad=True)
    assert (told, sizes) == ([0, 2, 4], [2, 2, 2])
    assert asked == [[0, 1, 2, 2], [0, 1], [2, 2]]


def test_a_padded_item_is_tried_alone_before_it_is_given_up() -> None:
    asked: list[list[int]] = []
    assert outcomes(doubling(asked, memory_for(1, MemoryError)), [7], 4, pad=True) == ([14], [1])
    assert asked == [[7, 7, 7, 7], [7, 7], [7]]


@pytest.mark.parametrize("gpu", [False, True])
def test_an_item_too_large_by_itself_fails_alone(gpu: bool) -> None:
    error = torch.OutOfMemoryError if gpu else MemoryError

    def trouble(items: Sequence[int]) -> None:
        if 3 in items:
            raise error("all gone")

    found = list(batched(doubling([], trouble), range(4), 4, False))
    assert [one.result for one in found[:3]] == [0, 2, 4]
    assert isinstance(found[3].result, error)
    assert found[3].batch == 1


@pytest.mark.parametrize("pad", [True, False])
def test_a_bad_item_fails_alone_and_the_others_are_answered(pad: bool) -> None:
    def trouble(items: Sequence[int]) -> None:
        if 1 in items:
            raise ValueError("one is bad")

    asked: list[list[int]] = []
    told, sizes = outcomes(doubling(asked, trouble), range(4), 3, pad)
    assert told == [0, "one is bad", 4, 6]
    assert sizes == ([3] * 4 if pad else [1] * 4)
    assert asked[1:4] == ([[0, 0, 0], [1, 1, 1], [2, 2, 2]] if pad else [[0], [1], [2]])


def test_each_item_has_its_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def call(items: Sequence[int]) -> list[int]:
        now[0] += 6.0
        if 9 in items:
            raise ValueError("nine")
        return list(items)

    assert [one.seconds for one in batched(call, [1, 2, 3, 4], 3, False)] == [2.0, 2.0, 2.0, 6.0]
    assert [one.seconds for one in batched(call, [1, 2, 3, 4], 3, True)] == [2.0, 2.0, 2.0, 6.0]  # padding is free
    assert [one.seconds for one in batched(call, [1, 9], 2, False)] == [6.0, 6.0]


def test_memory_is_handed_back_where_there_is_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    emptied: list[bool] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: emptied.append(True))
    for there in (False, True):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        release_memory()
    assert emptied == [True]
    list(batched(doubling([], memory_for(1, MemoryError)), range(2), 2, False))
    assert emptied == [True, True]


def test_half_of_the_free_memory_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (1000, 2000))
    assert [room_for(size, "cuda", 32) for size in (10, 25, 100, 400, 900)] == [32, 20, 5, 1, 1]
    assert room_for(900, "cpu", 32) == 32
