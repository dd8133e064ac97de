"""The design of a rating study: which masks, with which anchors, in which order for whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np

from intrabench.datasets.cases import store as cases
from intrabench.errors import IntraBenchError, several
from intrabench.mask import Mask
from intrabench.people.images import Slabs, packed
from intrabench.people.rating import guideline
from intrabench.people.rating.damage import KINDS, SEVERITIES, damaged
from intrabench.people.rating.inputs import Input, chosen, inputs_of
from intrabench.people.rating.orders import arranged, shared_out
from intrabench.people.rating.study import Study, new_study
from intrabench.play.door import Refused, check_prompts
from intrabench.randomness import stream
from intrabench.reporting.page.views import marks
from intrabench.results.masks import read_masks
from intrabench.results.origin import dataset_of
from intrabench.results.parts import read_turns
from intrabench.target import Target
from intrabench.turns import turns_by_round
from intrabench.volume import Volume

Question = Literal["score", "clinical", "pair"]


@dataclass(frozen=True)
class Plan:
    """How a study is made.

    inputs: how many are rated. raters: their codes. each: how many raters rate an input; 0: all. anchors: the share of
    inputs whose truth and a damaged mask are rated, too. repeats: the share of a rater's masks that come twice.
    training: masks with feedback before the study. round: the state that is rated; None: the last. seed: of all chance.
    """

    title: str = "Rating of masks"
    inputs: int = 20
    raters: tuple[str, ...] = ("r1", "r2")
    each: int = 0
    anchors: float = 0.2
    repeats: float = 0.1
    training: int = 4
    questions: tuple[Question, ...] = ("score",)
    round: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.inputs < 1 or self.training < 0 or not 0 <= self.anchors <= 1 or not 0 <= self.repeats <= 1:
            raise IntraBenchError(
                "--inputs must be 1 or more, --training 0 or more, --anchors and --repeats shares from 0 to 1"
            )
        if not self.raters or len(set(self.raters)) < len(self.raters):
            raise IntraBenchError("--rater is needed for each rater, with different codes, such as r1 and r2")
        for rater in self.raters:
            if not (rater.isascii() and rater.replace("-", "").isalnum()):
                raise IntraBenchError(f"--rater {rater} is no code; use letters, digits and -, and no real names")
        if self.each < 0 or self.each > len(self.raters):
            raise IntraBenchError(f"--each {self.each} is not between 1 and the number of raters, {len(self.raters)}")


@dataclass
class _Job:
    """A job of a study: what raters get, `shown`, and what they do not, `key`."""

    case: str
    shown: dict[str, Any]
    key: dict[str, Any]
    id: str = ""


@dataclass
class _Made:
    """Jobs by input, anchors by input, and training jobs."""

    answers: dict[int, list[_Job]] = field(default_factory=dict)
    anchors: dict[int, list[_Job]] = field(default_factory=dict)
    training: list[_Job] = field(default_factory=list)

    def all(self) -> list[_Job]:
        return [job for group in (*self.answers.values(), *self.anchors.values(), self.training) for job in group]


def design(results: Path, folder: Path, plan: Plan) -> tuple[Study, list[str]]:
    """Make the folder of a study from a results folder with masks; returns it, and sentences on what is left out.

    Raises:
        IntraBenchError: there are no masks, a case cannot be opened, or the folder exists.
    """
    found, notes = inputs_of(results, plan.round)
    rng = stream("rating inputs", plan.seed)
    inputs = chosen(found, plan.inputs, rng)
    taken = {id(one) for one in inputs}
    # the truth of what is rated should not be shown before, if there is anything else
    training = chosen([one for one in found if id(one) not in taken] or inputs, plan.training, rng)
    if len(inputs) < plan.inputs:
        notes.append(f"there are only {several(len(inputs), 'input')}, not {plan.inputs}")
    if "pair" in plan.questions and len(inputs[0].rows) < 2:
        raise IntraBenchError("pairs need the masks of two models or more; run another model on the same targets")
    with new_study(folder) as study:
        made = _jobs(results, study, inputs, training, plan)
        every = made.all()
        ids = stream("rating ids", plan.seed).choice(2**40, size=len(every), replace=False)
        for job, number in zip(every, ids.tolist(), strict=True):
            job.id = f"j{number:010x}"
            study.write_job(job.id, {"id": job.id, **job.shown}, job.key)
        study.write(
            {
                "title": plan.title,
                "guideline": guideline.VERSION,
                "questions": list(plan.questions),
                "seed": plan.seed,
                "training": [job.id for job in made.training],
                "orders": _orders(made, inputs, plan),
            }
        )
    return Study.open(folder), notes


def _orders(made: _Made, inputs: Sequence[Input], plan: Plan) -> dict[str, list[str]]:
    shares = shared_out(len(inputs), len(plan.raters), plan.each or len(plan.raters), stream("rating", plan.seed))
    orders = {}
    for number, rater in enumerate(plan.raters):
        mine = [place for place, who in enumerate(shares) if number in who]
        rng = stream("rating order", plan.seed, rater)
        jobs = {job.id: job.case for place in mine for job in (*made.answers[place], *made.anchors.get(place, ()))}
        rated = {job.id for place in mine for job in made.answers[place]}
        orders[rater] = arranged(jobs, rated, round(plan.repeats * len(rated)), rng)
    return orders


def _jobs(results: Path, study: Study, inputs: Sequence[Input], training: Sequence[Input], plan: Plan) -> _Made:
    """The jobs of all inputs, case by case, and the images of the cases."""
    rng = stream("rating anchors", plan.seed)
    pairs = "pair" in plan.questions
    anchored = set(rng.choice(len(inputs), size=round(plan.anchors * len(inputs)), replace=False).tolist())
    wanted = [(one, place) for place, one in enumerate(inputs)]
    wanted += [] if pairs else [(one, -1) for one in training]
    wanted.sort(key=lambda each: _case(each[0]))
    made = _Made()
    for number, (_, group) in enumerate(groupby(wanted, key=lambda each: _case(each[0])), start=1):
        here, code = list(group), f"c{number}"
        stored = cases.open_case(dataset_of(results, here[0][0].first), here[0][0].first["case"])
        study.write_case(code, Slabs(stored.volume))
        for one, place in here:
            target = stored.targets([one.first["target"]])[0]
            shown = _Shown(code, target, _marks(results, one, stored.volume))
            if place < 0:
                made.training.append(shown.training(one, len(made.training), rng))
                continue
            made.answers[place] = list(_answers(results, one, shown, pairs))
            if place in anchored and not pairs:
                made.anchors[place] = [shown.truth(one), shown.damaged(one, rng)]
    return made


def _case(one: Input) -> tuple[str, str]:
    return one.first["dataset"], one.first["case"]


def _marks(results: Path, one: Input, volume: Volume) -> dict[str, Any]:
    """The prompts up to the state that is rated. Corrections depend on the model, so they are shown of round 0 only."""
    session = one.first["session"]
    turns = turns_by_round(read_turns(results, [session]).sort("session", "turn").iter_rows(named=True)).get(0, [])
    found: dict[str, Any] = {"points": [], "boxes": [], "strokes": []}
    for turn in turns:
        try:
            check_prompts(turn.prompts, volume.shape)
        except Refused as error:
            raise IntraBenchError(
                f"the turns of session {session} do not fit its scan ({error}); run it again"
            ) from error
        for name, drawn in marks(turn.prompts).items():
            found[name] += drawn
    return found


def _answers(results: Path, one: Input, shown: _Shown, pairs: bool) -> Iterable[_Job]:
    masks = []
    for row in one.rows:
        kept = read_masks(results, row["session"])
        masks.append(kept[min(row["round"], len(kept) - 1)] if kept else Mask.empty())
    keys = [{name: _finite(row[name]) for name in _KEPT if name in row} | {"kind": "answer"} for row in one.rows]
    if not pairs:
        yield from (shown.job([mask], key) for mask, key in zip(masks, keys, strict=True))
        return
    for first in range(len(masks)):
        for second in range(first + 1, len(masks)):
            # which one is A is by chance, of the input and not of the rater
            pair = (
                [first, second]
                if stream("rating pair", keys[first]["session"], second).random() < 0.5
                else [second, first]
            )
            a, b = (keys[place] for place in pair)
            yield shown.job([masks[place] for place in pair], {**a, "kind": "pair", "b": b})


_KEPT = (
    *(
        "session",
        "round",
        "dataset",
        "case",
        "patient",
        "target",
        "label",
        "name",
        "model",
        "prompter",
        "seed",
        "status",
    ),
    *("dice", "iou", "nsd_2mm", "hd95_mm"),
)


@dataclass(frozen=True)
class _Shown:
    """A target as raters see it."""

    case: str
    target: Target
    marks: dict[str, Any]

    def job(self, masks: Sequence[Mask], key: dict[str, Any], **more: Any) -> _Job:
        extents = [(mask.box[0], mask.box[3]) for mask in (self.target.mask, *masks) if mask.any()]
        see = [min(first for first, _ in extents), max(last for _, last in extents)]
        shown = {
            "case": self.case,
            "label": self.target.label,
            "see": see,
            "masks": [*map(packed, masks)],
            "marks": self.marks,
            **more,
        }
        return _Job(self.case, shown, {**key, "code": self.case})

    def truth(self, one: Input) -> _Job:
        return self.job([self.target.mask], {**_about(one), "kind": "truth", "name": "truth", "dice": 1.0})

    def damaged(self, one: Input, rng: np.random.Generator, dice: float | None = None) -> _Job:
        kind, severity = str(rng.choice(KINDS)), dice or float(rng.choice(SEVERITIES))
        mask = damaged(self.target, kind, severity, rng)
        key = {**_about(one), "kind": "damaged", "name": f"damaged to {severity}", "damage": kind, "severity": severity}
        return self.job([mask], {**key, "dice": _dice(self.target.mask, mask)})

    def training(self, one: Input, number: int, rng: np.random.Generator) -> _Job:
        """In turn the truth and each severity, with what they are."""
        severity = (1.0, *SEVERITIES)[number % 4]
        job = self.truth(one) if severity == 1 else self.damaged(one, rng, severity)
        low, high = guideline.band(job.key["dice"])
        what = "the reference itself" if severity == 1 else f"the reference, {_SAID[job.key['damage']]}"
        text = f"This mask is {what}; its Dice with the reference is {job.key['dice']:.2f}."
        job.shown["feedback"] = {"text": text, "from": low, "to": high}
        job.key["kind"] = "training"
        return job


_SAID = {
    "shrunk": "made smaller all around",
    "missing": "with one side cut off",
    "grown": "made larger all around",
    "leak": "with a leak into its neighbourhood",
}


def _about(one: Input) -> dict[str, Any]:
    return {name: one.first[name] for name in ("dataset", "case", "patient", "target", "label", "prompter", "seed")}


def _finite(value: Any) -> Any:
    """The value, but None for the infinite distance of an empty mask, which JSON does not know."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _dice(a: Mask, b: Mask) -> float:
    common = int(np.count_nonzero(a.array & b.crop(a.box)))
    return 2 * common / (a.voxels + b.voxels)
