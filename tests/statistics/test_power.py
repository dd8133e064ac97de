"""How many patients a comparison needs: closed forms, against simulation and textbooks, and `intrabench power`."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.cli import console
from intrabench.errors import IntraBenchError
from intrabench.results.store import Store
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.compare import Settings, compare, paired
from intrabench.statistics.infinite import Infinite, signed
from intrabench.statistics.power import (
    Components,
    Question,
    components,
    patients_needed,
    plan,
    power,
    smallest_difference,
    upper_deviation,
)
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.significance import per_patient
from tests.conftest import Said
from tests.results.made import rows
from tests.wording import line_with

DRAWS = 4000
ROUGHLY = 3 * math.sqrt(0.8 * 0.2 / DRAWS)
"""Three standard errors of a simulated power of 0.8."""
PROTOCOL = AGGREGATIONS["protocol"]


@pytest.mark.parametrize(("effect", "alpha", "patients"), [(0.5, 0.05, 34), (0.2, 0.05, 199), (0.8, 0.05, 15)])
def test_patients_needed_are_those_of_textbooks(effect: float, alpha: float, patients: int) -> None:
    """Cohen's medium, small and large effects, as G*Power has them for matched pairs."""
    assert patients_needed(effect, [1.0], alpha, 0.8) == patients
    assert patients_needed(10 * effect, [10.0], alpha, 0.8) == patients


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("freedom", [5, 19, 200, 1e5])
@pytest.mark.parametrize("shift", [0, 1, 2.8, 5])
def test_the_power_is_that_of_a_noncentral_t(shift: float, freedom: float, alpha: float) -> None:
    limit = stats.t.ppf(1 - alpha / 2, freedom)
    expected = stats.nct.sf(limit, freedom, shift) + stats.nct.cdf(-limit, freedom, shift)
    assert power(3 * shift, 3, freedom, alpha) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("effect", [0.3, 0.7, 1.5])
def test_as_many_patients_as_needed_see_the_difference_in_simulated_studies(effect: float) -> None:
    patients = patients_needed(effect, [1.0], 0.05, 0.8)
    assert patients
    random = np.random.default_rng(0)
    seen = stats.ttest_1samp(random.normal(effect, 1, (DRAWS, patients)), 0, axis=1).pvalue < 0.05
    expected = power(effect, 1 / math.sqrt(patients), patients - 1, 0.05)
    assert seen.mean() == pytest.approx(expected, abs=ROUGHLY)
    assert expected >= 0.8 > power(effect, 1 / math.sqrt(patients - 1), patients - 2, 0.05)


def test_an_average_over_data_sets_in_simulated_studies() -> None:
    """Two data sets with other spreads, and a t statistic with Satterthwaite's degrees of freedom."""
    deviations = (1.0, 2.0)
    patients = patients_needed(0.6, deviations, 0.05, 0.8)
    assert patients
    random = np.random.default_rng(1)
    drawn = [random.normal(0.6, deviation, (DRAWS, patients)) for deviation in deviations]
    of_mean = np.array([one.var(axis=1, ddof=1) / patients for one in drawn])
    freedom = of_mean.sum(axis=0) ** 2 * (patients - 1) / (of_mean**2).sum(axis=0)
    t = np.mean([one.mean(axis=1) for one in drawn], axis=0) * 2 / np.sqrt(of_mean.sum(axis=0))
    seen = 2 * stats.t.sf(np.abs(t), freedom) < 0.05
    assert seen.mean() == pytest.approx(0.8, abs=ROUGHLY + 0.005)


def test_the_smallest_difference_is_seen_with_the_power_that_is_asked() -> None:
    smallest = smallest_difference(0.1, 7, 0.01, 0.9)
    assert power(smallest, 0.1, 7, 0.01) == pytest.approx(0.9)
    assert patients_needed(smallest, [0.1 * math.sqrt(8)], 0.01, 0.9) == 8


def test_the_upper_limit_of_a_deviation_is_above_the_true_one_in_four_of_five_studies() -> None:
    drawn = np.random.default_rng(2).normal(0, 3, (DRAWS, 10)).std(axis=1, ddof=1)
    above = np.mean([upper_deviation(one, 9) > 3 for one in drawn])
    assert above == pytest.approx(0.8, abs=ROUGHLY)


def test_patients_that_do_not_differ_need_no_number() -> None:
    assert patients_needed(0.02, [0.0], 0.05, 0.8) is None


def nested(table: dict[str, dict[str, list[float]]], dataset: str = "d") -> pl.DataFrame:
    """Values of patients, of their targets, of the seeds of these."""
    return pl.DataFrame(
        {"dataset": dataset, "patient": who, "case": who, "label": "x", "target": target, "value": value}
        for who, targets in table.items()
        for target, values in targets.items()
        for value in values
    )


def test_components_of_a_balanced_table_are_those_of_mean_squares() -> None:
    """Two patients with two targets with two seeds, by hand: mean squares 0.5, 9 and 200 over 4, 2 and 1."""
    table = nested(
        {"P": {"1": [10.0, 11.0], "2": [13.0, 14.0]}, "Q": {"1": [20.0, 21.0], "2": [23.0, 24.0]}},
    )
    found = components(table)
    assert (found.seeds, found.targets) == (pytest.approx(0.5), pytest.approx((9 - 0.5) / 2))
    assert found.patients == pytest.approx((200 - 9) / 4)
    shares = found.shares()
    assert sum(share or 0 for share in shares.values()) == pytest.approx(1)
    assert shares["patients"] == pytest.approx(47.75 / 52.5)
    moved = table.with_columns(pl.col("value") + 100, dataset=pl.lit("e"))
    assert components(pl.concat([table, moved])) == found  # data sets may differ


def test_an_estimate_below_zero_counts_as_zero() -> None:
    found = components(nested({"P": {"1": [0.0, 2.0], "2": [0.0, 2.0]}, "Q": {"1": [0.0, 2.0], "2": [0.0, 2.0]}}))
    assert (found.patients, found.targets, found.seeds) == (0, 0, 2)


def test_components_of_unequal_numbers_are_right_on_average() -> None:
    """Patients with one to four targets with one to three seeds, in studies of a known make."""
    random = np.random.default_rng(3)
    sizes = [random.integers(1, 4, count).tolist() for count in (1, 2, 4, 3, 1, 4, 2, 3)]
    found = []
    for _ in range(400):
        table = {
            str(patient): {
                str(target): (of_patient + random.normal(0, 1) + random.normal(0, 0.5, seeds)).tolist()
                for target, seeds in enumerate(targets)
            }
            for patient, targets in enumerate(sizes)
            for of_patient in [random.normal(0, 2)]
        }
        one = components(nested(table))
        found.append([one.patients, one.targets, one.seeds])
    assert np.mean(np.array(found, float), axis=0) == pytest.approx([4, 1, 0.25], rel=0.1)


def test_what_differs_between_classes_is_no_variance_of_targets() -> None:
    random = np.random.default_rng(4)
    found = []
    for _ in range(400):
        values = [
            {"patient": str(n), "case": str(n), "label": label, "target": label, "value": of_patient + of + error}
            for n, of_patient in enumerate(random.normal(0, 2, 8))
            for label, of in (("x", -5.0), ("y", 0.0), ("z", 5.0))
            for error in [random.normal(0, 1)]
        ]
        one = components(pl.DataFrame(values).with_columns(dataset=pl.lit("d")))
        assert one.seeds is None
        found.append([one.patients, one.targets])
    assert np.mean(np.array(found, float), axis=0) == pytest.approx([4, 1], rel=0.1)


def test_a_level_with_one_member_is_part_of_the_one_above() -> None:
    one_seed = components(nested({"P": {"1": [0.0], "2": [2.0]}, "Q": {"1": [4.0], "2": [6.0]}}))
    assert one_seed == Components(patients=7.0, targets=2.0, seeds=None)
    one_target = components(nested({"P": {"1": [0.0, 2.0]}, "Q": {"1": [4.0, 6.0]}}))
    assert one_target == Components(patients=7.0, targets=None, seeds=2.0)
    assert components(nested({"P": {"1": [0.0]}, "Q": {"1": [4.0]}})) == Components(8.0, None, None)
    assert components(nested({"P": {"1": [1.0]}, "Q": {"1": [1.0]}})).shares()["patients"] is None


def line(model: str, better: float, dataset: str, count: int, **shared: object) -> pl.DataFrame:
    """Two targets of each of so many patients, with two seeds."""
    random = np.random.default_rng(len(model) + count)
    of_patients = random.normal(better, 0.05, count)
    return rows(
        *(
            {
                "dataset": dataset,
                "case": f"P{patient}",
                "instance": instance,
                "seed": seed,
                "dice": 0.6 + float(of_patients[patient] + random.normal(0, 0.02)),
            }
            for patient in range(count)
            for instance in (1, 2)
            for seed in (0, 1)
        ),
        model=model,
        **shared,
    )


def planned(a: pl.DataFrame, b: pl.DataFrame, question: Question | None = None) -> pl.DataFrame:
    return plan(paired(a, b, Settings()), PROTOCOL, question or Question())


def test_the_numbers_of_one_data_set_are_those_of_a_paired_t_test_of_patients() -> None:
    a, b = line("a", 0.0, "d", 12), line("bb", 0.02, "d", 12)
    one = planned(a, b).row(0, named=True)
    means = per_patient(paired(a, b, Settings()))["value"].to_numpy()
    assert one["difference"] == pytest.approx(means.mean())
    assert one["sd"] == pytest.approx(means.std(ddof=1))
    assert one["sd_high"] == pytest.approx(upper_deviation(one["sd"], 11))
    assert (one["patients"], one["units"], one["infinite"]) == (12, 48, 0)
    assert one["needed"] == patients_needed(0.02, [one["sd"]], 0.05, 0.8)
    assert one["needed_high"] == patients_needed(0.02, [one["sd_high"]], 0.05, 0.8) > one["needed"]
    assert one["smallest"] == pytest.approx(smallest_difference(one["sd"] / math.sqrt(12), 11, 0.05, 0.8))
    assert one["of_patients"] > one["of_seeds"] > 0


def test_data_sets_and_differences_are_those_of_a_comparison() -> None:
    a, b = (pl.concat([line(who, more, "d", 12), line(who, more, "e", 8)]) for who, more in (("a", 0.0), ("bb", 0.02)))
    found, compared = planned(a, b), compare(a, b).datasets
    assert found["dataset"].to_list() == compared["dataset"].to_list() == ["d", "e", AVERAGE]
    assert found["difference"].to_list() == pytest.approx(compared["difference"].to_list())
    average = found.row(2, named=True)
    assert (average["patients"], average["needed"] % 2) == (20, 0)
    half = (compared["high"][2] - compared["low"][2]) / 2  # an interval ends where a difference is just significant
    assert average["smallest"] > half
    assert average["sd"] == pytest.approx(math.sqrt((found["sd"][0] ** 2 + found["sd"][1] ** 2) / 2))


def test_the_difference_that_was_found() -> None:
    a, b = line("a", 0.0, "d", 12), line("bb", 0.02, "d", 12)
    one = planned(a, b, Question(None)).row(0, named=True)
    assert one["needed"] == patients_needed(abs(one["difference"]), [one["sd"]], 0.05, 0.8)


@pytest.mark.parametrize("given", [{"difference": 0.0}, {"difference": math.inf}, {"alpha": 0.0}, {"power": 0.04}])
def test_impossible_questions_are_refused(given: dict[str, float], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        Question(**given)
    assert caught == wording


def stored(*frames: pl.DataFrame) -> None:
    given = [{k: v for k, v in row.items() if v is not None} for frame in frames for row in frame.to_dicts()]
    Store(Path("intrabench-results"), "run").write_part(given, [])


@pytest.fixture
def results() -> None:
    stored(
        *(
            line(model, better, dataset, count, prompter=prompter)
            for model, better in (("box_fill", 0.0), ("litemedsam", 0.03), ("sam", 0.05))
            for dataset, count in (("ct", 12), ("mr", 8))
            for prompter in ("box_slice", "box_volume")
        )
    )


@pytest.mark.usefixtures("results")
@pytest.mark.parametrize("width", [80, 120])
def test_the_screen(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, width: int, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(console, "screen_width", lambda: width)
    said = say("power")
    assert (said.code, said.err) == (0, "")
    assert max(map(len, said.out.splitlines())) <= width
    assert said.out == wording


@pytest.mark.usefixtures("results")
def test_every_two_models_under_each_prompter(say: Callable[..., Said]) -> None:
    frame = intrabench.power()
    pairs = [("box_fill", "litemedsam"), ("box_fill", "sam"), ("litemedsam", "sam")]
    expected = [
        (prompter, a, b, dataset)
        for prompter in ("box_slice", "box_volume")
        for a, b in pairs
        for dataset in ("ct", "mr", AVERAGE)
    ]
    assert frame.select("prompter", "a", "b", "dataset").rows() == expected
    two = intrabench.power("box_fill", "sam")
    assert_frame_equal(two, frame.filter(pl.col("a") == "box_fill", pl.col("b") == "sam"))
    lines = list(csv.DictReader(say("power", "box_fill", "sam", "--csv").out.splitlines()))
    assert [float(one["sd"]) for one in lines] == pytest.approx(two["sd"].to_list())
    told = json.loads(say("power", "--json").out)
    assert [one["needed"] for one in told] == frame["needed"].to_list()
    assert say("power", "--format", "markdown").out.count("\n") == 2 + len(pairs) * 2
    larger = intrabench.power(difference=0.04, alpha=0.05, power=0.8)
    assert all(larger["needed"] < frame["needed"])
    assert all(intrabench.power(alpha=0.01, power=0.9)["needed"] > frame["needed"])


@pytest.mark.usefixtures("results")
def test_words_that_do_not_go_together(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    for words in (
        ("sam",),
        ("--difference", "much"),
        ("--difference", "-1"),
        ("--metric", "hd95"),
        ("--alpha", "0.9"),
        ("--format", "word"),
        ("sam", "sma"),
    ):
        said = say("power", *words)
        assert (said.code, said.out) == (2, "")
        assert said.err == wording


def test_one_model_alone_has_no_pair(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    stored(line("sam", 0.0, "ct", 12))
    said = say("power")
    assert (said.code, said.err) == (2, wording)


def test_two_patients_are_too_few(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    stored(line("box_fill", 0.0, "ct", 2), line("sam", 0.1, "ct", 2))
    said = say("power")
    assert said.code == 0
    assert line_with(said.out.splitlines(), "too few") == wording
    (row,) = intrabench.power().iter_rows(named=True)
    assert (row["patients"], row["sd"], row["needed"], row["smallest"], row["of_patients"]) == (2, *[None] * 4)


def test_an_average_without_a_number_gives_way_to_data_sets(say: Callable[..., Said]) -> None:
    stored(*(line(who, 0.0, name, count) for who in ("a", "bb") for name, count in (("ct", 12), ("mr", 2))))
    shown = [line.replace("│", " ").split() for line in say("power").out.splitlines() if line.startswith("│")]
    assert [(one[0], one[1] == "-") for one in shown] == [("ct", False), ("mr", True), (AVERAGE, True)]


def test_infinite_differences_are_left_out_and_counted(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    far = pl.when(pl.col("case") == "P0").then(math.inf).otherwise(10 * pl.col("dice"))
    a, b = line("a", 0.0, "ct", 12).with_columns(hd95_mm=10 * pl.col("dice")), line("bb", 0.0, "ct", 12)
    stored(a, b.with_columns(hd95_mm=far))
    said = say("power", "--metric", "hd95", "--difference", "1")
    assert line_with(said.out.splitlines(), "infinite differences") == wording
    (row,) = intrabench.power(metric="hd95", difference=1.0).iter_rows(named=True)
    assert (row["patients"], row["infinite"], row["units"], row["difference"]) == (11, 4, 48, -math.inf)
    others = pl.concat([a, b]).filter(pl.col("case") != "P0")
    means = dict(others.group_by("model").agg(10 * pl.col("dice").mean()).iter_rows())
    assert row["others"] == pytest.approx(means["a"] - means["bb"])
    assert Infinite(4, 48, row["others"]).words(signed) in said.out


def test_equal_answers_need_no_number(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    stored(line("a", 0.0, "ct", 12), line("a", 0.0, "ct", 12, prompter="q"))
    said = say("power", "p", "q", "--difference", "found")
    assert said.code == 0
    assert said.out.splitlines()[-2:] == wording
