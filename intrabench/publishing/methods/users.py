"""Facts on the users: who prompted, how, and when a session ended."""

from __future__ import annotations

import math
import re

from intrabench.errors import IntraBenchError
from intrabench.protocols import PROTOCOLS, stopping
from intrabench.publishing.methods.markup import INTRABENCH, Bibliography, count, listed, name, of_prompters, plain
from intrabench.publishing.methods.provenance import Provenance
from intrabench.registry import registry
from intrabench.specs.specs import split

PEOPLE = ("human", "recorded")
"""Prompters that give what people gave."""


def prompting(of: Provenance, cites: Bibliography) -> str:
    """Who prompts, by which protocol."""
    given_by_people = {spec.partition(":")[0] in PEOPLE for spec in specs(of)}
    who = {1: "People", 2: "People and simulated users"}[len(given_by_people)] if True in given_by_people else ""
    versions = {str(one) for record in of.records if (one := record.get("versions", {}).get("intrabench"))}
    software = INTRABENCH.format(version=f" {listed(sorted(versions))}" if versions else "")
    protocols = of.rows["protocol"].unique().sort().to_list()
    joint = of.rows["joint_rules"].drop_nulls().unique().sort().to_list()
    together = f" All targets of a case were played together ({listed([name(one) for one in joint])})." if joint else ""
    planes = of.rows["plane"].drop_nulls().unique().sort().to_list()
    slices = f" Scans were read in {listed(planes)} slices." if set(planes) - {"axial"} else ""
    return (
        f"{who or 'Simulated users'} prompted the models in IntraBench{cites.cite([software])}, under the "
        f"protocol{'s' * (len(protocols) > 1)} {listed([name(one) for one in protocols])}. In a session, one user "
        f"prompts one model for one target, with one random seed.{together}{slices}"
    )


def prompters(of: Provenance, cites: Bibliography) -> str:
    """What the first prompts are; a class that corrects may give them, too."""
    parts = [split(spec) for spec in specs(of)]
    first = dict.fromkeys(
        part for spec in parts for part in (spec[0], *(one for one in spec[1:] if _kind(one) not in _FOLLOWING))
    )
    return f"The first prompts were those of {listed([_described(one, cites) for one in first])}."


def corrections(of: Provenance, cites: Bibliography) -> str:
    """What corrects the answers, and how often."""
    allowed = max([of.corrections, *(int(one.get("rounds", 0)) for one in of.records)])
    by = {spec: _correcting(spec, alone=allowed > 0) for spec in specs(of)}
    refined = [spec for spec, parts in by.items() if parts]
    if not of.corrections and not refined:
        return "No answer was corrected."
    first = {split(spec)[0] for spec in by}
    parts = dict.fromkeys(part for spec in refined for part in by[spec])
    how = f" by {listed([name(one) if one in first else _described(one, cites) for one in parts])}" if parts else ""
    which = "" if len(refined) in (0, len(specs(of))) else f" of {listed([name(one) for one in refined])}"
    return f"After them, a session{which} had up to {count(allowed, 'correction')}{how}."


def _correcting(spec: str, *, alone: bool) -> list[str]:
    """The parts of a spec that correct answers; alone: a class that corrects and stands alone goes on by itself."""
    first, *others = split(spec)
    found = [part for part in others if _kind(part) == "refinement"]
    return found or ([first] if alone and _kind(first) == "refinement" else [])


def stop(of: Provenance, cites: Bibliography) -> str:
    """The rule that ends a session early, and its budget."""
    rules = of.rows["stop"].fill_null("").unique().sort(descending=True).to_list()
    return " ".join(_stop(rule, alone=len(rules) == 1) for rule in rules)


def _stop(rule: str, *, alone: bool) -> str:
    try:
        found = stopping(PROTOCOLS["basic@1"], rule).stop
    except IntraBenchError:
        return f"Sessions ended early by the rule {name(rule)}."
    where = (
        "A session"
        if alone
        else f"With the stop rule {name(rule)}, a session"
        if rule
        else "Without a stop rule, a session"
    )
    ends = {
        found.dice > 1: "never ended early because of its answer",
        found.dice == 1: "ended early only if its answer was perfect",
        found.dice < 1: f"ended early once its Dice reached {found.dice:g}",
    }[True]
    limits = {
        "interactions": found.interactions,
        "seconds of the user": found.seconds,
        "seconds of the model per target": found.model_s,
    }
    budget = [f"{limit:g} {what}" for what, limit in limits.items() if limit < math.inf]
    spent = f"Its budget was {listed(budget)}." if budget else "It had no budget of interactions or time."
    return f"{where} {ends}; its last answer then stands for all later rounds. {spent}"


def hand(of: Provenance, cites: Bibliography) -> str:
    """Errors of the user's hand."""
    errors = dict.fromkeys(part for spec in specs(of) for part in split(spec)[1:] if _kind(part) == "modifier")
    if not errors:
        return "No errors of the hand were simulated."
    return f"Errors of the hand were simulated by {listed([name(one) for one in errors])}."


def seeds(of: Provenance, cites: Bibliography) -> str:
    """The random seeds."""
    found = of.rows["seed"].unique().sort().to_list()
    shown = listed([str(seed) for seed in found]) if len(found) <= 5 else f"{found[0]} to {found[-1]}"
    return f"Each target was played with {count(len(found), 'random seed')} ({shown})."


def specs(of: Provenance) -> list[str]:
    """The prompters of all rows, as specs."""
    return of.rows["prompter"].unique().sort().to_list()


def name_of(spec: str) -> str:
    """The name of a class in a spec."""
    return spec.partition(":")[0]


_FOLLOWING = ("refinement", "modifier")
"""Kinds of the parts of a spec that are no first prompts where they stand behind one."""


def _kind(spec: str) -> str:
    entry = registry.entries("prompters").get(name_of(spec))
    return entry.kind if entry else ""


def _described(spec: str, cites: Bibliography) -> str:
    """A spec with what its class says of itself, without the names of published rows, and its citation."""
    entry = registry.entries("prompters").get(name_of(spec))
    if entry is None:
        return name(spec)
    cited = cites.cite(of_prompters(name_of(spec)))
    text = _PRINTED.sub("", plain(entry.summary)).rstrip(".")
    return (
        f"{name(spec)} ({text[:1].lower() if text[1:2].islower() or text[1:2] == ' ' else text[:1]}{text[1:]}){cited}"
    )


_PRINTED = re.compile(r',? \((?:"[^"]*"(?: of the paper)?(?:, or [^()]*)?)\)')
