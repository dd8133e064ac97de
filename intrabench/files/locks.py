"""Locks: who works on something now, for processes on machines that share nothing but a folder.

A lock is a file that names its holder, who touches it all the time, gives it back at the end by deleting it, and loses
it to the next one who asks when it died or fell silent. No lock of the operating system is involved, which some network
mounts do not honour, and no clocks are compared: whoever asks measures the silence of the holder with its own.

A lock says who should work, not that only one does: a machine that was suspended longer than `SILENCE` wakes up and
goes on. So what is done under a lock must do no harm when it is done twice, as files that are replaced whole.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import LeaseSettingsMismatch, SoftFileLease, Timeout

from intrabench.files.atomic import CannotWrite, is_full, why
from intrabench.progress import step

SILENCE = 30.0
"""Seconds after which a silent holder counts as gone; a holder gives a sign of life three times as often."""

ATTEMPTS = 3
"""So many holders in a row may die over the same thing, or be ended, before it counts as the reason."""

POLL = 1.0
"""Seconds between two looks at a lock that somebody else holds; the first follow each other faster."""

PATIENCE = 3.0
"""Seconds of waiting after which a process says for whom."""

TRIES = ".tries"
"""The ending of the file beside a lock with the number of holders, up to this one, that died or were ended."""

_LOOK = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""How a lock is opened to look at it; Windows has neither."""

_log = logging.getLogger("intrabench")
_looked: dict[Path, tuple[tuple[int, ...], float]] = {}
"""How the locks of others looked at last, and since when, by the clock of this process that nobody can set."""


class Busy(Exception):
    """Somebody else holds the lock; the message says who, and since when there was no sign of life."""


@dataclass
class Lock:
    """A lock that this process holds.

    attempts: how many holders in a row, before this one, died, fell silent or were `ended`.
    """

    attempts: int
    _claim: SoftFileLease
    _tries: Path
    _counts: bool = False

    @property
    def lost(self) -> bool:
        """Whether it was taken over or deleted, e.g. while this machine was suspended: this work may be done twice."""
        owner = self._claim.owner
        return owner is None or owner.token != self._claim.token

    def progressed(self) -> None:
        """Something was finished: `attempts` starts at 0 again."""
        if self.attempts:
            self.attempts = 0
            self._note()

    def ended(self) -> None:
        """Somebody else ends this holder before it is done: it gives the lock back, but counts like one that died."""
        self._counts = True

    def _note(self) -> None:
        with suppress(OSError):  # a full disk: a death more is one too few counted
            self._tries.write_text(str(self.attempts + 1), "ascii")

    def _give_back(self) -> None:
        with suppress(OSError):  # the folder may be gone
            if not self.lost and not self._counts:
                self._tries.unlink(missing_ok=True)
            self._claim.release()


@contextmanager
def locked(path: Path, *, wait: bool = False, option: str = "--out") -> Iterator[Lock]:
    """Hold the lock of a path while the context lasts; its folder is created.

    wait: try until the holder gives it back, dies, or was silent for `SILENCE`. Without, the silence adds up over the
    calls of a process for one path. option: what chooses another folder, for the message.

    Raises:
        Busy: somebody else holds it, and `wait` is False.
        CannotWrite: there is something else at the path, or the lock cannot be written.
    """
    began, pause, warned = time.monotonic(), POLL / 20, False
    while (claim := _claimed(path, option)) is None:
        if not wait:
            raise Busy(_holder(path))
        if not warned and time.monotonic() - began > PATIENCE:
            warned = True
            _log.warning("%s", f"waiting for {_holder(path)}")
        with step("", f"waiting for {_holder(path)}"):
            time.sleep(pause)
        pause = min(2 * pause, POLL)
    tries = path.absolute().with_suffix(TRIES)
    lock = Lock(_count(tries), claim, tries)
    try:
        lock._note()
        yield lock
    finally:
        lock._give_back()


def is_locked(path: Path) -> bool:
    """Whether somebody holds a lock now. A holder on another machine counts until it was silent for `SILENCE`."""
    try:
        claim = _tried(path)
        if claim is None:
            return silence(path) < SILENCE
        claim.release()
    except OSError:  # gone, or in a read-only folder, into which nobody writes
        pass
    return False


def silence(path: Path) -> float:
    """Seconds since a lock was touched, by the clock of its file system, which may be that of another machine.

    Raises:
        OSError: it is gone, or its folder is read-only.
    """
    with tempfile.TemporaryFile(dir=path.parent) as probe:
        return os.fstat(probe.fileno()).st_mtime - path.lstat().st_mtime


def forget(path: Path, seconds: float) -> None:
    """Delete a lock that was silent for so long by the clock of its file system, whose holder may be elsewhere."""
    with suppress(OSError):
        found = _seen(path)
        if silence(path) > seconds:
            _set_aside(path, found)


def _set_aside(path: Path, found: os.stat_result) -> None:
    """Delete a lock, unless it is no longer the one that was `found`.

    filelock does so only where a file system can exchange two names, as NFS, SMB and Lustre cannot. Without, there is a
    moment in which the lock of somebody who was faster is away; it is put back, or noticed as lost.
    """
    # Of several that see the same dead lock, only one can rename it. Somebody may have replaced it just before, so what
    # was renamed is compared again.
    aside = path.with_name(f"{path.name}.break.{secrets.token_hex(8)}")
    with suppress(OSError):
        if _state(path.lstat()) != _state(found):
            return
        os.rename(path, aside)
        try:
            if _state(aside.lstat()) != _state(found):
                os.link(aside, path)  # replaces nothing
        finally:
            aside.unlink()


def _claimed(path: Path, option: str) -> SoftFileLease | None:
    """The claim of a lock, or None if somebody else holds it; a holder who was silent for too long loses it."""
    try:
        claim = _tried(path)
        if claim is None and (silent := _silent(path)):
            _set_aside(path, silent)
            claim = _tried(path)
    except OSError as error:
        if is_full(error) or not os.path.lexists(path):
            raise CannotWrite(why(path, error)) from None
        raise CannotWrite(
            f"{path} cannot be locked ({error.strerror or error}); delete it, or choose another folder with {option}"
        ) from error
    if claim is not None:
        _looked.pop(path, None)
    return claim


def _tried(path: Path) -> SoftFileLease | None:
    """One attempt; the lock of a process of this machine that is dead is free."""
    # a whole path: its heartbeat is another thread, and libraries such as ITK change the current folder for a moment
    claim = SoftFileLease(path.absolute(), lease_duration=SILENCE, thread_local=False, timeout=0)
    try:
        claim.acquire()
    except (Timeout, LeaseSettingsMismatch):  # the latter: held by a version that beats another time
        return None
    return claim


def _silent(path: Path) -> os.stat_result | None:
    """The state of a lock in which this process saw it for `SILENCE`, else None."""
    try:
        found, now = _seen(path), time.monotonic()
    except FileNotFoundError:  # given back meanwhile
        return None
    before, since = _looked.get(path, ((), now))
    _looked[path] = _state(found), since if before == _state(found) else now
    return found if now - _looked[path][1] >= SILENCE else None


def _seen(path: Path) -> os.stat_result:
    """The state of a lock; it is opened, because NFS asks the server only then."""
    handle = os.open(path, _LOOK)
    try:
        found = os.fstat(handle)
    finally:
        os.close(handle)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EEXIST, "it is no file", str(path))
    return found


def _state(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_mtime_ns, found.st_size


def _holder(path: Path) -> str:
    """Who holds a lock, in words, and since when there was no sign of life."""
    owner = SoftFileLease(path, lease_duration=SILENCE, thread_local=False).owner
    process = f"process {owner.pid} on {owner.hostname.partition('?')[0]}" if owner else "another process"
    seen = _looked.get(path)
    quiet = time.monotonic() - seen[1] if seen else 0.0
    return f"{process}, which holds {path}" + (f" and was silent for {quiet:.0f} s" if quiet > SILENCE / 2 else "")


def _count(tries: Path) -> int:
    try:
        return max(0, int(tries.read_text("ascii")))
    except (OSError, ValueError):
        return 0
