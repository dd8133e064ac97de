"""What all sources have in common: something published, to be fetched once into the downloads folder and checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from intrabench.fetch.transfer import Progress


class Source(ABC):
    """A file or a folder of files that somebody publishes."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What it is called in messages."""

    @property
    @abstractmethod
    def megabytes(self) -> float:
        """How much is to be downloaded, as far as known."""

    @abstractmethod
    def place(self, folder: Path) -> Path:
        """Where it lies in the downloads folder, whether it is there or not."""

    @abstractmethod
    def urls(self) -> tuple[str, ...]:
        """Where it is published, for people; the first is tried first."""

    @abstractmethod
    def fetch(self, folder: Path, progress: Progress | None = None) -> Path:
        """The path of what was fetched and found right; the network is asked only if it is not there.

        Raises:
            DownloadError: it is nowhere to be had, or not what was published.
        """

    @abstractmethod
    def problems(self, folder: Path) -> list[str]:
        """What is not as it was published of what lies in `folder`, one sentence each: reads everything."""

    def is_here(self, folder: Path) -> bool:
        """Whether it lies in the downloads folder, not checked."""
        return self.place(folder).exists()
