"""Named and versioned presets of metrics, corrections, stop rule and averages; a change of meaning is a new version."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Ge

from intrabench.errors import IntraBenchError
from intrabench.protocols import (
    autopet_paper,
    cvpr25_challenge,
    davis_paper,
    intrabench_paper,
    rclicks_paper,
    superpixels_paper,
    toothfairy3_challenge,
)
from intrabench.protocols.joint import JointRules, joint_rules
from intrabench.protocols.rclicks_paper import Users
from intrabench.protocols.row import Row
from intrabench.specs.specs import arguments_of, build, nearest, parse, switch
from intrabench.specs.values import INFINITE

if TYPE_CHECKING:
    from intrabench.effort import Calibration, Effort
    from intrabench.turns import Action


Budget = Annotated[float, Ge(0), INFINITE]


@dataclass(frozen=True)
class Stop:
    """The rule that ends a session early: ``dice=0.9,interactions=30``.

    dice: stop once it is reached; with inf not even a perfect answer ends it. interactions, seconds: no correction may
    bring the total cost above this. The initial prompting is always allowed. model_s: no correction once the model has
    computed for so many seconds per target. In a joint session the budget is for all targets, and all must reach the
    Dice.
    """

    name = "stop"
    dice: Budget = switch(1.0)
    interactions: Budget = switch(math.inf)
    seconds: Budget = switch(math.inf)
    model_s: Budget = switch(math.inf)

    @property
    def spec(self) -> str:
        """As ``--stop`` takes it; empty where nothing ends a session early but a perfect answer."""
        return arguments_of(self)

    def exceeded(self, effort: Effort, model_s: float = 0.0, targets: int = 1) -> bool:
        """Whether this effort exceeds the budget, or the model's time so far that for so many targets."""
        spent = effort.interactions > self.interactions or effort.seconds > self.seconds
        return spent or model_s >= self.model_s * targets


ReadIn = Literal["acquisition", "axial", "coronal", "sagittal"]


@dataclass(frozen=True)
class Slices:
    """The slices in which users read scans: ``plane=coronal``."""

    name = "slices"
    plane: ReadIn = switch("acquisition")


def slices_of(preset: Protocol) -> str:
    """The slices that are read under a protocol, in words; empty if they are axial."""
    words = {"acquisition": "slices in the plane of acquisition", "axial": ""}
    return words.get(preset.plane, f"{preset.plane} slices")


@dataclass(frozen=True)
class Protocol:
    """The metrics of a run and how they are averaged.

    metrics: ids with versions, columns of the rows. rounds: corrections allowed unless ``--rounds`` says otherwise;
    None: `ROUNDS` if a prompter refines. stop: the rule that ends a session early. rows: the prompters of published
    tables, which are run unless ``--prompter`` is given. models: specs of those in the tables, which are run unless
    ``--model`` is given. joint: the targets of a case are played together, under these rules. partition: nobody
    prompts; models divide the image, and the metrics compare their superpixels with each annotation. users: each
    seed is a real click of their file, and without ``--seed`` all are played. whole: all instances of a label in a
    case are one target. misses: what a missing answer does: it ends the session, or the round has a failed row,
    with the scores of the answer before, and the session goes on (keep). numbers: what the protocol reports, each a
    heading and a summary or a metric of the last round, and the first of them leads. averages: how all numbers are
    averaged, by the name that ``--aggregation`` has for it. annotations: of several people's annotations of an
    image, each is a target, or the one with the worst value stands for the image. fixed_rounds: numbers of fewer
    rounds mean nothing. ranked: tables also have the mean of a line's ranks by each of the numbers. effort: tables
    of costs of the user, None for those that ship. plane: in which users read scans; protocols whose plane may be
    chosen have that of each scan's acquisition as default.
    """

    id: str
    summary: str
    metrics: tuple[str, ...]
    rounds: int | None = None
    stop: Stop = Stop()
    rows: tuple[Row, ...] = ()
    models: tuple[str, ...] = ()
    joint: JointRules | None = None
    partition: bool = False
    users: Users | None = None
    whole: bool = False
    misses: Literal["end", "keep"] = "end"
    numbers: tuple[tuple[str, str], ...] = ()
    averages: str = "protocol"
    annotations: Literal["each", "worst"] = "each"
    fixed_rounds: bool = False
    ranked: bool = False
    effort: Calibration | None = None
    plane: ReadIn = "axial"

    def cost(self, actions: Iterable[Action]) -> Effort:
        """The effort of the actions of one round."""
        from intrabench.effort import effort_of_round

        return effort_of_round(actions, self.effort)


_OVERLAP = ("dice@1", "iou@1")
_CHALLENGE: dict[str, Any] = {"averages": "case", "fixed_rounds": True}
_CVPR25 = {**_CHALLENGE, "rounds": cvpr25_challenge.CLICKS, "joint": cvpr25_challenge.JOINT, "misses": "keep"}
_TOOTHFAIRY3 = {
    **_CHALLENGE,
    "rounds": toothfairy3_challenge.CLICKS,
    "joint": toothfairy3_challenge.JOINT,
    "misses": "keep",
    "stop": Stop(dice=math.inf),
    "ranked": True,
}
_AUTOPET = {**_CHALLENGE, "stop": Stop(dice=math.inf), "whole": True}

ROUNDS = 5
"""Number of corrections of a prompter that refines, as in the IntRaBench paper."""

PROTOCOLS: dict[str, Protocol] = {
    protocol.id: protocol
    for protocol in (
        Protocol("basic@1", "Dice, IoU, NSD at 2 mm and HD95 per round.", (*_OVERLAP, "nsd_2mm@1", "hd95_mm@1")),
        Protocol(
            "basic@2",
            "As basic@1, but users read each scan in the plane in which it was acquired.",
            (*_OVERLAP, "nsd_2mm@1", "hd95_mm@1"),
            plane="acquisition",
        ),
        Protocol("overlap@1", "Dice and IoU only; faster than basic@1, which also measures surfaces.", _OVERLAP),
        Protocol(
            "overlap@2",
            "As overlap@1, but users read each scan in the plane in which it was acquired.",
            _OVERLAP,
            plane="acquisition",
        ),
        Protocol(
            "intrabench@1",
            "The rows of Tables 2 to 6 of the IntRaBench paper, each with the models that can run it.",
            (*_OVERLAP, "nsd_2mm@1"),
            rounds=ROUNDS,
            rows=intrabench_paper.ROWS,
            models=tuple(intrabench_paper.MODELS.values()),
        ),
        Protocol(
            "rclicks@1",
            "20 clicks on photos as in RClicks: the baseline clicker, and ten groups of clicks by their likelihood.",
            (*_OVERLAP, "boundary_iou@1"),
            rounds=rclicks_paper.CLICKS - 1,
            rows=rclicks_paper.ROWS,
            numbers=rclicks_paper.NUMBERS,
            averages="pooled",
        ),
        Protocol(
            Users.name,
            "One click on photos: the first clicks of real users, :clicks=FILE.csv, and as many simulated ones.",
            (*_OVERLAP, "boundary_iou@1"),
            rounds=0,
            rows=Users().rows,
            users=Users(),
            numbers=rclicks_paper.FIRST_CLICK_NUMBERS,
            averages="pooled",
        ),
        Protocol(
            "davis@1",
            "DAVIS Interactive on videos: 8 interactions, scribbles for all objects at once, 30 s per interaction.",
            ("j@1", "f@1", "j_and_f@1", *_OVERLAP),
            rounds=davis_paper.INTERACTIONS - 1,
            stop=Stop(model_s=davis_paper.SECONDS),
            rows=davis_paper.ROWS,
            joint=davis_paper.JOINT,
            numbers=davis_paper.NUMBERS,
        ),
        Protocol(
            "cvpr25@1",
            "The CVPR 2025 interactive challenge as its script plays it: a box and 5 clicks per class, all at once.",
            cvpr25_challenge.METRICS,
            rows=cvpr25_challenge.ROWS,
            numbers=cvpr25_challenge.NUMBERS,
            **_CVPR25,
        ),
        Protocol(
            "cvpr25-fixed@1",
            "The CVPR 2025 interactive challenge with the oddities of its script corrected.",
            cvpr25_challenge.FIXED_METRICS,
            rows=cvpr25_challenge.FIXED_ROWS,
            numbers=cvpr25_challenge.FIXED_NUMBERS,
            **_CVPR25,
        ),
        Protocol(
            "autopet4@1",
            "autoPET IV: no prompts, then 10 clicks on lesions and 10 on background, drawn beforehand.",
            autopet_paper.METRICS,
            rounds=autopet_paper.CLICKS,
            rows=autopet_paper.CLICK_ROWS,
            numbers=autopet_paper.CLICK_NUMBERS,
            **_AUTOPET,
        ),
        Protocol(
            "autopet5@1",
            "autoPET V: no prompts, then 5 scribbles of three kinds for all lesions of a case at once.",
            autopet_paper.METRICS,
            rounds=autopet_paper.SCRIBBLES,
            rows=autopet_paper.ROWS,
            numbers=autopet_paper.NUMBERS,
            **_AUTOPET,
        ),
        Protocol(
            "toothfairy3@1",
            "ToothFairy3, task 2, as published: no prompts, then 5 clicks on each canal, drawn beforehand.",
            toothfairy3_challenge.METRICS,
            rows=toothfairy3_challenge.ROWS,
            numbers=toothfairy3_challenge.NUMBERS,
            **_TOOTHFAIRY3,
        ),
        Protocol(
            "toothfairy3-fixed@1",
            "ToothFairy3, task 2, with distances in mm and slices that do not depend on the file.",
            toothfairy3_challenge.FIXED_METRICS,
            rows=toothfairy3_challenge.FIXED_ROWS,
            numbers=toothfairy3_challenge.FIXED_NUMBERS,
            **_TOOTHFAIRY3,
        ),
        Protocol(
            "superpixels@1",
            "The superpixel benchmark: boundary recall, under-segmentation, explained variation and more.",
            superpixels_paper.METRICS,
            rounds=0,
            averages="case",
            annotations="worst",
            rows=superpixels_paper.ROWS,
            partition=True,
        ),
        Protocol(
            "ritm-noc@1",
            "20 clicks on photos by the baseline clicker: the number of clicks as counted by RITM and its successors.",
            _OVERLAP,
            rounds=rclicks_paper.CLICKS - 1,
            rows=(rclicks_paper.BASE,),
            numbers=rclicks_paper.RITM_NUMBERS,
            averages="pooled",
        ),
    )
}


def protocol(name: str) -> Protocol:
    """The protocol called `name`, ``ID`` or ``ID:key=value``; an error suggests the nearest name.

    A plane is part of its id, which rows and keys have; the file of ``clicks=`` is part of its prompters.
    """
    id, colon, words = name.partition(":")
    if id not in PROTOCOLS:
        raise IntraBenchError(
            f"there is no protocol {id!r}{nearest(id, PROTOCOLS)}; `intrabench list protocols` shows all"
        )
    preset = PROTOCOLS[id]
    if not colon:
        return preset
    if preset.users is not None:
        users = build(Users, parse(name)[1], name)
        return replace(preset, users=users, rows=users.rows)
    if preset.plane == "axial":
        remedy = f"omit :{words}"
        if "plane" in parse(name)[1]:
            others = " and ".join(other.id for other in PROTOCOLS.values() if other.plane != "axial")
            remedy = f"its slices are axial by definition; {others} take a plane"
        raise IntraBenchError(f"protocol {id} takes no parameters; {remedy}")
    slices = build(Slices, parse(name)[1], name)
    chosen = arguments_of(slices)
    return replace(preset, id=f"{id}:{chosen}" if chosen else id, plane=slices.plane)


def known(id: str) -> Protocol | None:
    """The protocol whose id rows have; None if this version does not know it."""
    with suppress(IntraBenchError):
        preset = protocol(id)
        return preset if preset.id == id else None
    return None


def own_models(preset: Protocol) -> tuple[str, ...]:
    """The specs of the protocol's own models; an error says which protocols have some."""
    if not preset.models:
        others = ", ".join(other.id for other in PROTOCOLS.values() if other.models)
        raise IntraBenchError(
            f"protocol {preset.id} has no models of its own; give --model, such as --model random_walker, or "
            f"--protocol {others}"
        )
    return preset.models


def chosen_rows(preset: Protocol, only: Sequence[str]) -> tuple[Row, ...]:
    """The protocol's rows whose names match one of the globs `only` (if empty: all)."""
    if not preset.rows:
        others = ", ".join(other.id for other in PROTOCOLS.values() if other.rows)
        if only:
            raise IntraBenchError(
                f"--only selects rows of a protocol, but {preset.id} has none; give --protocol {others}"
            )
        raise IntraBenchError(
            f"protocol {preset.id} has no prompters of its own; give --prompter, such as --prompter box_interp:n=3, or "
            f"--protocol {others}"
        )
    names = [row.name for row in preset.rows]
    for pattern in only:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise IntraBenchError(
                f"--only {pattern!r} matches no row of {preset.id}{nearest(pattern, names)}; "
                f"`intrabench info {preset.id}` lists them"
            )
    return tuple(row for row in preset.rows if not only or any(fnmatchcase(row.name, glob) for glob in only))


def row_names(protocol_id: str) -> dict[str, str]:
    """Names of a protocol's rows by prompter spec, both as in results; empty for protocols without rows."""
    preset = known(protocol_id)
    return {row.prompter: row.name for row in preset.rows} if preset else {}


def stopping(preset: Protocol, words: str) -> Protocol:
    """The protocol with another stop rule, ``dice=0.9,interactions=30``."""
    if not words:
        return preset
    _, arguments = parse(f"stop:{words}")
    stop = build(Stop, arguments, f"--stop {words}")
    if not (stop.dice <= 1 or stop.dice == math.inf):
        raise IntraBenchError(f"--stop {words}: dice must be from 0 to 1, or inf")
    return replace(preset, stop=stop)


def jointly(preset: Protocol, words: str) -> Protocol:
    """The protocol with joint sessions, ``others=negative,overlap=first``."""
    return replace(preset, joint=joint_rules(words)) if words else preset


def command_for(protocol: str) -> str:
    """The command that computes results of a protocol; empty: of none in particular."""
    preset = known(protocol)
    if preset and preset.partition:
        return "intrabench superpixels run --method slic --segments 400"
    words = ["intrabench run"]
    words += [f"--protocol {protocol}{':clicks=FILE' if preset.users else ''}"] if preset else []
    words += ["--model M"] if preset is None or not preset.models else []
    words += ["--prompter P"] if preset is None or not preset.rows else []
    return " ".join(words)
