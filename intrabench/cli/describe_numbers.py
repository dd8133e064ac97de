"""The output of ``info`` for summaries of sessions and for tables of effort, which are no classes of a room."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any

from intrabench.cli.parameters import explained, taken_by
from intrabench.effort import COUNTED, TABLES, shipped_toml, table
from intrabench.errors import IntraBenchError
from intrabench.registry.summaries import MACHINE_TIME, SUMMARIES, SUMMARY

NUMBERS = (*SUMMARIES, *MACHINE_TIME, *TABLES)
"""All names that `describe_number` takes."""

AGAINST = {
    "interactions": "interactions of the user",
    "dof": "degrees of freedom, the numbers that the user sets",
    "seconds_human": "seconds of the user, by a table of effort: `intrabench info seconds@1`",
    "seconds": "seconds of the model",
    "round": "rounds of corrections",
}
"""What `against` takes, in words."""


def describe_number(name: str, parameters: str = "") -> str:
    """What a summary of sessions or a table of effort is, with its parameters or costs."""
    facts = number_facts(name, parameters)
    if name in TABLES:
        costs = facts["costs"]
        width = max(map(len, costs))
        lines = [f"  {kind:<{width}}  {_cost(entry)}" for kind, entry in costs.items()]
        use = f"intrabench info {name} --toml prints it as a file to edit for --effort"
        return "\n".join([f"{name} (table of effort)", "", f"source: {facts['source']}", "", *lines, "", use])
    lines = [f"{name} ({SUMMARY}, from intrabench)", "", facts["description"], ""]
    if name in MACHINE_TIME:
        told = (f"{key}: {facts[key]}" for key in ("column", "unit", "best"))
        return "\n".join([*lines, "no parameters", "", *told])
    taken = facts["parameters"]
    lines += ["parameters:", *explained(_summary(name)), ""]
    if "against" in taken:
        lines += ["against is one of:", *(f"  {one}: {words}" for one, words in AGAINST.items()), ""]
    shown = f"{name}:{parameters}" if parameters else name
    return "\n".join([*lines, f"{shown}: {facts['means']}", f"best: {facts['best']}"])


def number_facts(name: str, parameters: str = "") -> dict[str, Any]:
    """What `describe_number` tells, for programs."""
    if parameters and name in (*TABLES, *MACHINE_TIME):
        raise IntraBenchError(f"{name} takes no parameters; give {name} without {parameters!r}")
    if name in TABLES:
        costs = table(name)
        return {
            "name": name,
            "kind": "table of effort",
            "source": costs["source"],
            "costs": {kind: entry for kind, entry in costs.items() if kind != "source"},
        }
    from intrabench.statistics.scores import MachineTime

    facts: dict[str, Any] = {"name": name, "kind": SUMMARY, "origin": "intrabench"}
    if name in MACHINE_TIME:
        text, time = MACHINE_TIME[name], MachineTime()
        facts |= {"summary": text, "description": text}
        return facts | {"column": time.column, "unit": time.unit, "best": time.best}
    from intrabench.statistics import measures

    cls = _summary(name)
    made = measures.summary(f"{name}:{parameters}" if parameters else name)
    assert made is not None
    facts |= {"summary": SUMMARIES[name], "description": inspect.cleandoc(cls.__doc__ or "")}
    facts |= {"parameters": taken_by(cls), "values": asdict(made), "means": made.description, "best": made.best}  # type: ignore[call-overload]
    return facts


def _summary(name: str) -> type[Any]:
    from intrabench.statistics.measures import SUMMARIES as CLASSES

    return CLASSES[name]


def toml(name: str) -> str:
    """A table of effort as a file for ``--effort``.

    Raises:
        IntraBenchError: it is something else.
    """
    if name not in TABLES:
        raise IntraBenchError(f"--toml prints a table of effort, which {name} is not; give one of {', '.join(TABLES)}")
    return shipped_toml(name)


def _cost(entry: dict[str, float]) -> str:
    words = {"each": "each", "once_per_round": "once per round"}
    words |= {f"per_{one}": f"per {one.replace('_', ' ')}" for one in COUNTED}
    return ", ".join(f"{entry[key]:g} {word}" for key, word in words.items() if entry.get(key))
