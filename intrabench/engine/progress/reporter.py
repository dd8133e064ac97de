"""Who hears of the progress of a run: nobody, or people, for whom `intrabench.engine.progress.display` shows it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from intrabench.engine.progress.screen import print_line
from intrabench.fetch.transfer import Progress


class Reporter:
    """Receives the progress of a run; several threads may call it at once. What a subclass leaves out does nothing."""

    def say(self, text: str) -> None:
        """One plain line."""

    def note(self, text: str) -> None:
        """One plain line about what is not wrong."""

    def watch(self, name: str) -> AbstractContextManager[Progress]:
        """Shows the progress of the named download while the context lasts."""
        return nullcontext(lambda done, total: None)

    def begin(self, total: int, done: int, what: str = "session") -> None:
        """The run has `total` sessions so far, of which `done` were finished before; said once.

        what: the word for what is counted, if these are no sessions.
        """

    def expect(self, sessions: int) -> None:
        """So many more sessions are to be played, such as those of a case that is now ready; negative: fewer."""

    def converting(self, cases: int) -> None:
        """So many cases are still to be prepared, also before `begin`; until it is 0 the total may grow."""

    def advance(self, sessions: int, failed: int, dice: Sequence[float] = ()) -> None:
        """`sessions` more are finished, of which `failed` failed; `dice` of their last rounds, for the running mean."""

    def doing(self, worker: str, what: str) -> None:
        """What the named worker does from now on, such as ``playing spine_ct, case sub-1, box_fill``; "": nothing."""


class Silent(Reporter):
    """A silent reporter."""


class Quiet(Silent):
    """A reporter that passes on nothing but what is wrong."""

    def say(self, text: str) -> None:
        """One plain line."""
        print_line(text)
