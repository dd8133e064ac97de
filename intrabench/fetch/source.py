"""The interface of all sources: published files that are downloaded once into the downloads folder and checked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from intrabench.fetch.transfer import DownloadError, Progress
from intrabench.files.atomic import writing
from intrabench.files.locks import locked
from intrabench.workspace import DATA


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

    def fetch(self, folder: Path, progress: Progress | None = None) -> Path:
        """The path of the verified download; the network is used only if it is missing.

        Raises:
            DownloadError: it is not available, or differs from the published file.
        """
        path = self.place(folder)
        with writing(path):
            if path.exists() and self._is_verified(path):  # also in a folder that may not be written to
                return path
            path.parent.mkdir(parents=True, exist_ok=True)
            with locked(path.with_name(path.name + ".lock"), wait=True, option=DATA):
                if not path.exists():  # another process may have downloaded it in the meantime
                    self._download(path, progress)
                elif not self._is_verified(path):
                    self._verify(path)
        return path

    @abstractmethod
    def _download(self, path: Path, progress: Progress | None) -> None:
        """Download what is missing, and verify it."""

    def _is_verified(self, path: Path) -> bool:
        """Whether a download needs no look any more."""
        self._verify(path)
        return True

    @abstractmethod
    def _verify(self, path: Path) -> None:
        """Refuse what is there but differs from what is published."""

    @abstractmethod
    def problems(self, folder: Path) -> list[str]:
        """One sentence for each file in `folder` that differs from the published one; reads everything."""

    def is_here(self, folder: Path) -> bool:
        """Whether it exists in the downloads folder; its content is not checked."""
        return self.place(folder).exists()


class OneFile(Source):
    """A source that is one file, `filename`; a subclass downloads and verifies it."""

    filename: str

    @property
    def title(self) -> str:
        """The name of the file."""
        return self.filename

    def place(self, folder: Path) -> Path:
        """The file in `folder`."""
        return folder / self.filename

    def problems(self, folder: Path) -> list[str]:
        """A sentence if the local file is not the published one."""
        try:
            if self.is_here(folder):
                self._verify(self.place(folder))
        except DownloadError as error:
            return [str(error)]
        return []
