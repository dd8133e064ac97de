"""Fills in the job script of a scheduler, or the file of a Dask cluster whose workers are its jobs.

In a template, ``@name@`` stands for a value. A line whose value is not given is left out. All lines of a value are
indented as its first is.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from intrabench.engine.clusters.description import STAGGER, lifetime
from intrabench.errors import IntraBenchError

SCRIPTS = {"slurm": "slurm.sh", "lsf": "lsf.sh", "pbs": "pbs.sh", "k8s": "k8s.yaml"}
CLUSTERS = {"slurm": "SLURMCluster", "lsf": "LSFCluster", "pbs": "PBSCluster"}
CLUSTER_FILE = "cluster.yaml"
"""What the file of a cluster is called in its own text."""

_TIME = re.compile(r"(?:(\d{1,4})-)?(\d{1,4}):([0-5]\d):([0-5]\d)")
_QUEUE = re.compile(r"[\w.@,:/+-]+")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What each member of the job gets; memory such as ``16G``, time as ``[DAYS-]HOURS:MINUTES:SECONDS``.

    Raises:
        IntraBenchError: a value that no scheduler would understand.
    """

    members: int
    gpus: int = 0
    cpus: int = 4
    memory: str = "16G"
    time: str | None = None
    queue: str | None = None

    def __post_init__(self) -> None:
        for option, number, least in (("-n", self.members, 1), ("--gpus", self.gpus, 0), ("--cpus", self.cpus, 1)):
            if number < least:
                raise IntraBenchError(f"{option} {number} is too small; give {least} or more")
        if not re.fullmatch(r"[1-9]\d*[MGT]", self.memory):
            raise IntraBenchError(f"--memory {self.memory!r} is no size; give a whole number with M, G or T, e.g. 16G")
        if self.time is not None and not (_TIME.fullmatch(self.time) and self.seconds):
            raise IntraBenchError(f"--time {self.time!r} is no time; give hours, minutes and seconds, e.g. 4:00:00")
        if self.queue is not None and not _QUEUE.fullmatch(self.queue):
            raise IntraBenchError(f"--queue {self.queue!r} is no name of a queue; give one without spaces")

    @property
    def seconds(self) -> int | None:
        """The time in seconds."""
        found = _TIME.fullmatch(self.time or "")
        if found is None:
            return None
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds

    @property
    def values(self) -> dict[str, str | None]:
        """What stands for it in the scripts."""
        clock = None if self.seconds is None else divmod(-(-self.seconds // 60), 60)
        return {
            "members": str(self.members),
            "array": f"1-{self.members}" if self.members > 1 else None,  # PBS has no array of one
            "cpus": str(self.cpus),
            "gpus": str(self.gpus) if self.gpus else None,
            "ngpus": str(self.gpus),
            "memory": self.memory,
            "mem": self.memory.lower() + "b",  # as PBS writes it
            "time": None if self.seconds is None else _clock(self.seconds),
            "hours": None if clock is None else f"{clock[0]}:{clock[1]:02}",
            "seconds": None if self.seconds is None else str(self.seconds),
            "queue": self.queue,
        }


def job_script(
    scheduler: str, request: Request, folder: str, preparation: Sequence[str], command: Sequence[str]
) -> str:
    """The job script: each member prepares its shell, and runs the command in the folder.

    preparation: lines of the shell, as they are. command: words, which are quoted.

    Raises:
        IntraBenchError: a word has a line break or another character that no script can show.
    """
    _check_shown(folder, *preparation, *command)
    return _text(
        SCRIPTS[scheduler],
        request.values
        | {
            "folder": shlex.quote(folder),
            "mount": json.dumps(folder, ensure_ascii=False),
            "preparation": "\n".join(preparation) or None,
            "command": shlex.join(command),
        },
    )


def cluster_file(
    scheduler: str, request: Request, folder: str, preparation: Sequence[str], python: str, command: Sequence[str]
) -> str:
    """The file of a Dask cluster for ``run --dask``: each job is one worker.

    python: the program that starts the worker. command: the run that uses the cluster.

    Raises:
        IntraBenchError: there is no time, or a word has a character that no file can show.
    """
    if scheduler not in CLUSTERS:
        raise IntraBenchError(
            "--k8s --dask: a Dask cluster of pods needs more than these options say; start one as dask-kubernetes "
            "describes and give its address, `intrabench run --dask tcp://HOST:8786`, or omit --dask"
        )
    if request.seconds is None:
        raise IntraBenchError("--dask needs --time, e.g. 4:00:00; without it, dask-jobqueue asks for 30 minutes")
    _check_shown(folder, *preparation, python, *command)
    place = shlex.quote(folder)
    prologue = [f"cd {place} || exit", *preparation]
    return _text(
        "dask.yaml",
        request.values
        | {name: "" if name == scheduler else None for name in CLUSTERS}
        | {
            "cluster": CLUSTERS[scheduler],
            "lifetime": f"{lifetime(request.seconds)}s",
            "stagger": f"{STAGGER}s",
            "folder": place,
            "prologue": "\n".join(f"- {json.dumps(line, ensure_ascii=False)}" for line in prologue),
            "python": json.dumps(shlex.quote(python), ensure_ascii=False),
            "command": shlex.join(command),
        },
    )


def _check_shown(*texts: str) -> None:
    """Refuse a line break or another character that does not print."""
    for text in texts:
        if not text.isprintable():
            raise IntraBenchError(f"{text!r} has a character that a job script cannot show; give another name")


def _text(template: str, values: Mapping[str, str | None]) -> str:
    """A template with its values."""
    text = files(__package__).joinpath(template).read_text(encoding="utf-8")
    return "".join(_filled(line, values) for line in text.splitlines(keepends=True))


def _filled(line: str, values: Mapping[str, str | None]) -> str:
    """A line with its values, each of their lines indented as it is; nothing if one is not given."""
    names = re.findall(r"@(\w+)@", line)
    if any(values[name] is None for name in names):
        return ""
    newline = "\n" + " " * (len(line) - len(line.lstrip()))
    indented = {name: (values[name] or "").replace("\n", newline) for name in names}
    return re.sub(r"@(\w+)@", lambda found: indented[found[1]], line)


def _clock(seconds: int) -> str:
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
