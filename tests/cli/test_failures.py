"""Failures of data and of models: what counts, what is said, and where it happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError, PartialResults
from intrabench.results.parts import read_rows
from intrabench.results.runs import read_records
from tests.conftest import Said
from tests.wording import line_with, without_reasons

LOST = "left out, for their data could not be read: 1 case of pics (see `intrabench failures`)"
SICK = (
    "from dataclasses import dataclass\nfrom intrabench.models.base import VolumeModel\n\n"
    "@dataclass(eq=False)\nclass Sick(VolumeModel):\n    name = 'sick'\n"
    "    accepts = frozenset({'box2d'})\n    calls = []\n"
    "    def segment_one(self, volume, request):\n        raise ERROR\n"
)
RUN = (
    "run",
    "-m",
    "box_fill",
    "-m",
    "sick",
    "-p",
    "box_slice",
    "-p",
    "box_volume",
    "-d",
    "pics",
    "--plugin",
    "sick.py",
)


@pytest.fixture
def pics() -> str:
    """The sentence about the second of two photographs, which is truncated; and a model that fails."""
    for folder in ("images", "masks"):
        (Path("pics") / folder).mkdir(parents=True)
    for number in range(2):
        mask = np.zeros((48, 64), np.uint8)
        mask[8:30, 10:40] = 1
        noise = np.random.default_rng(number).integers(0, 99, (48, 64, 3))
        Image.fromarray((noise + 99 * mask[..., None]).astype(np.uint8)).save(f"pics/images/c{number}.png")
        Image.fromarray(mask).save(f"pics/masks/c{number}.png")
    bad = Path("pics/images/c1.png")
    bad.write_bytes(bad.read_bytes()[:2000])
    Path("sick.py").write_text(SICK.replace("ERROR", "KeyError('layer')"))
    return f"{bad} cannot be read: it is truncated or not a picture (image file is truncated); fetch or export it again"


def test_a_truncated_picture_counts_in_no_mean(say: Callable[..., Said], pics: str, wording: SnapshotAssertion) -> None:
    said = say(*RUN, "--workers", "0", "--out", "out")
    assert said.code == 1
    assert [without_reasons(one) for one in said.err.splitlines()[-3:]] == wording
    assert LOST in " ".join(said.out.split())
    means = {row[:2]: row[2:] for row in table("out").select("model", "prompter", "pics", "failed").rows()}
    assert means["sick", "box_slice"] == (0.0, 1)  # a failure of the model
    assert means["box_fill", "box_slice"][1] == 0
    halved = {
        row[:2]: row[2:] for row in table("out", failed="all").select("model", "prompter", "pics", "failed").rows()
    }
    assert halved["box_fill", "box_slice"] == (pytest.approx(means["box_fill", "box_slice"][0] / 2), 1)
    assert halved["sick", "box_slice"] == (0.0, 2)
    text = say("table", "--out", "out")
    assert (text.code, LOST in " ".join(text.out.split()), text.err) == (0, True, "")
    csv = say("table", "--out", "out", "--csv")
    assert (csv.code, csv.err) == (0, f"{LOST}\n")
    assert LOST not in say("table", "--out", "out", "--failed", "all").out


def table(out: str, **how: str) -> pl.DataFrame:
    """The table, which warns of the lost case unless it counts."""
    if how:
        return intrabench.table(out, plugin="sick.py", **how)  # type: ignore[arg-type]
    with pytest.warns(PartialResults, match="^left out, for their data could not be read: 1 case of pics"):
        return intrabench.table(out, plugin="sick.py")


def test_failures_are_listed_once_each_with_where_they_happened(
    say: Callable[..., Said], pics: str, wording: SnapshotAssertion
) -> None:
    say(*RUN, "--out", "out")
    said = say("failures", "--out", "out")
    assert said.code == 0
    assert [without_reasons(one) for one in said.out.splitlines()] == wording
    lines = say("failures", "--out", "out", "--traceback").out.splitlines()
    assert "  | KeyError: 'layer'" in lines
    assert "  | OSError: image file" in "\n".join(lines)
    assert [line for line in lines if 'sick.py", line 10' in line] != []
    found = json.loads(say("failures", "--out", "out", "--json").out)
    assert [(one["status"], one["sessions"], one["cases"]) for one in found] == [
        ("no_data", 4, ["c1"]),
        ("error", 2, ["c0"]),
    ]
    assert found[1]["traceback"].endswith("raise KeyError('layer')\nKeyError: 'layer'")
    (record,) = read_records(Path("out"))
    assert len(record["tracebacks"]) == 2  # once each, not in every row
    assert not read_rows(Path("out"))["error"].str.contains("Traceback").any()


def test_no_failures(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    say("run", "-m", "box_fill", "-p", "box_slice", "-d", "phantom:shape=8x16x16", "--out", "out")
    said = say("failures", "--out", "out")
    assert (said.code, said.out) == (0, wording)
    said = say("failures", "--out", "nothing")
    assert said.code == 2
    assert said.err == wording


def test_verbose_shows_tracebacks_after_the_run(say: Callable[..., Said], pics: str) -> None:
    said = say(*RUN, "-v")
    assert said.code == 1
    assert "\nKeyError: 'layer'\n" in said.err
    assert "\nOSError: image file" in said.err
    assert "Traceback" not in say(*RUN).err


@pytest.mark.parametrize("workers", ["0", "1"])
def test_fail_fast_ends_with_the_first_failure(
    say: Callable[..., Said], pics: str, workers: str, wording: SnapshotAssertion
) -> None:
    Path("pics/images/c1.png").write_bytes(Path("pics/images/c0.png").read_bytes())
    said = say(*RUN, "--fail-fast", "--workers", workers, "--out", "out")
    assert said.code == 1
    assert line_with(said.err, "(--fail-fast)") == wording
    assert "KeyError: 'layer'" in said.err.splitlines()  # of the traceback
    rows = read_rows(Path("out"))
    assert rows.filter(model="sick")["case"].n_unique() == 1  # what was played together, and no more
    with pytest.raises(IntraBenchError) as caught:
        intrabench.run("sick", "box_slice", "pics", plugin="sick.py", fail_fast=True)
    assert caught == wording


def many(cases: int) -> None:
    """Photographs on which a model fails, each with a message of its own."""
    for folder in ("images", "masks"):
        (Path("many") / folder).mkdir(parents=True)
    mask = np.zeros((24, 32), np.uint8)
    mask[8:20, 10:30] = 1
    for number in range(cases):
        noise = np.random.default_rng(number).integers(0, 99, (24, 32, 3))
        Image.fromarray(noise.astype(np.uint8)).save(f"many/images/c{number:02}.png")
        Image.fromarray(mask).save(f"many/masks/c{number:02}.png")
    Path("sick.py").write_text(SICK.replace("ERROR", "KeyError(int(volume.array.sum()))"))


SICK_ON_MANY = ("run", "-m", "sick", "-p", "box_slice", "-d", "many", "--plugin", "sick.py", "--out", "out")


@pytest.mark.parametrize(("workers", "limit"), [("0", "3"), ("1", "3"), ("0", "50%")])
def test_a_run_ends_with_so_many_failures_and_goes_on(
    say: Callable[..., Said], workers: str, limit: str, wording: SnapshotAssertion
) -> None:
    many(30)
    said = say(*SICK_ON_MANY, "--max-failures", limit, "--workers", workers)
    assert said.code == 1
    assert line_with(said.err, "(--max-failures") == wording
    kept = read_rows(Path("out"))
    assert kept["status"].to_list() == ["error"] * (20 if limit == "50%" else 3)
    assert kept["error"].n_unique() == len(kept)
    (group,) = json.loads(say("failures", "--out", "out", "--json").out)
    assert group["cause"] == "KeyError: N, in line 10 of sick.py"
    assert (group["sessions"], group["distinct"], group["error"] in set(kept["error"])) == (len(kept), len(kept), True)
    lines = say("failures", "--out", "out").out.splitlines()
    assert lines[:2] == [
        f"{len(kept)} sessions: error: {group['cause']}",
        f"  for example: {group['error']}",
    ]
    Path("sick.py").write_text(
        SICK.replace(
            "raise ERROR",
            "from intrabench.models.box_fill import BoxFill; return BoxFill().segment_one(volume, request)",
        )
    )
    goes_on = say(*SICK_ON_MANY, "--max-failures", limit, "--workers", workers)
    assert goes_on.code == 0, goes_on.err


def test_a_share_of_failures_counts_only_after_twenty_sessions(say: Callable[..., Said]) -> None:
    many(19)
    said = say(*SICK_ON_MANY, "--max-failures", "1%", "--workers", "0")
    assert (said.code, "--max-failures" in said.err) == (1, False)
    assert len(read_rows(Path("out"))) == 19


@pytest.mark.parametrize("limit", ["0", "-1", "2.5", "0%", "101%", "many", "%", "5 %%"])
def test_what_is_no_limit_is_refused(say: Callable[..., Said], limit: str, wording: SnapshotAssertion) -> None:
    said = say(*SICK_ON_MANY, f"--max-failures={limit}")
    assert (said.code, said.err) == (2, wording)


def test_two_limits_are_refused(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say(*SICK_ON_MANY, "--max-failures", "3", "--fail-fast")
    assert (said.code, said.err) == (2, wording)
    with pytest.raises(IntraBenchError) as caught:
        intrabench.run("box_fill", "box_slice", max_failures=0)
    assert caught == wording


@pytest.mark.parametrize(
    "error",
    [
        "MemoryError",
        "ConnectionError('gone')",
        "TimeoutError('slow')",
        "ValueError('bug')",
        "Sick.calls.append(0) or (MemoryError() if len(Sick.calls) % 2 else ValueError('bug'))",
    ],
)
def test_the_same_command_is_advised_where_it_helps(
    say: Callable[..., Said], error: str, wording: SnapshotAssertion
) -> None:
    Path("sick.py").write_text(SICK.replace("ERROR", error))
    boxes = "phantom:shape=24x48x48,instances=2"
    said = say("run", "-m", "sick", "-p", "box_slice", "-d", boxes, "--plugin", "sick.py", "--workers", "0")
    assert said.code == 1
    assert said.err.splitlines()[-1] == wording


def test_a_case_without_data_says_so_when_there_is_nothing_else(
    say: Callable[..., Said], pics: str, wording: SnapshotAssertion
) -> None:
    Path("pics/images/c0.png").unlink()
    Path("pics/masks/c0.png").unlink()
    said = say(*RUN, "--out", "out")
    assert (said.code, "┃" in said.out) == (1, False)
    said = say("table", "--out", "out")
    assert (said.code, said.err) == (2, wording)
    assert say("table", "--out", "out", "--failed", "all").code == 0
