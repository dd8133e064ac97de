"""Scribbles as JSON: the values of davisinteractive with compat=True, and the right ones without."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.davis.utils.scribbles import (
    annotated_frames,
    annotated_frames_object,
    fuse_scribbles,
    is_empty,
    joined,
    scribbles2mask,
    scribbles2points,
    shares,
)
from intrabench.errors import IntraBenchError
from tests.davis.golden import read

UTILS = read("utils.json")
DEMO = UTILS["sample_scribble"]


@pytest.mark.parametrize("letter", "abcde")
def test_golden_lines(letter: str) -> None:
    golden = UTILS[f"bresenham_{letter}"]
    assert joined(np.array(golden["points"])).tolist() == golden["out"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("default", {}),
        ("nobres", {"bresenham": False}),
        ("bezier", {"bezier_curve_sampling": True}),
        ("dv", {"default_value": 255}),
    ],
)
def test_golden_masks(name: str, options: dict[str, Any]) -> None:
    found = scribbles2mask(DEMO, (12, 17), compat=True, **options)
    assert found.tolist() == UTILS[f"scribbles2mask_{name}"]


def test_golden_points_and_frames() -> None:
    for resolution, name in (((12, 17), "12x17"), (None, "norm")):
        points, objects = scribbles2points(DEMO, resolution, compat=True)
        assert points.tolist() == UTILS[f"scribbles2points_{name}"]["X"]
        assert objects.tolist() == UTILS["scribbles2points_12x17"]["Y"]
    assert annotated_frames(DEMO) == UTILS["annotated_frames"]
    assert annotated_frames_object(DEMO, 2) == UTILS["annotated_frames_object_2"]
    assert is_empty(DEMO) == UTILS["is_empty"]
    assert is_empty({"scribbles": [[], []]})


def test_a_pixel_is_drawn_where_it_was_meant() -> None:
    """The original draws pixel k at k - 1."""
    for k, published in enumerate(UTILS["pixel_roundtrip_x/w*(w-1)_truncated_w17"]):
        line = {"path": shares(np.array([[0, k]]), 1, 17), "object_id": 3}
        assert np.argwhere(scribbles2mask({"scribbles": [[line]]}, (1, 17)) == 3).tolist() == [[0, 0, k]]
        line["path"] = shares(np.array([[0, k]]), 1, 17, compat=True)
        drawn = scribbles2mask({"scribbles": [[line]]}, (1, 17), compat=True)
        assert np.argwhere(drawn == 3).tolist() == [[0, 0, published]]


def test_points_are_rows_of_frame_y_x() -> None:
    points, objects = scribbles2points(DEMO, (12, 17))
    assert points.tolist()[1:3] == [[1, 11, 16], [1, 1, 15]]  # the lower right corner, and (0.9, 0.1)
    assert objects.tolist() == [1, 1, 2, 2, 2, 0, 0]
    assert scribbles2points({"scribbles": [[]]}, (12, 17))[0].shape == (0, 3)


def test_fused_scribbles_leave_their_parts_alone_unless_they_must_be_compatible() -> None:
    one, other = copy.deepcopy(DEMO), copy.deepcopy(DEMO)
    fused = fuse_scribbles(one, other)
    assert [len(lines) for lines in fused["scribbles"]] == [0, 4, 2]
    assert one == other == DEMO
    assert UTILS["fuse_scribbles_mutates_first_argument"]
    assert fuse_scribbles(one, other, compat=True) is one
    assert [len(lines) for lines in one["scribbles"]] == [0, 4, 2]


def line(**changes: Any) -> dict[str, Any]:
    return {"scribbles": [[], [{"path": [[0.5, 0.5]], "object_id": 1} | changes]]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (line(path=[[0.5, 1.25]]), r"frame 1 has the point \[0.5, 1.25\], outside of the image"),
        (line(path=[[0.5, float("nan")]]), "outside of the image"),
        (line(path=[0.5, 0.5]), "frame 1 has no path"),
        (line(path=[]), "frame 1 has no path"),
        (line(object_id=-1), "frame 1 has no object_id"),
        (line(object_id="1"), "frame 1 has no object_id"),
        ({"scribbles": {}}, "scribbles are a dictionary with a list for each frame"),
        ([], "scribbles are a dictionary"),
    ],
)
def test_scribbles_that_nobody_can_draw(given: Any, said: str) -> None:
    with pytest.raises(IntraBenchError, match=said):
        scribbles2mask(given, (10, 10))


def test_scribbles_of_different_sequences(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        fuse_scribbles(DEMO, {**DEMO, "sequence": "other"})
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        fuse_scribbles(DEMO, {**DEMO, "scribbles": [[]]})
    assert caught == wording
