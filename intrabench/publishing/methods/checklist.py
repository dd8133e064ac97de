"""The sections of the methods and the checklist: which fact stands where, and what is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from intrabench.publishing.methods import data_and_models, outcomes, users
from intrabench.publishing.methods.citations import Bibliography
from intrabench.publishing.methods.fact import Fact, Missing
from intrabench.publishing.methods.open_questions import NEVER, unknown
from intrabench.publishing.methods.provenance import Provenance

SECTIONS: Mapping[str, Mapping[str, Fact]] = {
    "Users": {
        "who prompted, and by which protocol": users.prompting,
        "first prompts": users.prompters,
        "corrections": users.corrections,
        "stop rule and budget": users.stop,
        "errors of the hand": users.hand,
        "random seeds": users.seeds,
    },
    "Data": {
        "data sets: versions, licences, cases, targets": data_and_models.data,
        "selection of cases": data_and_models.selection,
        "split": data_and_models.splits,
    },
    "Models": {
        "models: versions, weights, licences": data_and_models.models,
        "overlap of training and test data": data_and_models.contamination,
    },
    "Effort and time": {
        "interactions": outcomes.interactions,
        "time of the user": outcomes.human_time,
        "time of the machine, device": outcomes.machine_time,
    },
    "Failures": {"failures and empty answers": outcomes.failures, "adapted prompts": outcomes.adaptation},
    "Statistics": {
        "measures and averages": outcomes.scores_of,
        "intervals and claims": outcomes.statistics,
        "software": outcomes.software,
    },
}
"""By the title of a paragraph: the items of the checklist, each with the fact that says it."""


@dataclass(frozen=True)
class Item:
    """An item of the checklist: the paragraph that reports it, or why it is not reported."""

    what: str
    section: str = ""
    missing: str = ""

    @property
    def reported(self) -> str:
        """In words."""
        return f"not reported: {self.missing}" if self.missing else f"under {self.section}"


def paragraphs(of: Provenance, cites: Bibliography) -> tuple[dict[str, str], list[Item]]:
    """The paragraphs by title, and the checklist with what is missing."""
    said, items = dict[str, str](), list[Item]()
    for title, facts in SECTIONS.items():
        known = []
        for what, fact in facts.items():
            text = fact(of, cites)
            if isinstance(text, Missing):
                items.append(Item(what, missing=text))
            else:
                known.append(text)
                items.append(Item(what, title))
        said[title] = " ".join(known)
    items.append(Item("initial and final values with intervals", "Results"))
    items += [Item(what, missing=why) for what, why in (*unknown(of), *NEVER)]
    return said, items
