"""The store of converted cases under one root folder. A case is stored completely or not at all.

``<root>/downloads`` holds the archives, ``<root>/cases/<data set>/<case>`` the cases made from them.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from functools import cache
from glob import escape
from pathlib import Path

from intrabench.datasets.base import Dataset, Files, Watch, cases_of, load_case
from intrabench.datasets.cases.stored_case import INDEX, CaseIndex, StoredCase, read_index, write_case
from intrabench.errors import IntraBenchError
from intrabench.fetch import download
from intrabench.fetch.source import Source
from intrabench.files.atomic import CannotWrite, make_folder, sync, sync_all, writing
from intrabench.files.cleanup import LEASES, remove_leftovers
from intrabench.files.locks import TRIES, Busy, locked
from intrabench.files.names import file_name
from intrabench.identity.versions import version_of
from intrabench.specs.specs import nearest
from intrabench.workspace import DATA, data_root


def index(dataset: Dataset, case: str, root: Path | None = None) -> CaseIndex | None:
    """The index of a prepared case; None if the case must be prepared, for the first time or again.

    Raises:
        IntraBenchError: the index is damaged.
    """
    found = _index(dataset.stored_as, case, _folder(dataset, case, root))
    return found and found.gathered(dataset)


def _index(dataset: Dataset, case: str, folder: Path) -> CaseIndex | None:
    found = read_index(folder, _remedy(dataset))
    if found is None or found.case != case:  # where file names know no case, A and a share a folder
        return None
    files = dataset.local_files(case)
    now, named = _state(files), {_place(path) for path in files}
    # a missing source file (a drive that is not mounted) does not invalidate a complete case
    same = found.inputs.keys() <= named and all(found.inputs.get(name) == state for name, state in now.items())
    if not same or found.version != version_of(dataset):
        return None
    return replace(found, modality=dataset.card.modality or found.modality)


def prepare(dataset: Dataset, case: str, root: Path | None = None, watch: Watch | None = None) -> CaseIndex:
    """Download, convert and check a case unless the store has all of it already.

    Raises:
        IntraBenchError: the case does not exist, a download fails, or the data cannot be used.
    """
    return _prepared(dataset.stored_as, case, root, watch).gathered(dataset)


def _prepared(dataset: Dataset, case: str, root: Path | None, watch: Watch | None) -> CaseIndex:
    """As stored."""
    if case not in _listed.get(dataset, ()):
        _listed[dataset] = dict.fromkeys(cases_of(dataset))
    if case not in (cases := _listed[dataset]):
        raise IntraBenchError(
            f"data set {dataset.short_spec} has no case {case!r}{nearest(case, cases)}; "
            f"`intrabench data list {dataset.argument}` shows all"
        )
    ready, _ = look(dataset, case, root)
    if ready is not None:
        return ready
    folder = _folder(dataset, case, root)
    with writing(folder):
        make_folder(folder.parent)
    _sweep(folder.parent)
    with locked(folder.with_name(f".{folder.name}.lock"), wait=True, option=DATA):
        # another process may have converted it in the meantime
        return look(dataset, case, root)[0] or _convert(dataset, case, folder, root, watch)


_listed: dict[Dataset, dict[str, None]] = {}
"""Cases of data sets: each of ten thousand need not be looked for in a new list of all."""


def look(dataset: Dataset, case: str, root: Path | None = None) -> tuple[CaseIndex | None, str]:
    """The index of a prepared case whose files all exist in full length; else None, so that it is converted again.

    With None comes the name of the file that is damaged, if one is.
    """
    folder = _folder(dataset, case, root)
    try:
        found = _index(dataset.stored_as, case, folder)
    except IntraBenchError:
        return None, str(folder / INDEX)
    for name, size in found.sizes.items() if found else ():
        if _size(folder / name) != size:
            return None, str(folder / name)
    return found and found.gathered(dataset), ""


def open_case(dataset: Dataset, case: str, root: Path | None = None) -> StoredCase:
    """Open a prepared case to read its image and targets.

    Raises:
        IntraBenchError: the case was not prepared or is damaged.
    """
    found = index(dataset.stored_as, case, root)
    if found is None:
        raise IntraBenchError(f"case {case} of {dataset.short_spec} is not in the store; {_remedy(dataset)}")
    gathered = dataset.gathered(found.targets)
    parts = (
        None if gathered is None else [{place: found.targets[place].box for place in places} for _, places in gathered]
    )
    folder, shown = _folder(dataset, case, root), found.gathered(dataset)
    return StoredCase(folder, shown, _remedy(dataset), dataset.seen, dataset.moved, parts, dataset.card.names_of)


def converted_ns(home: Path, case: str) -> int:
    """When a case was converted, in nanoseconds as of `time.time_ns`; 0 if it was not. home: `home_of` its data set."""
    try:
        return os.stat(os.path.join(home, file_name(case), INDEX)).st_mtime_ns
    except OSError:
        return 0


def to_download(dataset: Dataset, cases: Sequence[str] = (), root: Path | None = None) -> list[Source]:
    """The files that these cases need and that are not in the downloads folder yet."""
    downloads = downloads_of(root)
    listed = [*dataset.sources(), *(source for case in cases for source in dataset.case_sources(case))]
    return [source for source in dict.fromkeys(listed) if not source.is_here(downloads)]


def fetch_shared(dataset: Dataset, watch: Watch) -> None:
    """Download the files that all cases need; some data sets know their cases only afterwards.

    Raises:
        IntraBenchError: a file cannot be downloaded, or the disk has too little space.
    """
    downloads = downloads_of()
    ask_for_space(dataset, to_download(dataset))
    problems = []
    for source in dataset.sources():
        try:
            Files(downloads, downloads, watch).fetch(source)
        except IntraBenchError as error:  # try the others too, and report all files that are missing
            problems.append(str(error))
    if problems:
        raise IntraBenchError(" ".join(problems))


def ask_for_space(dataset: Dataset, files: Iterable[Source]) -> None:
    """Refuse downloads that do not fit on the disk together, before the first one starts; the data set names them.

    Raises:
        IntraBenchError: the disk has too little space, or cannot be written to.
    """
    folder = downloads_of()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    download.ask_for_space(folder / dataset.name, int(sum(file.megabytes for file in files) * 1e6))


def lacks(dataset: Dataset, case: str, root: Path | None = None) -> str:
    """What a case without an index needs first: to be ``downloaded``, or only to be ``converted``."""
    return "downloaded" if to_download(dataset, [case], root) else "converted"


def tidy(dataset: Dataset, case: str, root: Path | None = None) -> None:
    """Remove what a conversion left that was killed, unless somebody is converting the case again."""
    folder = _folder(dataset, case, root)
    with suppress(Busy, CannotWrite), locked(folder.with_name(f".{folder.name}.lock")):
        for part in folder.parent.glob(f".{escape(folder.name)}.part*"):
            shutil.rmtree(part, ignore_errors=True)


def stored_cases(dataset: Dataset, root: Path | None = None) -> int:
    """The number of cases of a data set in the store; no case is read."""
    return sum(1 for _ in home_of(dataset, root).glob("[!.]*/case.json"))


def downloads_of(root: Path | None = None) -> Path:
    """The folder of downloaded files."""
    return (root or data_root()) / "downloads"


def verify(dataset: Dataset, root: Path | None = None) -> list[str]:
    """Compare downloads and stored cases with their checksums; return one sentence per difference."""
    dataset = dataset.stored_as
    problems = [text for source in dataset.sources() for text in source.problems(downloads_of(root))]
    stored: list[CaseIndex] = []
    for case in dataset.cases():
        problems += [text for source in dataset.case_sources(case) for text in source.problems(downloads_of(root))]
        try:
            found = index(dataset, case, root)
            if found is not None:
                stored.append(found)
                problems += open_case(dataset, case, root).problems()
        except IntraBenchError as error:
            problems.append(str(error))
    if not stored and not problems:
        problems.append(f"nothing of {dataset.short_spec} is in the store; {_remedy(dataset)}")
    if len(stored) == len(dataset.cases()):
        problems += _miscounted(dataset, stored)
    return problems


def _miscounted(dataset: Dataset, stored: Sequence[CaseIndex]) -> list[str]:
    """One sentence each if the numbers of cases or targets differ from those on the data set's card."""
    if dataset.short_spec != dataset.name:  # the card describes the data set with default parameters
        return []
    found = {"cases": sum(bool(one.targets) for one in stored), "targets": sum(len(one.targets) for one in stored)}
    return [
        f"{dataset.short_spec} has {count} {what}, but its card says {expected}; its source or conversion has changed"
        for what, count in found.items()
        if (expected := getattr(dataset.card, what)) is not None and expected != count
    ]


def remove(dataset: Dataset, shared: Collection[Path] = (), root: Path | None = None) -> int:
    """Delete the converted cases and downloads of a data set and return the number of freed bytes.

    shared: downloads that other data sets need too; they are kept.
    """
    downloads = downloads_of(root)
    listed = [*dataset.sources(), *(source for case in dataset.cases() for source in dataset.case_sources(case))]
    paths = {source.place(downloads) for source in listed} - set(shared)
    beside = [path.with_name(path.name + end) for path in paths for end in (".json", ".lock", TRIES, ".part")]
    freed = 0
    for path in [home_of(dataset, root), *paths, *beside, *dataset.stored_as.noted()]:
        freed += sum(file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file())
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    return freed


@cache
def _sweep(home: Path) -> None:
    """Remove leftovers, once per process: there may be ten thousand cases in the folder."""
    remove_leftovers(home, ".*.part", ".*.part-*", ".*.old", *(f".{one}" for one in LEASES))


def _convert(dataset: Dataset, case: str, folder: Path, root: Path | None, watch: Watch | None) -> CaseIndex:
    """Convert into a folder beside the case's own, then rename it.

    That folder is of this conversion alone: the holder of the lock before may only have been suspended, and wake up.
    """
    part, old = (folder.with_name(f".{folder.name}.{end}") for end in (f"part-{secrets.token_hex(4)}", "old"))
    state = _state(dataset.local_files(case))  # first: a change while reading makes the case outdated
    files = Files(downloads_of(root), part / "unpacked", watch)
    try:
        with writing(part):
            part.mkdir()
        volume, targets = load_case(dataset, case, files)
        volume = replace(volume, modality=dataset.card.modality or volume.modality)
        with writing(part):
            shutil.rmtree(files.unpacked, ignore_errors=True)
            made = write_case(part, case, volume, targets, state, version_of(dataset))
            sync_all(part)
            try:
                return look(dataset, case, root)[0] or _placed(part, folder, old, made)
            except OSError:  # two at once
                if (theirs := look(dataset, case, root)[0]) is None:
                    raise
                return theirs
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _placed(part: Path, folder: Path, old: Path, made: CaseIndex) -> CaseIndex:
    """Rename the folder of a converted case."""
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    part.rename(folder)
    sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)
    return made


def home_of(dataset: Dataset, root: Path | None) -> Path:
    """The folder of all cases of a data set."""
    dataset = dataset.stored_as
    key = f"{dataset.name}-{dataset.version}"
    if fields(dataset):
        key += "-" + hashlib.sha256(dataset.spec.encode()).hexdigest()[:8]
    return (root or data_root()) / "cases" / file_name(key)


def _folder(dataset: Dataset, case: str, root: Path | None) -> Path:
    return home_of(dataset, root) / file_name(case)  # never with a dot in front, as locks and unfinished cases are


def _remedy(dataset: Dataset) -> str:
    return f"run `intrabench data get {dataset.argument}` again"


def _state(paths: tuple[Path, ...]) -> dict[str, list[int]]:
    """Size and modification time of the files that exist."""
    stats = {_place(path): path.stat() for path in paths if path.exists()}
    return {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats.items()}


def _place(path: Path) -> str:
    """Where a file is, as JSON can hold it: names on Linux may be no UTF-8."""
    return str(path.resolve()).encode(errors="backslashreplace").decode()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else -1
