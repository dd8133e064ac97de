"""`intrabench compare` as tables, CSV and JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.cli import console
from intrabench.results.store import Store
from intrabench.statistics.compare import Settings, compare
from intrabench.statistics.resample import AVERAGE, FEW
from intrabench.statistics.significance import signed_rank
from tests.conftest import Said
from tests.results.made import rows
from tests.wording import line_with, sentence_with

NO_POINTS = "an initial point has no counterpart for a model that takes only boxes"


def line(model: str, better: float, dataset: str, count: int, **shared: object) -> pl.DataFrame:
    """A line whose Dice differ by case, some of them more than others."""
    cases = (
        {"case": str(n), "dice": 0.5 + better * (1 + n % 3), "target_ml": 1.0 + n, "dataset": dataset}
        for n in range(count)
    )
    return rows(*cases, model=model, **shared)


def stored(folder: str, *frames: pl.DataFrame, run: str = "run") -> None:
    given = [{k: v for k, v in row.items() if v is not None} for frame in frames for row in frame.to_dicts()]
    Store(Path(folder), run).write_part(given, [])


@pytest.fixture
def results() -> None:
    stored(
        "intrabench-results",
        line("old", 0.0, "spine_ct", 8, prompter="box_interp:n=3"),
        line("new", 0.05, "spine_ct", 8, prompter="box_interp:n=3", adapted="box2d->point"),
        line("old", 0.0, "spine_mr", 2, prompter="box_interp:n=3"),
        line("new", -0.02, "spine_mr", 2, prompter="box_interp:n=3", adapted="box2d->point"),
        line("old", 0.0, "spine_ct", 8, prompter="box_volume"),
        line("new", -0.05, "spine_ct", 8, prompter="box_volume"),
        rows({"status": "not_applicable", "error": NO_POINTS}, model="old", prompter="point_prop"),
        rows({"dice": 0.5}, model="new", prompter="point_prop"),
    )


@pytest.mark.usefixtures("results")
def test_the_screen_at_100_columns(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(console, "screen_width", lambda: 100)
    said = say("compare", "old", "new")
    assert said.code == 1
    tables, _, below = said.out.partition("by size, all targets with equal weight:\n")
    assert tables == (
        "dice of new minus old, positive if new is better: mean over the instances of a class in a case, then\n"
        "over cases, then over classes; failures count as the worst value, empty answers count as the worst\n"
        "value\n"
        "┏━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┳━━━━━━━┓\n"
        "┃ prompter       ┃ dataset  ┃ difference ┃    95 % interval ┃ P(false) ┃      p ┃ better ┃ worse ┃\n"
        "┡━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━╇━━━━━━━┩\n"
        "│ box_interp:n=3 │ spine_ct │   +0.094 * │ [+0.059, +0.129] │   <0.001 │ 0.0078 │      8 │     0 │\n"
        "│ box_interp:n=3 │ spine_mr │   -0.030 * │                - │        - │      - │      0 │     2 │\n"
        "│ box_interp:n=3 │ average  │   +0.032 * │                - │        - │ 0.0078 │      8 │     2 │\n"
        "│ box_volume     │ spine_ct │   -0.094 * │ [-0.129, -0.059] │   >0.999 │ 0.0078 │      0 │     8 │\n"
        "└────────────────┴──────────┴────────────┴──────────────────┴──────────┴────────┴────────┴───────┘\n"
        "no room at 100 columns for: superiority, of; --csv has everything\n"
    )
    assert below.count("better, worse: targets") == below.count("interval: over patients") == 1
    told = " ".join(below.split())
    assert sentence_with(told, "adapted differently") == wording
    assert sentence_with(told, "difference, too") == wording
    assert sentence_with(told, "not applicable") == wording
    assert sentence_with(told, "the interval") == wording
    claim = 'P(false): probability that the claim "new is better than old" is false (Claims Reloaded, arXiv 2505.04720)'
    assert told.count(claim) == told.count("* fewer than 50 patients") == 1


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_screen(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(console, "screen_width", lambda: width)
    assert max(map(len, say("compare", "old", "new").out.splitlines())) <= width


@pytest.mark.usefixtures("results")
def test_csv_and_json_have_all_digits(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    found = intrabench.compare("old", "new")
    lines = list(csv.DictReader(say("compare", "old", "new", "--csv").out.splitlines()))
    assert [(line["prompter"], line["dataset"], line["size"]) for line in lines][:4] == [
        ("box_interp:n=3", "spine_ct", ""),
        ("box_interp:n=3", "spine_mr", ""),
        ("box_interp:n=3", AVERAGE, ""),
        ("box_volume", "spine_ct", ""),
    ]
    first = found["box_interp:n=3"].datasets.row(0, named=True)
    names = ("difference", "low", "high", "false", "fewest", "p_holm", "sd_a", "sd_b", "correlation")
    assert {name: float(lines[0][name] or "nan") for name in names} == pytest.approx(
        {name: float("nan") if first[name] is None else first[name] for name in names}, nan_ok=True
    )
    assert {line["size"] for line in lines if line["dataset"] == "all"} == {"small", "medium", "large"}
    one, other = json.loads(say("compare", "old", "new", "--json").out)
    assert (one["shared"], other["shared"]) == ({"prompter": "box_interp:n=3"}, {"prompter": "box_volume"})
    assert (one["worse"], other["worse"], one["metric"]) == (False, True, "dice")
    assert one["datasets"][0]["false"] < 0.001 < 0.999 < other["datasets"][0]["false"]
    assert one["adapted"] == {"a": "", "b": "box2d->point in all sessions"}
    assert one["datasets"][1]["low"] is None
    assert one["datasets"][0]["p"] == first["p"]
    said = say("compare", "old", "new", "--json", "--csv")
    assert (said.code, said.err) == (2, wording)


def test_an_average_is_tested_on_the_patients_of_all_data_sets() -> None:
    a = pl.concat([line("a", 0.0, name, 3) for name in "de"])
    b = pl.concat([line("b", better, name, 3) for name, better in zip("de", (0.05, 0.06), strict=True)])
    row = compare(a, b).datasets.filter(dataset=AVERAGE).row(0, named=True)
    differences = [0.05, 0.1, 0.15, 0.06, 0.12, 0.18]
    assert (row["rank_biserial"], row["p"]) == signed_rank(differences)
    assert row["p"] == row["p_holm"] == pytest.approx(2 / 2**6)  # the only test that all six are above 0
    assert row["low"] is None  # neither data set has enough patients


@pytest.mark.parametrize("patients", [2, FEW - 1, FEW, FEW + 1])
def test_a_size_of_few_patients_has_no_interval(patients: int) -> None:
    def side(model: str, better: float) -> pl.DataFrame:
        small = ({"case": f"s{n}", "dice": 0.4 + better * (n + 1), "target_ml": 1.0 + n} for n in range(patients))
        large = ({"case": f"l{n}", "dice": 0.5, "target_ml": 100.0 + n} for n in range(2 * patients))
        return rows(*small, *large, model=model)

    sizes = compare(side("a", 0.0), side("b", 0.01)).sizes
    assert sizes["patients"].to_list() == [patients] * 3
    assert [low is not None for low in sizes["low"]] == [patients >= FEW] * 3


def test_equal_adaptation_is_no_warning() -> None:
    a, b = (line(model, 0.0, "d", 6, adapted="box3d->box2d") for model in "ab")
    assert compare(a, b).warnings == ()
    half = b.with_columns(adapted=pl.when(pl.col("case") < "3").then(pl.lit("")).otherwise("adapted"))
    told = "one: box3d->box2d in all sessions; other: box3d->box2d in 50 % of the sessions"
    (warning,) = compare(a, half, Settings(), ("one", "other")).warnings
    assert warning == f"prompts were adapted differently: {told}"


def test_hashes_of_weights_stand_in_no_heading_unless_nothing_else_differs(say: Callable[..., Said]) -> None:
    one, other = "1" * 64, "2" * 64
    shared = {"weights": "registered"}
    stored(
        "intrabench-results",
        line("sam", 0.0, "d", 6, prompter="p", weights_sha256=one, **shared),
        line("sam", 0.1, "d", 6, prompter="q", weights_sha256=one, **shared),
        line("medsam", 0.0, "d", 6, prompter="p", weights_sha256=other, **shared),
        line("medsam", 0.1, "d", 6, prompter="q", weights_sha256=other, **shared),
    )
    assert list(intrabench.compare("p", "q")) == ["medsam", "sam"]
    assert "11111111" not in say("compare", "p", "q").out
    stored(
        "intrabench-results",
        line("sam", 0.02, "d", 6, prompter="p", weights_sha256=other, **shared),
        line("sam", 0.03, "d", 6, prompter="q", weights_sha256=other, **shared),
        run="later",
    )
    found = intrabench.compare("p", "q")
    assert list(found) == ["medsam", "sam, 11111111", "sam, 22222222"]
    assert found["sam, 22222222"].shared == {"model": "sam", "weights": "22222222"}


def test_two_runs_that_differ_only_in_weights_say_so(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    for name, kind in (("by hand", "file"), ("registered", "registered")):
        stored(f"{kind}1", line("sam", 0.0, "d", 6, prompter="p", weights=name, weights_sha256="1" * 64))
        stored(f"{kind}2", line("sam", 0.1, "d", 6, prompter="p", weights=name, weights_sha256="2" * 64))
        said = say("compare", f"{kind}1", f"{kind}2")
        assert said.code == 0
        assert line_with(said.out.splitlines(), "the weights") == wording


@pytest.mark.parametrize(
    ("datasets", "unit", "sizes"),
    [
        (["berkeley"], "pixels", ["1000 to 3000", "4000 to 6000", "7000 to 8000"]),
        (["berkeley", "spine_ct"], "ml", ["1 to 3", "4 to 6", "7 to 8"]),
    ],
)
def test_sizes_of_photographs_are_pixels(
    say: Callable[..., Said], datasets: list[str], unit: str, sizes: list[str]
) -> None:
    both = [line(model, better, data, 8) for data in datasets for model, better in (("old", 0.0), ("new", 0.05))]
    stored("intrabench-results", *both)
    said = say("compare", "old", "new").out.splitlines()
    (head,) = (text.split("┃") for text in said if text.startswith("┃ size"))
    assert head[2].strip() == unit
    assert [text.split("│")[2].strip() for text in said if text.split("│")[1:2] and " to " in text] == sizes
