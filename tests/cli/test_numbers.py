"""Summaries of sessions and tables of effort in ``list`` and ``info``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.cli.describe_numbers import AGAINST, NUMBERS
from intrabench.effort import TABLES, Calibration, table
from intrabench.registry.summaries import MACHINE_TIME, SUMMARIES, SUMMARY
from intrabench.statistics import measures
from intrabench.statistics.steps import steps
from tests.conftest import Said
from tests.results.made import rows


def test_summaries_are_listed_as_such(say: Callable[..., Said]) -> None:
    found = {row["name"]: row for row in json.loads(say("list", "metrics", "--json").out)}
    summaries = {name for name, row in found.items() if row["kind"] == SUMMARY}
    assert summaries == {*measures.SUMMARIES, *MACHINE_TIME}
    assert all(found[name]["summary"] == (SUMMARIES | MACHINE_TIME)[name] for name in summaries)
    assert found["dice"]["kind"] == "metric"
    assert "Summaries of sessions" in say("list", "metrics").out


@pytest.mark.parametrize("name", NUMBERS)
def test_info_knows_each_of_them(say: Callable[..., Said], name: str) -> None:
    assert say("info", name).out.startswith(f"{name} (")
    facts = json.loads(say("info", name, "--json").out)
    assert facts["name"] == name
    if name in measures.SUMMARIES:
        assert set(facts["parameters"]) == set(facts["values"])
        assert facts["description"][0].isupper()


def test_info_has_the_parameters_and_what_effort_may_be(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    told = say("info", "auc:against=seconds_human,budget=60").out
    assert "auc:against=seconds_human,budget=60: mean dice while seconds_human go from 0 to 60" in told
    assert told == wording
    assert set(AGAINST) == set(steps(rows({"dice": 0.5}), "dice").efforts)
    assert say("info", "auc:nothing=1").err == wording
    assert say("info", "aucc").err == wording


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_printed_as_a_file_for_runs(say: Callable[..., Said], name: str) -> None:
    told = say("info", name, "--toml")
    assert told.code == 0
    Path("mine.toml").write_text(told.out)
    found = Calibration.read(Path("mine.toml"))
    family = name.partition("@")[0]
    assert found.content == {"name": "mine", family: table(name)}
    assert json.loads(say("info", name, "--json").out)["costs"].items() <= table(name).items()


def test_only_tables_of_effort_are_files(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("info", "dice", "--toml")
    assert (said.code, said.out) == (2, "")
    assert said.err == wording


@pytest.mark.parametrize("spec", ["seconds:foo=1", "seconds@1:click=2"])
def test_what_takes_no_parameters_refuses_them(say: Callable[..., Said], spec: str) -> None:
    for option in ((), ("--json",)):
        said = say("info", spec, *option)
        assert (said.code, said.out) == (2, "")
        assert f"{spec.partition(':')[0]} takes no parameters" in said.err
