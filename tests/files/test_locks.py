"""Locks: one holder at a time, also after kills, silence, clocks that differ, and things at their path that are none.

What a contender measures with its own clock is tested with a clock that stands until the test sets it forward.
"""

from __future__ import annotations

import errno
import importlib
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from intrabench.files import locks
from intrabench.files.atomic import CannotWrite
from intrabench.files.locks import SILENCE, Busy, is_locked, locked

LOCK = Path("a.lock")
TRIES = Path("a.tries")

HOLDER = """
import os, socket, sys, time
from pathlib import Path
from intrabench.files import locks
host, silence, behind = sys.argv[2:]
if host:
    socket.gethostname = lambda: host
    touch = os.utime
    os.utime = lambda file, times: touch(file, (time.time() - float(behind),) * 2)
locks.SILENCE = float(silence)
with locks.locked(Path(sys.argv[1])) as lock:
    print(lock.attempts, flush=True)
    for line in sys.stdin:
        lock.progressed() if line == "progressed\\n" else None
        print(lock.lost, flush=True)
"""


class Holder:
    """Another process that holds a lock, on a machine of that name whose clock is so many seconds behind."""

    def __init__(self, path: Path = LOCK, host: str = "", silence: float = SILENCE, behind: float = 0) -> None:
        command = [sys.executable, "-c", HOLDER, str(path), host, str(silence), str(behind)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.attempts = int(self._heard())

    def lost(self, word: str = "") -> bool:
        """Whether it says that it lost the lock."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()
        return self._heard() == "True"

    def _heard(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def killed(self) -> Holder:
        """The same, with the attempts it saw, after kill -9."""
        self.process.kill()
        self.process.communicate()
        return self

    def ended(self) -> int:
        """Its exit code after it gave the lock back."""
        self.process.communicate()
        return self.process.returncode


@contextmanager
def holder(host: str = "", silence: float = SILENCE, behind: float = 0) -> Iterator[Holder]:
    one = Holder(LOCK, host, silence, behind)
    try:
        yield one
    finally:
        one.killed()


class Clock:
    """Stands in for the module `time`, and stands still; sleeping sets it forward and then does `while_asleep`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self.while_asleep = lambda: None

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)
        self.while_asleep()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    standing = Clock()
    monkeypatch.setattr(locks, "time", standing)
    monkeypatch.setattr(locks, "_looked", {})
    return standing


def taken() -> bool:
    """Whether the lock could be taken; it is given back."""
    try:
        with locked(LOCK):
            return True
    except Busy:
        return False


CONTENDER = """
import os, random, sys
from pathlib import Path
from intrabench.files.locks import Busy, locked
left = [f"{number}" for number in range(200)]
while left:
    random.shuffle(left)
    for name in list(left):
        try:
            with locked(Path(name).with_suffix(".lock")):
                os.close(os.open(f"{name}.inside", os.O_CREAT | os.O_EXCL))  # fails if somebody else is inside
                if not Path(f"{name}.done").exists():
                    Path(f"{name}.done").touch()
                    print(name)
                os.unlink(f"{name}.inside")
        except Busy:
            continue
        left.remove(name)
"""


@pytest.mark.parametrize("processes", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_no_lock_is_locked_twice_and_nothing_stays(processes: int) -> None:
    command = [sys.executable, "-c", CONTENDER]
    all = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    printed = [one.communicate()[0].split() for one in all]
    assert [one.returncode for one in all] == [0] * processes
    assert sorted(name for names in printed for name in names) == sorted(f"{number}" for number in range(200))
    assert {path.suffix for path in Path().iterdir()} == {".done"}


def test_holders_that_are_killed_are_counted_until_one_finishes_something_or_gives_the_lock_back() -> None:
    assert [Holder().killed().attempts for _ in range(4)] == [0, 1, 2, 3]
    one = Holder()
    assert (one.attempts, one.lost("progressed")) == (4, False)
    assert one.killed().attempts == 4
    assert Holder().killed().attempts == 1
    last = Holder()
    assert (last.attempts, last.ended()) == (2, 0)
    assert list(Path().iterdir()) == []
    with locked(LOCK) as lock:
        assert lock.attempts == 0


def test_holders_that_are_ended_count_like_those_that_died() -> None:
    for before in range(3):
        with locked(LOCK) as lock:
            assert lock.attempts == before
            lock.ended()
        assert not is_locked(LOCK)
    with locked(LOCK) as lock:
        assert lock.attempts == 3
    assert list(Path().iterdir()) == []


def test_a_process_that_slept_too_long_loses_the_lock_and_does_not_disturb_its_successor(clock: Clock) -> None:
    with holder() as sleeper:
        sleeper.process.send_signal(signal.SIGSTOP)
        assert not taken()
        clock.now += SILENCE
        with locked(LOCK) as lock:
            assert lock.attempts == 1
            sleeper.process.send_signal(signal.SIGCONT)
            assert sleeper.lost()
            assert sleeper.ended() == 0
            assert not lock.lost
            assert (LOCK.exists(), TRIES.read_text()) == (True, "2")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("behind", [0, 3600, -3600])
def test_a_holder_on_a_machine_with_another_clock_keeps_its_lock_while_it_lives(
    clock: Clock, behind: int, wording: SnapshotAssertion
) -> None:
    with holder("elsewhere", 0.3, behind) as other:
        for _ in range(4):
            with pytest.raises(Busy) as caught:
                locked(LOCK).__enter__()
            assert f"process {other.process.pid} on" in str(caught.value)
            assert str(caught.value).replace(str(other.process.pid), "PID") == wording
            seen = LOCK.stat().st_mtime_ns
            while LOCK.stat().st_mtime_ns == seen:
                pass
            clock.now += 10 * SILENCE  # this process was suspended, and the other one was not
        assert not other.lost()
        other.killed()
        assert not taken()  # of another machine, only its silence can tell
        clock.now += SILENCE - 1
        assert not taken()
        clock.now += 1
        with locked(LOCK) as lock:
            assert lock.attempts == 1


def test_where_names_cannot_be_exchanged_as_on_nfs_a_killed_holder_is_followed_after_its_silence(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _replaced(monkeypatch, "exchange_names", lambda one, other: False)
    with holder() as other:
        other.killed()
    assert not taken()
    clock.now += SILENCE
    with locked(LOCK) as lock:
        assert lock.attempts == 1
    assert list(Path().iterdir()) == []


def _replaced(monkeypatch: pytest.MonkeyPatch, name: str, function: object) -> bool:
    """Whether a function of filelock could be replaced; its inner modules are others in each version."""
    inner = (one.name for one in pkgutil.walk_packages(filelock.__path__, "filelock."))
    users = [module for module in map(importlib.import_module, inner) if hasattr(module, name)]
    for module in users:
        monkeypatch.setattr(module, name, function)
    return bool(users)


MARKERS = {
    "empty": b"",
    "of an older filelock": b"12\nelsewhere\n",
    "of another host, for ever": b"filelock/2\npid=12\nhost=elsewhere\nmode=exclusive\n",
    "of a version to come": b"filelock/2\npid=12\nhost=elsewhere\nmode=newer\n",
    "of another duration": b"filelock/2\npid=12\nhost=elsewhere\nmode=lease\ntoken=a\nduration=7.0\n",
    "strange": b"\xff" * 3000,
}


@pytest.mark.parametrize("marker", MARKERS.values(), ids=MARKERS)
def test_a_file_that_is_no_lock_holds_nobody_up_for_longer_than_the_silence(clock: Clock, marker: bytes) -> None:
    LOCK.write_bytes(marker)
    assert not taken()
    clock.now += SILENCE
    assert taken()
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "folder", "fifo", "no folder", "a file for a folder"])
def test_what_can_be_no_lock_is_named(kind: str) -> None:
    path = LOCK
    if kind == "link":
        Path("precious").write_text("kept")
        path.symlink_to("precious")
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "no folder":
        path = Path("/proc/nothing/a.lock")
    else:
        Path("file").touch()
        path = Path("file/a.lock")
    told = rf"^{path} cannot be locked \(.+\); delete it, or choose another folder with --data$"
    if "for a folder" in kind or kind == "no folder":
        told = rf"^{path} cannot be written \(.+\): choose a writable folder\.$"
    for wait in (False, True):
        with pytest.raises(CannotWrite, match=told), locked(path, wait=wait, option="--data"):
            pass
    assert kind != "link" or (path.is_symlink() and Path("precious").read_text() == "kept")


def test_a_full_disk_is_named_and_no_half_of_a_lock_stays(
    monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    def full(handle: int, content: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(CannotWrite) as caught:
        locked(LOCK).__enter__()
    assert caught == wording
    assert list(Path().iterdir()) == []


def test_a_disk_that_fills_up_later_takes_no_lock_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, *_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with locked(LOCK) as lock:
        assert not lock.lost
        lock.attempts = 2
        lock.progressed()
        assert not taken()
    assert list(Path().iterdir()) == []


def test_a_folder_that_is_deleted_underneath_is_no_error() -> None:
    path = Path("out/locks/a.lock")
    with locked(path) as lock:
        shutil.rmtree("out")
        assert lock.lost
    assert not Path("out").exists()


def test_a_lock_is_given_back_when_the_work_fails() -> None:
    with pytest.raises(KeyboardInterrupt), locked(LOCK):
        raise KeyboardInterrupt
    assert list(Path().iterdir()) == []


def test_who_waits_says_once_for_whom_and_looks_once_a_second(
    clock: Clock, caplog: pytest.LogCaptureFixture, wording: SnapshotAssertion
) -> None:
    before = b"filelock/2\npid=12\nhost=elsewhere?pidns-f\nmode=lease\ntoken=a\nduration=30.0\n"
    LOCK.write_bytes(before)
    with locked(LOCK, wait=True) as lock:
        assert lock.attempts == 0
    assert SILENCE <= sum(clock.slept) < SILENCE + 1
    assert set(clock.slept[6:]) == {1.0}
    assert caplog.messages == wording


def test_who_waits_goes_on_when_the_lock_is_given_back_and_ends_by_ctrl_c(clock: Clock) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    first = locked(LOCK)
    first.__enter__()
    clock.while_asleep = interrupted
    with pytest.raises(KeyboardInterrupt):
        locked(LOCK, wait=True).__enter__()
    assert LOCK.exists()
    clock.while_asleep = lambda: first.__exit__(None, None, None) if len(clock.slept) == 3 else None
    with locked(LOCK, wait=True):
        assert len(clock.slept) == 3


def test_a_lock_stays_where_it_is_while_a_library_changes_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ITK does for the seconds that its import takes."""
    here, elsewhere = Path.cwd(), tmp_path / "elsewhere"
    elsewhere.mkdir()
    with locked(LOCK) as lock:
        monkeypatch.chdir(elsewhere)
        assert not lock.lost
        lock.progressed()
    assert not [*elsewhere.iterdir(), *here.glob("*.lock*"), *here.glob("*.tries")]
    monkeypatch.chdir(here)
    assert taken()


def test_looking_tells_who_lives_and_hinders_nobody() -> None:
    assert not is_locked(LOCK)
    with holder() as other:
        assert is_locked(LOCK)
        other.killed()
    assert not is_locked(LOCK)
    with holder("elsewhere") as other:
        assert is_locked(LOCK)
        other.killed()
    assert is_locked(LOCK)
    os.utime(LOCK, (1e9, 1e9))
    assert not is_locked(LOCK)
    assert LOCK.exists()  # to look is not to take


@given(st.lists(st.one_of(st.sampled_from(["ask", "beat", "give back", "take"]), st.floats(0, SILENCE)), max_size=30))
def test_a_lock_of_another_machine_is_taken_over_only_after_a_silence_that_this_process_saw(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str | float]
) -> None:
    path = tmp_path_factory.mktemp("hypothesis") / "a.lock"
    marker = b"filelock/2\npid=12\nhost=elsewhere\nmode=lease\ntoken=%d\nduration=30.0\n"
    clock, beats, seen = Clock(), 0, None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locks, "time", clock)
        for step in steps:
            if isinstance(step, float):
                clock.now += step
            elif step == "ask":
                seen = (beats, clock.now) if path.exists() and (seen is None or seen[0] != beats) else seen
                free = not path.exists() or (seen is not None and clock.now - seen[1] >= SILENCE)
                try:
                    with locked(path):
                        assert free
                    seen = None
                except Busy:
                    assert not free
            elif step == "give back":
                path.unlink(missing_ok=True)
            elif step == "take" or path.exists():
                beats += 1
                if step == "take":
                    path.write_bytes(marker % beats)
                os.utime(path, (beats, beats))


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_lock_that_somebody_else_took_meanwhile_is_not_set_aside(
    monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before or after it was compared with the one that was found silent."""
    LOCK.touch()
    found, rename = LOCK.stat(), os.rename

    def late(one: Path, other: Path) -> None:
        os.replace("other.lock", LOCK)
        rename(one, other)

    claim = filelock.SoftFileLease("other.lock")
    with claim:
        if moment == "before":
            os.replace("other.lock", LOCK)
        else:
            monkeypatch.setattr(os, "rename", late)
        locks._set_aside(LOCK, found)
        owner = filelock.SoftFileLease(LOCK).owner
        assert owner is not None
        assert owner.token == claim.token
    assert [path.name for path in Path().iterdir()] == ["a.lock"]
