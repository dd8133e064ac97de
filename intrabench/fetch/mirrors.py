"""Several places that publish the same: each is tried in turn, until one has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from intrabench.fetch.transfer import DownloadError


class NoSource(DownloadError):
    """No place had it; `reasons` are those of all places, each once."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(dict.fromkeys(reasons))
        super().__init__(" ".join(self.reasons))


def first_that_works(places: Iterable[str], fetch: Callable[[str], object]) -> str:
    """The first of `places` from which `fetch` brings it.

    Raises:
        NoSource: there is none.
    """
    reasons = []
    for place in places:
        try:
            fetch(place)
        except DownloadError as error:
            reasons.append(str(error))
        else:
            return place
    raise NoSource(reasons)
