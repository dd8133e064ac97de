"""The interface of all sources: published files that are downloaded once into the downloads folder and checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from intrabench.fetch.transfer import Progress


class Source(ABC):
    """A file or a folder of files that somebody publishes."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Its name in messages."""

    @property
    @abstractmethod
    def megabytes(self) -> float:
        """The size of the download, if known."""

    @property
    def pinned(self) -> bool:
        """Whether what arrives is compared with what is published; else with the first download."""
        return True

    @abstractmethod
    def place(self, folder: Path) -> Path:
        """Its path in the downloads folder, whether it exists or not."""

    @abstractmethod
    def urls(self) -> tuple[str, ...]:
        """The addresses where it is published, for people; the first is tried first."""

    @abstractmethod
    def fetch(self, folder: Path, progress: Progress | None = None) -> Path:
        """The path of the verified download; the network is used only if it is missing.

        Raises:
            DownloadError: it is not available, or differs from the published file.
        """

    @abstractmethod
    def problems(self, folder: Path) -> list[str]:
        """One sentence for each file in `folder` that differs from the published one; reads everything."""

    def is_here(self, folder: Path) -> bool:
        """Whether it exists in the downloads folder; its content is not checked."""
        return self.place(folder).exists()
