"""The manifest of a run, ``runs/RUN.json``: its options, hardware and software, and how it ended.

It can be shared: it has no environment variables, no names of users or hosts, and ``~`` for the home folder.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intrabench.datasets.cases import store as cases
from intrabench.engine.environment import versions, versions_hash
from intrabench.engine.hardware import commit, hardware
from intrabench.engine.options import DEFAULTS, Options
from intrabench.errors import IntraBenchError, foreign
from intrabench.fetch.checksum import noted
from intrabench.files.locks import locked
from intrabench.identity.versions import version_of
from intrabench.models.weights import registry as weights
from intrabench.results.causes import by_cause
from intrabench.results.model_cards import note_models
from intrabench.results.runs import FINISHED, LOCK, unfinished, without_home, work_of
from intrabench.results.weights import how

if TYPE_CHECKING:
    from intrabench.datasets.base import Dataset
    from intrabench.datasets.cases.stored_case import CaseIndex
    from intrabench.engine.job import Job
    from intrabench.engine.session_spec import ModelRunner
    from intrabench.engine.summary import Summary
    from intrabench.results.store import Store


MOST_TRACEBACKS = 100
"""A record keeps the tracebacks of so many causes of failures, one of each."""


class Manifest:
    """The manifest of one run: `opening` is written with its first part, the rest when it ends.

    prepared: the prepared cases, once they are known; else their indexes are read. summary: what came of it so far.
    open_cases: how many cases must still be prepared, whose sessions are not counted yet.
    """

    def __init__(self, options: Options, job: Job) -> None:
        self._options, self._work = _shareable(options.words), _shareable(options.work)
        self._job, self._started, self._effort = job, _now(), options.effort
        self._cards = note_models(one.model for one in job.runners)
        self.prepared: Mapping[tuple[Dataset, str], CaseIndex] | None = None
        self.summary: Summary | None = None
        self.open_cases: Callable[[], int] = lambda: 0

    def opening(self) -> dict[str, Any]:
        """The entries that are known while it runs."""
        return {
            "state": "running",
            "started": self._started,
            "ended": None,
            "command": self._command(),
            "options": self._options,
            "work": self._work,
            "arguments": [without_home(dataset.argument) for dataset in self._job.datasets],
            "rounds": self._job.rounds,
            **({"sessions": {**_counts(self.summary), "open_cases": self.open_cases()}} if self.summary else {}),
            **({"effort": self._effort.content} if self._effort else {}),
            "commit": commit(),
            "package_versions_hash": versions_hash(),
            "versions": versions(),
            "hardware": hardware(),
            "hardware_hash": _hash(hardware()),
            "models": [{"model": spec, **card.told} for spec, card in self._cards.items()],
            "weights": [_weights(one) for one in self._job.runners if one.model.weights or one.model.weights_file],
        }

    def _command(self) -> str:
        """What a person typed: a command, or a call in Python."""
        program = Path(sys.argv[0])
        if "intrabench" in (program.stem, program.parent.name):
            name = "intrabench" if program.stem == "__main__" else program.name
            return without_home(shlex.join([name, *sys.argv[1:]]))
        usual = _shareable(DEFAULTS.words)
        given = [f"{name}={value!r}" for name, value in self._options.items() if value != usual[name]]
        return f"intrabench.run({', '.join(given)})"

    @contextmanager
    def kept(self, store: Store, summary: Summary) -> Iterator[None]:
        """Complete the manifest when the run ends in any way; until then a lock shows that it is going on.

        A run that wrote nothing leaves no manifest, unless it completed the manifest of an earlier run.
        """
        state = "interrupted"
        with locked(store.root / "locks" / f"{store.run_id}{LOCK}"):
            try:
                yield
                state = FINISHED
            except Exception as error:
                state = f"failed ({type(error).__name__})"
                raise
            finally:
                if store.parts or summary.computed or self._is_left(store.root):
                    store.write_record(self._complete(state, summary))

    def _is_left(self, root: Path) -> bool:
        """Whether an earlier run of the same work did not finish."""
        return any(work_of(record) == work_of({"work": self._work}) for record in unfinished(root))

    def _complete(self, state: str, summary: Summary) -> dict[str, Any]:
        traced = {why: summary.failures[why] for why in summary.tracebacks}
        ending = {"state": state, "ended": _now(), "sessions": _counts(summary), "datasets": self._datasets()}
        kept = {group.error: summary.tracebacks[group.error] for group in by_cause(traced)[:MOST_TRACEBACKS]}
        return {**self.opening(), **ending, **({"tracebacks": _shareable(kept)} if kept else {})}

    def _datasets(self) -> list[dict[str, Any]]:
        """The data sets of the job and their prepared cases, with a hash over images and targets."""
        hashes: dict[str, list[Any]] = {dataset.spec: [] for dataset in self._job.datasets}
        with suppress(IntraBenchError):  # errors in --cases were reported already
            for dataset, case in self._job.selected():
                if index := self._index(dataset, case):
                    of_targets = [target.content_hash for target in index.targets]
                    hashes[dataset.spec].append([case, index.image_hash, of_targets])
        return [
            {
                "spec": dataset.short_spec,
                "version": version_of(dataset),
                "licence": dataset.card.licence,
                "cases": len(found := hashes[dataset.spec]),
                "targets": sum(len(of_targets) for _, _, of_targets in found),
                "images_hash": _hash(found),
            }
            for dataset in self._job.datasets
        ]

    def _index(self, dataset: Dataset, case: str) -> CaseIndex | None:
        if self.prepared is not None:
            return self.prepared.get((dataset, case))
        with suppress(Exception), foreign():  # damaged cases have a failed row
            return cases.index(dataset, case)
        return None


def _counts(summary: Summary) -> dict[str, int]:
    return {name: getattr(summary, name) for name in ("total", "already", "computed", "failed")}


def _shareable(options: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(without_home(json.dumps(dict(options), default=str)))
    return plain


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _weights(runner: ModelRunner) -> dict[str, str]:
    """The identity and source of a model's weights."""
    id, runtime = runner.model.weights, runner.model.runtime
    if id is None:
        source = "a parameter of the model"
    elif runtime.random:
        source = "random, untrained"
    elif runtime.weights is not None:
        source = "--weights"
    else:
        entry = weights.get(id)
        path = weights.find(entry.id)
        fetched = noted(path) if path else None
        source = fetched.source if fetched else next(iter(entry.sources), "by hand")
    kept = {"weights": runner.weights, "weights_sha256": runner.weights_sha256}
    about = {"model": runner.model.short_spec, "weights": how(kept), **({"id": id} if id else {})}
    return {**about, "sha256": runner.weights_sha256, "source": source}
