"""What commands print for programs: numbers are numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.protocols import PROTOCOLS
from tests.conftest import Said

SMALL = "phantom:shape=16x32x32,instances=1"


def printed(said: Said) -> Any:
    """What was printed on standard output."""
    return json.loads(said.out)


def test_lists_of_data_sets(say: Callable[..., Said]) -> None:
    say("data", "get", "phantom", "-q")
    for words in (("list", "datasets"), ("data", "list")):
        found = {row["name"]: row for row in printed(say(*words, "--json"))}
        acc, phantom = found["adrenal_acc"], found["phantom"]
        assert (acc["cases"], acc["targets"], acc["paper"], acc["cases_here"]) == (53, None, "D7", 0)
        assert acc["megabytes"] == pytest.approx(7900, rel=0.01)
        assert phantom["cases_here"] >= 1
        assert phantom["paper"] is None
    assert "7.9 GB" in say("list", "datasets").out


def test_what_is_known_of_a_name(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    dice = printed(say("info", "dice", "--json"))
    assert (dice["kind"], dice["best"], dice["worst"], dice["column"]) == ("metric", "high", 0.0, "dice")
    assert printed(say("info", "hd95", "--json"))["worst"] == "Infinity"
    interp = printed(say("info", "box_interp", "--json"))
    n = interp["parameters"]["n"]
    assert (n["takes"], n["default"], n["meaning"]) == (wording, "default 3", wording)
    names = ("hf", "sammed3d", "rclicks")
    default = {name: printed(say("info", name, "--json"))["parameters"] for name in names}
    assert default["hf"]["intensity"]["default_means"] == "volume"
    assert "default_means" not in default["hf"]["policy"]
    assert default["sammed3d"]["threshold"]["default_means"] == "0 (official), 0.5 (radioactive)"
    assert default["rclicks"]["size"]["default"] == wording
    assert printed(say("info", "spine_ct", "--json"))["card"]["cases"] == 1
    paper = printed(say("info", "intrabench@1", "--json"))
    assert (paper["kind"], paper["rounds"]) == ("protocol", PROTOCOLS["intrabench@1"].rounds)
    assert len(paper["rows"]) == len(PROTOCOLS["intrabench@1"].rows)
    assert printed(say("info", "box_fill", "--json"))["accepts"] == ["box2d", "box3d"]
    assert say("info", "box_fil", "--json").code == 2


def test_tables_checks_and_verdicts(say: Callable[..., Said]) -> None:
    say("run", "-m", "box_fill", "-p", "box_slice", "-d", SMALL, "--workers", "0", "--out", "out")
    (line,) = printed(say("table", "--out", "out", "--json"))
    assert line == printed(say("table", "--out", "out", "--format", "json"))[0]
    assert (line["model"], line["sessions"], line["failed"]) == ("box_fill", 1, 0)
    assert isinstance(line[SMALL], float)
    found = printed(say("check", "box_fill", "--json"))
    assert {one["ok"] for one in found} <= {True, None}
    assert found[0].keys() == {"name", "ok", "message"}
    (verdict,) = printed(say("verify", "out", "--json"))
    assert (verdict["found"], verdict.keys()) == ("equal", {"session", "found", "message", "reason"})
