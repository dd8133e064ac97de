"""Download weights: sources in turn, resumed, verified and recorded."""

from __future__ import annotations

from pathlib import Path

from intrabench.errors import IntraBenchError
from intrabench.fetch.checksum import settle
from intrabench.fetch.download import DownloadError, Progress, at_most, download
from intrabench.fetch.mirrors import NoSource, first_that_works
from intrabench.fetch.places import url_of
from intrabench.models.weights import hub
from intrabench.models.weights.registry import Weights, find, folder, get, locate, unpublished

_BEGINNINGS = (b"PK\x03\x04", b"\x80", b"{")
"""First bytes of zip archives (torch), pickles (older torch) and JSON; safetensors have a brace as the ninth byte."""


def described(id: str) -> Weights:
    """What is known of weights; of a repository at the hub, after it was asked for its card.

    Raises:
        IntraBenchError: there are no such weights, or the hub does not answer.
    """
    if id.startswith(hub.PREFIX):
        hub.repository(id).described()
    return get(id)


def fetch(id: str, progress: Progress | None = None) -> Path:
    """The file of weights, downloaded if missing, and always verified.

    Raises:
        IntraBenchError: no source gave it, with all reasons and what to do by hand.
    """
    if id.startswith(hub.PREFIX):
        return hub.repository(id).fetch(progress)
    entry = get(id)
    if find(id) is None and any(not source.startswith("package:") for source in entry.sources):
        path = folder() / entry.file
        source = _from_any(entry, path, progress)
        if not entry.pinned and (problem := settle(path, f"sha256:{unpublished(entry, path)}", source)):
            for member in [member for member, sha256 in (entry.members or {"": ""}).items() if not sha256]:
                (path / member).unlink()
            raise IntraBenchError(problem)
    return locate(id)


def _from_any(entry: Weights, path: Path, progress: Progress | None) -> str:
    """Download from the first source that works, and say which."""

    def fetch(source: str) -> None:
        try:
            for member, sha256 in (entry.members or {"": entry.sha256}).items():
                _download(entry, url_of(source, member), path / member, sha256, progress)
        except DownloadError as error:
            raise DownloadError(f"{url_of(source)}: {error}") from None

    try:
        return url_of(first_that_works((one for one in entry.sources if not one.startswith("package:")), fetch))
    except NoSource as error:
        pages = f" (see {', '.join(entry.pages)})" if entry.pages else ""
        raise IntraBenchError(
            f"{entry.file} came from none of its sources [{' | '.join(error.reasons)}]; fetch it by hand{pages} "
            f"and put it into {folder()}, or try again later"
        ) from None


def _download(entry: Weights, url: str, path: Path, sha256: str, progress: Progress | None) -> None:
    if path.exists():
        return
    checksum = f"sha256:{sha256}" if sha256 else ""
    download(url, path, checksum=checksum, most=at_most(entry.megabytes), progress=progress)
    if not sha256 and not _is_weights(path):
        path.unlink()
        raise DownloadError(f"{path.name} is a web page or another file that is not a checkpoint")


def _is_weights(path: Path) -> bool:
    with path.open("rb") as file:
        begin = file.read(9)
    return begin.startswith(_BEGINNINGS) or begin[8:] == b"{"
