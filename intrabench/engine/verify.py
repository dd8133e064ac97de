"""Compute some sessions of a results folder again and compare them with the stored rows."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store as cases
from intrabench.datasets.phantom import Phantom
from intrabench.effort import SECONDS, Calibration
from intrabench.engine.environment import versions, versions_hash
from intrabench.engine.options import Options
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.run import execute
from intrabench.engine.session_spec import CONTRACT
from intrabench.errors import IntraBenchError, several
from intrabench.files.temporary import temporary_folder
from intrabench.identity.versions import HASHED
from intrabench.models.nninteractive_server import without_token
from intrabench.models.weights.registry import BY_HAND, RANDOM
from intrabench.prompters.base import Prompter
from intrabench.prompters.combined import make_prompter
from intrabench.prompters.human import Human
from intrabench.protocols import protocol
from intrabench.registry import registry
from intrabench.registry.reach import reaches, refusal, ships
from intrabench.results.differences import describe, differences, who
from intrabench.results.labels import by_person
from intrabench.results.origin import NotOpened, dataset_of
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.runs import at_home, read_record
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.statuses import UNDONE
from intrabench.specs.specs import Reached
from intrabench.turns import turns_by_round

TIMEOUT_S = 3600.0
"""For all replays of a check together."""

MOST_VOXELS, MOST_SCANS, MOST_REQUESTS = 2**28, 10_000, 64
"""Of phantoms, and of a batch: larger ones are not computed only because somebody's rows or records say so."""

_DIGITS = 9
"""Of a number that somebody wrote; Python refuses to read those of thousands."""

ALLOW = "--trust allows that for this call"


@dataclass(frozen=True)
class Verdict:
    """The result for a session: `rounding` is within a network's tolerance, `unknown` could not be verified.

    reason: why it could not even be played again, which many sessions may have in common; the message has it, too.
    """

    session: str
    found: Literal["equal", "rounding", "differs", "unknown"]
    message: str
    reason: str = ""


@dataclass(frozen=True)
class Trust:
    """What a replay may reach and execute, apart from what is installed and the classes of the workspace.

    A results folder may be somebody else's, so what only its rows and records name counts only if the user says so: by
    naming plug-ins and the interpreter here, or by trusting the folder.
    """

    plugin: Sequence[Path] = ()
    python: Path | None = None
    folder: bool = False


def verify(
    results: Path,
    sample: int = 20,
    seed: int = 0,
    trust: Trust = Trust(),
    timeout_s: float = TIMEOUT_S,
    selection: Selection = EVERYTHING,
) -> Iterator[Verdict]:
    """Play random finished sessions again, with the code of normal runs, into a temporary folder.

    Nothing is downloaded. A session that differs but was computed with other package versions is `unknown`, unless
    nothing but our own code on the CPU decided it. So is one that needs what only the folder names, and those that
    are not played within `timeout_s` seconds. selection: of which sessions.

    Raises:
        IntraBenchError: there is nothing to verify.
    """
    if sample < 1:
        raise IntraBenchError(f"--sample {sample} is not a number of sessions; give 1 or more")
    check_timeout(timeout_s)
    # sorted, so that a seed draws the same sessions in whatever order their parts were written
    rows = finished_rows(results).sort("session", "round")
    names = selection.of(rows, results)["session"].unique().sort().to_list()
    end = time.monotonic() + timeout_s
    for name in random.Random(seed).sample(names, min(sample, len(names))):
        stored = rows.filter(pl.col("session") == name)
        left = end - time.monotonic()
        found = _verdict(results, stored, trust, together(rows, stored["joint"][0]), left) if left > 0 else None
        yield found or _unplayed(
            name, who(stored.row(-1, named=True)), f"it was not played within {timeout_s:g} s (--timeout)"
        )


def finished_rows(results: Path) -> pl.DataFrame:
    """The rows of all sessions that did not fail.

    Raises:
        IntraBenchError: there are none.
    """
    rows = read_rows(results)
    failed = rows.filter(pl.col("status").is_in(UNDONE))["session"].unique()
    rows = rows.filter(~pl.col("session").is_in(failed.implode()))
    if rows.is_empty():
        raise IntraBenchError(f"{results} has no finished sessions; `intrabench run` computes some")
    return rows


def together(rows: pl.DataFrame, joint: object) -> list[str]:
    """The targets of a joint session; none without one."""
    return rows.filter(pl.col("joint") == joint)["target"].unique().to_list() if joint else []


def check_timeout(seconds: float) -> None:
    """Refuse what is no number of seconds."""
    if not 0 < seconds < math.inf:
        raise IntraBenchError(f"--timeout {seconds:g} is not a time limit; give seconds, such as {TIMEOUT_S:g}")


def _verdict(results: Path, stored: pl.DataFrame, trust: Trust, joint: Sequence[str], left_s: float) -> Verdict | None:
    """Play one session again; `stored` has its rows. joint: all targets of its joint session.

    Returns:
        What came of it; None if it was not finished in `left_s` seconds.
    """
    end = time.monotonic() + left_s
    row = stored.row(-1, named=True)
    session, name = row["session"], who(row)
    if row["contract"] != CONTRACT:
        reason = "it is of an older version of intrabench, in which sessions are defined differently; run it again"
        return _unplayed(session, name, reason)
    try:
        options = options_of(results, stored, trust, joint)
        with temporary_folder() as folder, without_token():
            limited = replace(options, timeout=min(options.timeout, left_s))
            execute(limited, folder, Silent(), given=False, limit_s=left_s)
            played = read_rows(folder)
    except IntraBenchError as error:
        return _unplayed(session, name, f"{error}{_not_loaded(results, row, trust)}")
    again = played.filter(pl.col("session") == session).sort("round")
    unfinished = len(again) < len(stored) or again["status"][-1] == "timeout"
    if unfinished and time.monotonic() >= end:
        return None
    if again.is_empty():
        return _unplayed(session, name, _why_another(row, played))
    if again["status"][-1] in ("oom", "timeout"):
        return Verdict(session, "unknown", f"{name}: {again['status'][-1]} here ({again['error'][-1]})")
    return _compared(stored, again, read_record(results, row["run_id"]).get("versions", {}))


def _unplayed(session: str, name: str, reason: str) -> Verdict:
    return Verdict(session, "unknown", f"{name}: {reason}", reason)


def options_of(results: Path, stored: pl.DataFrame, trust: Trust, joint: Sequence[str] = ()) -> Options:
    """The options of a job of this one session, with the largest number of rounds of any run.

    Raises:
        IntraBenchError: its data set is not available, or it needs a file that only the folder names.
    """
    row = stored.row(-1, named=True)
    given = read_record(results, row["run_id"]).get("options", {})
    named = [Path(at_home(path)) for path in given.get("plugin", [])] if trust.folder else []
    plugins = [*trust.plugin, *(path for path in named if path.is_file())]
    registry.add_plugins(plugins)
    python = Path(at_home(given["python"])) if given.get("python") else None
    # All that only the folder names is collected before anything of it is opened or run, and refused in one sentence.
    # Plug-ins of the user come first, for the data set may be one of theirs.
    found: list[Reached] = []
    try:
        dataset = dataset_of(results, row, trust.folder)
    except NotOpened as error:
        found.append(Reached("read", error.path))
    found += () if trust.folder else _reached(row, given, trust)
    if found:
        own = ", or give an interpreter by --python" if given.get("python") and trust.python is None else ""
        raise IntraBenchError(refusal(found, str(results), f"{ALLOW}{own}"))
    if not trust.folder:
        _check_work(dataset, given)
    if cases.look(dataset, row["case"])[0] is None and cases.to_download(dataset, [row["case"]]):
        raise IntraBenchError(f"its scan is missing; `intrabench data get {dataset.argument}` downloads it")
    weights = {RANDOM: Path(RANDOM), BY_HAND: Path(at_home(str(given.get("weights"))))}
    return Options(
        model=[row["model"]],
        dataset=[dataset.argument],
        prompter=[_prompter(results, row)],
        seed=[row["seed"]],
        protocol=row["protocol"],
        metric=[name for name in _metrics(row) if name in row],  # it may name thousands without a number
        rounds=None if protocol(row["protocol"]).fixed_rounds else _rounds(results, stored),  # of a challenge its own
        stop=row["stop"],
        effort=_effort(results, row),
        joint=row["joint_rules"] or "",
        cases=[row["case"]],
        targets=given.get("targets", []) if protocol(row["protocol"]).partition else joint or [row["target"]],
        strict=row["strict"],
        device="cpu" if row["device"] == "cpu" else "auto",
        dtype=row["dtype"],
        batch=given.get("batch", "fixed"),
        weights=weights.get(row["weights"]),
        compile=given.get("compile", False),
        cache_embeddings=False,
        python=python and (python if trust.folder else trust.python),
        plugin=plugins,
    )


def _reached(row: Mapping[str, Any], given: Mapping[str, Any], trust: Trust) -> Iterator[Reached]:
    """What playing a session would open, contact or run that only the folder names, besides its data set."""
    yield from reaches("models", row["model"])
    yield from reaches("prompters", row["prompter"])
    for spec in _metrics(row):
        yield from reaches("metrics", spec) if ":" in spec else ()  # others are names of columns
    if row["weights"] == BY_HAND:
        code = "" if ships(row["model"]) else "the code that may be in "
        yield Reached("program" if code else "read", f"{code}{given.get('weights')}")
    if given.get("python") and trust.python is None:
        yield Reached("program", str(given["python"]))


def _metrics(row: Mapping[str, Any]) -> list[str]:
    """The metrics that a row names."""
    return [id.rpartition("@")[0] for id in (row["metrics"] or "").split()]


def _check_work(dataset: Dataset, given: Mapping[str, Any]) -> None:
    """Refuse sizes that would keep this machine busy only because somebody wrote them.

    Raises:
        IntraBenchError: a phantom or a batch is larger than any that people need.
    """
    made, batch = dataset.stored_as, str(given.get("batch", "fixed"))
    if isinstance(made, Phantom) and (math.prod(made.shape) > MOST_VOXELS or made.scans > MOST_SCANS):
        raise IntraBenchError(
            f"{dataset.short_spec} has more than {MOST_VOXELS:,} voxels or {MOST_SCANS:,} scans, so it is not made; "
            f"{ALLOW}"
        )
    if batch.isdecimal() and (len(batch) > _DIGITS or int(batch) > MOST_REQUESTS):
        raise IntraBenchError(
            f"its record wants batches of {batch[:_DIGITS]}, which are more than {MOST_REQUESTS}; {ALLOW}"
        )


def _rounds(results: Path, stored: pl.DataFrame) -> int:
    """The corrections to allow: as many as it has, and one more if its run would have allowed that, too.

    A session that ended early ends early again. A record that names any larger number causes no more work.
    """
    has = max(stored["round"].to_list())
    asked = [read_record(results, run).get("rounds", 0) for run in stored["run_id"].unique()]
    return min(max(has, *asked), has + 1)


def _effort(results: Path, row: Mapping[str, Any]) -> Calibration | None:
    """The table of seconds of a row, from the record of its run.

    Raises:
        IntraBenchError: it is not there.
    """
    if row["effort"] == SECONDS:
        return None
    content = read_record(results, row["run_id"]).get("effort")
    if content is None or (found := Calibration.of(content)).id != row["effort"]:
        raise IntraBenchError(
            f"its effort table {row['effort']} is not in runs/{row['run_id']}.json, the record of its run"
        )
    return found


def _prompter(results: Path, row: Mapping[str, Any]) -> Prompter | str:
    """The prompter of a row; a person's turns are those that were stored."""
    if not by_person(row["prompter"]) or row["status"] == "not_applicable":
        return str(row["prompter"])
    rounds = turns_by_round(read_turns(results, [row["session"]]).sort("turn").to_dicts())
    person = registry.make("prompters", row["prompter"])
    assert isinstance(person, Human)
    return person.replaying([turn for number in sorted(rounds) for turn in rounds[number]])


def _not_loaded(results: Path, row: Mapping[str, Any], trust: Trust) -> str:
    """The end of a sentence: the plug-ins of the run that were left out and may be what is missing."""
    known = [os.path.abspath(path) for path in trust.plugin]
    named = read_record(results, row["run_id"]).get("options", {}).get("plugin", [])
    named = [path for path in named if os.path.abspath(at_home(path)) not in known]
    if trust.folder or not named:
        return ""
    return (
        f"; not loaded: {', '.join(named)}, which the run loaded and only {results} names; give your copy by --plugin, "
        "or --trust the folder"
    )


def _why_another(row: Mapping[str, Any], played: pl.DataFrame) -> str:
    """Why the same options gave a different session than the stored one."""
    now = played.row(0, named=True)
    if now["status"] in UNDONE and now["target"] != row["target"]:
        return str(now["error"])
    return changed_since(row, now)


def changed_since(row: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Why a stored session is another one than the same options define now, of which `now` has the columns."""
    names = ("dataset_version", "model_version", "prompter_version", "weights_sha256", "target_voxels")
    changed = [f"{name} was {row[name]} and is {now[name]}" for name in names if row[name] != now[name]]
    what = ", ".join(changed) or "the scan, the target or the meaning of rows has changed"
    return f"it is a different session now: {what}"


def _compared(stored: pl.DataFrame, again: pl.DataFrame, versions_then: Mapping[str, str]) -> Verdict:
    """Whether the replayed session equals the stored one."""
    session, name = stored["session"][0], who(stored.row(0, named=True))
    found = differences(stored, again)
    lines = [describe(row, "store", "replay") for row in found.filter(~pl.col("near")).iter_rows(named=True)]
    if len(stored) != len(again) and found.is_empty():
        lines.append(f"{name}: has {several(len(stored), 'round')} in store and {len(again)} in replay")
    if not lines:
        verdict: Literal["rounding", "equal"] = "equal" if found.is_empty() else "rounding"
        return Verdict(session, verdict, name)
    if versions_hash() in stored["package_versions_hash"].to_list() or _is_reproducible(again.row(-1, named=True)):
        return Verdict(session, "differs", "; ".join(lines))
    return Verdict(session, "unknown", f"{'; '.join(lines)}; but it was computed with {_others(versions_then)}")


def _is_reproducible(row: Mapping[str, Any]) -> bool:
    """Whether the answers depend on no network, no GPU, and on no code and files but ours: a difference then is one.

    row: of the replay. Which package versions, device or weights a submission says that it used cannot excuse it.
    """
    with suppress(IntraBenchError):
        own = any(HASHED.search(row[name] or "") for name in ("prompter_version", "dataset_version"))
        weights = row["weights"] or row["weights_sha256"]
        if not own and row["device"] == "cpu" and not weights and ships(row["model"]):
            reached = [*reaches("models", row["model"]), *reaches("prompters", row["prompter"])]
            return not reached and not make_prompter(row["prompter"]).computes
    return False


def _others(then: Mapping[str, str]) -> str:
    """The package versions that differ."""
    now = versions()
    changed = [
        f"{name} {then.get(name, 'absent')} instead of {now.get(name, 'absent')}"
        for name in {**then, **now}
        if then.get(name) != now.get(name)
    ]
    return ", ".join(changed) if then and changed else "other package versions"
