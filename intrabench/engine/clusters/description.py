"""A cluster as a YAML file describes it: the name of its class, its arguments, and the number of workers."""

from __future__ import annotations

import signal
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from intrabench.errors import IntraBenchError, in_words
from intrabench.specs.specs import nearest

_QUEUED = ("SLURM", "LSF", "PBS", "SGE", "OAR", "HTCondor", "Moab")
CLASSES = {
    **{f"{name}Cluster": "dask_jobqueue" for name in _QUEUED},
    "LocalCUDACluster": "dask_cuda",
    "KubeCluster": "dask_kubernetes.operator",
    "LocalCluster": "distributed",
    "SSHCluster": "distributed",
}
"""The classes that a file may name, and where they are."""

MARGIN, STAGGER = 300, 60
"""Seconds by which a worker ends before its wall time, so that its work goes on elsewhere, and by which that varies."""

_KEYS = {"cluster": str, "arguments": dict, "scale": int, "scheduler_file": str}


@dataclass(frozen=True)
class Description:
    """What such a file says."""

    path: Path
    cluster: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    scale: int = 1
    scheduler_file: Path | None = None

    def start(self) -> Any:
        """Start the cluster with its number of workers.

        Raises:
            IntraBenchError: its package is not installed, or refuses the arguments.
        """
        module = CLASSES[self.cluster]
        if find_spec(module.partition(".")[0]) is None:
            package = module.partition(".")[0].replace("_", "-")
            raise IntraBenchError(
                f"{self.path}: {self.cluster} needs {package}, which is not installed; run: pip install {package}"
            )
        try:
            classes = imported(module)  # before its settings are asked
            made = getattr(classes, self.cluster)(**self._completed(module))
            made.scale(self.scale)
        except Exception as error:  # of any package
            raise IntraBenchError(f"{self.path}: {self.cluster} cannot be started: {reason(error)}") from error
        return made

    def _completed(self, module: str) -> dict[str, Any]:
        """The arguments, and what suits a run where they say nothing: one thread, and an end before the wall time."""
        given = dict(self.arguments)
        if module == "dask_jobqueue":
            extra = [str(word) for word in given.get("worker_extra_args") or []]
            if not any(word.startswith("--nthreads") for word in extra):
                extra += ["--nthreads", "1"]
            walltime = given.get("walltime") or _usual_walltime(self.cluster)
            seconds = _seconds(walltime, 60 if self.cluster == "LSFCluster" else 1)
            if seconds and isinstance(walltime, int):
                given["walltime"] = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
            if seconds and not any(word.startswith("--lifetime") for word in extra):
                extra += ["--lifetime", f"{lifetime(seconds)}s", "--lifetime-stagger", f"{STAGGER}s"]
            given["worker_extra_args"] = extra
        elif module == "distributed" and self.cluster == "LocalCluster":
            given = {"threads_per_worker": 1, "n_workers": self.scale, **given}
        return given


def imported(module: str) -> ModuleType:
    """A package of clusters. Ctrl-C keeps its meaning: dask-jobqueue would have it end the program without a word."""
    meant = signal.getsignal(signal.SIGINT)
    try:
        return import_module(module)
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, meant)


def _usual_walltime(cluster: str) -> Any:
    """What dask-jobqueue asks for where nothing is said, by its own settings."""
    import dask

    return dask.config.get(f"jobqueue.{cluster.removesuffix('Cluster').lower()}.walltime", None)


def lifetime(walltime: int) -> int:
    """After how many seconds a worker ends, on average, for a wall time in seconds."""
    return max(walltime - MARGIN, walltime // 2)


def reason(error: Exception) -> str:
    """What went wrong at the bottom."""
    while isinstance(error.__cause__, Exception):
        error = error.__cause__
    return in_words(error)


def read_description(path: Path) -> Description:
    """Read a file.

    Raises:
        IntraBenchError: it cannot be read, or says something that means nothing; the message names it.
    """
    import yaml

    try:
        text = path.read_text("utf-8")
        found = yaml.safe_load(text)
    except FileNotFoundError:
        raise IntraBenchError(f"--dask {path}: there is no such file; write one as in docs/clusters.md") from None
    except (OSError, ValueError, RecursionError) as error:
        raise IntraBenchError(f"--dask {path} cannot be read ({in_words(error)}); correct it") from error
    except yaml.YAMLError as error:
        raise IntraBenchError(f"--dask {path} is no YAML ({' '.join(str(error).split())}); correct it") from error
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise IntraBenchError(
            f"--dask {path} has no entries; write cluster, arguments and scale, as in docs/clusters.md"
        )
    for name, value in found.items():
        if name not in _KEYS:
            raise IntraBenchError(f"--dask {path}: there is no entry {name!r}{nearest(name, _KEYS)}; omit it")
        if not isinstance(value, _KEYS[name]) or isinstance(value, bool):
            raise IntraBenchError(f"--dask {path}: {name} is {value!r}; give {_WORDS[_KEYS[name]]}")
    return _checked(
        Description(**{**found, "path": path, "scheduler_file": _beside(path, found.get("scheduler_file"))})
    )


_WORDS = {str: "text", dict: "names with values", int: "a number"}


def _checked(given: Description) -> Description:
    path = given.path
    if bool(given.cluster) == bool(given.scheduler_file):
        raise IntraBenchError(f"--dask {path}: give either cluster, the name of a class, or scheduler_file")
    if given.scheduler_file:
        return given
    if given.cluster not in CLASSES:
        raise IntraBenchError(
            f"--dask {path}: there is no cluster {given.cluster!r}{nearest(given.cluster, CLASSES)}; known are "
            f"{', '.join(CLASSES)}; for any other, start it yourself and give its address"
        )
    if given.scale < 1:
        raise IntraBenchError(f"--dask {path}: scale is {given.scale}; give the number of workers, 1 or more")
    if not all(isinstance(name, str) for name in given.arguments):
        raise IntraBenchError(f"--dask {path}: a name in arguments is no text; write NAME: VALUE")
    return given


def _beside(path: Path, name: str | None) -> Path | None:
    """A file named in another one is relative to that."""
    return path.parent / name if name else None


def _seconds(walltime: Any, last: int) -> int | None:
    """A wall time, ``[DAYS-]HOURS:MINUTES:SECONDS``, in seconds.

    last: the seconds of its last part, which are minutes for LSF. YAML reads 4:00:00 without quotes as a whole number.
    """
    if isinstance(walltime, int):
        return walltime
    days, _, clock = str(walltime or "").rpartition("-")
    try:
        parts = [int(part) for part in clock.split(":")]
        return int(days or 0) * 86400 + sum(last * part * 60**place for place, part in enumerate(reversed(parts)))
    except ValueError:
        return None
