"""The design of a rating study: which masks, with which anchors, in which order for whom."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np

from intrabench.datasets.cases import store as cases
from intrabench.errors import IntraBenchError, several
from intrabench.files.documents import json_number
from intrabench.files.grid import acquisition_plane
from intrabench.mask import TURNED, Mask, Plane, reordered
from intrabench.people.images import Orientation, Slabs, packed
from intrabench.people.rating import guideline
from intrabench.people.rating.damage import KINDS, SEVERITIES, about, damaged
from intrabench.people.rating.gallery import Slice, gallery
from intrabench.people.rating.inputs import Input, inputs_of, sampled_inputs
from intrabench.people.rating.orders import arranged, shared_out
from intrabench.people.rating.study import ANCHORS, NewStudy, Study, new_study
from intrabench.play.validate import Refused, check_prompts
from intrabench.randomness import stream
from intrabench.reporting.page.views import marks
from intrabench.reporting.windows import check_window
from intrabench.results.masks import read_masks
from intrabench.results.origin import dataset_of
from intrabench.results.parts import read_turns
from intrabench.results.schema import plane_of
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.target import Target
from intrabench.turns import turns_by_round
from intrabench.volume import Volume

Question = Literal["score", "clinical", "pair"]
EXAMPLES = 3
"""Targets of the training of which examples for raters are made, at most."""
MARGIN = 3
"""Slices beyond all masks that are to be looked at: from one to so many, or to an eighth of those of the masks."""


@dataclass(frozen=True)
class Plan:
    """How a study is made.

    inputs: how many are rated. raters: their codes. each: how many raters rate an input; 0: all. anchors: the share of
    inputs whose truth and a damaged mask are rated, too. repeats: the share of a rater's masks that come twice.
    training: masks with feedback before the study. round: the state that is rated; None: the last. seed: of the chance
    that raters may know, which is which inputs are rated, and by whom. window: with which pages show CT first, one of
    `CT_WINDOWS`, or any scan, `stated`; empty: the one that fits the targets. orientation: on the screen.
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
    window: str = ""
    orientation: Orientation = "radiological"

    def __post_init__(self) -> None:
        check_window(self.window)
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


@dataclass(frozen=True)
class _Item:
    """A mask of a study, or a pair: what raters get, `content`, and what they do not, `key`."""

    name: str
    case: str
    content: dict[str, Any]
    key: dict[str, Any]


@dataclass
class _Items:
    """What is rated, by input, models' masks before anchors; what raters begin with; and what examples are made of."""

    by_input: dict[int, list[_Item]] = field(default_factory=dict)
    training: list[_Item] = field(default_factory=list)
    slices: list[Slice] = field(default_factory=list)


def design(results: Path, folder: Path, plan: Plan, selection: Selection = EVERYTHING) -> tuple[Study, list[str]]:
    """Make the folder of a study from a results folder with masks; returns it, and sentences on what is left out.

    Which inputs are rated, and by whom, comes of the plan's seed. All that would tell a rater what a mask is comes of
    the study's secret: anchors, how they are damaged, which mask of a pair is A, orders, second looks and ids.

    Raises:
        IntraBenchError: there are no masks, a case cannot be opened, or the folder exists or cannot be written.
    """
    found, notes = inputs_of(results, plan.round, selection)
    rng = stream("rating inputs", plan.seed)
    inputs = sampled_inputs(found, plan.inputs, rng)
    training = sampled_inputs(_training_inputs(found, inputs), plan.training, rng)
    if len(inputs) < plan.inputs:
        notes.append(f"there are only {several(len(inputs), 'input')}, not {plan.inputs}")
    if "pair" in plan.questions and len(inputs[0].rows) < 2:
        raise IntraBenchError("pairs need the masks of two models or more; run another model on the same targets")
    with new_study(folder) as study:
        pairs = "pair" in plan.questions
        if pairs:
            training, anchors = [], set[int]()
        else:
            anchors = _anchors(inputs, training, plan.anchors, study.secret.chance("anchors"))
            if len(anchors) < round(plan.anchors * len(inputs)):
                notes.append(
                    f"only {several(len(anchors), 'input')} with anchors: a reference that raters see in the training "
                    "or under other prompts would be recognised"
                )
        items = _items(results, study, inputs, training, anchors, pairs, plan.window, plan.orientation)
        study.write_gallery(gallery(items.slices[:EXAMPLES], study.secret.chance("gallery")))
        study.write(
            {
                "title": plan.title,
                "guideline": guideline.VERSION,
                "questions": list(plan.questions),
                "seed": plan.seed,
                "orientation": plan.orientation,
                "training": {rater: _write(study, rater, items.training) for rater in plan.raters},
                "orders": _orders(study, items, plan),
            }
        )
    return Study.open(folder), notes


def _training_inputs(found: Sequence[Input], inputs: Sequence[Input]) -> Sequence[Input]:
    """The inputs for the training: those whose reference is not rated before all others."""
    targets, ids = {_target(one) for one in inputs}, {id(one) for one in inputs}
    others = [one for one in found if id(one) not in ids]
    return [one for one in others if _target(one) not in targets] or others or inputs


def _anchors(inputs: Sequence[Input], training: Sequence[Input], share: float, rng: np.random.Generator) -> set[int]:
    """The places of the inputs with anchors. No reference is shown twice, since the same voxels would betray it."""
    targets, found = {_target(one) for one in training}, set[int]()
    for place in rng.permutation(len(inputs)).tolist():
        if len(found) < round(share * len(inputs)) and _target(inputs[place]) not in targets:
            targets.add(_target(inputs[place]))
            found.add(place)
    return found


def _orders(study: NewStudy, items: _Items, plan: Plan) -> dict[str, list[str]]:
    each = plan.each or len(plan.raters)
    shares = shared_out(len(items.by_input), len(plan.raters), each, stream("rating", plan.seed))
    orders = {}
    for number, rater in enumerate(plan.raters):
        mine = [one for place, who in enumerate(shares) if number in who for one in items.by_input[place]]
        repeats = round(plan.repeats * sum(one.key["kind"] not in ANCHORS for one in mine))
        named = {one.name: one for one in mine}
        order = arranged({one.name: one.case for one in mine}, repeats, study.secret.chance("order", rater))
        orders[rater] = _write(study, rater, [named[name] for name in order])
    return orders


def _write(study: NewStudy, rater: str, order: Sequence[_Item]) -> list[str]:
    """Write the jobs of a rater and return their ids."""
    looks, ids = Counter[str](), []
    for one in order:
        ids.append(study.write_job(rater, one.name, looks[one.name], one.content, one.key))
        looks[one.name] += 1
    return ids


def _items(
    results: Path,
    study: NewStudy,
    inputs: Sequence[Input],
    training: Sequence[Input],
    anchors: set[int],
    pairs: bool,
    window: str,
    orientation: Orientation,
) -> _Items:
    """What is rated of all inputs, case by case, and the images of the cases, which are written."""
    wanted = [(one, place, False) for place, one in enumerate(inputs)]
    wanted += [(one, place, True) for place, one in enumerate(training)]
    wanted.sort(key=lambda each: _case(each[0]))
    items, chance = _Items(), study.secret.chance
    for number, (_, group) in enumerate(groupby(wanted, key=lambda each: _case(each[0])), start=1):
        here, code = list(group), f"c{number}"
        stored = cases.open_case(dataset_of(results, here[0][0].first), here[0][0].first["case"])
        plane = acquisition_plane(stored.index.shape, stored.index.spacing_mm)
        volume, targets = stored.volume.turned(plane), {one.first["target"] for one, *_ in here}
        truths = [target.turned(plane).mask for target in stored.targets(targets)]
        study.write_case(code, Slabs(volume, truths, window))
        for one, place, trains in here:
            target = stored.targets([one.first["target"]])[0].turned(plane)
            view = _View(code, target, _marks(results, one, volume), _about(one))
            if trains:
                items.slices.append(Slice.of(target, volume, window, orientation))
                items.training.append(view.training(f"t{place}", len(items.training), chance("training", place)))
                continue
            masks = _answers(results, one, plane, pairs, chance("pair", place))
            if place in anchors:
                masks += [view.truth(), view.damaged(chance("damage", place))]
            items.by_input[place] = view.items(f"m{place}", masks, chance("see", place))
    return items


def _case(one: Input) -> tuple[str, str]:
    return one.first["dataset"], one.first["case"]


def _target(one: Input) -> tuple[str, str, str]:
    return *_case(one), one.first["target"]


def _marks(results: Path, one: Input, volume: Volume) -> dict[str, Any]:
    """The prompts up to the state that is rated. Corrections depend on the model, so they are shown of round 0 only.

    volume: in the plane in which raters read it.
    """
    session = one.first["session"]
    turns = turns_by_round(read_turns(results, [session]).sort("session", "turn").iter_rows(named=True)).get(0, [])
    plane = plane_of(one.first)
    found: dict[str, Any] = {"points": [], "boxes": [], "strokes": []}
    for turn in turns:
        try:
            check_prompts(turn.prompts, reordered(volume.upright.shape, TURNED[plane]))
        except Refused as error:
            raise IntraBenchError(
                f"the turns of session {session} do not fit its scan ({error}); run it again"
            ) from error
        for name, drawn in marks(turn.prompts, plane, volume.plane).items():
            found[name] += drawn
    return found


_Masks = tuple[Sequence[Mask], dict[str, Any]]
"""A mask, or the two of a pair, and its key."""


def _answers(results: Path, one: Input, plane: Plane, pairs: bool, rng: np.random.Generator) -> list[_Masks]:
    masks = []
    for row in one.rows:
        kept = read_masks(results, row["session"])
        mask = kept[min(row["round"], len(kept) - 1)] if kept else Mask.empty()
        masks.append(mask.reordered(TURNED[plane]))
    keys = [{name: json_number(row[name]) for name in _KEY if name in row} | {"kind": "answer"} for row in one.rows]
    if not pairs:
        return [([mask], key) for mask, key in zip(masks, keys, strict=True)]
    found = list[_Masks]()
    for pair in combinations(range(len(masks)), 2):
        a, b = rng.permutation(pair).tolist()  # which one is A is by chance, of the input and not of the rater
        found.append(([masks[a], masks[b]], {**keys[a], "kind": "pair", "b": keys[b]}))
    return found


_KEY = (
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
class _View:
    """A target as raters see it."""

    case: str
    target: Target
    marks: dict[str, Any]
    about: dict[str, Any]

    def items(self, name: str, drawn: Sequence[_Masks], rng: np.random.Generator, **more: Any) -> list[_Item]:
        """What raters get of the masks of an input: but for their voxels all the same, of the same size, too."""
        see = self._see([mask for masks, _ in drawn for mask in masks], rng)
        every = [
            {
                "case": self.case,
                "label": next(iter(self.target.names), self.target.label),
                "see": see,
                "masks": [*map(packed, masks)],
                "marks": self.marks,
                **more,
            }
            for masks, _ in drawn
        ]
        sizes = [len(json.dumps(content)) for content in every]
        return [
            _Item(f"{name}-{n}", self.case, {**content, "pad": " " * (max(sizes) - size)}, {**key, "code": self.case})
            for n, (content, size, (_, key)) in enumerate(zip(every, sizes, drawn, strict=True))
        ]

    def _see(self, masks: Sequence[Mask], rng: np.random.Generator) -> list[int]:
        """The slices to look at: all of the reference and of every mask of the input, and some beyond them.

        If they ended with the masks, one could see whether the reference, which is among them with anchors only, is
        larger than all that is shown.
        """
        extents = [(mask.box[0], mask.box[3]) for mask in (self.target.mask, *masks) if mask.any()]
        first, last = min(first for first, _ in extents), max(last for _, last in extents)
        most = max(MARGIN, (last - first) // 8)
        before, after = rng.integers(1, most, size=2, endpoint=True).tolist()
        return [max(0, first - before), min(self.target.shape[0], last + after)]

    def truth(self) -> _Masks:
        return [self.target.mask], {**self.about, "kind": "truth", "name": "truth", "dice": 1.0}

    def damaged(self, rng: np.random.Generator, dice: float | None = None) -> _Masks:
        kind, severity = str(rng.choice(KINDS)), dice or float(rng.choice(SEVERITIES))
        mask = damaged(self.target, kind, dice or about(severity, rng), rng)
        key = {**self.about, "kind": "damaged", "name": f"damaged to {severity}", "damage": kind, "severity": severity}
        return [mask], {**key, "dice": _dice(self.target.mask, mask)}

    def training(self, name: str, number: int, rng: np.random.Generator) -> _Item:
        """In turn the truth and each severity, with what they are."""
        severity = (1.0, *SEVERITIES)[number % 4]
        masks, key = self.truth() if severity == 1 else self.damaged(rng, severity)
        low, high = guideline.band(key["dice"])
        what = "the reference itself" if severity == 1 else f"the reference, {_DAMAGES[key['damage']]}"
        text = f"This mask is {what}; its Dice with the reference is {key['dice']:.2f}."
        feedback = {"text": text, "from": low, "to": high}
        (found,) = self.items(name, [(masks, {**key, "kind": "training"})], rng, feedback=feedback)
        return found


_DAMAGES = {
    "shrunk": "made smaller all around",
    "missing": "with one side cut off",
    "grown": "made larger all around",
    "leak": "with a leak into its neighbourhood",
}


def _about(one: Input) -> dict[str, Any]:
    return {name: one.first[name] for name in ("dataset", "case", "patient", "target", "label", "prompter", "seed")}


def _dice(a: Mask, b: Mask) -> float:
    common = int(np.count_nonzero(a.array & b.crop(a.box)))
    return 2 * common / (a.voxels + b.voxels)
