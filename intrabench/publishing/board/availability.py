"""What others cannot have: code, data and weights of the submitter's own. Such lines are marked, not refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from intrabench.datasets.perturb.perturbed import parted
from intrabench.errors import IntraBenchError
from intrabench.identity.versions import HASHED
from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import BY_HAND, REGISTERED
from intrabench.registry import reach, registry
from intrabench.results.weights import weights_of
from intrabench.specs import specs


def marks(line: Mapping[str, Any]) -> Iterator[str]:
    """What of a line is the submitter's own, in words. line: the columns of a row."""
    for what in ("model", "prompter"):
        if HASHED.search(line[f"{what}_version"] or ""):
            yield f"own {what}: its code is not part of IntraBench"
    found = weights_of(line)
    if found.source == BY_HAND:
        yield f"own weights: a file with sha256 {found.sha256[:12]}"
    if not is_published(line["dataset"], line["dataset_version"]):
        yield "own data: not a data set of IntraBench"


def is_published(dataset: str, version: str | None) -> bool:
    """Whether a data set ships with IntraBench, so that others can get it."""
    with suppress(IntraBenchError):
        entry = registry.entries("datasets").get(specs.parse(parted(dataset)[0])[0])
        return entry is not None and entry.origin == "intrabench" and not HASHED.search(version or "")
    return False


def trained_on(line: Mapping[str, Any]) -> str:
    """Whether the model was trained on the data: yes, no or unknown, by the row and by what this version knows.

    The row says what was known when it was computed. Registered weights are looked up again: knowledge only grows.
    """
    answer = str(line["seen_in_training"] or "unknown")
    if answer == "yes" or line["weights"] != REGISTERED or not is_published(line["dataset"], line["dataset_version"]):
        return answer
    with suppress(IntraBenchError):
        if reach.ships(line["model"]):
            card = reach.make("datasets", line["dataset"], "the row").card
            model = reach.make("models", line["model"], "the row")
            if weights_of(line).entry is None:  # the row is of another file than this version knows
                return answer
            found = weights.seen(model, card.part_of, card.modality.startswith("natural"))
            return "yes" if found == "yes" else answer
    return answer
