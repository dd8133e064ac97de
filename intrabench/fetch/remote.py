"""A file on the web: downloaded from any of its places, or put into the folder by hand if a person must request it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from intrabench.fetch.checksum import checksum_of, if_wanted, note, noted, settle
from intrabench.fetch.download import DownloadError, at_most, by_hand, download
from intrabench.fetch.mirrors import NoSource, first_that_works
from intrabench.fetch.places import url_of
from intrabench.fetch.source import OneFile
from intrabench.fetch.transfer import Progress

BY_HAND = "put there by hand"


@dataclass(frozen=True)
class RemoteFile(OneFile):
    """One published file.

    places: where programs may get it, mirrors after the first: ``https://...``, ``hf:owner/repository@revision/path``,
    ``gdrive:ID``. Without places, or if none works, a person downloads it from `page`, for the reason in `terms`.
    checksum: ``sha256:...`` or ``md5:...`` as published; if none is published, that of the first download counts.
    about_mb: its size if the bytes are unknown; no more than twice as much is downloaded. member_mb: the largest
    allowed size of an unpacked member.
    """

    filename: str
    places: tuple[str, ...] = ()
    checksum: str = ""
    size: int | None = None
    page: str = ""
    terms: str = ""
    about_mb: float = 0.0
    member_mb: int = 2000

    @property
    def megabytes(self) -> float:
        """The approximate size of the file; 0 if unknown."""
        return self.size / 1e6 if self.size else self.about_mb

    @property
    def pinned(self) -> bool:
        """Whether a checksum is published."""
        return bool(self.checksum)

    def urls(self) -> tuple[str, ...]:
        """The addresses of all places, else the page."""
        return tuple(url_of(place) for place in self.places) or (self.page,)

    def _download(self, path: Path, progress: Progress | None) -> None:
        """From the first place that works; if no checksum is published, it must equal the first download."""
        source = self._from_any(path, progress)
        found = checksum_of(path, self._algorithm)
        if self.checksum:
            note(path, found, source)
        elif problem := settle(path, found, source):
            path.unlink()
            raise DownloadError(f"{problem}.")

    @property
    def _algorithm(self) -> str:
        return self.checksum.partition(":")[0] or "sha256"

    def _is_verified(self, path: Path) -> bool:
        """Whether a file was checked, and not changed since."""
        record = noted(path)
        return record is not None and record.still_fits(path)

    def _verify(self, path: Path) -> None:
        """Read the file; if no checksum is published, it must equal the file when it was first seen."""
        record = noted(path)
        found = checksum_of(path, self._algorithm)
        expected = self.checksum or (record.checksum if record else "")
        if not expected and self.size is not None and path.stat().st_size != self.size:
            found, expected = f"{path.stat().st_size} bytes", f"{self.size} bytes"
        if expected and found != expected:
            raise DownloadError(
                f"{path} has {found.replace(':', ' ')} but {expected.rpartition(':')[2]} was expected: "
                "it is damaged or a different file; delete it and download it again"
                f"{'' if self.checksum or not record else f', or {if_wanted(path)}'}."
            )
        note(path, found, record.source if record else BY_HAND)

    def _from_any(self, path: Path, progress: Progress | None) -> str:
        """Download from the first place that works, and say which."""
        if not self.places:
            why = f" ({self.terms})" if self.terms else ""
            raise DownloadError(
                f"{self.filename} cannot be downloaded automatically{why}: get it from {self.page}, "
                f"{by_hand(path)}, then run again."
            )
        fetch = partial(
            download, path=path, checksum=self.checksum, size=self.size, most=at_most(self.about_mb), progress=progress
        )
        try:
            return first_that_works(self.places, lambda place: fetch(url_of(place)))
        except NoSource as error:
            page = f" You can also download it by hand from {self.page}." if self.page else ""
            raise DownloadError(f"{error}{page}") from None
