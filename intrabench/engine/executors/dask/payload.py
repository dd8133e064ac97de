"""What a run tells the workers of a cluster, and what they answer; all of it can be sent."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from intrabench import __version__
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.options import Options
from intrabench.engine.result_batches import ResultBatch, failed
from intrabench.engine.session_spec import SessionSpec
from intrabench.engine.summary import Summary
from intrabench.models.base import Failure
from intrabench.results.runs import LOCK

SEEN_SECONDS = 5.0
"""How long a network disk may take to show a file of another machine."""


@dataclass(frozen=True)
class Payload:
    """A run, as a worker must know it.

    folder: the current one of the command, in which relative paths mean something. results: the results folder if the
    worker writes into it, else None. environments: of the worker processes, by the names of the workers.
    """

    run: str
    options: Options
    folder: Path
    results: Path | None
    environments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def needs(self) -> Needs:
        """What a worker must have, in plain types, which every version understands."""
        lock = self.results / "locks" / f"{self.run}{LOCK}" if self.results else None
        return (
            platform.python_version(),
            __version__,
            str(lock or ""),
            [str(path.absolute()) for path in self.options.plugin],
        )


Needs = tuple[str, str, str, list[str]]
"""The versions of Python and of this package, the lock of the run, and the paths of plug-ins."""


@dataclass(frozen=True)
class TaskMessage:
    """A task: numbers of its data set and model, its case, and the keys of the sessions that are to be played.

    again: another worker of the run may have stored some of them.
    """

    dataset: int
    case: str
    runner: int = -1
    keys: Sequence[str] = ()
    again: bool = False


@dataclass
class TaskResult:
    """What came of a task.

    missing: sessions that were not there yet. parts: to be stored. summary, dice: of what was stored there. prepared:
    a case. busy: who else holds the task. stopped: what was complete is here. failure: why
    nothing could be done.
    """

    missing: int = 0
    parts: list[ResultBatch] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)
    dice: list[float] = field(default_factory=list)
    prepared: CaseIndex | Failure | None = None
    busy: str = ""
    stopped: bool = False
    failure: Failure | None = None

    def failed(self, specs: Sequence[SessionSpec]) -> ResultBatch:
        """Specs that failed because nothing could be done."""
        assert self.failure is not None
        return failed(specs, self.failure, of_data=True)


def lacking(python: str, version: str, lock: str, plugins: Sequence[str]) -> str:
    """What this worker lacks for a run, as the end of a sentence; empty if nothing."""
    if python.split(".")[:2] != platform.python_version().split(".")[:2]:
        return f"has Python {platform.python_version()}, the command {python}; start it with the same"
    if version != __version__:
        return f"has intrabench {__version__}, the command {version}; install the same there"
    if gone := [path for path in plugins if not Path(path).exists()]:
        return f"has no {gone[0]} (--plugin); copy it there, or put it where all machines see it"
    if lock and not _seen(Path(lock)):
        return f"does not see the results folder {Path(lock).parents[1]}; share it, or add --collect"
    return ""


def _seen(path: Path) -> bool:
    until = time.monotonic() + SEEN_SECONDS
    while not path.exists():
        if time.monotonic() > until:
            return False
        try:
            os.listdir(path.parent)  # makes NFS look again
        except OSError:
            return False
        time.sleep(0.2)
    return True
