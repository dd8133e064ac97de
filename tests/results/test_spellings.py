"""One folder whose path is written in two ways: one model in a run, and a sentence elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import intrabench
from intrabench.errors import PartialResults
from intrabench.results.parts import read_rows
from tests.conftest import Said

WORDS = ("--prompter", "box_volume", "--dataset", "phantom:shape=12x24x24", "--workers", "0", "--out", "out")


def test_two_spellings_are_one_model_of_a_run_and_are_told_of_two(say: Callable[..., Said]) -> None:
    assert say("run", "--model", "box_fill", *WORDS, "--save-masks").code == 0
    assert say("export", "masks", "nii", "--out", "out").code == 0
    (folder,) = Path("nii").iterdir()
    short, long = (f"masks:folder={where},instances=files" for where in (folder, f"{folder.absolute()}/"))
    assert say("run", "--model", short, "--model", long, "--model", "box_fill", *WORDS).code == 0
    assert set(read_rows(Path("out"))["model"]) == {"box_fill", short}
    told = f"out has sessions of {short}, which is {long} with its path written otherwise"
    assert told not in say("run", "--model", short, *WORDS).err
    assert told in say("run", "--model", long, *WORDS).err
    assert set(read_rows(Path("out"))["model"]) == {"box_fill", short, long}
    told = f"{long} and {short} are one model, whose path is written in 2 ways"
    assert told in say("table", "--out", "out").err
    assert told in say("compare", short, long, "--out", "out").out
    with pytest.warns(PartialResults, match="written in 2 ways"):
        intrabench.table("out")
