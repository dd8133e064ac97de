"""Pages of a package index, which another library reads as a whole: no more of them than a page may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import httpx2

from intrabench.fetch.stall import Watch, trace

LONGEST = 64 * 10**6
"""Bytes of a page; the longest ones of the Python package index have a few millions."""
LONGEST_PACKED = LONGEST // 64
"""Bytes of a compressed page, though none was asked for."""


class Pages:
    """Bounds the pages that a client asks for and reads meanwhile; a context manager.

    Raises:
        ValueError: a page is too long, or comes too slowly.
    """

    def __init__(self, client: httpx2.Client) -> None:
        self._client, self._arrived = client, 0
        self._watch = Watch(lambda: self._arrived)

    def __enter__(self) -> None:
        self._before = self._client.event_hooks
        self._client.event_hooks = {
            "request": [*self._before["request"], self._asked],
            "response": [*self._before["response"], self._answered],
        }
        self._watch.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._watch.__exit__(kind, error, at)
        self._client.event_hooks = self._before
        if self._watch.cut and error is None:  # which looks like the end of a page without a length
            raise ValueError("the page comes too slowly")

    def _asked(self, request: httpx2.Request) -> None:
        request.extensions["trace"] = trace

    def _answered(self, response: httpx2.Response) -> None:
        packed = response.headers.get("Content-Encoding", "identity") != "identity"
        response.stream = _Bounded(response.stream, LONGEST_PACKED if packed else LONGEST, self._arrive)

    def _arrive(self, count: int) -> None:
        self._arrived += count


class _Bounded(httpx2.SyncByteStream):
    """A stream that ends with an error where it is too long."""

    def __init__(self, stream: Any, longest: int, arrive: Callable[[int], None]) -> None:
        self._stream, self._longest, self._arrive = stream, longest, arrive

    def __iter__(self) -> Iterator[bytes]:
        arrived = 0
        for chunk in self._stream:
            arrived += len(chunk)
            self._arrive(len(chunk))
            if arrived > self._longest:
                raise ValueError("the page is too long")
            yield chunk

    def close(self) -> None:
        self._stream.close()
