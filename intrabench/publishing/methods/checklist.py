"""The sections of the methods and the checklist: which fact stands where, and what is not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from intrabench.models.weights.registry import BY_HAND, REGISTERED
from intrabench.publishing.methods import data_and_models, outcomes, users
from intrabench.publishing.methods.markup import Bibliography, listed
from intrabench.publishing.methods.provenance import Fact, Missing, Provenance
from intrabench.publishing.methods.users import PEOPLE, name_of, specs
from intrabench.registry import registry
from intrabench.results.weights import weights_of
from intrabench.specs.specs import split

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
    texts, items = dict[str, str](), list[Item]()
    for title, facts in SECTIONS.items():
        sentences = []
        for what, fact in facts.items():
            text = fact(of, cites)
            if isinstance(text, Missing):
                items.append(Item(what, missing=text))
            else:
                sentences.append(text)
                items.append(Item(what, title))
        texts[title] = " ".join(sentences)
    items.append(Item("initial and final values with intervals", "Results"))
    items += [Item(what, missing=why) for what, why in (*unknown(of), *NEVER)]
    return texts, items


NEVER = (
    ("ethics approval and consent", "results do not hold it; see the pages of the data sets"),
    ("tuning", "results do not hold whether models or prompters were tuned on these cases"),
)
"""Facts that no results folder holds."""


def unknown(of: Provenance) -> Iterator[tuple[str, str]]:
    """What this study leaves open, among it what data sets, models and prompters do not say of themselves."""
    for spec, found in of.datasets.items():
        if isinstance(found, str):
            yield f"data set {spec}", f"title, modality, licence and citation, because {found}"
            continue
        lacking = [what for what in ("licence", "citation") if getattr(found.card, what) == "not stated"]
        if lacking:
            yield f"data set {spec}", f"{listed(lacking)}, which its card does not state"
    for one in of.models.iter_rows(named=True):
        weights = weights_of(one, of.records)
        if weights.source == BY_HAND:
            yield f"model {one['label']}", "licence, citation and training data of the weights, which are a file"
        elif weights.source == REGISTERED and one["model"] not in of.credits:
            yield f"model {one['label']}", "licence and citation of the weights"
    if not any(name_of(spec) in PEOPLE for spec in specs(of)):
        yield "agreement with people", "no people prompted here; `intrabench gap` compares simulated users with people"
    for spec in dict.fromkeys(part for whole in specs(of) for part in split(whole)):
        if name_of(spec) not in registry.entries("prompters"):
            yield (
                f"prompter {spec}",
                "what it does, because its class is not installed here; give its file with --plugin",
            )
