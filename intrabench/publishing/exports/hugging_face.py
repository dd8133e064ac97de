"""Results for model repositories at the Hugging Face hub: ``.eval_results/*.yaml``.

https://huggingface.co/docs/hub/eval-results. The hub shows them on the page of a model and on the leaderboard of a data
set that is registered there as a benchmark. Each result has a file of its own, as the hub wants it for results that
differ only in how a model was prompted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import new_folder
from intrabench.files.names import file_name
from intrabench.publishing.exports.evidence import Evidence, evidence_of, facts, pairs, slug, written
from intrabench.publishing.exports.scored import LINE, LineResults, Result, scored_results
from intrabench.results.model_label import model_label
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.statistics.measures import described
from intrabench.statistics.notes import cut_short

_BENCHMARK = re.compile(r"(?P<id>[\w.-]+/[\w.-]+?)(?:@(?P<revision>\w+))?/(?P<task_id>[\w.-]+)")
SHAPE = "DATASET=ORG/NAME/TASK"


@dataclass(frozen=True)
class Source:
    """Where a reader finds the results behind a number; the hub wants an address before a name."""

    url: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if self.name and not self.url:
            raise IntraBenchError("--source-name needs an address; give --source-url, too")


def export_hugging_face(
    root: Path,
    folder: Path,
    benchmarks: Sequence[str],
    metric: str = "",
    source: Source | None = None,
    selection: Selection = EVERYTHING,
) -> tuple[int, list[str]]:
    """Write ``MODEL/.eval_results/*.yaml`` into a new folder: the final score for each prompter and protocol.

    benchmarks: ``DATASET=ORG/NAME/TASK`` or ``DATASET=ORG/NAME@REVISION/TASK``, the benchmark at the hub and its task
    that a data set of ours is; results on others are left out. metric: a metric, or a summary such as
    ``noc:threshold=0.9``; empty: what leads in the protocol of the sessions, else dice.

    Returns:
        The number of files, and sentences about what is left out.

    Raises:
        IntraBenchError: there are no results, no data set has a benchmark, or the folder exists.
    """
    evidence = evidence_of(root, selection)
    names = evidence.rows["dataset"].unique().sort().to_list()
    tasks = {
        name: _task(name, words) for name, words in pairs("--benchmark", benchmarks, names, SHAPE, "dataset").items()
    }
    if not tasks:
        raise IntraBenchError(
            "the hub takes results on data sets that are registered there as benchmarks; say with --benchmark "
            f"{SHAPE} which of {', '.join(names)} is one"
        )
    results, notes = scored_results(evidence.rows, metric)
    count = 0
    with new_folder(folder) as part:
        for found in results:
            for path, entry in _entries(evidence, found, tasks, source or Source()):
                place = part / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(_yaml([entry]), encoding="utf-8")
                count += 1
        if not count:
            what = f"a score of {metric}" if metric else "the score that leads in its protocol"
            raise IntraBenchError(f"no model has {what} on {', '.join(tasks)}; give another --benchmark")
    left = [f"results on {name} are left out: it has no --benchmark" for name in names if name not in tasks]
    return count, [*evidence.left_out, *notes, *left]


def _task(name: str, words: str) -> dict[str, str]:
    found = _BENCHMARK.fullmatch(words)
    if found is None:
        raise IntraBenchError(f"--benchmark {name}={words}: expected {SHAPE}, such as {name}=my-lab/{slug(name)}/dice")
    return {key: value for key, value in found.groupdict().items() if value}


def _entries(
    evidence: Evidence, found: LineResults, tasks: Mapping[str, Mapping[str, str]], source: Source
) -> Iterator[tuple[Path, dict[str, Any]]]:
    key = dict(zip(LINE, found.key, strict=True))
    if key["dataset"] not in tasks:
        return
    model = model_label(key["model"], key["weights"], key["weights_sha256"])
    variant = [f"strict={key['strict']}"] if key["strict"] else []
    for result in found.results:
        if result.state == "final":
            name = file_name(key["dataset"], found.protocol, key["dtype"], *variant, result.prompter)
            entry = {
                "dataset": dict(tasks[key["dataset"]]),
                "value": result.value,
                "date": written(result.sessions).isoformat(timespec="seconds"),
                **facts(source=facts(url=source.url, name=source.name)),
                "notes": "; ".join(_notes(evidence, found, result, key, model)),
            }
            yield Path(file_name(model), ".eval_results", f"{name}.yaml"), entry


def _notes(evidence: Evidence, found: LineResults, result: Result, key: Mapping[str, Any], model: str) -> Iterator[str]:
    yield f"{described(result.spec)} of {model}, prompter {result.prompter}, protocol {found.protocol}"
    yield from filter(None, [evidence.selection])
    yield from (f"{value:.4g} {name} on average" for name, value in result.effort.items() if name == "interactions")
    if result.infinite:
        yield f"{result.infinite.words()}, which is the value"
    elif result.infinite.missed:
        yield result.infinite.misses
    if result.low is not None:
        yield f"95 % interval {result.low:.4f} to {result.high:.4f} over {result.patients} patients"
    else:
        why = "without an interval" if result.infinite else "too few for an interval"
        yield f"{result.patients} patient{'s' * (result.patients != 1)}, {why}"
    yield from filter(None, [result.fewer])
    yield from (f"{result.counts['failed']} sessions failed" for _ in range(result.counts["failed"] > 0))
    rows = found.rows.filter(prompter=result.prompter)
    for short in cut_short(rows, ["prompter"], result.spec).iter_rows(named=True):
        yield f"{short['note']} ({short['sessions']} of {short['of']} sessions)"
    seen = ", ".join(sorted(result.sessions["seen_in_training"].unique().drop_nulls()))
    yield f"data seen in training: {seen or 'unknown'}"
    yield f"intrabench {evidence.library(found.rows)}"


def _yaml(entries: Sequence[Mapping[str, Any]]) -> str:
    """Tables of texts, numbers and tables as YAML; a JSON string is a quoted string of YAML, too."""

    def lines(table: Mapping[str, Any]) -> Iterator[str]:
        for name, value in table.items():
            if isinstance(value, Mapping):
                yield f"{name}:"
                yield from (f"  {line}" for line in lines(value))
            else:
                yield f"{name}: {json.dumps(value, ensure_ascii=False, allow_nan=False)}"

    listed = [f"{'  ' if number else '- '}{line}" for entry in entries for number, line in enumerate(lines(entry))]
    return "\n".join([*listed, ""])
