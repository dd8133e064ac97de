"""Pages of a package index, which another library reads as a whole: no more of them than a page may have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2

from intrabench.fetch.floor import Watch

LONGEST = 64 * 10**6
"""Bytes of a page; the longest ones of the Python package index have a few millions."""
LONGEST_PACKED = LONGEST // 64
"""Bytes of a compressed page, though none was asked for."""


def bounded(response: httpx2.Response) -> None:
    """Limit what can be read of a response, for ``event_hooks``: reading on raises a ValueError."""
    packed = response.headers.get("Content-Encoding", "identity") != "identity"
    response.stream = _Bounded(
        response.stream, LONGEST_PACKED if packed else LONGEST, response.extensions.get("network_stream")
    )


class _Bounded(httpx2.SyncByteStream):
    """A stream that ends with an error where it is too long, and that is cut where it is too slow."""

    def __init__(self, stream: Any, longest: int, network: Any) -> None:
        self._stream, self._longest, self._network, self._arrived = stream, longest, network, 0

    def __iter__(self) -> Iterator[bytes]:
        with Watch(lambda: self._arrived) as watch:
            watch.on(self._network)
            for chunk in self._stream:
                self._arrived += len(chunk)
                if self._arrived > self._longest:
                    raise ValueError("the page is too long")
                yield chunk

    def close(self) -> None:
        self._stream.close()
