"""Places are tried in turn, and what each said is told once."""

from __future__ import annotations

import pytest

from intrabench.errors import IntraBenchError
from intrabench.fetch.mirrors import NoSource, first_that_works
from intrabench.fetch.transfer import DownloadError


def test_the_first_place_that_works_counts_and_no_later_one_is_asked() -> None:
    asked = []

    def fetch(place: str) -> None:
        asked.append(place)
        if place == "a":
            raise DownloadError("a is down")

    assert first_that_works("abc", fetch) == "b"
    assert asked == ["a", "b"]


def test_where_none_works_each_reason_is_told_once() -> None:
    def fetch(place: str) -> None:
        raise DownloadError("down" if place == "c" else "refused")

    with pytest.raises(NoSource) as caught:
        first_that_works("abc", fetch)
    assert caught.value.reasons == ("refused", "down")
    assert str(caught.value) == "refused down"


def test_a_full_disk_is_no_reason_to_ask_the_next_place() -> None:
    asked = []

    def fetch(place: str) -> None:
        asked.append(place)
        raise IntraBenchError("the disk is full")

    with pytest.raises(IntraBenchError, match="the disk is full"):
        first_that_works("abc", fetch)
    assert asked == ["a"]
