"""Connects to a Dask cluster: one on this machine, one that runs somewhere, or one that a file describes."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from intrabench.engine.clusters.description import read_description, reason
from intrabench.engine.executors.timeout import after
from intrabench.errors import IntraBenchError, in_words

T = TypeVar("T")

MOST_LOCAL = 1024
CONNECT_SECONDS = 20
"""How long a scheduler may take to answer."""
SILENT_SECONDS = 3.0
"""After so long without an answer it is said for whom the command waits."""

_DEFAULTS = {
    "distributed": {
        "scheduler": {"allowed-failures": 3, "worker-ttl": "5 minutes", "work-stealing": True},
        "comm": {"timeouts": {"connect": "30s"}},
        # A worker waits for a process of its own, so to look a hundred times a second what it does tells nothing.
        "worker": {"profile": {"enabled": False}},
        "admin": {"tick": {"interval": "500ms"}},
    }
}
"""Settings of a scheduler that this process starts, unless the user's own files or variables say something else."""


def check_where(where: str) -> int | None:
    """Refuse what is no cluster, before anything is planned; returns the number N of ``local:N``.

    Raises:
        IntraBenchError: it is none, or the package is not installed.
    """
    if find_spec("distributed") is None:
        raise IntraBenchError("--dask needs the package distributed; run: pip install 'intrabench[cluster]'")
    scheme, _, rest = where.partition(":")
    if scheme == "local":
        if not (rest.isascii() and rest.isdecimal() and 0 < int(rest) <= MOST_LOCAL):
            raise IntraBenchError(f"--dask {where} is no number of workers; give local:1 to local:{MOST_LOCAL}")
        return int(rest)
    if re.fullmatch(r"(tcp|tls)://[^\s/]+:\d{1,5}", where):
        return None
    if Path(where).suffix in (".yaml", ".yml"):
        read_description(Path(where))
        return None
    raise IntraBenchError(f"--dask {where} is no cluster; give local:4, tcp://HOST:8786, tls://HOST:8786 or FILE.yaml")


@contextmanager
def connected(where: str, say: Callable[[str], None]) -> Iterator[Any]:
    """A client of the cluster, `distributed.Client`; what was started for it ends with the context.

    say: gets a sentence if the scheduler does not answer at once.

    Raises:
        IntraBenchError: the cluster cannot be reached or started.
    """
    local = check_where(where)
    import dask
    import distributed

    logging.getLogger("distributed").setLevel(logging.ERROR)  # what matters is said as one sentence
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    dask.config.update_defaults(_DEFAULTS)
    with ExitStack() as stack:
        try:
            cluster = _cluster(where, local, stack)
            with after(SILENT_SECONDS, say, f"waiting up to {CONNECT_SECONDS} s for the scheduler of --dask {where}"):
                begin = partial(distributed.Client, cluster, timeout=CONNECT_SECONDS)
                client = within(CONNECT_SECONDS + 1, begin)  # its own limit ends no wait for one that never speaks
        except IntraBenchError:
            raise
        except Exception as error:  # it may also be a server of another kind
            raise IntraBenchError(
                f"--dask {where}: no scheduler answers there ({in_words(error)}); start one with `dask scheduler`, or "
                "correct the address"
            ) from error
        stack.callback(_close, client)
        yield client


def within(seconds: float, call: Callable[[], T]) -> T:
    """What a call returns, which may never come.

    Raises:
        TimeoutError: it took longer; nobody waits for it any more.
    """
    answer = Future[T]()

    def ask() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=ask, daemon=True).start()
    return answer.result(seconds)


def _cluster(where: str, local: int | None, stack: ExitStack) -> Any:
    """What a client connects to: a cluster that is started here, or an address."""
    if local is not None:
        from distributed import LocalCluster

        try:
            made = LocalCluster(n_workers=local, threads_per_worker=1, memory_limit=0, silence_logs=logging.ERROR)
        except Exception as error:  # of the processes
            raise IntraBenchError(
                f"--dask {where}: its workers cannot be started ({reason(error)}); use --workers {local} instead"
            ) from error
        stack.callback(made.close)
        return made
    if "://" in where:
        return where
    description = read_description(Path(where))
    if description.scheduler_file:
        return _address_in(description.scheduler_file)
    made = description.start()
    stack.callback(made.close)
    return made


def _address_in(path: Path) -> str:
    """The address in the file that a scheduler writes."""
    import json

    try:
        return str(json.loads(path.read_text("utf-8"))["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IntraBenchError(
            f"scheduler_file {path} cannot be read ({in_words(error)}); start the scheduler with "
            "`dask scheduler --scheduler-file FILE`"
        ) from error


def _close(client: Any) -> None:
    try:
        client.close(timeout=5)
    except Exception:  # the scheduler is gone, which was said
        return
