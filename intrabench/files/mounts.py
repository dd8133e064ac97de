"""Whether the mount of a folder keeps what locks rely on: exclusive creation, renaming, heartbeats that are seen."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
"""The mounts of Linux; where there is no such file, only what was tried counts."""

OBJECTS = (
    *("blobfuse", "blobfuse2", "cosfs", "gcsfuse", "geesefs", "goofys", "mount-s3", "mountpoint-s3", "ossfs"),
    *("rclone", "s3fs", "s3ql", "yas3fs"),
)
"""Programs that show an object store as a folder."""

_REPLACES = "replaces no file at once"
_LATE = "may show for half a minute what others have changed since"
_TROUBLES = {
    **dict.fromkeys(OBJECTS, f"an object store, which {_REPLACES}"),
    "sshfs": f"which {_LATE}",
    "9p": f"which {_LATE}",
    **dict.fromkeys(("vfat", "msdos", "exfat"), "which may keep half of a renaming when the power fails"),
}
_OPTIONS = {
    ("nfs", "vers=2"): "whose version 2 creates no file exclusively",
    ("nfs", "nocto"): f"which, mounted with nocto, {_LATE}",
    ("cifs", "cache=loose"): f"which, mounted with cache=loose, {_LATE}",
}
"""Ours need no locks of the operating system, so NFS with nolock, or Lustre without flock, is as good as any."""


@dataclass(frozen=True)
class Mount:
    """A mounted file system: kind is ext4, nfs4, sshfs, ..., without the ``fuse.`` before it."""

    point: Path
    kind: str
    options: frozenset[str]


def warnings_about(folder: Path) -> list[str]:
    """One sentence for each reason why several runs should not write into an existing folder at the same time."""
    mount = mount_of(folder)
    place = f"on {mount.kind} (mounted at {mount.point}), " if mount else ""
    found = [place + trouble for trouble in _documented_troubles(mount)] if mount else []
    return [
        f"{folder} is {trouble}: let one run at a time write there, or choose another folder with --out"
        for trouble in [*found, *_found_troubles(folder)]
    ]


def mount_of(folder: Path) -> Mount | None:
    """The file system of a folder; None where nobody knows."""
    try:
        lines = MOUNTS.read_text("utf-8", "surrogateescape").splitlines()
        where = folder.resolve()
    except OSError:
        return None
    best = None
    for line in lines:
        if len(fields := [_plain(field) for field in line.split(" ")]) < 4:
            continue
        source, point, kind, options = fields[0], Path(fields[1]), fields[2], fields[3]
        if point in (where, *where.parents) and (best is None or len(point.parts) >= len(best.point.parts)):
            kind = source if kind == "fuse" else kind.removeprefix("fuse.")
            best = Mount(point, kind, frozenset(options.split(",")))  # of one point, the last mount counts
    return best


def _documented_troubles(mount: Mount) -> Iterator[str]:
    """What is known to go wrong there."""
    if trouble := _TROUBLES.get(mount.kind):
        yield trouble
    for (kind, option), trouble in _OPTIONS.items():
        if mount.kind.startswith(kind) and option in mount.options:
            yield trouble


def _found_troubles(folder: Path) -> Iterator[str]:
    """What went wrong when it was tried."""
    with suppress(OSError), tempfile.TemporaryDirectory(prefix=".probe-", dir=folder) as place:
        for trial, trouble in _TRIALS.items():
            try:
                fine = trial(Path(place))
            except OSError:
                fine = False
            if not fine:
                yield f"on a mount that {trouble}"


def _excludes(place: Path) -> bool:
    (place / "one").touch(exist_ok=False)
    try:
        os.close(os.open(place / "one", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return True
    return False


def _replaces(place: Path) -> bool:
    (place / "old").write_text("old", "ascii")
    (place / "new").write_text("new", "ascii")
    os.replace(place / "new", place / "old")
    return (place / "old").read_text("ascii") == "new" and not (place / "new").exists()


def _beats(place: Path) -> bool:
    with (place / "beat").open("wb") as file:
        os.utime(place / "beat", (1, 1))
        os.utime(file.fileno())
        with (place / "beat").open("rb") as other:
            return os.fstat(other.fileno()).st_mtime > 1


_TRIALS = {
    _excludes: "creates a file that exists already",
    _replaces: _REPLACES,
    _beats: "does not show that a file was touched",
}


def _plain(field: str) -> str:
    """A field of the table of mounts, where blanks are written as ``\\040``."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
