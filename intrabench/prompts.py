"""Prompts that a simulated user gives, and which of them a model takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import kind
from intrabench.mask import Box, Index, Ints, Plane, frozen, plain

PromptKind = Literal["point", "box2d", "box3d", "scribble", "lasso", "text"]
Derived = Literal["none", "all"]
"""Which of the prompts that were derived from others, such as interpolated boxes, a model of volumes gets."""


StrokePoints = Literal["one_negative", "one", "all"]
"""Which points of a stroke a model of volumes gets that takes points and no strokes: all of a positive and one of a
negative one, one of either, or all of both. The one point is drawn from the stroke."""


@dataclass(frozen=True)
class Abilities:
    """What a model takes: its dimension (2: slice by slice, 3: the volume), and the kinds of prompts.

    derived, strokes: which derived prompts, and which points of strokes, it gets if its dimension is 3; slice by slice
    it gets all. feeds_back: whether it takes its own last answer together with new prompts. unprompted: whether it
    answers without any prompts. one_box: whether a slice can have one 2D box only. handles: how many the user sets
    anew for each of its answers.
    """

    dims: int
    accepts: frozenset[PromptKind]
    derived: Derived = "none"
    feeds_back: bool = False
    unprompted: bool = False
    strokes: StrokePoints = "one_negative"
    one_box: bool = False
    handles: int = 0

    @property
    def strokes_as_points(self) -> bool:
        """Whether it is a model of volumes that gets points of strokes, as `strokes` says."""
        return self.dims == 3 and "point" in self.accepts and "scribble" not in self.accepts

    @property
    def builds_on_mask(self) -> bool:
        """Whether corrections alone build on the last answer: it is fed back, or clicks become boxes around it."""
        return self.feeds_back or (not self.accepts & {"point", "scribble"} and bool(self.accepts & {"box2d", "box3d"}))

    def across(self, plane: Plane) -> Abilities:
        """What it takes if somebody prompts in a plane, and its scan stays canonical.

        2D boxes and lassos lie in axial slices. In other planes they are converted, as for models that take none.
        """
        return self if plane == "axial" else replace(self, accepts=self.accepts - {"box2d", "lasso"})


@dataclass(frozen=True, eq=False)
class Stroke:
    """What the hand draws in one go: voxels ``z, y, x`` in drawing order, label 1 (target) or 0 (background).

    A kind of strokes is a subclass, which `STROKES` lists. closed: the last voxel is joined to the first, and what
    counts is what lies inside of it, in one axial slice. Models that do not take it get the tight box of a closed
    stroke, and the voxels of an open one as points.
    """

    kind: ClassVar[PromptKind]
    closed: ClassVar[bool]

    points: Ints
    label: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _rows(self.points, 3, "a point of a stroke is z, y, x"))
        if isinstance(self.label, Real | np.bool_) and self.label in (0, 1):
            object.__setattr__(self, "label", int(self.label))  # true, 1.0 or a number of numpy

    @property
    def extent(self) -> Ints:
        """Its tight box ``z0, y0, x0, z1, y1, x1``, half-open; it must have points."""
        return extent_of(self.points)

    @property
    def rows(self) -> Ints:
        """Its voxels as points, rows ``z, y, x, label``."""
        return np.column_stack([self.points, np.full(len(self.points), self.label)])


@dataclass(frozen=True, eq=False)
class Scribble(Stroke):
    """A stroke on the target or on background: voxels ``z, y, x`` in drawing order, label 1 or 0."""

    kind = "scribble"
    closed = False


@dataclass(frozen=True, eq=False)
class Lasso(Stroke):
    """A closed outline in one axial slice: corners ``z, y, x`` in drawing order, label 1 or 0."""

    kind = "lasso"
    closed = True


STROKES: Mapping[str, type[Stroke]] = {"scribbles": Scribble, "lassos": Lasso}
"""The kinds of strokes by the field of `Prompts` that has them."""


@dataclass(frozen=True, eq=False)
class Prompts:
    """Prompts in canonical voxel coordinates; boxes are half-open.

    points: rows ``z, y, x, label`` (label 1 target, 0 background); `clicked` flags the points that the hand clicked,
    the others were derived. boxes2d: rows ``z, y0, x0, y1, x1``; `drawn` does the same for boxes. None: all by hand.
    box3d: ``z0, y0, x0, z1, y1, x1`` or None. text: what is to be segmented, in words on one line, or None.
    """

    points: Ints = field(default_factory=lambda: np.zeros((0, 4), dtype=np.int64))
    boxes2d: Ints = field(default_factory=lambda: np.zeros((0, 5), dtype=np.int64))
    box3d: Ints | None = None
    scribbles: tuple[Scribble, ...] = ()
    lassos: tuple[Lasso, ...] = ()
    drawn: NDArray[np.bool_] | None = None
    clicked: NDArray[np.bool_] | None = None
    text: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", _rows(self.points, 4, "a point is z, y, x, label"))
        object.__setattr__(self, "boxes2d", _rows(self.boxes2d, 5, _BOX2D))
        if self.box3d is not None:
            object.__setattr__(self, "box3d", _row(self.box3d, 6, _BOX3D))
        for name, stroke in STROKES.items():
            object.__setattr__(self, name, _strokes(getattr(self, name), stroke))
        object.__setattr__(self, "drawn", _flags(self.drawn, len(self.boxes2d), "drawn", "2D box"))
        object.__setattr__(self, "clicked", _flags(self.clicked, len(self.points), "clicked", "point"))
        if self.text is not None:
            _check_text(self.text)

    @property
    def drawn_boxes2d(self) -> Ints:
        """The 2D boxes that the hand drew."""
        return self.boxes2d[self.drawn]

    @property
    def clicked_points(self) -> Ints:
        """The points that the hand clicked."""
        return self.points[self.clicked]

    @property
    def derived(self) -> int:
        """How many prompts were derived from those of the hand."""
        return len(self.points) - len(self.clicked_points) + len(self.boxes2d) - len(self.drawn_boxes2d)

    @property
    def by_hand(self) -> Prompts:
        """What the hand gave, without the prompts that were derived from that."""
        if not self.derived:
            return self
        return replace(self, points=self.clicked_points, boxes2d=self.drawn_boxes2d, clicked=None, drawn=None)

    @property
    def kinds(self) -> frozenset[PromptKind]:
        """The kinds of prompts that this object holds."""
        present: dict[PromptKind, bool] = {
            "point": len(self.points) > 0,
            "box2d": len(self.boxes2d) > 0,
            "box3d": self.box3d is not None,
            "text": self.text is not None,
        }
        return frozenset([kind for kind, here in present.items() if here] + [stroke.kind for stroke in self.strokes])

    @property
    def strokes(self) -> tuple[Stroke, ...]:
        """The strokes of all kinds."""
        return tuple(stroke for name in STROKES for stroke in getattr(self, name))

    def with_strokes(self, strokes: Iterable[Stroke]) -> Prompts:
        """The same with these strokes instead of its own."""
        made = tuple(strokes)
        fields: Any = {name: tuple(one for one in made if isinstance(one, kind)) for name, kind in STROKES.items()}
        return replace(self, **fields)

    @property
    def blocks(self) -> Ints:
        """The 2D boxes and the 3D box, rows ``z0, y0, x0, z1, y1, x1``, half-open."""
        z, low, high = self.boxes2d[:, :1], self.boxes2d[:, 1:3], self.boxes2d[:, 3:]
        flat = np.hstack([z, low, z + 1, high])
        return flat if self.box3d is None else np.vstack([flat, self.box3d])

    def reordered(self, axes: Index) -> Prompts:
        """The prompts on an array whose axes are these of its own, as of `TURNED` and `UPRIGHT`.

        Raises:
            ValueError: there are 2D boxes or lassos, which would not lie in axial slices.
        """
        if axes == (0, 1, 2):
            return self
        if self.kinds & {"box2d", "lasso"}:
            raise ValueError("2D boxes and lassos lie in the slices of one plane; convert them first (adapt)")
        return replace(
            self,
            points=self.points[:, [*axes, 3]],
            box3d=None if self.box3d is None else self.box3d[[*axes, *(axis + 3 for axis in axes)]],
            scribbles=tuple(Scribble(one.points[:, axes], one.label) for one in self.scribbles),
        )

    def extents(self) -> Ints:
        """The tight box of each prompt, rows ``z0, y0, x0, z1, y1, x1``, half-open; a text is nowhere."""
        dots = np.hstack([self.points[:, :3], self.points[:, :3] + 1])
        return np.vstack([dots, self.blocks, *(stroke.extent for stroke in self.strokes if len(stroke.points))])

    def slices(self) -> tuple[int, ...]:
        """Axial slices that have a 2D prompt, ascending; a 3D box adds no slice."""
        columns = [self.points[:, 0], self.boxes2d[:, 0], *(stroke.points[:, 0] for stroke in self.strokes)]
        return tuple(int(z) for z in np.unique(np.concatenate(columns)))

    def to_json(self) -> dict[str, Any]:
        """Plain data for storing; `from_json` is the inverse."""
        data: dict[str, Any] = {}
        if len(self.points):
            data["points"], data["clicked"] = self.points.tolist(), np.asarray(self.clicked).tolist()
        if len(self.boxes2d):
            data["boxes2d"], data["drawn"] = self.boxes2d.tolist(), np.asarray(self.drawn).tolist()
        if self.box3d is not None:
            data["box3d"] = self.box3d.tolist()
        for name in STROKES:
            if strokes := getattr(self, name):
                data[name] = [{"points": stroke.points.tolist(), "label": stroke.label} for stroke in strokes]
        return data if self.text is None else data | {"text": self.text}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Prompts:
        """From the plain data of `to_json`."""

        strokes: dict[str, Any] = {
            name: tuple(stroke(np.asarray(one["points"], dtype=np.int64), one["label"]) for one in data.get(name, ()))
            for name, stroke in STROKES.items()
        }
        return cls(
            points=data.get("points", np.zeros((0, 4))),
            boxes2d=data.get("boxes2d", np.zeros((0, 5))),
            box3d=data.get("box3d"),
            drawn=data.get("drawn"),
            clicked=data.get("clicked"),
            text=data.get("text"),
            **strokes,
        )


def counting_boxes2d(history: Sequence[Prompts]) -> tuple[Ints, NDArray[np.bool_]]:
    """The 2D boxes that count, rows ``z, y0, x0, y1, x1``, and which of them the hand drew.

    On each slice they are those of the last prompts with any there: several boxes given at once are parts of the
    target, and later boxes say afresh where it lies.
    """
    rows, drawn, boxed = [np.zeros((0, 5), np.int64)], [np.zeros(0, bool)], set[int]()
    for prompts in reversed(history):
        new = ~np.isin(prompts.boxes2d[:, 0], list(boxed))
        rows.append(prompts.boxes2d[new])
        drawn.append(np.asarray(prompts.drawn, bool)[new])
        boxed.update(prompts.boxes2d[:, 0].tolist())
    return np.vstack(rows[::-1]), np.concatenate(drawn[::-1])


def extent_of(voxels: Ints) -> Ints:
    """The tight box ``z0, y0, x0, z1, y1, x1``, half-open, of voxels, rows ``z, y, x``; there must be some."""
    return np.concatenate([voxels.min(axis=0), voxels.max(axis=0) + 1])


def _flags(value: Any, count: int, name: str, what: str) -> NDArray[np.bool_]:
    """One flag per row; None means all true."""
    found = np.ones(count, dtype=bool) if value is None else plain(value)
    if found.dtype != bool and not np.isin(found, (False, True)).all():
        raise ValueError(f"{name} has other values than true and false; give one flag per {what}")
    flags = found.astype(bool)  # a copy
    if flags.shape != (count,):
        raise ValueError(f"{name} has the shape {flags.shape}; expected one flag per {what} ({count})")
    return frozen(flags)


def _check_text(value: Any) -> None:
    """Refuse what nobody types into one line."""
    if not isinstance(value, str):
        raise ValueError(f"text is {kind(value)}, expected words, such as 'left kidney', or None")
    if not value.strip():
        raise ValueError("text has no words; give None where nothing was typed")
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"text has {len(value)} characters, expected {LONGEST_TEXT} at most; shorten it")
    if not value.isprintable():
        odd = next(letter for letter in value if not letter.isprintable())
        raise ValueError(f"text has the character {odd!a}, which cannot be printed; give words on one line")


def _strokes(value: Any, stroke: type[Stroke]) -> tuple[Any, ...]:
    """Strokes of one class, as a tuple, so that nobody adds to them later."""
    found = tuple(value) if isinstance(value, Iterable) else (value,)
    for one in found:
        if not isinstance(one, stroke):
            name = stroke.__name__
            raise ValueError(f"{name.lower()}s hold {kind(one)}, expected a {name}, as in ({name}(points),)")
    return found


def points(rows: Any, label: int = 1, clicked: Any = None) -> Prompts:
    """Prompts of points, from rows ``z, y, x``, all with one label; `clicked` flags those of the hand (None: all)."""
    coordinates = _rows(rows, 3, "a point is z, y, x")
    labelled = np.column_stack([coordinates, np.full(len(coordinates), label)])
    return Prompts(points=labelled, clicked=clicked)


def boxes(by_slice: Mapping[int, Sequence[int]], drawn: Sequence[int] | None = None) -> Prompts:
    """Prompts of 2D boxes ``{z: (y0, x0, y1, x1)}``; `drawn` lists the slices whose box the hand drew (None: all)."""
    rows = [(z, *_row(box, 4, "a 2D box is y0, x0, y1, x1")) for z, box in by_slice.items()]
    flags = None if drawn is None else [z in set(drawn) for z in by_slice]
    return Prompts(boxes2d=np.asarray(rows).reshape(-1, 5), drawn=flags)  # type: ignore[arg-type]


def box3d(box: Box) -> Prompts:
    """Prompts of one 3D box."""
    return Prompts(box3d=box)  # type: ignore[arg-type]


_BOX2D = "a 2D box is z, y0, x0, y1, x1"
_BOX3D = "a 3D box is z0, y0, x0, z1, y1, x1"
LONGEST_TEXT = 1000
"""Characters of a text prompt."""
_LARGEST = 2**53
"""No voxel index is as large; floats beyond it are no longer exact."""


def _rows(values: Any, width: int, meaning: str) -> Ints:
    """Values as rows of `width` whole numbers, which cannot be written into.

    Raises:
        ValueError: rows of another width, or values that are not whole numbers, such as NaN.
    """
    found = plain(values)
    if found.dtype == object:
        found = np.asarray(found.tolist())  # integers after all, unless they are too large
    if found.size and found.shape[-1:] != (width,):
        got = f"{found.shape[-1]} numbers were" if found.ndim else "one number was"
        raise ValueError(f"{meaning}, but {got} given")
    if found.size and found.dtype.kind not in "iu":
        whole = found.dtype.kind == "f" and (np.abs(found) < _LARGEST) & (found == np.rint(found))
        if not np.all(whole):
            remedy = "round it first" if found.dtype.kind == "f" else "give integers"
            raise ValueError(f"{meaning} in whole voxels, but {_first_wrong(found, whole)} was given; {remedy}")
    return frozen(found.astype(np.int64).reshape(-1, width))


def _row(values: Any, width: int, meaning: str) -> Ints:
    """Values as one such row."""
    rows = _rows(values, width, meaning)
    if len(rows) != 1:
        raise ValueError(f"{meaning}, but {len(rows)} of them were given, expected one")
    return rows[0]


def _first_wrong(found: NDArray[Any], whole: Any) -> str:
    """The first value that is no whole number, for messages."""
    wrong = found[~whole] if isinstance(whole, np.ndarray) else found.ravel()
    odd = next((value for value in wrong.tolist() if not isinstance(value, int)), wrong[0])
    return repr(odd)[:40]
