"""`intrabench table --spread`: lines, marks, formats, and what it refuses."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.prompters.combined import make_prompter
from intrabench.results.store import Store
from tests.conftest import Said
from tests.results import made

BOX, HAND, CENTER, FIRST, LAST = (
    make_prompter(spec).spec
    for spec in (
        *("box_volume", "box_volume+hand:jitter_mm=2", "click_deepest"),
        *("clickability:group=1", "clickability:group=10"),
    )
)


def session(case: int, seed: int, prompter: str, dice: float, **shared: Any) -> pl.DataFrame:
    """Two clicks, of which the second one ends with this Dice."""
    given = {"case": str(case), "patient": str(case), "seed": seed, "prompter": prompter, **shared}
    return made.curve([dice / 2, dice], **given)


SESSIONS = pl.concat(
    [
        *(session(case, seed, BOX, 0.6 + 0.1 * seed) for case in range(8) for seed in range(3)),
        *(session(case, seed, HAND, 0.3 + 0.2 * seed) for case in range(8) for seed in range(2 if case else 1)),
        *(session(case, 0, CENTER, 0.9) for case in range(8)),
        *(session(case, 0, FIRST, 0.4, adapted="box2d->point") for case in range(8)),
        *(session(case, 0, LAST, 0.8) for case in range(8)),
    ]
)


@pytest.fixture
def table(say: Callable[..., Said]) -> Callable[..., Said]:
    """Type `intrabench table ...` where those rows are stored."""
    Store(Path("intrabench-results"), "run").write_part(
        [{k: v for k, v in row.items() if v is not None} for row in SESSIONS.to_dicts()], []
    )
    return lambda *words: say("table", *words)


def lines(said: Said) -> list[dict[str, str]]:
    assert said.code == 0, said.err
    return list(csv.DictReader(said.out.splitlines()))


def test_a_line_for_each_prompter_that_varies(table: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = table("--spread", "seed", "--csv")
    assert said.err == wording  # one target has one seed with errors of the hand, and groups of clicks have one seed
    exact, hand = lines(said)
    assert (exact["prompter"], exact["targets"], exact["seeds"]) == (BOX, "8", "3")
    assert [float(exact[name]) for name in ("mean", "sd", "worst", "dwb")] == pytest.approx([0.7, 0.1, 0.6, -0.2])
    assert (hand["prompter"], hand["targets"]) == (HAND, "7")
    assert "base" not in exact
    (line,) = lines(table("--spread", "hand", "--csv"))
    assert (line["prompter"], line["targets"], line["draws"]) == (BOX, "7", "2")
    assert [float(line[name]) for name in ("base", "mean", "dsb")] == pytest.approx([0.7, 0.4, -0.3])


def test_lines_that_are_combined_have_the_mean_of_their_spreads(table: Callable[..., Said]) -> None:
    """Errors of the hand are no spread over seeds, though only they have fewer of them."""
    (line,) = lines(table("--spread", "seed", "--csv", "--by", "model"))
    exact, hand = lines(table("--spread", "seed", "--csv"))
    for name in ("mean", "sd", "worst"):
        alone, both = float(exact[name]), (float(exact[name]) + float(hand[name])) / 2
        assert float(line[name]) == pytest.approx((alone + 7 * both) / 8)
    assert (line["targets"], line["seeds"]) == ("8", "2")


def test_means_of_fewer_targets_have_a_letter_and_common_ones_have_none(table: Callable[..., Said]) -> None:
    said = table("--spread", "seed")
    (few,) = (line for line in said.out.splitlines() if "jitter_mm" in line)
    assert few.count(" a ") == 5
    assert "mean of 7 of 8 targets" in said.out
    said = table("--spread", "seed", "--common", "--csv")
    assert [line["targets"] for line in lines(said)] == ["7", "7"]
    assert "7 of 8 targets" in said.err


def test_groups_have_the_numbers_of_their_own_table(table: Callable[..., Said]) -> None:
    metric = ("--metric", "noc:threshold=0.5", "--aggregation", "pooled", "--csv")
    (line,) = lines(table("--spread", "group", *metric))
    (published,) = lines(table("--groups", "--metric", "noc:threshold=0.5", "--csv"))
    names = {"base": "base", "mean": "sample", "sd": "spread", "dsb": "dsb", "dgr": "dgr"}
    assert [float(line[name]) for name in names] == [float(published[name]) for name in names.values()]
    assert float(line["dgr"]) == pytest.approx(100 * (20 - 4) / 4)
    assert "nsr" not in line


def test_the_published_protocol_has_the_numbers_of_its_own_table(say: Callable[..., Said]) -> None:
    """Without options, its number and its averages are taken."""
    rows = pl.concat(
        session(0, 0, name, dice, instance=instance, protocol="rclicks@1", iou=dice)
        for name, values in {FIRST: (0.95, 0.3, 0.95), LAST: (0.95, 0.95, 0.6), CENTER: (0.95, 0.95, 0.95)}.items()
        for instance, dice in enumerate(values)
    ).with_columns(interactions=pl.col("round") + 1.0)
    Store(Path("intrabench-results"), "run").write_part(
        [{k: v for k, v in row.items() if v is not None} for row in rows.to_dicts()], []
    )
    (line,), (published,) = (lines(say("table", *words, "--csv")) for words in (("--spread", "group"), ("--groups",)))
    names = {"base": "base", "mean": "sample", "sd": "spread", "dsb": "dsb", "dgr": "dgr"}
    assert [float(line[name]) for name in names] == pytest.approx([float(published[name]) for name in names.values()])
    assert float(line["mean"]) == pytest.approx((1 + 10.5 + 10.5) / 3)


def test_what_happened_to_sessions_is_noted_at_their_numbers(table: Callable[..., Said]) -> None:
    said = table("--spread", "group", "--metric", "noc:threshold=0.5")
    (cells,) = (line.split("│")[1:-1] for line in said.out.splitlines() if "clickability" in line)
    marks = [cell.split()[1:] for cell in cells[3:-2]]
    assert marks == [[], *[["a,b"]] * 5]  # none at the baseline
    assert ("box2d->point" in said.out, "cut short" in said.out) == (True, True)


def test_intervals_and_marks_of_few_patients(table: Callable[..., Said]) -> None:
    said = table("--spread", "hand", "--interval", "--format", "markdown")
    assert ("0.700 \\[0.700, 0.700\\]<sup>\\*</sup>" in said.out, "50 patients" in said.out) == (True, True)
    assert "*" not in table("--spread", "hand").out


def test_missed_targets_are_told_at_each_number(say: Callable[..., Said]) -> None:
    """One of three seeds misses two of eight targets; so their mean, sd and worst are infinite."""
    rows = pl.concat(
        session(case, seed, BOX, 0.6, hd95_mm=math.inf if case < 2 and seed == 0 else 1.0 + seed)
        for case in range(8)
        for seed in range(3)
    )
    Store(Path("intrabench-results"), "run").write_part(
        [{k: v for k, v in row.items() if v is not None} for row in rows.to_dicts()], []
    )
    told = say("table", "--spread", "seed", "--metric", "hd95").out
    assert "infinite in 2 of 8; 2.000 over the other 6" in told  # mean of 1, 2 and 3
    assert "infinite in 2 of 8; 1.000 over the other 6" in told  # sd
    assert "infinite in 2 of 8; 3.000 over the other 6" in told  # worst


def test_rounds_lines_and_formats(table: Callable[..., Said]) -> None:
    (line,) = lines(table("--spread", "hand", "--round", "0", "--csv", "--by", "model"))
    assert (float(line["base"]), line["model"], "prompter" in line) == (pytest.approx(0.35), "m", False)
    (found,) = json.loads(table("--spread", "group", "--json").out)
    assert (found["prompter"], found["groups"]) == ("clickability:model=distance", 2)
    assert found["dgr"] == pytest.approx(-0.4)
    frame = intrabench.table("intrabench-results", spread="group")
    assert frame["worst"].to_list() == pytest.approx([0.4])


@pytest.mark.parametrize(
    "words",
    [
        ("--spread", "clicks"),
        ("--spread", "seed", "--by", "model,seed"),
        ("--spread", "seed", "--by", "dataset"),
        ("--spread", "seed", "--by", "modle"),
        ("--spread", "hand", "--groups", "--users", "--reference", "paper", "--columns", "label"),
        ("--spread", "group", "--per-round", "--counts"),
    ],
    ids=" ".join,
)
def test_what_does_not_go_together(
    table: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion
) -> None:
    said = table(*words)
    assert said.code == 2
    assert said.err == wording
