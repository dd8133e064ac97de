"""The published file of clicks: columns, stems, sizes, and files that are not it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.clicks_csv import RealClicks, read_clicks, stems
from intrabench.errors import IntraBenchError

HEAD = "dataset,image_stem,object_stem,model_type,click_type,full_stem,device,x,y,w,h"


def written(*lines: str, head: str = HEAD) -> Path:
    path = Path("clicks.csv")
    path.write_text("\n".join([head, *lines, ""]))
    return path


def read(*lines: str, head: str = HEAD) -> list[RealClicks]:
    return read_clicks(written(*lines, head=head))


def test_an_entry_for_each_full_stem() -> None:
    found = read(
        "GrabCut,person1,,,first,person1,pc,7,3,40,30",
        "COCO,car,12,sam,fn,car_______12_sam_fn,mobile,1,2,9,8",
        "GrabCut,person1,,,first,person1,mobile,0,29,40,30",
    )
    one, other = found
    assert (one.dataset, one.full_stem, one.image_stem, one.object_stem) == ("grabcut", "person1", "person1", "")
    assert (one.model_type, one.click_type, one.shape) == ("", "first", (30, 40))
    np.testing.assert_array_equal(one.clicks, [[3, 7], [29, 0]])
    assert one.clicks.dtype == np.int64
    assert one.devices == ("pc", "mobile")
    assert (other.dataset, other.object_stem, other.model_type, other.click_type) == ("coco_mval", "12", "sam", "fn")


def test_na_is_a_name_and_nothing_is_an_empty_one() -> None:
    (one,) = read("Berkeley,NA,,,first,NA,pc,7,3,40,30")
    assert (one.image_stem, one.object_stem) == ("NA", "")


def test_clicks_beside_the_picture_are_moved_to_its_border() -> None:
    (one,) = read("GrabCut,a,,,first,a,pc,40,-2,40,30", "GrabCut,a,,,first,a,pc,-1,99,40,30")
    np.testing.assert_array_equal(one.clicks, [[0, 39], [29, 0]])


def test_tetris_is_made_smaller() -> None:
    """3000 rows become 2048, 2001 columns int(2001 / 3000 * 2048 + 0.5) = 1366; positions are cut off."""
    (one,) = read("TETRIS,a,,,first,a,pc,2000,2999,2001,3000", "TETRIS,a,,,first,a,pc,100,100,2001,3000")
    assert one.shape == (2048, 1366)
    np.testing.assert_array_equal(one.clicks, [[int(2999 * 2048 / 3000), int(2000 * 1366 / 2001)], [68, 68]])
    (small,) = read("TETRIS,a,,,first,a,pc,100,100,2048,1000")
    assert small.shape == (1000, 2048)
    np.testing.assert_array_equal(small.clicks, [[100, 100]])
    (other,) = read("DAVIS,a,,,first,a,pc,2000,2999,2001,3000")
    assert (other.dataset, other.shape) == ("davis345", (3000, 2001))


def test_only_some_data_sets() -> None:
    path = written("GrabCut,a,,,first,a,pc,1,2,9,9", "Silhouette_Mask,a,,,first,a,pc,1,2,9,9")
    assert [one.dataset for one in read_clicks(path)] == ["grabcut", "Silhouette_Mask"]


@pytest.mark.parametrize(
    ("full_stem", "image", "number", "model"),
    [
        ("cake07_000000504711", "cake07_000000504711", "", ""),
        ("photo_______65793", "photo", "65793", ""),
        ("photo_______65793_simple_fp_pc_2", "photo", "65793", "simple"),
        ("a_mivos_fn", "a", "", "mivos"),
        ("a_sample_ritm_fn", "a", "", "sam"),  # as RClicks, which cuts there
    ],
)
def test_what_a_stem_says(full_stem: str, image: str, number: str, model: str) -> None:
    expected = {"image_stem": image, "object_stem": number, "model_type": model, "device": ""}
    assert stems(full_stem) == expected


def test_columns_know_better_than_stems() -> None:
    (one,) = read("DAVIS,a_sample,,ritm,fn,a_sample_ritm_fn,pc,1,2,9,9")
    assert (one.image_stem, one.model_type) == ("a_sample", "ritm")
    (told,) = read("DAVIS,b_______3_ritm_fn,fn,1,2,9,9", head="dataset,full_stem,click_type,x,y,w,h")
    assert (told.image_stem, told.object_stem, told.model_type, told.devices) == ("b", "3", "ritm", ("",))


@pytest.mark.parametrize(
    "lines",
    [
        ["GrabCut,a,,,first,a,pc,1,2,9,9", "GrabCut,a,,,first,a,pc,1.5,2,9,9"],
        ["GrabCut,a,,,first,a,pc,,2,9,9"],
        ["GrabCut,a,,,first,a,pc,1,2,0,9"],
        ["GrabCut,a,,,second,a,pc,1,2,9,9"],
        ["GrabCut,a,,,first,,pc,1,2,9,9"],
        ["GrabCut,a,,,first,a,pc,1,2,9,9", "GrabCut,a,,,first,a,pc,1,2,8,9"],
        ["GrabCut,a,,,first,a,pc,1,2,9,9", "GrabCut,a,,,fn,a,pc,1,2,9,9"],
        [],
    ],
    ids=str,
)
def test_wrong_lines(lines: list[str], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        read(*lines)
    assert caught == wording


def test_files_that_are_something_else(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        read_clicks(Path("nowhere.csv"))
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        read("a,b", head="dataset,full_stem")
    assert caught == wording
    for content in (b"", b"\x89PNG\r\n\x1a\n\xff\xfe\x00", b"dataset,x\n1,2,3\n"):
        Path("broken.csv").write_bytes(content)
        with pytest.raises(IntraBenchError, match=r"broken\.csv"):
            read_clicks(Path("broken.csv"))
