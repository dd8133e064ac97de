"""The rows and models of Tables 2 to 6 of the IntRaBench paper, and where its published code (RadioActive) differs.

That code can give corrections with or without the earlier prompts. Rows without "+ prev point" are interpreted as
without (``previous=drop``): SAM's Dice falls from 54 with three boxes to 3 after five scribbles, as if the boxes were
lost.
"""

from __future__ import annotations

from intrabench.protocols.row import Row

_DROP = "Corrections are given without the earlier prompts, with the last mask (previous=drop)."
_RING = (
    "ceil(n/2) points on the target and floor(n/2) beside it, 2 to 5 pixels away, all positive ones first, as in the "
    "published code; the paper says that they alternate."
)
_SEED = (
    "A point is the centre of the bounding box of the slice's largest component, as in the published code; the paper "
    "says the centre of that component."
)
_BOXES = "A box contains all components of its slice, as in the published code; the paper says only the largest."
_PATCH = "The published code left out points beyond a patch of 128x128x128 voxels around their mean."
_FIRST = f"{_PATCH} It gave SAM-Med3D only the first of the points."
_ONE_SLICE = (
    "Where an error lies in one slice, the rules of the paper leave one voxel of a scribble, which costs a scribble "
    "(one_slice=published)."
)
_SCRIBBLE = (
    f"{_DROP} Negative scribbles lie in the coronal or sagittal slice, as the paper says; the published code took "
    "coronal ones only, turned scribbles that found no error into positive clicks on wrongly included voxels, and gave "
    f"the last mask only on slices that were corrected in the round before. {_ONE_SLICE}"
)
_REFINE = "scribble:previous=drop,one_slice=published"


def _center(n: int) -> str:
    return f"points_volume:n={n},placement=center"


def _per_slice(n: int, negatives: bool = False) -> str:
    return f"points_slice:n={n}{',negatives=true' if negatives else ''}"


_TABLE_2 = (
    *(Row(f"{n}PPS", 2, _per_slice(n), 2) for n in (1, 2, 3, 5, 10)),
    *(Row(f"{n}±PPS", 2, _per_slice(n, negatives=True), 2, note=_RING) for n in (2, 3, 5, 10)),
    Row("Box PS", 2, "box_slice", 2, "box2d"),
)

_TABLE_3 = (
    *(Row(f"{n}P Inter", 3, f"point_interp:n={n}", 2, note=_SEED) for n in (3, 5, 10)),
    *(Row(f"{n}B Inter", 3, f"box_interp:n={n}", 2, "box2d", _BOXES) for n in (3, 5, 10)),
    Row(
        "5P Prop",
        3,
        "point_prop:points=5",
        2,
        note="Five random points on the median slice, then one at the centre of the bounding box of the answer, as the "
        "published code and its count of 7 interactions; the paper's text says one point, then the centre of mass.",
    ),
    Row(
        "B Prop",
        3,
        "box_prop",
        2,
        "box2d",
        "Each box is that of the answer on the slice before, as the paper says; the published code used the first box "
        "again on both neighbours of the median slice, and mirrored it in all orientations but RAS.",
    ),
)

_TABLE_4 = (
    Row("1PPV", 4, "points_volume:n=1,placement=random", 3),
    Row("1 center PPV", 4, _center(1), 3, note=_PATCH),
    *(Row(f"{n} center PPV", 4, _center(n), 3, note=_FIRST) for n in (2, 3, 5, 10)),
    Row("3D Box", 4, "box_volume", 3, "box3d"),
)

_TABLE_5 = (
    Row(
        "1PPS + 1PPS Refine",
        5,
        f"{_per_slice(1)}+click_slice:previous=drop",
        2,
        note=f"{_DROP} The published code drew with the same seed on every slice and in every round.",
    ),
    Row(
        "1PPS + Scribble Refine",
        5,
        f"{_per_slice(1)}+{_REFINE}",
        2,
        note=f"The paper counts 1 interaction for the first prompts, which is 1 per slice. {_SCRIBBLE}",
    ),
    Row(
        "3P Inter + Scribble Refine",
        5,
        f"point_interp:n=5+{_REFINE}",
        2,
        note="Five points, as in the published numbers: the paper counts 5 interactions for the first prompts, and "
        f"their Dice is that of 5P Inter. {_SCRIBBLE}",
    ),
    Row("3B Inter + Scribble Refine", 5, f"box_interp:n=3+{_REFINE}", 2, "box2d", _SCRIBBLE),
)

_TABLE_6 = (
    Row(
        "1 center PPV + 1 PPV Refine",
        6,
        f"{_center(1)}+click_volume:previous=drop",
        3,
        note=f"{_DROP} The published code looked for errors in a patch of 128x128x128 voxels around the first point "
        "only (as click_volume does with reachable=true), and drew with the same seed in every round.",
    ),
    Row(
        "1 center PPV + 1 PPV Refine + prev point",
        6,
        f"{_center(1)}+click_volume",
        3,
        note="Corrections are given with all earlier prompts and the last mask (previous=keep). The published code "
        "omitted that mask here, and SAM-Med3D took only the newest point, so its numbers are "
        "those of a new point alone.",
    ),
    Row(
        "1 center PPV + Scribble Refine",
        6,
        f"{_center(1)}+{_REFINE}",
        3,
        note=f"{_DROP} All points of a positive scribble are given in one step, and one point drawn from a negative "
        "scribble, as the paper says; the published code gave one drawn from either, and so does SAM-Med3D with "
        f"policy=radioactive. {_ONE_SLICE}",
    ),
)

ROWS = (*_TABLE_2, *_TABLE_3, *_TABLE_4, *_TABLE_5, *_TABLE_6)

MODELS = {
    "SAM": "sam:policy=radioactive,size=h",
    "SAM2": "sam2:policy=radioactive,size=l,release=2.0",
    "MedSam": "medsam:policy=radioactive",
    "SamMed 2D": "sammed2d:policy=radioactive",
    "SamMed 3D": "sammed3d:policy=radioactive",
    "SamMed 3D Turbo": "sammed3d_turbo:policy=radioactive",
    "SegVol": "segvol:policy=radioactive",
}
"""Its models by their printed names, each with the size and the steps of the published code, as results name it."""
