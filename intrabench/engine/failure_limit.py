"""With how many failures a run ends before all is played: ``--max-failures`` and ``--fail-fast``."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from intrabench.engine.summary import Summary, counted
from intrabench.errors import IntraBenchError, several

FEWEST = 20
"""A share of failures ends a run only after so many sessions: the first one that fails would be 100 %."""


class TooManyFailures(IntraBenchError):
    """The run was to end with so many failures; what is complete is kept. details: lines on what failed, and where."""

    def __init__(self, message: str, details: list[str]) -> None:
        super().__init__(message)
        self.details = details


@dataclass(frozen=True)
class FailureLimit:
    """The number of failed sessions, or their percentage, that ends a run; fast: the option was ``--fail-fast``."""

    number: float
    percent: bool = False
    fast: bool = False

    @classmethod
    def of(cls, text: str) -> FailureLimit:
        """The limit that a person wrote.

        Raises:
            IntraBenchError: it is none.
        """
        found = re.fullmatch(r"\s*(?:(\d{1,12})|(\d{1,3}(?:\.\d{1,9})?)\s*%)\s*", text, re.ASCII)
        number = float(found[1] or found[2]) if found else 0.0
        percent = bool(found and found[2])
        if number <= 0 or (percent and number > 100):
            raise IntraBenchError(
                f"--max-failures {text} is no limit; give a number of sessions from 1, such as 10, or a share of them "
                "up to 100%, such as 5%"
            )
        return cls(number, percent)

    def check(self, summary: Summary, folder: Path) -> None:
        """Compare what came of the sessions that a run has played so far. folder: of its results.

        Raises:
            TooManyFailures: too many of them failed.
        """
        failed, played = summary.failed, summary.computed
        enough = self.number * played / 100 if self.percent else self.number
        if failed < enough or not failed or (self.percent and played < FEWEST):
            return
        if self.fast:
            why = next(iter(summary.failures))
            details = list(filter(None, summary.tracebacks.get(why, "").split("\n")))
            raise TooManyFailures(f"{why}; this first failure ended the run (--fail-fast)", details)
        raise TooManyFailures(
            f"{failed} of {several(played, 'session')} failed, which ended the run (--max-failures {self}); what is "
            f"complete is kept: see `intrabench failures --out {shlex.quote(str(folder))}`, mend the cause, and repeat "
            "the command to go on",
            counted(summary.failures),
        )

    def __str__(self) -> str:
        """As a person writes it."""
        return f"{self.number:g}%" if self.percent else f"{self.number:.0f}"


def failure_limit(max_failures: str, fail_fast: bool) -> FailureLimit | None:
    """The limit of a run; None: it plays everything.

    Raises:
        IntraBenchError: both options were given, or there is no such limit.
    """
    if fail_fast and max_failures:
        raise IntraBenchError(
            f"--fail-fast is --max-failures 1, and --max-failures is {max_failures}; omit one of them"
        )
    if fail_fast:
        return FailureLimit(1, fast=True)
    return FailureLimit.of(max_failures) if max_failures else None
