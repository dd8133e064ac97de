"""`intrabench table --difficulty`, and tables split by it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import PartialResults
from intrabench.results.store import Store
from intrabench.statistics.difficulty import difficulties
from intrabench.statistics.scores import scores
from tests.conftest import Said
from tests.reporting.page.page_of import read
from tests.results import made

VALUES = np.random.default_rng(9).uniform(0.1, 0.9, (3, 9, 4))
PROMPTERS = ("click_deepest", *(f"clickability:model=distance,group={n}" for n in (1, 2, 10)))
REAL = "recorded:clicks=clicks.csv"
GIVEN = pl.concat(
    [
        made.rows(
            *(
                {
                    "model": f"m{m}",
                    "case": str(c),
                    "label": "ab"[c % 2],
                    "prompter": PROMPTERS[p],
                    "dice": VALUES[m, c, p],
                }
                for m, c, p in np.ndindex(VALUES.shape)
            )
        ),
        made.rows(
            *(
                {"case": str(c), "label": "ab"[c % 2], "dice": c / 20, "model": "m0", "seed": s}
                for c in range(9)
                for s in (0, 1)
            ),
            prompter=REAL,
        ),
    ]
)


@pytest.fixture
def table(say: Callable[..., Said]) -> Callable[..., pl.DataFrame]:
    """Type `intrabench table ... --csv` where those rows are stored, and read it."""
    stored()

    def call(*words: str) -> pl.DataFrame:
        said = say("table", *words, "--csv")
        assert said.code == 0, said.err
        return pl.read_csv(io.StringIO(said.out))

    return call


def stored(rows: pl.DataFrame = GIVEN, folder: str = "intrabench-results") -> None:
    given = [{name: value for name, value in row.items() if value is not None} for row in rows.to_dicts()]
    Store(Path(folder), "run").write_part(given, [])


def test_targets_from_the_hardest_on(table: Callable[..., pl.DataFrame]) -> None:
    found = table("--difficulty", "--prompter", "click*")
    expected = difficulties(scores(GIVEN.filter(pl.col("prompter") != REAL)), "dice", "high")
    assert found["case"].to_list() == [int(case) for case in expected["case"]]
    np.testing.assert_allclose(found["mean"], np.sort(VALUES.mean(axis=(0, 2))), atol=1e-9)
    assert found["difficulty"].to_list() == ["hard"] * 3 + ["medium"] * 3 + ["easy"] * 3


def test_of_groups_of_clicks_and_of_real_ones(table: Callable[..., pl.DataFrame]) -> None:
    groups = table("--difficulty", "--groups").sort("case")
    np.testing.assert_allclose(groups["mean"], VALUES[:, :, 1:].mean(axis=(0, 2)), atol=1e-9)
    np.testing.assert_allclose(groups["spread"], VALUES[:, :, 1:].std(axis=2).mean(axis=0), atol=1e-9)
    assert table("--difficulty", "--spread", "group").sort("case").equals(groups)
    real = table("--difficulty", "--users")
    assert real["case"].to_list() == list(range(9))
    assert real["sessions"].to_list() == [2] * 9


def test_means_over_targets(table: Callable[..., pl.DataFrame]) -> None:
    each = table("--difficulty", "--groups")
    (line,) = table("--difficulty", "--groups", "--by", "dataset", "--interval").to_dicts()
    assert line["nsr"] == pytest.approx(each["nsr"].mean())
    assert line["nsr_low"] < line["nsr"] < line["nsr_high"]
    thirds = table("--difficulty", "--groups", "--by", "label,difficulty")
    assert thirds["targets"].sum() == 9
    for row in thirds.to_dicts():
        mine = each.filter(label=row["label"], difficulty=row["difficulty"])
        assert (row["targets"], row["mean"]) == (len(mine), pytest.approx(mine["mean"].mean()))


def test_tables_are_split_by_thirds(table: Callable[..., pl.DataFrame]) -> None:
    each = table("--difficulty")
    columns = table("--columns", "difficulty", "--by", "model", "--aggregation", "pooled")
    assert columns.columns[-4:] == ["hard", "medium", "easy", "average"]
    lines = table("--by", "difficulty,model", "--aggregation", "pooled")
    assert lines["difficulty"].unique(maintain_order=True).to_list() == ["hard", "medium", "easy"]
    for row in lines.to_dicts():
        cases = each.filter(difficulty=row["difficulty"])["case"].cast(pl.String)
        mine = GIVEN.filter(pl.col("case").is_in(cases.implode()), pl.col("model") == row["model"])
        assert row["d"] == pytest.approx(mine["dice"].mean())
        assert columns.filter(model=row["model"])[row["difficulty"]].item() == pytest.approx(row["d"])
    assert table("--by", "difficulty,model", "--aggregation", "pooled", "--common").equals(lines)
    spread = table("--spread", "group", "--by", "difficulty_in_label,model")
    assert spread["targets"].sum() == 3 * 9


def test_groups_of_clicks_are_split_by_labels_and_thirds(table: Callable[..., pl.DataFrame]) -> None:
    whole, labels, thirds = (table("--groups", *by) for by in ([], ["--by", "label"], ["--by", "difficulty"]))
    for frame, name in ((labels, "label"), (thirds, "difficulty")):
        assert frame.columns == [name, *whole.columns]
        means = frame.group_by("model").agg((pl.col("dsb") * pl.col("targets")).sum() / pl.col("targets").sum())
        both = whole.join(means, on="model", suffix="_own")
        np.testing.assert_allclose(both["dsb"], both["dsb_own"], atol=1e-9)
    only_a = table("--groups", "--targets", "a")
    assert labels.filter(label="a").drop("label").equals(only_a)
    assert thirds["difficulty"].unique(maintain_order=True).to_list() == ["hard", "medium", "easy"]


@pytest.mark.parametrize("width", [80, 120])
def test_for_people(
    table: Callable[..., pl.DataFrame],
    say: Callable[..., Said],
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    wording: SnapshotAssertion,
) -> None:
    monkeypatch.setattr("intrabench.cli.console.screen_width", lambda: width)
    said = say("table", "--difficulty", "--cases", "[0-3]", "--model", "m[01]")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= width
    assert said.out + said.err == wording
    assert say("table", "--difficulty", "--groups", "--by", "label").out == wording
    assert say("table", "--by", "difficulty_in_label").out.partition("┏")[0] == wording


def test_targets_that_only_some_models_have(say: Callable[..., Said]) -> None:
    stored(
        GIVEN.filter(pl.col("prompter") == PROMPTERS[1]).filter(~((pl.col("model") == "m1") & (pl.col("case") < "2")))
    )
    assert "2 targets of d have scores of fewer than 3 models" in say("table", "--difficulty").err
    said = say("table", "--difficulty", "--common", "--csv")
    assert len(said.out.splitlines()) == 1 + 7
    with pytest.warns(PartialResults, match="7 of 9 targets"):
        found = intrabench.table(difficulty=True, by="dataset", common=True)
    assert found["targets"].to_list() == [7]


def test_a_label_without_groups_is_told(say: Callable[..., Said]) -> None:
    stored(GIVEN.filter((pl.col("label") == "a") | (pl.col("prompter") == PROMPTERS[0])))
    said = say("table", "--groups", "--by", "label", "--csv")
    assert {line.partition(",")[0] for line in said.out.splitlines()} == {"label", "a"}
    assert "left out: b, for no model was run with two groups of clicks" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ("--difficulty", "--by", "model"),
        ("--difficulty", "--by", "lable"),
        ("--difficulty", "--interval"),
        ("--difficulty", "--groups", "--users", "--per-round"),
        ("--difficulty", "--aggregation", "pooled", "--correlate", "all"),
        ("--difficulty", "--spread", "hand"),
        ("--difficulty", "--users", "--prompter", "click*"),
        ("--difficulty", "--metric", "noc:threshold=2"),
        ("--columns", "dificulty"),
        ("--groups", "--by", "difficulty,model"),
    ],
    ids=" ".join,
)
def test_what_is_refused(say: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion) -> None:
    stored()
    said = say("table", *words)
    assert (said.code, said.err.partition("; they have")[0]) == (2, wording)


def test_in_python() -> None:
    stored()
    found = intrabench.table(difficulty=True, groups=True)
    assert found["mean"].is_sorted()
    assert found.schema["difficulty"] == pl.Enum(["hard", "medium", "easy"])
    assert intrabench.table(by=["difficulty"], metric="dice")["difficulty"].to_list() == ["hard", "medium", "easy"]


def test_pairs_are_apart_by_parts_of_the_targets(table: Callable[..., pl.DataFrame], say: Callable[..., Said]) -> None:
    each = table("--difficulty", "--prompter", "click_deepest")
    asked = ("m0", "m1", "--prompter", "click_deepest", "--aggregation", "pooled")
    found = pl.read_csv(io.StringIO(say("compare", *asked, "--by", "difficulty", "--csv").out))
    found = found.filter(pl.col("size").is_null())
    assert found["difficulty"].to_list() == ["hard", "medium", "easy"]
    planned = pl.read_csv(io.StringIO(say("power", *asked, "--by", "difficulty", "--csv").out))
    for third, difference in found.select("difficulty", "difference").iter_rows():
        cases = each.filter(difficulty=third)["case"].to_list()
        expected = (VALUES[1, cases, 0] - VALUES[0, cases, 0]).mean()
        assert difference == pytest.approx(expected)
        (chosen,) = json.loads(say("compare", *asked, "--targets", f"difficulty={third}", "--json").out)
        assert chosen["datasets"][0]["difference"] == pytest.approx(expected)
        assert planned.filter(difficulty=third)["difference"].item() == pytest.approx(expected)
    assert "mean of" not in say("power", *asked, "--by", "label").out


def test_thirds_of_two_folders_are_of_all_their_models(say: Callable[..., Said]) -> None:
    """So that a target is in the same third on both sides."""
    for folder, model in (("one", 0), ("two", 1)):
        stored(GIVEN.filter(model=f"m{model}", prompter=PROMPTERS[0]).with_columns(model=pl.lit("m")), folder)
    found = pl.read_csv(io.StringIO(say("compare", "one", "two", "--by", "difficulty", "--csv").out))
    assert found.filter(pl.col("size").is_null())["targets"].to_list() == [3, 3, 3]


def test_parts_are_selected_in_every_output(
    table: Callable[..., pl.DataFrame], say: Callable[..., Said], tmp_path: Path
) -> None:
    lines = table("--by", "difficulty,model", "--aggregation", "pooled")
    for third in ("hard", "easy"):
        chosen = table("--by", "model", "--aggregation", "pooled", "--targets", f"difficulty={third}")
        assert chosen.equals(lines.filter(difficulty=third).drop("difficulty"))
    both = table("--by", "model", "--targets", "difficulty=hard", "--targets", "difficulty=easy")
    assert both["sessions"].sum() == lines.filter(pl.col("difficulty") != "medium")["sessions"].sum()
    written = Path("hard.html")
    assert say("report", str(written), "--targets", "difficulty_in_label=hard").code == 0
    page = read(written)[0]
    assert "difficulty_in_label: thirds of the targets" in page.text
    assert "difficulty-sets" not in page.tables
    sessions = sum(int(row[2]) for row in page.tables["effort"][1:])
    assert sessions == table("--by", "difficulty_in_label").filter(difficulty_in_label="hard")["sessions"].item()
    assert "difficulty=hard; difficulty: thirds" in say("methods", "--targets", "difficulty=hard").out


@pytest.mark.parametrize(
    "words",
    [
        ("table", "--targets", "difficulty=hrad"),
        ("table", "--difficulty", "--targets", "difficulty=hard"),
        ("table", "--cases", "0", "--targets", "difficulty=easy"),
        ("failures", "--targets", "difficulty=hard"),
        ("compare", "m0", "m1", "--by", "model"),
        ("power", "--by", "dificulty"),
        ("compare", "SAM", "m1", "--by", "label", "--reference", "paper"),
    ],
    ids=" ".join,
)
def test_what_is_refused_of_parts(
    table: Callable[..., pl.DataFrame], say: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion
) -> None:
    said = say(*words)
    assert (said.code, said.err) == (2, wording)


def test_cases_without_data_are_in_no_part_and_told(say: Callable[..., Said]) -> None:
    lost = made.rows({"case": "x", "target": "*", "status": "no_data", "dice": 0.0, "model": "m0"}, label=None)
    stored(pl.concat([GIVEN, lost]))
    told = say("table", "--csv").err
    assert "1 case of d" in told
    for words in (["--by", "difficulty"], ["--groups", "--by", "label"], ["--groups", "--by", "difficulty"]):
        said = say("table", *words, "--csv")
        assert said.err == told
        assert len({line.partition(",")[0] for line in said.out.splitlines()[1:]}) == (2 if "label" in words else 3)
    assert "x" not in say("compare", "m0", "m1", "--by", "difficulty", "--csv").err


def test_notes_are_at_the_lines_of_their_labels(say: Callable[..., Said]) -> None:
    stored(GIVEN.with_columns(adapted=pl.when(pl.col("label") == "a").then(pl.lit("click as box"))))
    found = pl.read_csv(io.StringIO(say("table", "--groups", "--by", "label", "--csv").out))
    assert found.filter(pl.col("adapted") != "")["label"].to_list() == ["a"] * 3


def test_lines_by_difficulty_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    stored()
    names = {one.stem: one for one in intrabench.figures(tmp_path, format="svg")}
    drawn = names["dice_by_difficulty"].read_text()
    each = difficulties(scores(GIVEN), "dice", "high")
    low, *_, high = sorted(each.filter(difficulty="hard")["mean"].to_list())
    assert f"hard, {low:.3f} to {high:.3f} (3)" in drawn
    chosen = intrabench.figures(tmp_path / "hard", format="svg", targets="difficulty=hard")
    assert "dice_by_difficulty" not in {one.stem for one in chosen}
