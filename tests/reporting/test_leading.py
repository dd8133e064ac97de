"""What leads where no metric is chosen: the number of the protocol, in tables, comparisons, figures and hints."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.prompters.combined import make_prompter
from intrabench.protocols import PROTOCOLS
from intrabench.protocols.rclicks_paper import BASE
from intrabench.reporting.page.leading_score import leading_score
from intrabench.results.store import Store
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.statistic import Statistic, leading
from tests.conftest import Said
from tests.results import made
from tests.wording import line_with, sentence_with

NOC = "noc:threshold=0.9,metric=iou"
GROUPS = [make_prompter(f"clickability:model=distance,group={group}").spec for group in (1, 10)]


def sessions(protocol: str, prompter: str, iou: list[float], **shared: object) -> pl.DataFrame:
    """Six photographs of two objects each, played until all 20 clicks are given, of which the first are these."""
    rounds = [*iou, *[iou[-1]] * (20 - len(iou))] if PROTOCOLS[protocol].rounds == 19 else iou
    return made.rows(
        *(
            {"iou": value, "dice": 1 - value, "round": at, "interactions": at + 1.0}
            | {"case": f"{case}", "instance": number, "label": "object"}
            for case in range(6)
            for number in (1, 2)[: 1 + case % 2]
            for at, value in enumerate(rounds)
        ),
        protocol=protocol,
        prompter=prompter,
        **shared,
    )


def store(*parts: pl.DataFrame) -> None:
    rows = pl.concat(parts, how="diagonal")
    kept = [{name: value for name, value in row.items() if value is not None} for row in rows.to_dicts()]
    Store(Path("intrabench-results"), "run").write_part(kept, [])


def table(say: Callable[..., Said], *words: str) -> list[dict[str, str]]:
    said = say("table", "--csv", *words)
    assert said.code == 0, said.err
    return list(csv.DictReader(io.StringIO(said.out)))


@pytest.fixture
def clicked() -> None:
    store(
        sessions("rclicks@1", BASE.prompter, [0.5, 0.95]),
        sessions("rclicks@1", BASE.prompter, [0.5, 0.5, 0.95], model="n"),
        *(sessions("rclicks@1", name, [0.5] * at + [0.95], model="n") for at, name in ((5, GROUPS[0]), (2, GROUPS[1]))),
    )


@pytest.mark.usefixtures("clicked")
def test_a_table_shows_the_numbers_of_the_protocol(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    first, *_ = table(say)
    assert (first["model"], float(first["NoC20@90"]), float(first["IoU"])) == ("m", 2, pytest.approx(0.95))
    assert first == table(say, "--protocol", "rclicks@1")[0]
    assert float(table(say, "--metric", "dice")[0]["d"]) == pytest.approx(0.05)
    heading = say("table").out.splitlines()
    assert "is 0.9" in heading[0]
    assert heading[0] == wording
    assert heading[1].startswith("mean over all targets; ")


@pytest.mark.usefixtures("clicked")
def test_the_first_number_leads_where_only_one_fits(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    for words in (["--interval"], ["--counts"], ["--columns", "label"], ["--aggregation", "case"], ["--per-round"]):
        assert line_with(say("table", *words).out, "until iou") == wording
    assert "mean over all targets" in say("table", "--interval").out
    assert line_with(say("table", "--aggregation", "case").out, "the targets") == wording


@pytest.mark.usefixtures("clicked")
def test_groups_are_compared_as_in_the_paper(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    (line,) = table(say, "--groups", "--interval")
    assert [float(line[name]) for name in ("base", "sample", "dsb", "dgr")] == pytest.approx([3, 4.5, 50, 100])
    assert float(line["nsr"]) > 0
    assert float(line["base_low"]) == float(line["base_high"]) == 3
    shown = say("table", "--groups", "--interval").out
    assert "3 [3, 3]" in shown
    assert sentence_with(shown, "intervals over") == wording
    assert "dice" not in shown


@pytest.mark.usefixtures("clicked")
def test_intervals_fit_a_terminal_without_breaking(say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("intrabench.cli.console.screen_width", lambda: 80)
    lines = say("table", "--groups", "--interval").out.splitlines()
    assert max(map(len, lines)) <= 80
    for cell in ("3 [3, 3]", "4.5", "100 [100, 100]", "trajectories"):
        assert any(cell in line for line in lines), cell


@pytest.mark.usefixtures("clicked")
def test_comparisons_and_figures_are_of_it(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    (one,) = json.loads(say("compare", "m", "n", "--json").out)
    assert (one["metric"], one["aggregation"], one["datasets"][0]["difference"]) == (NOC, "pooled", -1)
    (one,) = json.loads(say("compare", "m", "n", "--json", "--metric", "dice").out)
    assert (one["metric"], one["aggregation"]) == ("dice", "pooled")
    pytest.importorskip("matplotlib")
    said = say("figures", "figs", "--format", "svg")
    assert said.code == 0, said.err
    assert {path.stem for path in Path("figs").iterdir()} == {
        *(f"iou_against_{effort}" for effort in ("interactions", "dof", "seconds_human", "machine_s")),
        *("noc_by_difficulty", "noc_by_size", "ranking"),
    }
    texts = re.findall(r">([^<>]*\S) *</", Path("figs/ranking.svg").read_text())
    assert " ".join(texts) == wording
    assert say("figures", "more", "--format", "svg", "--metric", "dice").code == 0
    assert Path("more/dice_by_size.svg").exists()


def test_beside_rows_of_other_protocols_dice_leads_and_the_rest_is_named(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    store(sessions("rclicks@1", BASE.prompter, [0.5, 0.95]), sessions("overlap@1", "p", [0.5]))
    said = say("table")
    assert said.out.startswith("dice: ")
    unlike = "rclicks@1 itself takes the mean over all targets, as `--aggregation pooled` does\n"
    assert said.err == wording
    assert say("table", "--metric", "iou").err == unlike
    assert say("table", "--metric", "iou", "--aggregation", "case").err == ""


def test_protocols_that_average_otherwise_are_combined_by_averages_of_choice(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    """Six cases, every second with two objects: pooled, these weigh more."""
    one = sessions("rclicks@1", BASE.prompter, [0.5])
    one = one.with_columns(iou=pl.when(pl.col("instance") == 2).then(0.8).otherwise("iou"))
    store(one, sessions("overlap@1", "p", [0.5]))
    said = say("table", "--by", "model", "--metric", "iou")
    assert (said.code, said.out) == (2, "")
    assert said.err == wording
    (line,) = table(say, "--by", "model", "--metric", "iou", "--aggregation", "pooled")
    assert float(line["d"]) == pytest.approx((15 * 0.5 + 3 * 0.8) / 18)
    apart = {line["protocol"]: float(line["d"]) for line in table(say, "--metric", "iou")}
    assert apart == {"overlap@1": 0.5, "rclicks@1": pytest.approx((3 * 0.5 + 3 * 0.65) / 6)}  # as before: case by case
    pooled = table(say, "--protocol", "rclicks@1")
    assert float(pooled[0]["IoU"]) == pytest.approx((6 * 0.5 + 3 * 0.8) / 9)


def test_a_chosen_metric_is_averaged_as_the_protocol_does_in_all_outputs(say: Callable[..., Said]) -> None:
    """Six cases, every second with two objects: pooled, the second ones weigh a third, else a quarter."""
    one = sessions("rclicks@1", BASE.prompter, [0.5])
    one = one.with_columns(iou=pl.when(pl.col("instance") == 2).then(0.8).otherwise("iou"))
    other = sessions("rclicks@1", BASE.prompter, [0.4], model="n")
    store(one, other)
    pooled = (6 * 0.5 + 3 * 0.8) / 9
    assert float(table(say, "--metric", "iou")[0]["d"]) == pytest.approx(pooled)
    assert f"{pooled:.3f}" in say("table", "--metric", "iou", "--interval").out
    assert [float(line["IoU"]) for line in table(say)] == pytest.approx([pooled, 0.4])
    (found,) = json.loads(say("compare", "n", "m", "--json", "--metric", "iou").out)
    assert found["datasets"][0]["difference"] == pytest.approx(pooled - 0.4)
    assert say("export", "hf", "hub", "--metric", "iou", "--benchmark", "d=a/b/c").code == 0
    assert f"value: {pooled:g}" in next(Path("hub/m/.eval_results").iterdir()).read_text()
    assert intrabench.methods(metric="iou").table["final"][0].startswith(f"{pooled:.3f} ")
    assert leading_score(["rclicks@1"], Statistic("iou")).how.name == "pooled"
    case = float(table(say, "--metric", "iou", "--aggregation", "case")[0]["d"])
    assert case == pytest.approx((3 * 0.5 + 3 * 0.65) / 6)


@pytest.mark.usefixtures("clicked")
def test_exports_and_methods_have_the_numbers_of_the_table(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    first, *_ = table(say)
    assert say("export", "hf", "hub", "--metric", "iou", "--benchmark", "d=a/b/c").code == 0
    told = next(Path("hub/m/.eval_results").iterdir()).read_text()
    assert f"value: {first['IoU']}" in told
    found = intrabench.methods()
    assert found.table.columns[:5] == ["prompter", "model", "patients", "value", "interactions"]
    assert found.table.row(0)[:4] == ("Base", "m", 6, "2.000 [2.000, 2.000]")
    assert sentence_with(found.paragraphs["Statistics"], "all targets") == wording
    assert sentence_with(found.paragraphs["Users"], "deepest voxel") == wording
    assert sentence_with(found.paragraphs["Users"], "corrections by") == wording
    assert any(line.startswith("noc_by_size") for line in found.figures)


def test_methods_say_that_numbers_of_clicks_are_bounds(wording: SnapshotAssertion) -> None:
    store(sessions("rclicks@1", BASE.prompter, [0.5, 0.95]).filter(pl.col("round") == 0))
    text = intrabench.methods().paragraphs["Statistics"]
    assert "9 of 9 sessions" in text
    assert "iou 0.9" in text
    assert sentence_with(text, "interactions were") == wording
    assert "Differences between models" not in text


def test_protocols_of_clicks_beside_each_other(say: Callable[..., Said]) -> None:
    store(sessions("rclicks@1", BASE.prompter, [0.5, 0.95]), sessions("rclicks-users@1", "recorded:clicks=f", [0.4]))
    users, clicks = table(say)
    assert (users["NoC20@90"], float(users["IoU@1"]), users["IoU"]) == ("", pytest.approx(0.4), "")
    assert (float(clicks["NoC20@90"]), clicks["IoU@1"]) == (2, "")
    (line,) = table(say, "--users")
    assert float(line["mean"]) == pytest.approx(0.4)
    assert "0.400 [0.400, 0.400]" in say("table", "--users", "--interval").out


def test_what_to_run_where_nothing_is(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    for protocol, command in (
        ("rclicks@1", "intrabench run --protocol rclicks@1 --model M"),
        ("rclicks-users@1", "intrabench run --protocol rclicks-users@1:clicks=FILE --model M"),
        ("intrabench@1", "intrabench run --protocol intrabench@1"),
        ("basic@1", "intrabench run --protocol basic@1 --model M --prompter P"),
    ):
        assert f"`{command}` computes some" in say("table", "--protocol", protocol).err
    store(sessions("overlap@1", "p", [0.5]))
    said = say("table", "--protocol", "ritm-noc@1").err
    assert said == wording


def test_which_number_leads() -> None:
    first = {"rclicks@1": NOC, "ritm-noc@1": NOC, "rclicks-users@1": "iou", "davis@1": "davis_auc", "basic@1": "dice"}
    assert {id: leading([PROTOCOLS[id]]) for id in first} == first

    def found(protocols: list[str], metric: str = "", how: str = "protocol") -> tuple[str, str]:
        statistic = Statistic(metric, how=AGGREGATIONS[how]).of_protocols(protocols)
        return statistic.metric, statistic.how.name

    assert found(["rclicks@1", "ritm-noc@1"]) == (NOC, "pooled")
    assert found(["rclicks@1", "davis@1"])[0] == "dice"
    assert found(["rclicks@1"], "iou") == ("iou", "pooled")
    assert found(["rclicks@1"], how="case") == (NOC, "case")
    assert found([]) == ("dice", "protocol")


def test_a_run_with_few_clicks_says_so_and_names_the_table_of_groups(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    words = ["--protocol", "rclicks@1", "--rounds", "1", "--model", "random_walker", "--dataset"]
    said = say("run", *words, "phantom:shape=1x24x32", *(f"--prompter={name}" for name in GROUPS), "--workers", "0")
    assert said.code == 0, said.err
    assert "NoC20@90" in said.out
    assert "iou 0.9" in said.out
    assert line_with(said.out, "interactions were") == wording
    assert line_with(said.out, "matters where") == wording


@pytest.mark.usefixtures("clicked")
@pytest.mark.parametrize("words", [("table",), ("compare", "n", "m")], ids=" ".join)
def test_a_round_that_nobody_played_is_refused(
    say: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion
) -> None:
    assert say(*words, "--round", "19").code == 0
    said = say(*words, "--round", "20")
    assert (said.code, said.out) == (2, "")
    assert said.err == wording
