"""Progress of a run: silent, in plain lines, or as bars on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Protocol

from intrabench.errors import several
from intrabench.fetch.transfer import Progress
from intrabench.names import one_line


class Reporter(Protocol):
    """Receives the progress of a run."""

    def say(self, text: str) -> None:
        """One plain line."""

    def watch(self, name: str) -> AbstractContextManager[Progress]:
        """Shows the progress of the named download while the context lasts."""

    def begin(self, total: int, done: int) -> None:
        """The run has `total` sessions, of which `done` were finished before."""

    def advance(self, sessions: int, failed: int) -> None:
        """`done` more sessions are finished, of which `failed` failed."""


class Silent:
    """A silent reporter."""

    def say(self, text: str) -> None:
        """Do nothing."""

    def watch(self, name: str) -> AbstractContextManager[Progress]:
        """Do nothing."""
        return nullcontext(lambda done, total: None)

    def begin(self, total: int, done: int) -> None:
        """Do nothing."""

    def advance(self, sessions: int, failed: int) -> None:
        """Do nothing."""


def reporting(progress: bool | None = True) -> AbstractContextManager[Reporter]:
    """A reporter that shows progress, or a silent one; None: show it only on terminals and in notebooks."""
    if progress or (progress is None and (sys.stderr.isatty() or in_notebook())):
        return Console()
    return nullcontext(Silent())


def plain_console(**options: Any) -> Any:
    """A console of rich that prints all text as it is: brackets and colons in names are no markup."""
    from rich.console import Console as RichConsole

    return RichConsole(markup=False, emoji=False, highlight=False, **options)


def in_notebook() -> bool:
    """Whether this is Jupyter or Colab."""
    return "IPython" in sys.modules and plain_console().is_jupyter


def _has_bars() -> bool:
    """Whether bars can be drawn: on a terminal, and in a notebook that has widgets."""
    return sys.stderr.isatty() or (in_notebook() and find_spec("ipywidgets") is not None)


def _print(text: str) -> None:
    """Print a line; in notebooks to stdout, because they show stderr in red."""
    print(one_line(text), file=sys.stdout if in_notebook() else sys.stderr, flush=True)


class Console:
    """A reporter for people: counts, failures and time left."""

    def __init__(self) -> None:
        self._live = _has_bars()
        self._progress: Any = None
        self._task: Any = None
        self._total = self._done = self._failed = 0
        self._started = self._spoke = time.monotonic()

    def __enter__(self) -> Console:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._progress is not None:
            self._progress.stop()

    def say(self, text: str) -> None:
        """One plain line, above the bar if there is one."""
        if self._progress is not None:
            self._progress.console.print(one_line(text))
        else:
            _print(text)

    @contextmanager
    def watch(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """Shows a download while the context lasts."""
        with Downloads() as downloads, downloads.watch(name) as progress:
            yield progress

    def begin(self, total: int, done: int) -> None:
        """Show the numbers of sessions."""
        self._total, self._done = total, done
        self._started = self._spoke = time.monotonic()
        self.say(several(total, "session") + (f", {done} of them already finished" if done else ""))
        if self._live and done < total:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            failed = TextColumn("{task.fields[failed]} failed")
            columns = (TextColumn("sessions"), BarColumn(), MofNCompleteColumn(), failed, TimeRemainingColumn())
            self._progress = Progress(*columns, console=plain_console(stderr=True))
            self._task = self._progress.add_task("sessions", total=total, completed=done, failed=0)
            self._progress.start()

    def advance(self, sessions: int, failed: int) -> None:
        """Count; in plain mode print at most every few seconds."""
        self._done += sessions
        self._failed += failed
        if self._progress is not None:
            self._progress.update(self._task, completed=self._done, failed=self._failed)
        elif sessions and (self._done == self._total or time.monotonic() - self._spoke > 5):
            self._spoke = time.monotonic()
            elapsed = self._spoke - self._started
            self.say(f"{self._done} of {several(self._total, 'session')}, {self._failed} failed, {elapsed:.0f} s")


class Downloads:
    """Shows the downloaded bytes of each file: a bar per file on a terminal, else a line from time to time."""

    def __init__(self) -> None:
        self._bars: Any = None

    def __enter__(self) -> Downloads:
        if _has_bars():
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

            name = TextColumn("{task.description}", markup=False)
            columns = (name, BarColumn(), DownloadColumn(), TransferSpeedColumn())
            self._bars = Progress(*columns, console=plain_console(stderr=True))
            self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._bars is not None:
            self._bars.stop()

    def say(self, text: str) -> None:
        """One plain line, above the bars if there are any."""
        if self._bars is not None:
            self._bars.console.print(one_line(text))
        else:
            _print(text)

    @contextmanager
    def watch(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """Shows one file while the context lasts; several files may be downloaded at once."""
        if self._bars is not None:
            task = self._bars.add_task(one_line(name), total=None)
            yield lambda done, total: self._bars.update(task, completed=done, total=total)
            self._bars.remove_task(task)
            return
        spoke = time.monotonic()

        def tell(done: int, total: int | None) -> None:
            nonlocal spoke
            if time.monotonic() - spoke > 5 or done == total:
                spoke = time.monotonic()
                of = f" of {total / 1e6:.1f}" if total else ""
                self.say(f"{name}: {done / 1e6:.1f}{of} MB")

        yield tell
