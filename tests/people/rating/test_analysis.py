"""What the table says of known answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.people.rating.analysis import Analysis, long
from intrabench.people.rating.answers import Answer, Answers
from intrabench.people.rating.study import Study
from tests.conftest import Said

BASE = {"box_fill": 4, "random_walker": 8}


def score(key: dict[str, object], rater: str, again: bool) -> int:
    """Of a rater who sees what a mask is: r2 is a point milder, and all are a point less at a second look."""
    base = {"truth": 9, "damaged": 3}.get(str(key["kind"])) or BASE[str(key["name"])]
    return base + (rater == "r2") - again


def rate(study: Study) -> None:
    base = Answers(study.answers_file)
    for rater in study.raters:
        seen: set[str] = set()
        for place, job in enumerate(study.order(rater)):
            mask = study.key[job]["mask"]
            given = score(study.key[job], rater, mask in seen)
            base.add(Answer(f"{rater}-{place}", rater, place, job, given, seconds=float(place), errors=("edges",)))
            seen.add(mask)
    base.close()


@pytest.fixture
def rated(study: Study) -> Analysis:
    rate(study)
    return Analysis(long(study))


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


def test_agreement_of_raters_who_are_a_point_apart(rated: Analysis) -> None:
    found = rated.agreement()
    assert rated.matrix().shape == (2, 12)
    assert found["share of pairs within one point"] == 1
    assert found["mean standard deviation of a mask"] == pytest.approx(np.sqrt(0.5))
    first = rated.matrix()[0]
    between = 2 * (first - first.mean()) @ (first - first.mean()) / 11
    assert found["ICC(2,1)"] == pytest.approx(between / (between + 2 / 12 * 12 * 0.5))
    assert 0 < found["Krippendorff's alpha, interval"] < 1  # type: ignore[operator]


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
    found = Analysis(long(study))
    assert len(found.answers) == 2
    assert found.raters().row(0, named=True)["skipped"] == 1
    (line,) = found.clinical().rows(named=True)
    assert (line["name"], line["minor"]) == (study.key[order[1]]["name"], 1.0)
    assert found.agreement()["ICC(2,1)"] is None
    assert found.differences().is_empty()


def test_pairs(study: Study) -> None:
    key = {job: {**one, "kind": "pair", "name": "m", "b": {"name": "n"}} for job, one in study.key.items()}
    study.key.update(key)
    base = Answers(study.answers_file)
    order = list(dict.fromkeys(study.order("r1")))[:4]
    for place, (job, said) in enumerate(zip(order, ("a", "a", "tie", "b"), strict=True)):
        base.add(Answer(f"id-{place}", "r1", study.order("r1").index(job), job, pair=said))
    one, other = Analysis(long(study)).pairs().rows(named=True)
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
    for text in ("Mean scores", "random_walker", "8.500", "Krippendorff's alpha, ordinal", "damaged to "):
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
