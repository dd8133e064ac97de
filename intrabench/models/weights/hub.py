"""Repositories in the format of the Hugging Face hub: at the hub, pinned to a commit, or in a folder.

Their ids in the registry are ``hf:ORG/NAME@REVISION`` and ``hf:FOLDER``. A repository at the hub lies in the hub's own
cache (``HF_HOME``), where other programs find it, too. A branch means the commit that it was when it was first fetched:
nothing here moves it. Only safetensors are taken, and no code.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intrabench.errors import IntraBenchError
from intrabench.models.weights.hashes import sha256_of_path

if TYPE_CHECKING:
    from intrabench.fetch.transfer import Progress

PREFIX = "hf:"
CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
PREPARATION = ("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json")
CARD = "README.md"
SMALL = (CONFIG, *PREPARATION, CARD)
"""What is fetched without being asked for: a few kB that say what the repository is."""

_PART = r"(?!\S*(?:--|\.\.))(?!\S*\.git$)\w(?:[\w.-]{0,94}\w)?"
_NAME = re.compile(rf"{_PART}/{_PART}", re.ASCII)
"""What the hub takes as the name of a repository; it refuses all else."""
_CLIENTS = ("httpx", "httpcore", "httpx2", "requests")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Repository:
    """``ORG/NAME`` at the hub with a branch, tag or commit, or a folder, which has no revision."""

    repo: str
    revision: str = "main"

    @property
    def is_folder(self) -> bool:
        """Whether it is on this machine because the user put it there; a folder that exists comes before the hub."""
        return Path(self.repo).expanduser().is_dir() or not _NAME.fullmatch(self.repo)

    @property
    def id(self) -> str:
        """Its name in the registry of weights."""
        return f"{PREFIX}{self.repo}" if self.is_folder else f"{PREFIX}{self.repo}@{self.revision}"

    @property
    def page(self) -> str:
        """Where people read about it."""
        return "" if self.is_folder else f"https://huggingface.co/{self.repo}"

    def find(self) -> Path | None:
        """The local folder, if its `CONFIG` is there; asks nobody."""
        if self.is_folder:
            folder = Path(self.repo).expanduser()
            return folder if (folder / CONFIG).is_file() else None
        try:
            from huggingface_hub import try_to_load_from_cache
        except ImportError:
            return None
        config = try_to_load_from_cache(self.repo, CONFIG, revision=self.revision)
        return Path(config).parent if isinstance(config, str) else None

    def described(self) -> Path:
        """The local folder with what is `SMALL`, which is fetched if it is not here.

        Raises:
            IntraBenchError: there is no such repository, it may not be seen, or the hub cannot be reached.
        """
        if (found := self.find()) is not None:
            return found
        if self.is_folder:
            raise IntraBenchError(self._no_folder())
        with self._asking():
            from huggingface_hub import snapshot_download

            folder = snapshot_download(
                self.repo, revision=self.revision, allow_patterns=list(SMALL), tqdm_class=_progress_bar(None)
            )
        if not (Path(folder) / CONFIG).is_file():
            raise IntraBenchError(
                f"{self.repo} at the hub has no {CONFIG}, so it is no model of transformers; choose another repository"
            )
        return Path(folder)

    def fetch(self, progress: Progress | None = None) -> Path:
        """The local folder with the weights, downloaded if they are missing, and compared with the hub's sha256.

        Raises:
            IntraBenchError: as `described`; or there are no safetensors, or what arrived is damaged.
        """
        if self.is_folder or self.complete():
            return self.located()
        with self._asking():
            from huggingface_hub import HfApi, snapshot_download

            about = HfApi().model_info(self.repo, revision=self.revision, files_metadata=True)
            files = {file.rfilename: file for file in about.siblings or ()}
            wanted = [SINGLE] if SINGLE in files else [name for name in files if name.endswith(".safetensors")]
            if not wanted or not {SINGLE, INDEX} & set(files):
                raise IntraBenchError(
                    f"{self.repo} has no {SINGLE}, and other formats can run code; convert it by save_pretrained of "
                    "transformers and give the folder, hf:repo=FOLDER"
                )
            fetched = snapshot_download(
                self.repo,
                revision=self.revision,
                allow_patterns=[*SMALL, *wanted, INDEX],
                tqdm_class=_progress_bar(progress),
            )
        folder = Path(fetched)
        for name in wanted:
            expected = getattr(files[name].lfs, "sha256", None)
            if expected is not None and sha256_of_path(folder / name) != expected:
                raise IntraBenchError(
                    f"{folder / name} does not have the hub's sha256 {expected}; delete it and try again"
                )
        return self.located()

    def complete(self) -> bool:
        """Whether the weights are here, too."""
        folder = self.find()
        return folder is not None and bool(weight_files(folder))

    def located(self) -> Path:
        """The local folder with its weights.

        Raises:
            IntraBenchError: they are not here, and how to get them.
        """
        folder = self.find()
        if self.is_folder and folder is None:
            raise IntraBenchError(self._no_folder())
        if folder is not None and weight_files(folder):
            return folder
        if self.is_folder:
            raise IntraBenchError(
                f"{folder} has no {SINGLE}; only safetensors are read: add it, or run it untrained, --weights random"
            )
        revision = "" if self.revision == "main" else f",revision={self.revision}"
        raise IntraBenchError(
            f"the weights of {self.repo} are missing; run: intrabench weights get hf:repo={self.repo}{revision}, or "
            "fetch it elsewhere and give the folder, hf:repo=FOLDER; --weights random runs the network untrained"
        )

    @cached_property
    def version(self) -> str:
        """The commit at the hub, shortened; of a folder, a hash of the files that say what the network is.

        Raises:
            IntraBenchError: see `described`.
        """
        folder = self.described()
        if not self.is_folder and _COMMIT.fullmatch(folder.name):
            return folder.name[:12]
        digest = hashlib.sha256()
        for name in (CONFIG, *PREPARATION):
            if (folder / name).is_file():
                digest.update(name.encode() + b"\0" + (folder / name).read_bytes())
        return digest.hexdigest()[:12]

    def config(self) -> dict[str, Any]:
        """The content of `CONFIG`.

        Raises:
            IntraBenchError: see `described`; or it is not JSON.
        """
        path = self.described() / CONFIG
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise IntraBenchError(f"{path} is not JSON; fetch the repository again") from None
        return found

    def _no_folder(self) -> str:
        kind = f"has no {CONFIG}" if Path(self.repo).expanduser().is_dir() else "does not exist"
        return f"repo={self.repo}: the folder {kind}; give a folder that save_pretrained wrote, or ORG/NAME of the hub"

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Inside, the hub is asked; what goes wrong becomes one sentence."""
        try:
            from huggingface_hub import errors
        except ImportError:
            raise IntraBenchError(
                f"{self.repo} is at the hub, which needs huggingface_hub; run: pip install 'intrabench[hf]'"
            ) from None
        elsewhere = "or fetch it elsewhere and give the folder, hf:repo=FOLDER"
        try:
            yield
        except IntraBenchError:
            raise
        except errors.GatedRepoError:
            raise IntraBenchError(
                f"{self.repo} is gated: accept its licence at {self.page} and log in (hf auth login), {elsewhere}"
            ) from None
        except errors.RepositoryNotFoundError:
            raise IntraBenchError(
                f"the hub has no model {self.repo}, or hides it; check the name, log in (hf auth login), {elsewhere}"
            ) from None
        except errors.RevisionNotFoundError:
            raise IntraBenchError(
                f"{self.repo} has no revision {self.revision}; give a branch, a tag or a commit of {self.page}"
            ) from None
        except errors.HfHubHTTPError as error:
            status = getattr(error.response, "status_code", "no answer")
            raise IntraBenchError(f"the hub refuses {self.repo} (HTTP {status}); try again, {elsewhere}") from None
        except Exception as error:  # the client of the day raises its own errors of transport
            if not isinstance(error, OSError) and type(error).__module__.partition(".")[0] not in _CLIENTS:
                raise
            raise IntraBenchError(
                f"{self.repo} is not here, and the hub cannot be reached; try again with a connection, {elsewhere}"
            ) from None


def repository(id: str) -> Repository:
    """The repository that an id of the registry means."""
    rest = id.removeprefix(PREFIX)
    name, at, revision = rest.rpartition("@")
    if at and _NAME.fullmatch(name):
        return Repository(name, revision)
    return Repository(rest)


def weight_files(folder: Path) -> list[Path]:
    """The safetensors that make up the weights: one file, or all that the index names; empty if one is missing."""
    if (folder / SINGLE).is_file():
        return [folder / SINGLE]
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        names = sorted(set(index["weight_map"].values()))
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return []
    files = [folder / Path(str(name)).name for name in names]
    return files if all(file.is_file() for file in files) else []


def sha256_of(folder: Path) -> str:
    """The identity of the weights: that of the one file, or a hash of those of all files."""
    hashes = [sha256_of_path(file) for file in weight_files(folder)]
    return hashes[0] if len(hashes) == 1 else hashlib.sha256(json.dumps(hashes).encode()).hexdigest()


def card(folder: Path | None) -> dict[str, Any]:
    """The facts at the head of the model card; empty if there is none, or it cannot be read."""
    if folder is None or not (folder / CARD).is_file():
        return {}
    with suppress(Exception):  # cards are written by hand
        from huggingface_hub import ModelCard

        found: dict[str, Any] = ModelCard.load(folder / CARD, ignore_metadata_errors=True).data.to_dict()
        return found
    return {}


def _progress_bar(progress: Progress | None) -> Any:
    """A bar for `snapshot_download` that shows nothing, and says how many bytes have arrived."""
    from tqdm.auto import tqdm

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            # tqdm does not know the `name` that the hub gives; a disabled bar does not count, so `update` does
            self.counts_bytes = options.get("unit") == "B"
            options.pop("name", None)
            super().__init__(*args, **(options | {"disable": True}))
            self.arrived = 0.0

        def update(self, n: float | None = 1) -> bool | None:
            if self.counts_bytes and progress is not None:
                self.arrived += n or 0
                progress(int(self.arrived), int(self.total) if self.total else None)
            return None

    return Bar
