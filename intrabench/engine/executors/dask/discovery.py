"""Which workers of a cluster can take part in a run: those that have said that they lack nothing, and take tasks."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from intrabench.engine.clusters.connect import within
from intrabench.engine.executors.dask.payload import Needs, lacking
from intrabench.errors import IntraBenchError, Unfinished, in_words, several

T = TypeVar("T")

SILENT_SECONDS = 300.0
"""After so long without an answer the scheduler counts as gone; Dask has it give up silent workers after as long."""

KEPT = "finished sessions are kept, and the same command continues"
GONE = f"the Dask scheduler is gone; {KEPT}"

RUNNING, PAUSED = "running", "paused"
"""States of Dask's workers; others are about to leave."""

URGENT = 2
"""The priority of the question, above that of all tasks."""


def answered(call: Callable[[], T]) -> T:
    """What the scheduler answers.

    Raises:
        Unfinished: it is gone, or silent for too long.
    """
    try:
        return within(SILENT_SECONDS, call)
    except TimeoutError:
        raise Unfinished(f"the Dask scheduler did not answer for {SILENT_SECONDS:g} s; {KEPT}") from None
    except Exception as error:  # of the connection
        raise Unfinished(GONE) from error


class WorkerDiscovery:
    """The workers of a cluster. Each is asked once what it lacks, and nobody waits for one that does not answer.

    states: of all workers, by their addresses.
    """

    def __init__(self, client: Any, needs: Needs) -> None:
        self.client, self.needs = client, needs
        self.states: Mapping[str, str] = {}
        self._able: set[str] = set()
        self._asked: dict[str, Any] = {}  # futures

    def look(self) -> set[str]:
        """The addresses of the workers that can take part now; new ones are asked, and can when this is called again.

        Raises:
            Unfinished: the scheduler is gone.
            IntraBenchError: a worker cannot take part.
        """
        found = answered(self._workers)
        self.states = {address: one["status"] for address, one in found.items()}
        self._able &= self.states.keys()
        self._asked = {address: asked for address, asked in self._asked.items() if address in self.states}
        for address in sorted(self.states.keys() - self._able):
            self._heed(address)
        return {address for address in self._able if self.states[address] == RUNNING}

    @property
    def open(self) -> bool:
        """Whether workers have not answered yet."""
        return bool(self._asked)

    @property
    def waited_for(self) -> str:
        """Whose work or answer is missing, in words, where there are workers but none that can take part."""
        if paused := sum(state == PAUSED for state in self.states.values()):
            return f"{several(paused, 'worker')} that Dask has paused; start them with a larger --memory-limit"
        return f"the answer of {several(len(self._asked), 'worker')}" if self._asked else ""

    def _workers(self) -> dict[str, Any]:
        """What the scheduler tells of each worker; without a number, some versions of Dask tell of five only."""
        workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]  # missing once it is gone
        return workers

    def _heed(self, address: str) -> None:
        """Ask a worker, or take its answer."""
        asked = self._asked.get(address)
        if asked is None or asked.status in ("cancelled", "lost"):
            self._asked[address] = self.client.submit(
                lacking, *self.needs, key=f"lacking-{secrets.token_hex(4)}", workers=[address], priority=URGENT
            )
            return
        if not asked.done():
            return
        try:
            problem = asked.result(timeout=1)
        except TimeoutError:
            return
        except Exception as error:
            problem = f"cannot take part ({in_words(error)}); install the same intrabench there"
        if problem:
            raise IntraBenchError(f"Dask worker {address} {problem}")
        self._able.add(address)
        del self._asked[address]
