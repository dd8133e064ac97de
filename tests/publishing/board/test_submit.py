"""Making a submission: what is in it, that it is whole or not there, and what cannot be ranked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError
from intrabench.publishing.board.digests import sampled_sessions
from intrabench.publishing.board.files import Submitter
from intrabench.publishing.board.submit import submit
from intrabench.reporting.table import effort_table
from intrabench.results.parts import read_rows, read_turns
from tests.conftest import Said
from tests.publishing.board.conftest import BY, Make

Say = Callable[..., Said]
WHO = ("--name", "Lab A", "--contact", "a@lab.example", "--licence", "CC0-1.0")


def test_it_holds_the_results_that_count(played: Path) -> None:
    rows, stated = read_rows(played / "results"), json.loads((played / "lab-a" / "submission.json").read_text())
    assert read_rows(played / "lab-a").sort("session", "round").equals(rows.sort("session", "round"))
    table = effort_table(rows)
    means = {(line["model"], line["prompter"]): line["means"]["dice@1"] for line in stated["lines"]}
    assert means == pytest.approx({(row["model"], row["prompter"]): row["average"] for row in table.to_dicts()})
    assert [line["sessions"] for line in stated["lines"]] == [6] * 4
    assert stated["sampled"] == stated["masks"] == sampled_sessions(rows, 20)
    assert set(read_turns(played / "lab-a")["session"]) == set(stated["sampled"])
    assert stated["data"][0]["modality"] == "synthetic, CT-like intensities"
    record = (played / "lab-a" / "runs" / f"{rows['run_id'][0]}.json").read_text()
    assert not any(name in record for name in ("tracebacks", "arguments"))


def test_the_sample_depends_on_no_result(played: Path) -> None:
    rows = read_rows(played / "results")
    assert (
        sampled_sessions(rows.sample(fraction=1, shuffle=True, seed=1).with_columns(dice=0.5), 7)
        == sampled_sessions(rows, 20)[:7]
    )


def test_the_command(say: Say, played: Path, wording: SnapshotAssertion) -> None:
    said = say("submit", "mine", *WHO, "--out", str(played / "results"), "--sample", "5")
    assert (said.code, said.err) == (0, "")
    assert said.out == wording
    again = say("submit", "mine", *WHO, "--out", str(played / "results"))
    assert (again.code, again.err) == (2, wording)


def test_the_function_does_the_same(played: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    who = {"name": "Lab A", "contact": "a@lab.example", "licence": "CC0-1.0", "out": played / "results"}
    made = intrabench.submit(tmp_path / "mine", sample=5, notes="first", **who)
    assert (made.problems, made.name) == ([], "mine")
    assert made.statement is not None
    assert (made.statement.by, len(made.statement.sampled)) == (
        Submitter("Lab A", "a@lab.example", "CC0-1.0", "first"),
        5,
    )
    assert read_rows(tmp_path / "mine").equals(made.rows)
    with pytest.raises(IntraBenchError) as caught:
        intrabench.submit(tmp_path / "other", sample=1, **who)
    assert caught == wording
    with pytest.raises(IntraBenchError) as caught:
        intrabench.submit("other", name="Lab A", contact="a@lab.example")  # type: ignore[call-arg]
    assert caught == wording


@pytest.mark.parametrize(
    "columns",
    [
        {"weights": "random"},
        {"prompts_hash": ""},
        {"metrics": pl.when(pl.col("target").str.ends_with("1")).then(pl.lit("dice@1 iou@1")).otherwise("metrics")},
        {"contract": pl.when(pl.col("model") == "box_fill").then(pl.lit(5)).otherwise("contract")},
        {"contract": 3},
        {"protocol": "mine@1"},
        {"run_id": "gone"},
        {"status": "not_applicable"},
        {"error": "x" * 2001},
        {"dice": 0.123},
    ],
    ids="".join,
)
def test_what_cannot_be_ranked_is_refused(
    another: Make, tmp_path: Path, columns: dict[str, Any], wording: SnapshotAssertion
) -> None:
    with pytest.raises(IntraBenchError) as error:
        another("refused", **columns)
    assert str(error.value).partition("; phantom")[0] == wording
    assert not list(tmp_path.glob("*refused*")) or [path.name for path in tmp_path.glob("*refused*")] == [
        "results of refused"
    ]


def test_older_code_is_left_out_and_said(played: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    folder = shutil.copytree(played / "results", tmp_path / "two versions")
    (part,) = (folder / "rows").iterdir()
    older = (
        pl.read_parquet(part)
        .filter(model="box_fill")
        .with_columns(model_version=pl.lit("0"), session="0" + pl.col("session"), written_at=pl.lit(1, pl.Int64))
    )
    older.write_parquet(folder / "rows" / "older-0001.parquet")
    made, notices = submit(folder, tmp_path / "one", BY)
    assert made.statement is not None
    assert made.statement.rows == 48
    assert notices == wording


def test_private_data_is_warned_of(played: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(played / "results", tmp_path / "clinic")
    (part,) = (folder / "rows").iterdir()
    clinic = pl.read_parquet(part).with_columns(dataset=pl.lit("clinic"))
    for name, of in (("all", "2 patients"), ("one", "1 patient")):
        clinic.filter(pl.col("case").is_in(clinic["case"].unique().sort().head(int(of[0])))).write_parquet(part)
        _, notices = submit(folder, tmp_path / name, BY)
        told = (
            f"rows name the cases and {of} of clinic, which is no data set of IntraBench; publish them only if you may"
        )
        assert notices[0] == told


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("Bad Name", *WHO), "Bad Name cannot be the name of a submission, because it becomes part of addresses"),
        (("x", *WHO[:2], "--contact", "nowhere", *WHO[4:]), "--contact 'nowhere' is no address of mail and no page"),
        (("x", "--name", " ", *WHO[2:]), "--name is empty; say who submits, e.g. a person or a group"),
        (("x", *WHO, "--notes", "n" * 4001), "--notes has 4001 characters, expected 4000 at most; shorten it"),
        (("x", *WHO, "--sample", "0"), "--sample 0 is too small; give 5 or more"),
        (("x", *WHO, "--out", "nothing"), "nothing has no results yet; `intrabench run --model M --prompter P` comp"),
        (("x", *WHO[:4]), "Missing option '--licence'"),
    ],
)
def test_bad_input(say: Say, played: Path, given: tuple[str, ...], sentence: str) -> None:
    out = () if "--out" in given else ("--out", str(played / "results"))
    said = say("submit", *given, *out)
    assert (said.code, said.out) == (2, "")
    assert sentence in " ".join(said.err.replace("│", " ").split())
    assert not Path("x").exists()


def test_a_contact_is_a_link() -> None:
    assert Submitter("A", "a@b.org", "CC0").href == "mailto:a@b.org"
    assert Submitter("A", "https://b.org/x", "CC0").href == "https://b.org/x"
    for hostile in ("javascript:alert(1)", 'https://b.org/"onclick="x', "a@b.org\nBcc: c", "data:text/html,x"):
        with pytest.raises(IntraBenchError):
            Submitter("A", hostile, "CC0")
