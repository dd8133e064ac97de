"""What the table says of known answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Set
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.people.rating.analysis import Analysis
from intrabench.people.rating.answers import Answer, Answers
from intrabench.people.rating.study import ANCHORS, Study
from tests.conftest import Said

BASE = {"box_fill": 4, "random_walker": 8}


def score(key: dict[str, object], rater: str, again: bool) -> int:
    """Of a rater who sees what a mask is: r2 is a point milder, and all are a point less at a second look."""
    base = {"truth": 9, "damaged": 3}.get(str(key["kind"])) or BASE[str(key["name"])]
    return base + (rater == "r2") - again


def rate(
    study: Study, given: Callable[[dict[str, object], str, bool], int] = score, wait: Set[str] = frozenset()
) -> None:
    """All raters give the scores that `given` has of a mask, but for those who `wait`."""
    base = Answers(study.answers_file)
    for rater in sorted({*study.raters} - wait):
        seen: set[str] = set()
        for place, job in enumerate(study.order(rater)):
            mask = study.key[job]["mask"]
            points = given(study.key[job], rater, mask in seen)
            base.add(Answer(f"{rater}-{place}", rater, place, job, points, seconds=float(place), errors=("edges",)))
            seen.add(mask)
    base.close()


@pytest.fixture
def rated(study: Study) -> Analysis:
    rate(study)
    return Analysis.of(study)


def test_means_are_of_first_looks_and_over_raters(rated: Analysis) -> None:
    means = {row["name"]: row for row in rated.means().iter_rows(named=True)}
    assert {name: row["score"] for name, row in means.items() if row["kind"] == "answer"} == {
        "random_walker": 8.5,
        "box_fill": 4.5,
    }
    assert means["truth"]["score"] == 9.5
    assert means["random_walker"]["masks"] == 4
    assert means["random_walker"]["scores"] == 8
    assert means["random_walker"]["low"] is None  # of three patients there is no interval
    assert rated.means()["name"][0] == "random_walker"
    histogram = {row["name"]: row for row in rated.histogram().iter_rows(named=True)}
    assert (histogram["box_fill"]["4"], histogram["box_fill"]["5"], histogram["box_fill"]["6"]) == (4, 4, 0)


def test_differences_are_of_the_same_inputs(rated: Analysis) -> None:
    (line,) = rated.differences().rows(named=True)
    assert (line["a"], line["b"], line["difference"], line["patients"]) == ("box_fill", "random_walker", -4.0, 3)
    assert line["p"] is line["p_holm"] is None  # of three patients


def agreed(found: Analysis, measure: str, anchors: str = "without") -> dict[str, Any]:
    return found.agreement().row(
        by_predicate=(pl.col("measure") == measure) & (pl.col("anchors") == anchors), named=True
    )


def test_agreement_of_raters_who_are_a_point_apart(rated: Analysis) -> None:
    assert agreed(rated, "within 1 point")["value"] == 1
    assert agreed(rated, "SD of a mask")["value"] == pytest.approx(np.sqrt(0.5))
    four, eight = np.array([4.0] * 4), np.array([8.0] * 4)
    with_anchors = np.concatenate([four, eight, [9.0, 9.0, 3.0, 3.0]])
    for anchors, first in (("without", np.concatenate([four, eight])), ("with", with_anchors)):
        n = len(first)
        between = 2 * ((first - first.mean()) ** 2).sum() / (n - 1)
        line = agreed(rated, "ICC(2,1)", anchors)
        assert line["value"] == pytest.approx(between / (between + 2 / n * n * 0.5))
        both = np.concatenate([first, first + 1])
        apart = ((both[:, None] - both) ** 2).sum() / (2 * n * (2 * n - 1))
        assert agreed(rated, "interval alpha", anchors)["value"] == pytest.approx(1 - 1 / apart)
        assert (line["masks"], line["raters"], line["patients"], line["low"]) == (n, 2, 3, None)


def test_anchors_are_in_no_number_of_models_and_do_not_make_raters_agree(study: Study) -> None:
    """Raters who see anchors alike and models' masks the other way round; the same scores of anchors from 1 to 10."""

    def contrary(key: dict[str, object], rater: str) -> int:
        if key["kind"] in ANCHORS:
            return {"truth": 10, "damaged": 1}[str(key["kind"])]
        return {"box_fill": 5, "random_walker": 6}[str(key["name"])] + (2 if rater == "r2" else 0)

    rate(study, lambda key, rater, again: contrary(key, rater))
    found = Analysis.of(study)
    # models: pairs of values (5, 7) and (6, 8), four each; 2 apart in every unit
    values = np.array([5, 7, 6, 8] * 4)
    expected = ((values[:, None] - values) ** 2).sum() / (16 * 15)
    assert agreed(found, "interval alpha")["value"] == pytest.approx(1 - 4 / expected)
    every = np.concatenate([values, [10] * 4, [1] * 4])
    expected = ((every[:, None] - every) ** 2).sum() / (24 * 23)
    assert agreed(found, "interval alpha", "with")["value"] == pytest.approx(1 - 4 * 8 / 12 / expected)
    assert agreed(found, "interval alpha")["value"] < 0 < agreed(found, "interval alpha", "with")["value"]
    assert {*found.firsts()["kind"]} == {"answer"}
    assert {*found.masks()["kind"]} == {"answer"}
    assert found.correlations()["masks"].to_list() == [8, 8]
    assert {*found.disagreeing()["name"]} == {"box_fill", "random_walker"}


def test_a_study_without_anchors_has_one_agreement(study: Study) -> None:
    for one in study.key.values():
        one["kind"] = "answer"
    rate(study, lambda key, rater, again: 5 + (rater == "r2"))
    assert set(Analysis.of(study).agreement()["anchors"]) == {"without"}


def test_raters_may_have_any_name(study: Study) -> None:
    rate(study)
    found = Analysis.of(study)
    named = replace(found, answers=found.answers.with_columns(rater=pl.col("rater").replace("r1", "job")))
    assert named.agreement().equals(found.agreement())


def test_a_rater_who_has_not_finished_counts_and_is_told(study: Study, say: Callable[..., Said]) -> None:
    """r2 scores only the worse model, a point lower: within raters the difference stays what r1 sees."""
    rate(study, lambda key, rater, again: {"box_fill": 4}.get(str(key["name"]), 8) - (rater == "r2"), wait={"r2"})
    base = Answers(study.answers_file)
    done = 0
    for place, job in enumerate(study.order("r2")):
        if study.key[job]["name"] == "box_fill" and study.masks("r2").index(study.key[job]["mask"]) == place:
            base.add(Answer(f"r2-{place}", "r2", place, job, 3))
            done += 1
    base.close()
    found = Analysis.of(study)
    asked = len(study.order("r2"))
    assert (done, found.progress["r2"], found.progress["r1"]) == (4, (4, asked), (asked, asked))
    assert f"r2 ({done} of {asked} answers)" in found.remark
    (line,) = found.differences().rows(named=True)
    assert line["difference"] == -4
    assert dict(found.means().select("name", "score").iter_rows())["box_fill"] == 3.5
    assert dict(found.raters().select("rater", "answers").iter_rows()) == {"r1": asked, "r2": 4}
    assert agreed(found, "within 1 point")["masks"] == 4
    only = Analysis.of(study, finished=True)
    assert set(only.answers["rater"]) == {"r1"}
    assert dict(only.means().select("name", "score").iter_rows())["box_fill"] == 4
    assert dict(only.raters().select("rater", "answers").iter_rows()) == {"r1": asked, "r2": 4}
    assert agreed(only, "within 1 point")["value"] is None
    for more, word in (((), "counted with"), (("--finished",), "left out")):
        said = say("rate", "table", str(study.folder), *more)
        assert said.code == 0, said.err
        assert word in said.out.splitlines()[0]


def test_of_nobody_who_has_finished_there_is_no_table(study: Study, say: Callable[..., Said]) -> None:
    base = Answers(study.answers_file)
    base.add(Answer("id", "r1", 0, study.order("r1")[0], 5))
    base.close()
    said = say("rate", "table", str(study.folder), "--finished")
    assert (said.code, "omit --finished" in said.err) == (2, True)


def test_each_rater_has_anchors_and_second_looks(rated: Analysis) -> None:
    one, other = rated.raters().rows(named=True)
    assert (one["rater"], one["answers"], one["skipped"], one["seconds"]) == ("r1", 14, 0, 6.5)
    assert (one["truth"], one["damaged"], other["truth"], other["damaged"]) == (9, 3, 10, 4)
    assert one["d_prime"] == pytest.approx(np.sqrt(2) * 1.2815515655)
    assert (one["repeats"], one["within_one"]) == (2, 1.0)


def test_correlation_and_disagreement_with_dice(rated: Analysis) -> None:
    masks = rated.masks().filter(pl.col("kind") == "answer")
    dice, value = masks["dice"].to_numpy(), masks["value"].to_numpy()
    ranks = [pl.Series(each).rank().to_numpy() for each in (dice, value)]
    found = rated.correlations().rows(named=True)
    assert found[0]["metric"] == "dice"
    assert found[0]["spearman"] == pytest.approx(np.corrcoef(ranks)[0, 1])
    apart = rated.disagreeing()
    assert len(apart) == 5
    assert set(apart["score"]) == {4.5, 8.5}
    assert set(apart["case"]) <= {"case-1", "case-2", "case-3"}
    gap = [abs(ranks[0] - ranks[1])[(dice == row["dice"]).argmax()] for row in apart.iter_rows(named=True)]
    assert all(a >= b for a, b in pairwise(gap))


def test_skips_undone_answers_and_clinical_ones(study: Study) -> None:
    base = Answers(study.answers_file)
    order = study.order("r1")
    base.add(Answer("id-0", "r1", 0, order[0], skip="image"))
    base.add(Answer("id-1", "r1", 1, order[1], score=5, clinical="minor"))
    base.add(Answer("id-2", "r1", 2, order[2], score=1, clinical="reject"))
    base.undo("r1", 2, "undo")
    found = Analysis.of(study)
    assert len(found.answers) == 2
    assert found.raters().row(0, named=True)["skipped"] == 1
    (line,) = found.clinical().rows(named=True)
    assert (line["name"], line["minor"]) == (study.key[order[1]]["name"], 1.0)
    assert agreed(found, "ICC(2,1)")["value"] is None
    assert found.differences().is_empty()


def test_pairs(study: Study) -> None:
    key = {job: {**one, "kind": "pair", "name": "m", "b": {"name": "n"}} for job, one in study.key.items()}
    study.key.update(key)
    base = Answers(study.answers_file)
    order = list(dict.fromkeys(study.order("r1")))[:4]
    for place, (job, said) in enumerate(zip(order, ("a", "a", "tie", "b"), strict=True)):
        base.add(Answer(f"id-{place}", "r1", study.order("r1").index(job), job, pair=said))
    one, other = Analysis.of(study).pairs().rows(named=True)
    assert (one["name"], one["preferred"], one["shown"], other["preferred"]) == ("m", 2.5 / 4, 4, 1.5 / 4)
    assert one["strength"] == pytest.approx(2.5 / 4)


def test_the_report_shows_a_study(say: Callable[..., Said], study: Study, results: Path, tmp_path: Path) -> None:
    rate(study)
    words = ("report", str(tmp_path / "page.html"), "--out", str(results), "--views", "0")
    assert say(*words).code == 0
    assert "What people say" not in (tmp_path / "page.html").read_text()
    said = say(*words, "--ratings", str(study.folder))
    assert said.code == 0, said.err
    page = (tmp_path / "page.html").read_text()
    for text in ("What people say", "Differences on the same inputs", "damaged to ", "8.500"):
        assert text in page
    wrong = say(*words, "--ratings", str(tmp_path))
    assert (wrong.code, "is no rating study" in wrong.err) == (2, True)


def test_the_commands(say: Callable[..., Said], study: Study, tmp_path: Path, wording: SnapshotAssertion) -> None:
    nobody = say("rate", "table", str(study.folder))
    assert (nobody.code, "nobody has rated anything" in nobody.err) == (2, True)
    rate(study)
    table = say("rate", "table", str(study.folder))
    assert table.code == 0, table.err
    for text in ("Mean scores", "random_walker", "8.500", "ordinal alpha", "damaged to "):
        assert text in table.out
    csv = say("rate", "table", str(study.folder), "--format", "csv")
    assert "answer,random_walker,8.5," in csv.out
    said = say("rate", "export", str(study.folder), str(tmp_path / "all.csv"))
    assert (said.code, "wrote 28 answers" in said.out) == (0, True), said.err
    rows = pl.read_csv(tmp_path / "all.csv")
    assert len(rows) == 28
    assert rows["again"].sum() == 4
    assert set(rows["errors"]) == {"edges"}
    assert say("rate", "export", str(study.folder), str(tmp_path / "all.parquet")).code == 0
    assert len(pl.read_parquet(tmp_path / "all.parquet")) == 28
    bad = say("rate", "export", str(study.folder), "all.xlsx")
    assert (bad.code, bad.err) == (2, wording)
    secret = json.dumps(study.tokens)
    assert not any(token in table.out + csv.out for token in json.loads(secret).values())
