"""A program of others at work: run once for each round, with a time limit; its last words are kept for messages."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from intrabench import progress
from intrabench.errors import IntraBenchError, legible
from intrabench.files.temporary import PREFIX, temporary_folder
from intrabench.models.outside.launchers import ASKING_SECONDS, Launcher

LAST_WORDS = 4096
"""Bytes of the output of a program in which its last words are looked for."""
STARTING_SECONDS = 600.0
"""For a container to come up that stays."""


class ProgramFailed(IntraBenchError):
    """A program ended otherwise than it should; the message says how, and its last words."""


@dataclass(frozen=True)
class Durations:
    """Seconds of a run: until the program began, and of itself."""

    starting: float
    running: float


KILLED = 9
"""The signal that ends a process which takes too much memory, SIGKILL."""


class Program:
    """A program with the folders `inputs` and `outputs`, which stay the same while their content changes."""

    def __init__(self, launcher: Launcher, root: Path, stay: bool, time_limit_s: float) -> None:
        """time_limit_s: of a run on one case; 0: none."""
        self.launcher, self.stay, self.time_limit_s = launcher, stay, time_limit_s
        self.inputs, self.outputs = root / "inputs", root / "outputs"
        self.last_words = ""  # its last words in the last run, as the end of a sentence
        self._up = ""  # the name of the container that is up
        self._guard: Guard | None = None
        for folder in (root, self.inputs, self.outputs):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        self.outputs.chmod(0o777)

    def forget(self) -> None:
        """Delete earlier answers, so that none is taken for a new one.

        Raises:
            ProgramFailed: some cannot be deleted.
        """
        emptied(self.outputs)
        left = next((path for path in self.outputs.rglob("*") if not path.is_dir() or path.is_symlink()), None)
        if left is not None:
            remedy = "delete it"
            if sys.platform != "win32":
                remedy = f'give options="--user {os.getuid()}"'
            raise ProgramFailed(
                f"{left.relative_to(self.outputs)}, which {self.launcher.words} wrote, cannot be deleted, because it "
                f"belongs to another user; {remedy}"
            )

    def run(self, cases: int = 1) -> Durations:
        """Run the program on what lies in `inputs`; the time limit counts for each of so many cases.

        Raises:
            ProgramFailed: it cannot be started, or ended with an error.
            TimeoutError: it took too long.
            MemoryError: it took more memory than it may.
        """
        began = time.perf_counter()
        for path in self.inputs.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)  # whoever the program is in its container
        name = self._brought_up() if self.stay else _new_name()
        words = self.launcher.again(name) if self.stay else self.launcher.once(name, self.inputs, self.outputs)
        try:
            with tempfile.TemporaryFile(prefix=PREFIX) as output:
                return self._watched(words, name, output, began, self.time_limit_s * cases)
        except BaseException:
            self.close()  # what goes on in a container ends only with it
            raise

    def _watched(self, words: Sequence[str], name: str, output: IO[bytes], began: float, limit_s: float) -> Durations:
        started, at = time.perf_counter(), time.time()
        down = [] if self.stay else self.launcher.down(name, stays=False)
        environment = os.environ | {"INPUTS": str(self.inputs), "OUTPUTS": str(self.outputs)}
        with _started(words, self.launcher.words, output, environment) as process, Guard(process.pid, down):
            spawned = time.perf_counter()
            try:
                code = process.wait(limit_s or None)
            except subprocess.TimeoutExpired:
                raise TimeoutError(
                    f"{self.launcher.words} gave no answer within {limit_s:g} s; raise time_limit_s"
                    f"{_last_words(output)}"
                ) from None
            ended = time.perf_counter()
            if code:
                if code in (137, -KILLED) and self.launcher.ran_out_of_memory(name):
                    raise MemoryError(f"{self.launcher.words} took more memory than it may; raise memory_gb")
                raise ProgramFailed(f"{self.launcher.words} ended with {_how(code)}{_last_words(output)}")
            self.last_words = _last_words(output)
            begin = None if self.stay else self.launcher.begun(name, self.outputs)
        # `begin` is by the wall clock of a container or a file system, which may be set, or differ from that of this
        # machine: it is moved to the clock that only runs forward, and kept between start and end
        inner = spawned if begin is None else min(max(started + begin - at, started), ended)
        return Durations(inner - began, ended - inner)

    def _brought_up(self) -> str:
        """The name of the container, which is started if it is not up."""
        if self._up:
            return self._up
        name = _new_name()
        words = self.launcher.up(name, self.inputs, self.outputs)
        self._guard = Guard(None, self.launcher.down(name, stays=True))
        with progress.loading(f"starting {self.launcher.words}"):
            try:
                done = subprocess.run(words, capture_output=True, timeout=STARTING_SECONDS)
            except (OSError, subprocess.TimeoutExpired) as error:
                raise ProgramFailed(f"{self.launcher.words} cannot be started ({error})") from None
        if done.returncode:
            message = legible(done.stderr.decode(errors="replace"))[-300:]
            raise ProgramFailed(f"{self.launcher.words} cannot be started ({message})")
        self._up = name
        return name

    def close(self) -> None:
        """End the container that is up, if there is one; the next run starts another."""
        guard, self._guard, self._up = self._guard, None, ""
        if guard is not None:
            guard.close()


@contextmanager
def program(launcher: Launcher, stay: bool, time_limit_s: float) -> Iterator[Program]:
    """A program with folders of its own, which are deleted at the end; a container that stayed up ends."""
    with temporary_folder() as root:
        one = Program(launcher, root, stay, time_limit_s)
        try:
            yield one
        finally:
            one.close()
            for folder in (one.inputs, one.outputs):
                emptied(folder)


class Guard:
    """Ends a program with all that it started, and removes its container, also if this process is killed.

    A small process waits until its end of a pipe is closed, by `close` or by our death; it does not belong to our group
    of processes, with which it would die.
    """

    def __init__(self, group: int | None, down: Sequence[str]) -> None:
        """group: processes to be killed, down: the command that removes the container."""
        last = [f"kill -s KILL -- -{group}"] if group is not None else []
        last += [shlex.join(down)] if down else []
        script = "; ".join(["read -r _", *last])
        self._process = subprocess.Popen(
            ["sh", "-c", f"{script} >/dev/null 2>&1"] if last else ["true"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Do it now, and wait for that."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ASKING_SECONDS)


def emptied(folder: Path) -> None:
    """Delete what is in a folder, as far as it may be deleted: others may have made it."""
    for entry in list(folder.iterdir()):
        deleted(entry)


def deleted(entry: Path) -> None:
    """Delete a file, a link or a folder, as far as possible."""
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry, ignore_errors=True)
    else:
        with suppress(OSError):
            entry.unlink()


@contextmanager
def _started(
    words: Sequence[str], what: str, output: IO[bytes], environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, without input; at the end it is over."""
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
        )
    except OSError as error:
        raise ProgramFailed(f"{what} cannot be started ({error.strerror}: {words[0]})") from None
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _new_name() -> str:
    return f"{PREFIX}{os.getpid()}-{secrets.token_hex(6)}"


def _how(code: int) -> str:
    """How a process ended; a shell and Docker tell of signals by numbers above 128."""
    killed = -code if code < 0 else code - 128 if 128 < code < 128 + 65 else 0
    if not killed:
        return f"exit code {code}"
    return f"signal {killed}" + (", perhaps out of memory" if killed == KILLED else "")


def _last_words(output: IO[bytes]) -> str:
    output.seek(max(0, output.seek(0, os.SEEK_END) - LAST_WORDS))
    lines = [line for line in output.read().decode(errors="replace").splitlines() if line.strip()]
    return f": {legible(lines[-1])[:300]}" if lines else ""
