"""The exceptions whose messages users read."""

from __future__ import annotations

from pathlib import Path


class IntraBenchError(Exception):
    """A message for the user: one sentence that names the file or option, what was expected and what to do next."""


class NotApplicable(IntraBenchError):
    """The model cannot take these prompts, not even adapted; the session gets the status ``not_applicable``."""


def broken(path: Path | str, error: Exception) -> IntraBenchError:
    """The error for a file that a library cannot read, with the library's reason."""
    reason = str(error).strip().splitlines() or [type(error).__name__]
    return IntraBenchError(
        f"{path} cannot be read: it is truncated or damaged ({reason[-1]}); fetch or export it again"
    )
