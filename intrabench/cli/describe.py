"""The output of ``info`` and ``data list``."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from intrabench.cli.describe_numbers import NUMBERS, describe_number, number_facts
from intrabench.cli.parameters import explained, taken_by
from intrabench.errors import IntraBenchError, foreign, several
from intrabench.files.documents import json_number
from intrabench.metrics import lookup
from intrabench.protocols import PROTOCOLS, ROUNDS, Protocol, Stop, protocol
from intrabench.protocols.presets import PRESETS
from intrabench.protocols.row import Row
from intrabench.registry import registry
from intrabench.registry.contract import Room
from intrabench.specs import specs
from intrabench.specs.specs import nearest

if TYPE_CHECKING:
    from intrabench.datasets.base import Dataset


def describe(name: str) -> str:
    """A description of whatever has this name."""
    bare, _, parameters = name.partition(":")
    if bare in PROTOCOLS:
        return _protocol(protocol(name))
    if bare in NUMBERS:
        return describe_number(bare, parameters)
    found = registry.named(bare)
    if not found:
        if (spec := registry.full_spec(name)) != name:
            why = "" if "://" in name else ", as in the IntRaBench paper"
            return f"{name} is {spec}{why}\n\n{describe(spec)}"
        if spec := _of_column(name):
            return f"{name} is the column of {spec}\n\n{describe(spec)}"
        names = [*PROTOCOLS, *NUMBERS, *(other for room in registry.ROOMS for other in registry.entries(room))]
        raise IntraBenchError(
            f"there is nothing named {bare!r}{nearest(bare, names)}; see for example `intrabench list models`"
            f"{registry.left_out(*registry.ROOMS)}"
        )
    return "\n\n".join(_describe(room, entry, parameters) for room, entry in found)


def _of_column(name: str) -> str:
    """The metric whose scores have this name in rows; empty if none has."""
    with suppress(IntraBenchError):
        return lookup.metric(name).spec
    return ""


def described(name: str) -> str:
    """What a model says about itself, or what is known of anything else, as JSON; a list, if several have the name."""
    from intrabench.engine.cost import recalled
    from intrabench.models.about import about
    from intrabench.models.card import card_of

    bare, _, parameters = name.partition(":")
    found = registry.named(bare)
    if any(room == "models" for room, _ in found) or registry.full_spec(name) != name:
        model = registry.make("models", name)
        cost = recalled(model)
        return json.dumps({**about(model), **asdict(card_of(model)), "cost": cost and asdict(cost)}, indent=1)
    if bare in PROTOCOLS:
        return json.dumps(_protocol_facts(protocol(name)), indent=1)
    if bare in NUMBERS:
        return json.dumps(number_facts(bare, parameters), indent=1)
    if not found:
        spec = _of_column(name)
        return described(spec) if spec else describe(name)  # which raises
    facts = [_entry_facts(room, entry, parameters) for room, entry in found]
    return json.dumps(facts if len(facts) > 1 else facts[0], indent=1)


def _entry_facts(room: Room, entry: registry.Entry, parameters: str) -> dict[str, Any]:
    """What `_describe` tells, for programs."""
    cls = entry.load()
    taken = taken_by(cls)
    facts: dict[str, Any] = {"name": entry.name, "kind": entry.kind or registry.ROOMS[room], "origin": entry.origin}
    facts |= {"summary": entry.summary, "description": inspect.cleandoc(cls.__doc__ or "")}
    facts |= {"version": getattr(cls, "version", None), "parameters": taken}
    spec = f"{entry.name}:{parameters}" if parameters else entry.name
    if room == "metrics":
        told = registry.make("metrics", spec).about()
        facts |= told | {"range": [*map(json_number, told["range"])], "worst": json_number(told["worst"])}
    if room == "datasets":
        card = registry.make("datasets", spec).card if isinstance(cls.card, property) else cls.card
        facts |= {"card": asdict(card)}
    return facts


def _protocol_facts(preset: Protocol) -> dict[str, Any]:
    """What `_protocol` tells, for programs."""
    from intrabench.statistics.statistic import averages

    facts: dict[str, Any] = {
        "name": preset.id,
        "kind": "protocol",
        "summary": preset.summary,
        "metrics": list(preset.metrics),
    }
    facts |= {"rounds": preset.rounds, "stop": preset.stop.spec, "aggregation": averages([preset.id]).description}
    facts |= {"plane": preset.plane, "numbers": dict(preset.numbers), "models": list(preset.models)}
    return facts | {"rows": [{"name": row.name, "prompter": row.prompter, "note": row.note} for row in preset.rows]}


def _protocol(preset: Protocol) -> str:
    from intrabench.statistics.statistic import averages

    rounds = f"{ROUNDS}, if a prompter corrects" if preset.rounds is None else preset.rounds
    facts = {"id": preset.id, "summary": preset.summary, "metrics": ", ".join(preset.metrics)}
    facts |= {"rounds of corrections": str(rounds), "stop rule": _stop(preset)}
    facts |= {"aggregation": averages([preset.id]).description}
    if preset.id in PROTOCOLS and preset.plane == "acquisition":
        facts["slices"] = f"in the plane in which each scan was acquired; {preset.id}:plane=coronal chooses another one"
    elif preset.id not in PROTOCOLS:
        facts["slices"] = preset.plane
    facts |= {"targets of a case": f"played together, {preset.joint.spec}"} if preset.joint else {}
    facts |= {"missing answers": "a failed row each; the session goes on"} if preset.misses == "keep" else {}
    lines = [f"{key}: {value}" for key, value in facts.items()]
    return "\n".join([*lines, *_numbers(preset.numbers), *_models(preset.models), *_rows(preset.rows)])


def _stop(preset: Protocol) -> str:
    """What ends a session early, in words."""
    never = "none; not even a perfect answer ends a session"
    return never if preset.stop == Stop(dice=math.inf) else preset.stop.spec or "a perfect answer"


def _numbers(numbers: Sequence[tuple[str, str]]) -> list[str]:
    """A line for each number that the protocol reports."""
    if not numbers:
        return []
    from intrabench.statistics.measures import described

    width = max(len(head) for head, _ in numbers)
    lines = (f"  {head:<{width}}  {described(spec)}" for head, spec in numbers)
    return ["", "numbers (intrabench table --protocol, without --metric):", *lines]


def _models(models: Sequence[str]) -> list[str]:
    """A line for each model, with its short name."""
    if not models:
        return []
    names = {spec: name for name, spec in PRESETS.items()}
    width = max(map(len, PRESETS))
    return ["", "models (run without --model):", *(f"  {names[spec]:<{width}}  {spec}" for spec in models)]


def _rows(rows: Sequence[Row]) -> list[str]:
    """A line for each row, then each note once."""
    if not rows:
        return []
    width = max(len(row.name) for row in rows)
    notes: dict[str, list[str]] = {}
    for row in rows:
        notes.setdefault(row.note, []).append(row.name)
    lines = ["", "rows (run without --prompter, each with the models that it suits; --only GLOB selects):"]
    for row in rows:
        facts = {f"Table {row.table}": row.table, f"{row.dims}D": row.dims}
        place = ", ".join(word for word, fact in facts.items() if fact)
        lines.append("  ".join(["", f"{row.name:<{width}}", *filter(None, [place]), row.prompter]))
    for note, names in notes.items():
        lines += (
            ["", f"{', '.join(names)}:", *wrap(note, 118, initial_indent="  ", subsequent_indent="  ")] if note else []
        )
    return lines


def _describe(room: Room, entry: registry.Entry, parameters: str) -> str:
    cls = entry.load()
    lines = [f"{entry.name} ({registry.ROOMS[room]}, from {entry.origin})", "", inspect.cleandoc(cls.__doc__ or ""), ""]
    lines += ["parameters:"] if fields(cls) else ["no parameters"]
    lines += explained(cls)
    if room == "models":
        model = registry.make("models", f"{entry.name}:{parameters}" if parameters else entry.name)
        try:
            lines += ["", *_model(model)]
        except IntraBenchError as error:  # a repository or a server that cannot be asked now
            lines += ["", f"not known: {error}"]
    if room == "metrics":
        metric = registry.make("metrics", f"{entry.name}:{parameters}" if parameters else entry.name)
        told = metric.about()
        low, high = (f"{end:g}" for end in told["range"])
        facts = {"column": told["column"], "version": metric.version, "unit": told["unit"] or "none"}
        facts |= {"best": told["best"], "range": f"{low} to {high}"}
        facts |= {"a miss counts as": told["miss"]} if told["miss"] else {}
        facts |= {"failures count as": told["miss"] if told["worst"] is None else str(told["worst"])}
        facts |= {"needs": ", ".join(told["needs"])} | ({"source": told["source"]} if told["source"] else {})
        lines += ["", *(f"{key}: {value}" for key, value in facts.items())]
    if room == "datasets":
        dataset = registry.make("datasets", f"{entry.name}:{parameters}" if parameters else entry.name)
        lines += ["", *(f"{key}: {_flat(value)}" for key, value in asdict(dataset.card).items() if value)]
        loose = ", ".join(source.title for source in dataset.sources() if not source.pinned)
        lines += [f"not pinned: {loose}; no checksum is published, so that of the first download counts"] * bool(loose)
    return "\n".join(lines)


def _model(model: Any) -> list[str]:
    from intrabench.models.card import card_of
    from intrabench.models.installing import caution, install_command

    lines = [
        *(f"{name}: {text}" for name, text in asdict(card_of(model)).items() if text),
        f"accepts: {', '.join(sorted(model.accepts))}; works in {model.dims}D; devices: {', '.join(model.devices)}",
        f"answers for: {model.covers}",
        f"takes its own last answer: {'yes' if model.feeds_back else 'no'}",
    ]
    lines += [f"interpolated and other derived prompts (none or all): {model.derived}"] if model.dims == 3 else []
    if model.dims == 3 and "scribble" not in model.accepts:
        lines += [f"points of strokes (one_negative, one or all): {model.abilities.strokes}"]
    lines += [f"needs: {install_command(model.extra)}"] if model.extra else []
    lines += [f"note: {warning}"] if model.extra and (warning := caution(model.extra)) else []
    return [*lines, *_weights(model), f"cost: {_cost(model)}"]


def _cost(model: Any) -> str:
    """What `check` measured of a model, in words."""
    from intrabench.engine.cost import recalled

    return str(recalled(model) or f"not measured here; `intrabench check {model.short_spec}` measures it")


def _weights(model: Any) -> list[str]:
    from intrabench.models.weights import registry as weights

    lines = [f"weights {key}: {_flat(value)}" for key, value in (weights.facts(model) or {}).items() if value]
    return [*lines, f"weights {weights.pin(model.weights)}"] if model.weights else lines


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        texts = {key: ", ".join(each) if isinstance(each, tuple) else each for key, each in value.items()}
        value = [f"{key} = {text}" if text else key for key, text in texts.items()]
    return "; ".join(str(part) for part in value) if isinstance(value, tuple | list) else str(value)


def datasets(json: bool = False) -> list[dict[str, Any]]:
    """One line per data set: modality, size, licence, and number of local cases; json: numbers stay numbers."""
    rows: list[dict[str, Any]] = []
    for name, entry in registry.entries("datasets").items():
        try:
            with foreign():
                facts = _facts(name, specs.build(entry.load(), {}, name))
        except Exception:  # a class of the user's may raise anything; the others are listed all the same
            unknown = dict.fromkeys(("paper", "modality", "cases", "targets", "megabytes", "cases_here"))
            facts = {"name": name, **unknown, "licence": f"? (see `intrabench info {name}`)"}
        rows.append(facts if json else _in_words(facts))
    return rows


def _facts(name: str, dataset: Dataset) -> dict[str, Any]:
    from intrabench.datasets.cases import store

    card = dataset.card
    cases = card.cases or _count(dataset)
    here = store.stored_cases(dataset)
    return {
        "name": name,
        "paper": card.paper or None,
        "modality": card.modality.partition(",")[0],
        "cases": cases or None,
        "targets": card.targets or None,
        "megabytes": dataset.megabytes(),
        "cases_here": here,
        "licence": card.licence.partition(";")[0].partition(" (")[0],
    }


def _in_words(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a data set as people read them."""
    from intrabench.datasets.base import data_size

    broken, cases, here = facts["modality"] is None, facts["cases"], facts["cases_here"]
    return {
        "name": facts["name"],
        "paper": "?" if broken else facts["paper"] or "-",
        "modality": facts["modality"] or "?",
        "cases": cases or "?",
        "targets": facts["targets"] or "?",
        "size": "?" if broken else data_size(facts["megabytes"]),
        "here": "?" if broken else "yes" if cases and here >= cases else several(here, "case") if here else "no",
        "licence": facts["licence"],
    }


def _count(dataset: Dataset) -> int:
    """The number of cases; 0 if unknown, before a download or because the data set fails."""
    try:
        with foreign():
            return len(dataset.cases())
    except Exception:  # the data set's own code may raise anything
        return 0


def targets_of(spec: str) -> list[dict[str, Any]]:
    """Cases and targets of a data set, one line each; also cases that are not stored yet."""
    from intrabench.datasets.cases import store
    from intrabench.datasets.cases.selection import select_cases

    dataset = registry.make("datasets", spec)
    rows: list[dict[str, Any]] = []
    for case in select_cases(dataset, []):
        index = store.index(dataset, case)
        if index is None:
            lacks = f"not {store.lacks(dataset, case)} yet; run: intrabench data get {spec}"
            rows.append({"case": case, "target": lacks})
        else:
            rows += [
                {"case": case, "target": info.id, "voxels": info.voxels, "slices": info.slices}
                for info in index.targets
            ]
    return rows
