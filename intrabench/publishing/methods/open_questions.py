"""What neither rows nor cards say, so that a paper has to."""

from __future__ import annotations

from collections.abc import Iterator

from intrabench.publishing.methods.markup import listed
from intrabench.publishing.methods.provenance import Provenance
from intrabench.publishing.methods.users import PEOPLE, name_of, specs
from intrabench.registry import registry
from intrabench.specs.specs import split

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
        if one["weights"] == "file":
            yield f"model {one['label']}", "licence, citation and training data of the weights, which are a file"
        elif one["weights"] == "registered" and one["model"] not in of.credits:
            yield f"model {one['label']}", "licence and citation of the weights"
    if not any(name_of(spec) in PEOPLE for spec in specs(of)):
        yield "agreement with people", "no people prompted here; `intrabench gap` compares simulated users with people"
    for spec in dict.fromkeys(part for whole in specs(of) for part in split(whole)):
        if name_of(spec) not in registry.entries("prompters"):
            yield (
                f"prompter {spec}",
                "what it does, because its class is not installed here; give its file with --plugin",
            )
