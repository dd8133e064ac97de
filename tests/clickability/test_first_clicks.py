"""First clicks of a file by the target that they are on."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.first_clicks import first_clicks
from intrabench.errors import IntraBenchError, NotApplicable
from intrabench.mask import Mask
from intrabench.target import Target
from tests.clickability.test_clicks_csv import written

LINES = (
    "GrabCut,person1,,,first,person1,pc,7,3,40,30",
    "GrabCut,two,2,,first,two_______2,pc,1,2,40,30",
    "GrabCut,person1,,,first,person1,mobile,99,29,40,30",
    "GrabCut,person1,,sam,fn,person1_sam_fn,pc,5,5,40,30",
    "GrabCut,two,,,first,two,pc,1,2,40,30",
    "GrabCut,person1,,,first,person1,pc,8,4,40,30",
    "Mine,other,12,,first,other_______12,pc,1,2,9,8",
)


def target(case: str, instance: int = 1, others: int = 0) -> Target:
    plain = Target(case, "object", instance, Mask.of(np.ones((1, 30, 40), bool)), (1, 30, 40), (1.0, 1.0, 1.0))
    return replace(plain, siblings=[plain.info()] * others)


def test_in_the_order_of_the_file() -> None:
    found = first_clicks(written(*LINES))
    np.testing.assert_array_equal(found.on("grabcut", target("person1", 7)), [[3, 7], [29, 39], [4, 8]])
    np.testing.assert_array_equal(found.on("grabcut", target("two", 2, others=1)), [[2, 1]])
    assert (found.most(["grabcut"]), found.most(["Mine", "spine_ct"])) == (3, 1)


def test_of_one_device(wording: SnapshotAssertion) -> None:
    found = first_clicks(written(*LINES), "pc")
    np.testing.assert_array_equal(found.on("grabcut", target("person1")), [[3, 7], [4, 8]])
    assert found.most(["grabcut"]) == 2
    mobile = first_clicks(written(*LINES), "mobile")
    with pytest.raises(NotApplicable) as caught:
        mobile.on("Mine", target("other", 12))
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        first_clicks(written(*LINES), "tablet")
    assert caught == wording


@pytest.mark.parametrize(
    ("dataset", "wanted"),
    [
        ("grabcut", target("person2")),
        ("grabcut", target("two", 1, others=1)),
        ("berkeley", target("person1")),
    ],
)
def test_nobody_clicked(dataset: str, wanted: Target, wording: SnapshotAssertion) -> None:
    with pytest.raises(NotApplicable) as caught:
        first_clicks(written(*LINES)).on(dataset, wanted)
    assert caught == wording


def test_another_picture(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        first_clicks(written(*LINES)).on("Mine", target("other", 12))
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        first_clicks(written(*LINES)).most(["spine_ct"])
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        first_clicks(written(LINES[3]))
    assert caught == wording


def test_a_file_is_read_once_and_again_after_it_changed() -> None:
    path = written(*LINES)
    one = first_clicks(path)
    assert first_clicks(Path("clicks.csv")) is one
    os.utime(written(*LINES), (1, 1))
    same = first_clicks(path)
    assert same is not one
    assert same.identity == one.identity
    others = [
        [*LINES[:-1], "Mine,other,12,,first,other_______12,pc,2,2,9,8"],  # another place, object, size
        [*LINES[:-1], "Mine,other,13,,first,other_______12,pc,1,2,9,8"],
        [*LINES[:-1], "Mine,other,12,,first,other_______12,pc,1,2,9,9"],
    ]
    assert len({one.identity, *(first_clicks(written(*lines)).identity for lines in others)}) == 4
