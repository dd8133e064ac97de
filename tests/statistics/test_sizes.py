"""Groups of targets by size: thirds of each label, or between given ends, in every output alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.statistics.sizes import ends_of, found_by_size, names_of, with_sizes
from tests.conftest import Said

VOLUMES = {"liver": [1500.0, 1000.0, 1200.0], "lesion": [0.5, 4.0, 0.5, 30.0, 2.0, 0.9], "rare": [5.0, 6.0]}


def targets() -> pl.DataFrame:
    rows = [
        {"dataset": data, "case": f"{label}{n // 3}", "label": label, "target": f"{label}.{n}", "target_ml": volume}
        for data, scale in (("a", 1.0), ("b", 0.1))
        for label, volumes in VOLUMES.items()
        for n, volume in enumerate(scale * one for one in volumes)
    ]
    return pl.DataFrame(rows)


def groups(label: str, data: str = "a", ends: tuple[float, ...] = ()) -> list[str | None]:
    return with_sizes(targets(), ends).filter(label=label, dataset=data)["size"].to_list()


def test_thirds_are_of_the_targets_of_a_label_in_a_data_set() -> None:
    for data in ("a", "b"):
        assert groups("liver", data) == ["large", "small", "medium"]
        # Two of equal volume, at the first and the second place, are both small.
        assert groups("lesion", data) == ["small", "large", "small", "large", "medium", "medium"]
        assert groups("rare", data) == [None, None]


def test_groups_between_given_ends_are_of_all_labels() -> None:
    ends = ends_of("1, 4,1000")
    assert ends == ends_of([1, 4, 1000]) == (1, 4, 1000)
    assert names_of(ends) == ("0 to 1 ml", "1 to 4 ml", "4 to 1000 ml", "over 1000 ml")
    assert groups("liver", ends=ends) == ["over 1000 ml"] * 3
    assert groups("lesion", ends=ends)[:5] == ["0 to 1 ml", "4 to 1000 ml", "0 to 1 ml", "4 to 1000 ml", "1 to 4 ml"]
    assert groups("rare", "b", ends) == ["0 to 1 ml"] * 2


@pytest.mark.parametrize("words", ["1,x", "10,1", "0,1", "1,inf", "nan", "1,1"])
def test_ends_that_are_none(words: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        ends_of(words)
    assert caught == wording


def test_what_is_found_by_size_is_of_labels_with_several_targets_in_a_case() -> None:
    dice = pl.when(pl.col("target_ml") < 0.6).then(0.0).otherwise(0.5)
    once = targets().filter(pl.col("label") != "liver", dataset="a").with_columns(dice=dice)
    again = once.with_columns(dice=pl.when(pl.col("target_ml") == 30).then(0.0).otherwise("dice"))
    single = targets().filter(label="liver", dataset="a").with_columns(dice=pl.lit(0.0), case=pl.col("target"))
    found = found_by_size(pl.concat([once, again, single]))
    assert found.rows() == [("small", 0.0, 2), ("medium", 1.0, 2), ("large", 0.75, 2)]
    assert found_by_size(single).is_empty()


def test_every_output_has_the_same_groups(say: Callable[..., Said], data: Path, wording: SnapshotAssertion) -> None:
    scans = "phantom:shape=24x40x40,instances=4,scans=3"
    intrabench.run(["box_fill", "random_walker"], "box_slice", scans, out="results")
    said = say("compare", "box_fill", "random_walker", "--out", "results", "--size-bins", "0.3,0.6", "--csv")
    sizes = pl.read_csv(said.out.encode()).drop_nulls("size")
    assert sizes["size"].to_list() == ["0 to 0.3 ml", "0.3 to 0.6 ml", "over 0.6 ml"]
    assert say("report", "page.html", "--out", "results", "--size-bins", "0.3,0.6").code == 0
    page = Path("page.html").read_text()
    assert [page.count(f">{name}, {units} targets<") for name, units in sizes.select("size", "units").rows()] == [1] * 3
    assert say("figures", "figures", "--out", "results", "--size-bins", "0.3,0.6", "--format", "svg").code == 0
    assert "0.3 to 0.6 ml" in Path("figures/dice_by_size.svg").read_text()
    assert say("report", "thirds.html", "--out", "results").code == 0
    assert "by thirds of the targets of each label" in Path("thirds.html").read_text()
    refused = say("compare", "SAM2", "box_fill", "--reference", "paper", "--size-bins", "1")
    assert refused.code == 2
    assert refused.err == wording
