"""A Slurm of one node on the loopback of this machine, from Debian's packages, in one temporary folder."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue", "scontrol", "sinfo")
INSTALL = "apt-get install slurm-wlm munge"

# Neither systemd nor control groups are needed. A job that is queued again waits for its old credential to expire, by
# default two minutes.
_CONFIGURATION = """
ClusterName=loop
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
KillWait=5
MinJobAge=600
NodeName=localhost NodeHostname=localhost NodeAddr=127.0.0.1 CPUs=4 RealMemory=64000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=60 State=UP
"""


def missing() -> list[str]:
    """The programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]


@dataclass(frozen=True)
class Slurm:
    """A cluster that is up; its programs find it by ``SLURM_CONF``."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a shell that uses it."""
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": _path()}

    def __call__(self, *command: str, given: str | None = None) -> str:
        """What a program of Slurm says."""
        done = subprocess.run(
            command, env=self.environment, input=given, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def submit(self, script: str) -> str:
        """Put a script into the queue; its number."""
        return self("sbatch", "--parsable", given=script)

    def waiting(self, job: str) -> list[str]:
        """The states of the members that have not ended."""
        return self("squeue", "--noheader", "--jobs", job, "--format", "%T").split()

    def finish(self, job: str, seconds: float = 300) -> list[dict[str, str]]:
        """Wait until all members have ended; what Slurm knows about each."""
        wait(lambda: not self.waiting(job), seconds, f"the end of job {job}")
        lines = self("scontrol", "--oneliner", "show", "job", job).splitlines()
        return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]


def wait(over: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait until something is over."""
    end = time.monotonic() + seconds
    while not over():
        assert time.monotonic() < end, f"{what} did not come in {seconds:.0f} s"
        time.sleep(0.2)


@contextmanager
def slurm() -> Iterator[Slurm]:
    """A cluster that is up meanwhile. Its folder has a short name, because a socket is in it."""
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as name, ExitStack() as ends:
        folder, cluster = Path(name), Slurm(Path(name))
        for part in ("state", "spool"):
            (folder / part).mkdir()
        folder.chmod(0o755)
        (folder / "munge.key").write_bytes(os.urandom(1024))
        (folder / "munge.key").chmod(0o600)
        host, user = socket.gethostname().partition(".")[0], getpass.getuser()
        controller, daemon = _ports()
        text = _CONFIGURATION.format(folder=folder, host=host, user=user, controller=controller, daemon=daemon)
        (folder / "slurm.conf").write_text(text)
        files = {"key": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        munge = [f"--{option}={folder}/munge.{ending}" for option, ending in files.items()]
        _start(ends, cluster, "munged", "--foreground", *munge)
        wait((folder / "munge.socket").exists, 120, "munged")
        _start(ends, cluster, "slurmctld", "-D")
        _start(ends, cluster, "slurmd", "-D", "-N", "localhost")
        wait(lambda: "idle" in _state(cluster), 180, "the node")
        ends.callback(_empty, cluster)
        yield cluster


def _path() -> str:
    """Where daemons are, too."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))


def _state(cluster: Slurm) -> str:
    command = ["sinfo", "--noheader", "--format", "%T"]
    return subprocess.run(command, env=cluster.environment, capture_output=True, text=True, check=False).stdout


def _empty(cluster: Slurm) -> None:
    """End all jobs; their processes would outlive the daemons."""
    cluster("scancel", "--user", getpass.getuser())
    wait(lambda: not cluster("squeue", "--noheader"), 180, "the end of all jobs")


def _start(ends: ExitStack, cluster: Slurm, *command: str) -> None:
    """Start a daemon, which is ended with the others."""
    output = (cluster.folder / f"{command[0]}.out").open("wb")
    ends.callback(output.close)
    process = subprocess.Popen(command, env=cluster.environment, stdout=output, stderr=output)

    def end() -> None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    ends.callback(end)


def _ports() -> tuple[int, int]:
    """Two ports that nobody uses."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]
