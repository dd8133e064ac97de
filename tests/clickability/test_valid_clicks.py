"""Which collected clicks count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.valid_clicks import beside, valid
from intrabench.errors import IntraBenchError


def clicks(rater: str, distances: list[float], display: str = "cutout") -> pl.DataFrame:
    return pl.DataFrame({"x": range(len(distances)), "beside": distances}).with_columns(
        rater=pl.lit(rater), display=pl.lit(display)
    )


def test_distance_beside_a_mask() -> None:
    mask = np.zeros((9, 9), bool)
    mask[2:4, 2:4] = True
    assert [beside(mask, 3, 3), beside(mask, 3, 5), beside(mask, 6, 7)] == [0, 2, 5]


def test_groups_of_people_who_miss_are_dropped_and_then_far_clicks() -> None:
    hits, near, far = [0.0] * 7, [1.5, 5.0], [5.1]
    good = clicks("r1", [*hits, *near, *far])
    bad = clicks("r2", [*[0.0] * 6, *[1.0] * 4])
    found = valid(pl.concat([good, bad]))
    assert found["rater"].unique().to_list() == ["r1"]
    assert found["beside"].to_list() == [*hits, *near]
    assert found.columns == good.columns
    assert valid(bad, hits=6).height == 10
    assert valid(good, radius=1.5)["beside"].max() == 1.5


def test_each_group_of_ten_counts_by_itself_and_each_display() -> None:
    one = clicks("r1", [0.0] * 10 + [9.0] * 10 + [0.0, 0.0, 9.0])
    assert valid(one).height == 10  # of the last three, two hit: fewer than seven in ten
    assert valid(clicks("r1", [0.0] * 10 + [0.0, 0.0, 0.0, 9.0])).height == 13
    both = pl.concat([clicks("r1", [0.0] * 5), clicks("r1", [9.0] * 5, "text")])
    assert valid(both)["display"].to_list() == ["cutout"] * 5


def test_clicks_of_others_have_no_distances(tmp_path: Path, say: Any, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as error:
        valid(pl.DataFrame({"x": [1], "rater": ["r1"]}))
    assert str(error.value) == wording
    head = "dataset,full_stem,click_type,x,y,w,h,device,display,rater,beside\n"
    lines = [f"slices,a,first,{n},2,9,8,pc,cutout,r1,{0 if n < 7 else 4 * n - 26}" for n in range(10)]
    (tmp_path / "clicks.csv").write_text(head + "\n".join(lines) + "\n")
    told = say("clickability", "filter", str(tmp_path / "clicks.csv"), "--file", str(tmp_path / "valid.csv"))
    assert told.code == 0
    assert pl.read_csv(tmp_path / "valid.csv")["beside"].to_list() == [0] * 7 + [2]
    (tmp_path / "bad.csv").write_text(head + "slices,a,first,1,2,9,8,pc,cutout,r1,9\n")
    told = say("clickability", "filter", str(tmp_path / "bad.csv"), "--file", str(tmp_path / "valid.csv"))
    assert told.code == 2
    assert told.err.replace(str(tmp_path), "FOLDER") == wording
