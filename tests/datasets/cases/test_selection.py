"""What --cases and --targets take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.datasets.cases.selection import check_targets, select_cases, select_targets
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.datasets.phantom import Phantom
from intrabench.errors import IntraBenchError
from intrabench.results.parts import read_rows
from intrabench.target import TargetInfo
from tests.conftest import Said

NAMES = ("a1", "a2", "b[1]", "b2", "c:3")
SUBSETS = {"smoke": ("a2", "a1"), "none": ()}


def dataset() -> Any:
    return SimpleNamespace(name="set", short_spec="set", cases=lambda: NAMES, subsets=lambda: SUBSETS)


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ([], NAMES),
        (["first:2"], ("a1", "a2")),
        (["first:99"], NAMES),
        (["subset:smoke"], ("a1", "a2")),
        (["a*"], ("a1", "a2")),
        (["b[1]"], ("b[1]",)),  # the name itself, though it is a glob too
        (["c:3"], ("c:3",)),
        (["b2", "first:1", "a1"], ("a1", "b2")),
        (["@list.txt"], ("a2", "b[1]", "b2")),
    ],
)
def test_cases(wanted: list[str], chosen: tuple[str, ...]) -> None:
    Path("list.txt").write_text("# two centres\nb*  # the second\n\na2\n")
    assert tuple(select_cases(dataset(), wanted)) == chosen


@pytest.mark.parametrize(
    "wanted",
    [
        "first:0",
        "first:two",
        "subset:smoky",
        "d*",
        "@absent.txt",
        "@empty.txt",
    ],
)
def test_cases_that_do_not_exist(wanted: str, wording: SnapshotAssertion) -> None:
    Path("empty.txt").write_text("# nothing\n")
    with pytest.raises(IntraBenchError) as caught:
        select_cases(dataset(), [wanted])
    assert str(caught.value) == wording


def index(*sizes: tuple[str, int, int, int]) -> CaseIndex:
    """A case of voxels of 5 x 2 x 1 mm; (label, instance, voxels, slices) of each target."""
    infos = tuple(
        TargetInfo(label, instance, (0, 0, 0, 1, 1, 1), voxels, slices, "") for label, instance, voxels, slices in sizes
    )
    return CaseIndex("one", (9, 9, 9), (5.0, 2.0, 1.0), (9, 9, 9), (), "", infos, {}, {})


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ([], ["node.1", "node.2", "liver.1"]),
        (["node"], ["node.1", "node.2"]),
        (["*.1"], ["node.1", "liver.1"]),
        (["ml>=1"], ["node.1", "liver.1"]),  # 100 voxels of 10 mm3 are 1 ml
        (["ml > 1"], ["liver.1"]),
        (["voxels<100"], ["node.2"]),
        (["slices=1"], ["node.2"]),
        (["slices<=4", "node"], ["node.1", "node.2"]),
        (["slices>1", "voxels<=.5e3"], []),
        (["node.1", "liver", "ml<50"], ["node.1"]),
    ],
)
def test_targets(wanted: list[str], chosen: list[str]) -> None:
    found = select_targets(index(("node", 1, 100, 4), ("node", 2, 3, 1), ("liver", 1, 5000, 9)), wanted)
    assert [info.id for info in found] == chosen


def test_a_bound_that_no_target_of_any_case_meets_is_refused(wording: SnapshotAssertion) -> None:
    cases = [index(("node", 1, 100, 4)), index(("node", 1, 200, 4))]
    check_targets(cases, ["ml>=2", "node"])
    with pytest.raises(IntraBenchError) as caught:
        check_targets(cases, ["ml>2"])
    assert caught == wording


def test_a_run_of_a_subset_and_of_large_targets(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    spec = "phantom:shape=16x32x32,instances=3,scans=4"
    common = ("run", "-m", "box_fill", "-p", "box_slice", "-d", spec, "--cases", "subset:smoke")
    index = store.prepare(Phantom((16, 32, 32), scans=4), "case-1")
    smallest = min(index.targets, key=lambda info: info.voxels)
    assert say(*common, "--targets", f"voxels>{smallest.voxels}").code == 0
    rows = read_rows(Path("intrabench-results"))
    assert set(rows["case"]) == {"case-1", "case-2"}
    assert set(rows.filter(case="case-1")["target"]) == {info.id for info in index.targets} - {smallest.id}
    told = say(*common, "--targets", "ml>999")
    assert told.code == 2
    assert told.err == wording
