"""Compute some sessions of a results folder again and compare them with the stored rows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from intrabench import registry, specs
from intrabench.calibration import Calibration
from intrabench.datasets.cases import store as cases
from intrabench.effort import SECONDS
from intrabench.engine.environment import versions, versions_hash
from intrabench.engine.local import execute
from intrabench.engine.options import Options
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.units import CONTRACT
from intrabench.errors import IntraBenchError, several
from intrabench.models.weights.registry import BY_HAND, RANDOM
from intrabench.prompters.base import Prompter
from intrabench.prompters.human import Human
from intrabench.protocols import protocol
from intrabench.results.differences import describe, differences, who
from intrabench.results.origin import dataset_of
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.runs import at_home, read_record
from intrabench.results.statuses import UNDONE
from intrabench.temporary import temporary_folder
from intrabench.turns import turns_by_round


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
    """What a replay may execute, apart from what is installed and the classes of the workspace.

    A results folder may be somebody else's, so the plug-ins and the interpreter that its records name count only if the
    user says so: by naming them (plugin, python), or by trusting the folder.
    """

    plugin: Sequence[Path] = ()
    python: Path | None = None
    folder: bool = False


def verify(results: Path, sample: int = 20, seed: int = 0, trust: Trust = Trust()) -> Iterator[Verdict]:
    """Play random finished sessions again, with the code of normal runs, into a temporary folder.

    Nothing is downloaded. A session that differs but was computed with other package versions is `unknown`, and so is
    one that needs code that only the folder names.

    Raises:
        IntraBenchError: there is nothing to verify.
    """
    if sample < 1:
        raise IntraBenchError(f"--sample {sample} is not a number of sessions; give 1 or more")
    rows = read_rows(results)
    failed = rows.filter(pl.col("status").is_in(UNDONE))["session"].to_list()
    rows = rows.filter(~pl.col("session").is_in(failed)).sort("session", "round")
    names = rows["session"].unique().sort().to_list()
    if not names:
        raise IntraBenchError(f"{results} has no finished sessions; `intrabench run` computes some")
    for name in random.Random(seed).sample(names, min(sample, len(names))):
        stored = rows.filter(pl.col("session") == name)
        joint = stored["joint"][0]
        together = rows.filter(pl.col("joint") == joint)["target"].unique().to_list() if joint else []
        yield _verdict(results, stored, trust, together)


def _verdict(results: Path, stored: pl.DataFrame, trust: Trust, together: Sequence[str]) -> Verdict:
    """Play one session again; `stored` has its rows. together: all targets of its joint session."""
    row = stored.row(-1, named=True)
    session, name = row["session"], who(row)
    if row["contract"] != CONTRACT:
        reason = "it is of an older version of intrabench, in which sessions are defined differently; run it again"
        return _unplayed(session, name, reason)
    try:
        options = _options(results, stored, trust, together)
        with temporary_folder() as folder:
            execute(options, folder, Silent())
            played = read_rows(folder)
    except IntraBenchError as error:
        return _unplayed(session, name, f"{error}{_not_loaded(results, row, trust)}")
    again = played.filter(pl.col("session") == session).sort("round")
    if again.is_empty():
        return _unplayed(session, name, _why_another(row, played))
    if again["status"][-1] in ("oom", "timeout"):
        return Verdict(session, "unknown", f"{name}: {again['status'][-1]} here ({again['error'][-1]})")
    return _compared(stored, again, read_record(results, row["run_id"]).get("versions", {}))


def _unplayed(session: str, name: str, reason: str) -> Verdict:
    return Verdict(session, "unknown", f"{name}: {reason}", reason)


def _options(results: Path, stored: pl.DataFrame, trust: Trust, together: Sequence[str] = ()) -> Options:
    """The options of a job of this one session, with the largest number of rounds of any run.

    Raises:
        IntraBenchError: its data set is not available, or it needs a file that only the folder names.
    """
    row = stored.row(-1, named=True)
    given = read_record(results, row["run_id"]).get("options", {})
    asked = [read_record(results, run).get("rounds", 0) for run in stored["run_id"].unique()]
    named = [path for path in map(Path, map(at_home, given.get("plugin", []))) if path.is_file()]
    plugins = [*trust.plugin, *(named if trust.folder else ())]
    registry.add_plugins(plugins)
    python = Path(at_home(given["python"])) if given.get("python") else None
    if python is not None and not trust.folder:
        if trust.python is None:
            raise IntraBenchError(
                f"its run used the interpreter {given['python']}, which only {results} names; give one by --python, or "
                "--trust the folder"
            )
        python = trust.python
    dataset = dataset_of(results, row)
    if cases.look(dataset, row["case"])[0] is None and cases.to_download(dataset, [row["case"]]):
        raise IntraBenchError(f"its scan is missing; `intrabench data get {dataset.argument}` downloads it")
    weights = {RANDOM: Path(RANDOM), BY_HAND: Path(at_home(str(given.get("weights"))))}
    if row["weights"] == BY_HAND and not trust.folder and not _ships(row["model"]):
        raise IntraBenchError(
            f"your class would read the weights {given.get('weights')}, which only {results} names and which may run "
            "code; --trust the folder"
        )
    if not trust.folder and registry.make("models", row["model"]).runs_programs:
        raise IntraBenchError(f"its model {row['model']} is a program that only {results} names; --trust the folder")
    return Options(
        model=[row["model"]],
        dataset=[dataset.argument],
        prompter=[_prompter(results, row)],
        seed=[row["seed"]],
        protocol=row["protocol"],
        metric=[id.rpartition("@")[0] for id in (row["metrics"] or "").split()],
        rounds=None if protocol(row["protocol"]).fixed_rounds else max(row["round"], *asked),  # of a challenge its own
        stop=row["stop"],
        effort=_effort(results, row),
        joint=row["joint_rules"] or "",
        cases=[row["case"]],
        targets=given.get("targets", []) if protocol(row["protocol"]).partition else together or [row["target"]],
        strict=row["strict"],
        device="cpu" if row["device"] == "cpu" else "auto",
        dtype=row["dtype"],
        batch=given.get("batch", "fixed"),
        weights=weights.get(row["weights"]),
        compile=given.get("compile", False),
        cache_embeddings=False,
        python=python,
        plugin=plugins,
    )


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
    if not row["prompter"].startswith("human:") or row["status"] == "not_applicable":
        return str(row["prompter"])
    rounds = turns_by_round(read_turns(results, [row["session"]]).sort("turn").to_dicts())
    person = registry.make("prompters", row["prompter"])
    assert isinstance(person, Human)
    return person.replaying([turn for number in sorted(rounds) for turn in rounds[number]])


def _ships(model: str) -> bool:
    """Whether a model is IntraBench's own; these read weights without running code from them."""
    names = [specs.parse(part)[0] for part in specs.in_sequence(model)]
    return all(registry.find("models", name).origin == "intrabench" for name in names)


def _not_loaded(results: Path, row: Mapping[str, Any], trust: Trust) -> str:
    """The end of a sentence: the plug-ins of the run that were left out and may be what is missing."""
    known = [path.resolve() for path in trust.plugin]
    named = read_record(results, row["run_id"]).get("options", {}).get("plugin", [])
    named = [path for path in named if Path(at_home(path)).resolve() not in known]
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
    if versions_hash() in stored["package_versions_hash"].to_list():
        return Verdict(session, "differs", "; ".join(lines))
    return Verdict(session, "unknown", f"{'; '.join(lines)}; but it was computed with {_others(versions_then)}")


def _others(then: Mapping[str, str]) -> str:
    """The package versions that differ."""
    now = versions()
    changed = [
        f"{name} {then.get(name, 'absent')} instead of {now.get(name, 'absent')}"
        for name in {**then, **now}
        if then.get(name) != now.get(name)
    ]
    return ", ".join(changed) if then and changed else "other package versions"
