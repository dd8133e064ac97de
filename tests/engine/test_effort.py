"""Runs that count seconds by a table of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.make_job import make_run
from intrabench.engine.options import chosen
from intrabench.engine.verify import verify
from intrabench.errors import IntraBenchError
from intrabench.people.annotating.annotation import Annotation
from intrabench.play.gestures import Gesture
from intrabench.reporting.page.credits import command
from intrabench.reporting.page.texts import definitions
from intrabench.reporting.table import Layout, effort_table, round_table
from intrabench.results.merge import merge
from intrabench.results.parts import read_rows
from intrabench.results.runs import read_records
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.evaluation import lines_of
from intrabench.statistics.scores import FailurePolicy
from intrabench.statistics.soundness import check_mixable
from tests.conftest import Said
from tests.people.annotating.playing import new_id
from tests.test_effort_files import TEXT, written

DATA = "phantom:shape=16x32x32,instances=1"
OUT = Path("out")

pytestmark = pytest.mark.usefixtures("data")


def run(prompter: str = "points_volume:n=3+click_center", **options: object) -> pl.DataFrame:
    given = {"rounds": 1, "protocol": "overlap@1", "out": OUT, **options}
    return intrabench.run("random_walker", prompter, DATA, **given)  # type: ignore[arg-type]


def test_the_rows_have_its_seconds_and_its_name() -> None:
    usual, mine = run(), run(effort=written())
    assert usual["effort"].unique().to_list() == ["seconds@1"]
    assert usual["seconds_human"].to_list() == [5.5, 8.0]
    (name,) = mine["effort"].unique()
    assert name.startswith("mine@")
    assert mine["seconds_human"].to_list() == [8.0, 11.0]  # 0.5 + 3 * 2.5, then 0.5 + 2.5
    same = ["dice", "interactions", "dof", "prompts_hash"]
    assert mine.select(same).equals(usual.select(same))
    assert mine["session"][0] != usual["session"][0]


def test_weights_of_interactions_are_those_of_the_file_in_rows_and_texts() -> None:
    text = '[interactions]\nbase = "interactions@1"\nsource = "a panel"\nclick = { each = 2 }\n'
    usual, mine = run(), run(effort=written(text))
    assert usual["interactions"].to_list() == [3, 4]
    assert mine["interactions"].to_list() == [6, 8]
    assert mine.select("dof", "seconds_human").equals(usual.select("dof", "seconds_human"))
    assert run(stop="interactions=7", rounds=1, effort="mine.toml")["interactions"].to_list() == [6]
    (name,) = mine["effort"].unique()
    assert [one.found for one in verify(OUT)] == ["equal"] * 3
    own = read_rows(OUT).filter(effort=name)
    told = dict(definitions(own, AGGREGATIONS["protocol"], FailurePolicy(), read_records(OUT)))
    assert told[name] == "Costs from a file, which the records of its runs hold (interactions: a panel)."
    assert own.height == 3
    paragraph = intrabench.methods(OUT).paragraphs["Effort and time"]
    assert f"they are counted by the table `{name}`" in paragraph
    assert f"the source of `{name}`: as in seconds@1" in paragraph


def test_a_key_has_the_table_only_if_there_is_one() -> None:
    def keys(**options: object) -> list[str]:
        job = make_run(chosen({"model": "box_fill", "prompter": "box_slice", "dataset": DATA, **options}))
        return job.keys(job.datasets[0], "case-1", job.runners[0], None)

    written(TEXT.replace("2.5", "2.6"), "other.toml")
    assert len({*keys(), *keys(effort=written()), *keys(effort="other.toml")}) == 3
    assert keys(effort="mine.toml") == keys(effort=written(TEXT + "# a comment\n"))


def test_a_run_is_resumed_without_its_file_being_the_same_one() -> None:
    first = run(effort=written())
    Path("elsewhere").mkdir()
    written(name="elsewhere/mine.toml")
    Path("mine.toml").unlink()
    again = run(effort="elsewhere/mine.toml")
    assert again["written_at"].to_list() == first["written_at"].to_list()


def test_verify_and_merge_need_no_file() -> None:
    run(effort=written())
    Path("mine.toml").unlink()
    assert [one.found for one in verify(OUT)] == ["equal"]
    merged = merge([OUT], Path("merged"))
    assert (merged.conflicts, [one.found for one in verify(Path("merged"))]) == ([], ["equal"])
    (record,) = Path("merged/runs").glob("*.json")
    content = json.loads(record.read_text())
    content["effort"]["seconds"]["click"]["each"] = 99
    record.write_text(json.dumps(content))
    (verdict,) = verify(Path("merged"))
    assert verdict.found == "unknown"
    assert "is not in runs/" in verdict.message


def test_workers_get_the_table(data: Path) -> None:
    rows = run(effort=written(), workers=1)
    assert rows["seconds_human"].to_list() == [8.0, 11.0]


def test_rules_that_count_seconds_count_those_of_the_table() -> None:
    assert run(stop="seconds=9", rounds=3)["seconds_human"].max() == 8.0  # 5.5 + 2.5, not another 2.5
    assert run(stop="seconds=9", rounds=3, effort=written())["seconds_human"].max() == 8.0
    assert run(stop="seconds=11", rounds=3)["round"].max() == 2
    assert run(stop="seconds=11", rounds=3, effort=written())["round"].max() == 1


def test_tables_never_average_seconds_of_two_tables() -> None:
    run()
    run(effort=written())
    rows = read_rows(OUT)
    usual = sorted(effort_table(rows)["seconds_human"].to_list())
    assert usual == [8.0, 11.0]
    model = Layout(by=("model",))
    for frame in (effort_table(rows, model), round_table(rows, model).filter(round=1)):
        assert sorted(frame["seconds_human"].to_list()) == usual
        assert sorted(one.partition("@")[0] for one in frame["effort"]) == ["mine", "seconds"]
    one = rows.filter(effort="seconds@1")
    assert effort_table(one, model)["seconds_human"].to_list() == [8.0]
    check_mixable(rows)  # Dice is the same
    with pytest.raises(IntraBenchError, match=r"stop seconds=9 by mine@"):
        check_mixable(rows.with_columns(stop=pl.lit("seconds=9")))


def test_a_hand_from_a_file_is_spelled_out_in_the_rows(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    written()
    words = ("run", "-m", "box_fill", "-p", "box_slice", "-d", DATA, "--out", "out", "--hand", "mine.toml")
    said = say(*words, "--effort", "mine.toml", "--quiet")
    assert said.code == 0, said.err
    rows = read_rows(OUT)
    assert rows["prompter"].unique().to_list() == ["box_slice+hand:jitter_mm=1.25,box_slack=0.1"]
    assert rows["effort"][0].startswith("mine@")
    assert rows["seconds_human"][0] == rows["interactions"][0] / 2 * 5
    said = say("run", "-m", "box_fill", "-p", "box_slice", "-d", DATA, "--effort", "nowhere.toml")
    assert (said.code, said.err.splitlines()[-1]) == (2, wording)


def test_people_may_have_it_too() -> None:
    given = {"model": "random_walker", "dataset": DATA, "effort": written()}
    with Annotation(given, OUT) as people:
        (task, *_) = people.tasks("ab")
        people.give(task.code, "ab", new_id(), [Gesture("lasso", [(8, 10, 10), (8, 10, 20), (8, 20, 15)])])
        people.finish(task.code, "ab", new_id())
    rows = read_rows(OUT)
    assert (rows["seconds_human"].to_list(), rows["interactions"].to_list(), rows["dof"].to_list()) == ([6], [3], [7])
    assert [one.found for one in verify(OUT)] == ["equal"]


def test_the_report_tells_the_lines_apart_and_how_to_run_them_again(wording: SnapshotAssertion) -> None:
    run()
    run(effort=written())
    lines = lines_of(read_rows(OUT))
    name = next(one for one in lines["effort"] if one != "seconds@1")
    assert sorted(lines["notes"]) == ["overlap@1", f"overlap@1, effort {name}"]
    commands = [command(line, [DATA]) for line in lines.sort("effort").iter_rows(named=True)]
    assert [" --effort mine.toml " in one for one in commands] == [True, False]
    told = dict(definitions(read_rows(OUT), AGGREGATIONS["protocol"], FailurePolicy()))
    assert told[name] == wording
