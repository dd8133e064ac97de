"""Choose one of the phases that a scanner stored as one series: echoes, time points, b-values, acquisitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any, NoReturn

from intrabench.errors import IntraBenchError

Position = tuple[float, ...]
Value = float | str
Phase = int | Mapping[str, Value]
"""The phase of a series to use: its number, from 1, or the values of DICOM tags by keyword."""
Named = tuple[str, int]
"""An image as labels name it: its SOPInstanceUID and the number of the frame, from 1; 0: every frame of the file."""

_FRAME = "frame"
_ORDER = (
    "TriggerTime",
    "NominalCardiacTriggerDelayTime",
    "AcquisitionTime",
    "FrameAcquisitionDateTime",
    "ContentTime",
    "InstanceNumber",
)
"""Tags that may differ in all images, and then only order those of a position."""
TAGS = (
    "AcquisitionNumber",
    "TemporalPositionIdentifier",
    "TemporalPositionIndex",
    "EchoNumbers",
    "EchoTime",
    "EffectiveEchoTime",
    "DiffusionBValue",
    "InversionTime",
    "NominalPercentageOfCardiacPhase",
    "FrameReferenceTime",
    "KVP",
    "ConvolutionKernel",
    "ImageType",
    "FrameType",
    *_ORDER,
)
"""Tags that tell phases apart, likely ones first."""


@dataclass(frozen=True, eq=False)
class Image:
    """An image of a series: the position of its first pixel, its SOPInstanceUID and frame (from 1), and its tags.

    name: file (and frame), for messages. tagged: the datasets that have its tags, the functional groups of a frame
    first. part: whether its file has others.
    """

    name: str
    position: Position
    uid: str
    frame: int
    tagged: tuple[Any, ...]
    part: bool = False

    def tag(self, keyword: str) -> Value:
        """The value of a tag, several values as one text; empty if there is none."""
        if keyword == _FRAME:
            return self.frame
        found = (dataset.get(keyword) for dataset in self.tagged)
        value = next((one for one in found if one is not None and one != ""), "")
        if isinstance(value, int | float):
            return float(value)
        return "\\".join(map(str, value)) if isinstance(value, Sequence) and not isinstance(value, str) else str(value)

    def is_in(self, named: Collection[Named]) -> bool:
        """Whether labels name it."""
        return (self.uid, 0) in named or (self.uid, self.frame) in named


@dataclass(frozen=True, eq=False)
class _Phases:
    """The images of each phase, by index. values: those of the tag, unless only their order tells phases apart."""

    tag: str
    groups: Sequence[Sequence[int]]
    values: Sequence[Value] = ()

    def __str__(self) -> str:
        return f"{self.tag} ({_listed(self.values)})" if self.values else f"the order of {self.tag}"


@dataclass(frozen=True, eq=False)
class _Stack:
    """The images of a series of which some share positions. places: the images of each position, by index."""

    name: str
    images: Sequence[Image]
    places: Sequence[Sequence[int]]

    @property
    def most(self) -> int:
        """The largest number of images at one position."""
        return max(map(len, self.places))

    def once(self, chosen: Iterable[int]) -> bool:
        """Whether no two of some images share a position."""
        positions = [self.images[index].position for index in chosen]
        return len(set(positions)) == len(positions)

    def phases(self) -> _Phases | None:
        """The division into the fewest phases with one image per position, by the first tag that gives it.

        A tag with as many values as there are images tells nothing, so phases have to be fewer than positions or as
        many as images share one.
        """
        divided = [*(self.by_value(tag) for tag in TAGS), *filter(None, map(self._by_order, (*_ORDER, _FRAME)))]
        fitting = [
            one
            for one in divided
            if (len(one.groups) == self.most or len(one.groups) < len(self.places)) and all(map(self.once, one.groups))
        ]
        return min(fitting, key=lambda one: len(one.groups), default=None)

    def by_value(self, tag: str) -> _Phases:
        """Images with one value of a tag are a phase."""
        found: dict[Value, list[int]] = {}
        for index, image in enumerate(self.images):
            found.setdefault(image.tag(tag), []).append(index)
        values = sorted(found, key=_rank)
        return _Phases(tag, [found[value] for value in values], values)

    def _by_order(self, tag: str) -> _Phases | None:
        """The first images of all positions are a phase, the second ones are the next."""
        ordered = []
        for place in self.places:
            values = {index: self.images[index].tag(tag) for index in place}
            if len(place) != self.most or len(set(values.values())) != self.most or "" in values.values():
                return None
            ordered.append(sorted(place, key=lambda index: _rank(values[index])))
        return _Phases(tag, list(zip(*ordered, strict=True)))


def one_phase(
    images: Sequence[Image], drawn_on: Sequence[Collection[Named]], phase: Phase | None, name: str
) -> tuple[list[int], tuple[str, ...]]:
    """The indices of one image per position, and a note on which these are, if images of a series share positions.

    drawn_on: as from `References.drawn_on`. If they name one image per position, it is taken, and the phase that has
    most of them at other positions. phase: the one to use if they do not; None: that with most of what they name. name:
    the series, for messages.

    Raises:
        IntraBenchError: images share positions, and neither labels nor `phase` choose one of each.
    """
    places: dict[Position, list[int]] = {}
    for index, image in enumerate(images):
        places.setdefault(image.position, []).append(index)
    if len(places) == len(images):
        return list(range(len(images))), ()
    stack = _Stack(name, images, list(places.values()))
    phases = stack.phases()
    chosen, why = _named(stack, phases, drawn_on, phase is None) or _stated(stack, phases, phase)
    return chosen, (_used(stack, phases, chosen, why),)


def _named(
    stack: _Stack, phases: _Phases | None, drawn_on: Sequence[Collection[Named]], most: bool
) -> tuple[list[int], str] | None:
    """The images that labels name, completed by those of the phase with most of them; None if that is no phase.

    most: whether labels of several phases choose that with most of them.
    """
    named = [[index for index, image in enumerate(stack.images) if image.is_in(one)] for one in drawn_on]
    certain = next((one for one in named if one and stack.once(one)), [])
    if certain and len(certain) == len(stack.places):
        return certain, "as labels name them"
    voting = certain or (next(filter(None, reversed(named)), []) if most else [])
    votes = [len(set(voting) & set(group)) for group in phases.groups] if phases else []
    if not phases or votes.count(highest := max(votes)) > 1 or not highest:
        return None
    chosen = {stack.images[index].position: index for index in phases.groups[votes.index(highest)]}
    for index in voting:
        if certain:
            chosen[stack.images[index].position] = index
        chosen.setdefault(stack.images[index].position, index)
    whole = set(voting) <= set(chosen.values())
    return list(chosen.values()), f"on which {'' if whole else 'most of '}the labels were drawn"


def _stated(stack: _Stack, phases: _Phases | None, phase: Phase | None) -> tuple[list[int], str]:
    """The images that ``dataset.toml`` chooses."""
    if phase is None:
        _refuse(stack, phases, "and its labels do not say which")
    if isinstance(phase, int):
        if phases is None or phase > len(phases.groups):
            _refuse(stack, phases, f"so there is no phase {phase}")
        return list(phases.groups[phase - 1]), "as dataset.toml says"
    chosen = [
        index
        for index, image in enumerate(stack.images)
        if all(_fits(image.tag(tag), value) for tag, value in phase.items())
    ]
    wanted = " and ".join(f"{tag} = {_toml(value)}" for tag, value in phase.items())
    if not chosen or not stack.once(chosen):
        _refuse(stack, phases, f"and {'several at one position' if chosen else 'none'} with {wanted}")
    return chosen, "as dataset.toml says" if phases else f"with {wanted}, as dataset.toml says"


def _used(stack: _Stack, phases: _Phases | None, chosen: Collection[int], why: str) -> str:
    """Which images are used of how many, and why, in words."""
    groups = phases.groups if phases else ()
    numbers = [number for number, group in enumerate(groups, start=1) if not set(group).isdisjoint(chosen)]
    few = (
        f"; these are images at {len(chosen)} of {len(stack.places)} positions"
        if len(chosen) < len(stack.places)
        else ""
    )
    if not phases:
        return f"one of up to {stack.most} images at each position is used, {why}{few}"
    values = f" ({phases.tag} {_listed([phases.values[number - 1] for number in numbers])})" if phases.values else ""
    which = f"phase {numbers[0]}" if len(numbers) == 1 else f"phases {_listed(numbers)}"
    return f"{which} of {len(groups)}{values} {'is' if len(numbers) == 1 else 'are'} used, {why}{few}"


def _refuse(stack: _Stack, phases: _Phases | None, problem: str) -> NoReturn:
    """Refuse a series of which no phase is chosen; says what tells its phases apart, and how to choose."""
    even = {len(place) for place in stack.places} == {stack.most}
    count = f"{stack.most} images at each position" if even else f"up to {stack.most} images at one position"
    divided = [stack.by_value(tag) for tag in TAGS if tag not in _ORDER]
    # if only their order tells phases apart, tags that do it together, or for one phase alone, are named, too
    told = [phases] if phases and phases.values else [one for one in divided if 1 < len(one.groups) <= stack.most]
    apart = ", ".join(map(str, dict.fromkeys([*([phases] if phases else []), *told])))
    pair = [stack.images[index].name for index in max(stack.places, key=len)[:2]]
    by = f"told apart by {apart}" if apart else f"which no tag tells apart ({' and '.join(pair)})"
    options = ["phase = 1 (the first in this order)"] if phases else []
    options += [
        f"phase = {{ {one.tag} = {_toml(value)} }}"
        for one in told
        for group, value in zip(one.groups, one.values, strict=True)
        if value != "" and stack.once(group)
    ][:1]
    how = f"write {' or '.join(options)} in dataset.toml" if options else "keep one of each"
    raise IntraBenchError(f"{stack.name} has {count}, {by}, {problem}; {how}")


def _rank(value: Value) -> tuple[bool, Value]:
    return isinstance(value, str), value


def _fits(found: Value, wanted: Value) -> bool:
    """Whether a value is the one that is wanted, or one of several, as of ImageType."""
    if isinstance(found, str):
        return str(wanted) in (found, *found.split("\\"))
    return not isinstance(wanted, str) and isclose(found, wanted, rel_tol=1e-6)


def _toml(value: Value) -> str:
    return f"'{value}'" if isinstance(value, str) else f"{value:.10g}"


def _listed(values: Sequence[Value]) -> str:
    """Values as a text, of many only the first ones and the last one."""
    texts = [(one or "none") if isinstance(one, str) else f"{one:.10g}" for one in values]
    return ", ".join(texts if len(texts) < 7 else [*texts[:4], "...", texts[-1]])
