"""What people see of a run: drawn again and again in one place where that can be, else a line from time to time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from types import TracebackType
from typing import Any

from intrabench.engine.progress.cell import Cell
from intrabench.engine.progress.reporter import Quiet, Reporter, Silent
from intrabench.engine.progress.screen import can_redraw, in_notebook, plain_console, print_line
from intrabench.engine.progress.tally import Pace, Tally
from intrabench.files.names import one_line
from intrabench.progress import joined, listen

BAR = 40
"""Characters of the bar, at most."""


class Console(Reporter):
    """A reporter for people, and for downloads without a run: counts, time left, and what each worker does."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._redraws = clock, can_redraw()
        self._lock = threading.RLock()  # never held while something is drawn, which has a lock of its own
        self._live: Any = None
        self._pacer: threading.Thread | None = None
        self._ended = threading.Event()
        self._tally, self._pace = Tally(clock()), Pace(clock())
        self._files: dict[int, File] = {}
        self._numbers = count()

    def __enter__(self) -> Console:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._ended.set()
        if self._pacer is not None:
            self._pacer.join()
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()
            if isinstance(live, Cell):  # which has said it
                return
        if closing := self._closing():
            print_line(closing)

    def say(self, text: str) -> None:
        """One plain line, above what is drawn."""
        if self._live is not None and not isinstance(self._live, Cell):  # below a cell there is room
            self._live.console.print(one_line(text), soft_wrap=True)
        else:
            print_line(text)

    def note(self, text: str) -> None:
        """The same, about what is not wrong."""
        self.say(text)

    @contextmanager
    def watch(self, name: str) -> Iterator[Callable[[int, int | None], None]]:
        """Shows a download while the context lasts; several may go on at once."""
        number, file = next(self._numbers), File(one_line(name), self._clock())
        with self._lock:
            self._files[number] = file
        self._show()

        def tell(done: int, total: int | None) -> None:
            now = self._clock()
            with self._lock:
                file.add(now, done, total)
                text = None if self._redraws else file.line(now)
            if text:
                self.say(text)

        try:
            yield tell
        finally:
            with self._lock:
                del self._files[number]

    def begin(self, total: int, done: int, what: str = "session") -> None:
        """Say the numbers of sessions, or of what else is counted, and show them from now on."""
        with self._lock:
            self._tally.begin(self._clock(), total, done, what)
            self._pace = Pace(self._clock())
            opening = self._tally.opening
        self.say(opening)
        self._show()

    def expect(self, sessions: int) -> None:
        """So many more sessions are to be played; negative: fewer."""
        with self._lock:
            self._tally.total += sessions
        self._show()

    def converting(self, cases: int) -> None:
        """So many cases are still to be prepared."""
        with self._lock:
            self._tally.cases = cases
        self._show()

    def advance(self, sessions: int, failed: int, dice: Sequence[float] = ()) -> None:
        """So many sessions are finished."""
        with self._lock:
            self._tally.advance(self._clock(), sessions, failed, dice)

    def doing(self, worker: str, what: str) -> None:
        """What a worker does from now on."""
        with self._lock:
            self._tally.doing(self._clock(), one_line(worker), what)
        self._show()

    def _show(self) -> None:
        """Begin to draw, or to print lines, as soon as there is something to show."""
        with self._lock:
            if self._live or self._pacer or not (self._tally.open or (self._files and self._redraws)):
                return
            if self._redraws:
                self._live = Cell(self, self._closing) if in_notebook() else self._on_terminal()
                start = self._live.start
            else:
                self._pacer = threading.Thread(target=self._print_lines, name="progress", daemon=True)
                start = self._pacer.start
        start()

    def _on_terminal(self) -> Any:
        from rich.live import Live

        return Live(
            get_renderable=lambda: self,
            console=plain_console(stderr=True),
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # what goes into a pipe must not be drawn instead
        )

    def _closing(self) -> str:
        """What it came to; nothing if nothing was finished."""
        return self._tally.closing(self._clock()) if self._tally.advanced else ""

    def _print_lines(self) -> None:
        while not self._ended.wait(0.1):
            with self._lock:
                text = self._pace.line(self._clock(), self._tally) if self._tally.open else None
            if text:
                self.say(text)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        with self._lock:
            yield from drawn(self._tally, list(self._files.values()), self._clock(), console, options)


def reporting(progress: bool | None = True, quiet: bool = False) -> AbstractContextManager[Reporter]:
    """A reporter that shows progress, or a silent one; None: show it only on terminals and in notebooks.

    quiet: one that says only what is wrong.
    """
    if quiet:
        return nullcontext(Quiet())
    if progress or (progress is None and (sys.stderr.isatty() or in_notebook())):
        return Console()
    return nullcontext(Silent())


@contextmanager
def showing_steps(quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Shows the steps that code says it takes (`intrabench.progress`, or by what this gives), on terminals only, in a
    line that then goes.
    """
    if quiet or in_notebook() or not can_redraw():
        yield lambda what: None
        return
    from rich.live import Live
    from rich.text import Text

    console = plain_console(stderr=True)

    def show(what: str) -> None:
        live.update(Text(cut(what, console.width)))

    with (
        Live(console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as live,
        listen(lambda phase, what, about: show(joined(what, about))),
    ):
        yield show


class File:
    """A download as it goes on."""

    def __init__(self, name: str, now: float) -> None:
        self.name, self.done = name, 0
        self.total: int | None = None
        self._first: tuple[float, int] | None = None
        self._interval = 5.0
        self._due = now + self._interval

    def add(self, now: float, done: int, total: int | None) -> None:
        """So many bytes are here; what an earlier run left says nothing about the speed."""
        self.done, self.total = done, total
        self._first = self._first or (now, done)

    def size(self, now: float) -> str:
        """``3.2 of 9.0 MB, 1.1 MB/s``."""
        of = f" of {self.total / 1e6:.1f}" if self.total else ""
        since, before = self._first or (now, 0)
        speed = f", {(self.done - before) / 1e6 / (now - since):.1f} MB/s" if now - since >= 1 else ""
        return f"{self.done / 1e6:.1f}{of} MB{speed}"

    def line(self, now: float) -> str | None:
        """A line at growing intervals and at the end."""
        if now < self._due and self.done != self.total:
            return None
        self._interval = min(2 * self._interval, Pace.LONGEST)
        self._due = now + self._interval
        return f"{self.name}: {self.size(now)}"


def drawn(tally: Tally, files: Sequence[File], now: float, console: Any, options: Any) -> Iterator[Any]:
    """A bar with the counts, the facts, and a line for each worker and each download; nothing is ever wrapped."""
    from rich.cells import cell_len
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    width, encoding = options.max_width, options.encoding

    def text(words: str) -> Any:
        return Text(cut(words, width, encoding), no_wrap=True, overflow="crop")

    room = console.size.height - 1
    if tally.total or tally.cases:
        bar = min(BAR, width - len(tally.counts) - 1)
        if bar >= 8:
            line = Table.grid(padding=(0, 1, 0, 0))
            line.add_row(ProgressBar(max(tally.total, 1), tally.done, width=bar), tally.counts)
            yield line
        else:
            yield text(tally.counts)
        if facts := fitting(tally.facts(now), width):
            yield text(facts)
        room -= 2
    rows = tally.workers(now) + [("", file.name, file.size(now)) for file in files]
    shown = rows if len(rows) <= room else rows[: max(room - 1, 0)]
    names = max((cell_len(name) for name, _, _ in shown), default=0)
    for name, what, lasted in shown:
        begun = f"{name:>{names}}  " if names else ""
        space = width - cell_len(begun) - len(lasted) - 2
        yield text(f"{begun}{cut(what, space, encoding, pad=True)}  {lasted}" if space > 8 else begun + what)
    if len(rows) > len(shown):
        yield text(f"and {len(rows) - len(shown)} more")


def fitting(facts: Sequence[str], width: int) -> str:
    """As many facts as fit, from the first."""
    text = ""
    for fact in facts:
        longer = f"{text}, {fact}" if text else fact
        if len(longer) > width:
            break
        text = longer
    return text


def cut(text: str, width: int, encoding: str = "utf-8", pad: bool = False) -> str:
    """A text of at most `width` columns, or exactly `width` if `pad`, in characters that the encoding has."""
    from rich.cells import cell_len, set_cell_size

    text = text.encode(encoding, "backslashreplace").decode(encoding)
    if cell_len(text) > width:
        text = set_cell_size(text, max(width - 3, 0)) + "..."[: max(width, 0)]
    return set_cell_size(text, width) if pad else text
