"""Click networks of somebody's repository from the command line, here and in another interpreter."""

from __future__ import annotations

import os
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Said
from tests.models.isegm_families import checkpoint, ritm
from tests.models.test_isegm import photo, truth

WORDS = ("--protocol", "rclicks@1", "--only", "Base", "--dataset", "photos")
MODEL = "isegm:repo=repo,checkpoint={}.pth,trust=true,zoom=48"


@pytest.fixture(autouse=True)
def _here() -> None:
    """A repository, two checkpoints and a data set of one picture in the current folder."""
    ritm(Path("repo"))
    checkpoint(Path("a.pth"), 0)
    checkpoint(Path("b.pth"), 1)
    for folder, array in (("images", np.array(photo().array[0])), ("masks", truth().astype(np.uint8))):
        Path("photos", folder).mkdir(parents=True)
        Image.fromarray(array).save(Path("photos", folder, "disc.png"))


def rows(out: str = "out") -> pl.DataFrame:
    return pl.read_parquet(sorted(Path(out, "rows").glob("*.parquet"))).sort("model", "model_version", "round")


def test_a_session_of_twenty_clicks_on_a_picture_is_the_same_in_another_interpreter(say: Callable[..., Said]) -> None:
    said = say("run", "--model", MODEL.format("a"), *WORDS, "--out", "out")
    assert said.code == 0, said.err
    found = rows()
    assert found["round"].to_list() == list(range(20))
    assert set(found["status"]) == {"ok"}
    assert found["weights_sha256"].str.len_chars().unique().to_list() == [64]
    venv.create("second")
    Path(f"second/lib/python3.{sys.version_info.minor}/site-packages/first.pth").write_text("\n".join(sys.path))
    said = say("run", "--model", MODEL.format("a"), *WORDS, "--out", "remote", "--python", "second/bin/python")
    assert said.code == 0, said.err
    known = ("model", "model_version", "weights_sha256", "round", "dice", "iou", "prompts_hash")
    assert rows("remote").select(known).equals(found.select(known))


def test_results_of_two_checkpoints_and_of_changed_code_are_not_mixed(say: Callable[..., Said]) -> None:
    for model in ("a", "a", "b"):
        assert say("run", "--model", MODEL.format(model), *WORDS, "--out", "out").code == 0
    assert len(rows()) == 40
    Path("a.pth").write_bytes(Path("b.pth").read_bytes())
    assert say("run", "--model", MODEL.format("a"), *WORDS, "--out", "out").code == 0
    clicker = Path("repo/isegm/inference/clicker.py")
    clicker.write_text(f"{clicker.read_text()}\n# another commit\n")
    assert say("run", "--model", MODEL.format("a"), *WORDS, "--out", "out").code == 0
    found = rows()
    assert len(found) == 80
    assert found.select("model", "model_version", "weights_sha256").unique().height == 4


def test_a_results_folder_alone_runs_no_code(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    assert say("run", "--model", MODEL.format("a"), *WORDS, "--out", "out").code == 0
    said = say("verify", "out")
    assert said.out == wording
    assert said.code == 1
    assert "1 ok" in say("verify", "out", "--trust").out


class Evil:
    """Writes down the process in which it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import os, pathlib; pathlib.Path('unpickled').write_text(str(os.getpid()))",)


def test_only_the_other_interpreter_unpickles(say: Callable[..., Said]) -> None:
    import torch

    torch.save({"config": Evil(), "state_dict": {}}, "evil.pth")
    planned = say("run", "--model", MODEL.format("evil"), *WORDS, "--out", "out", "--dry-run")
    assert planned.code == 0, planned.err
    assert not Path("unpickled").exists()
    said = say("run", "--model", MODEL.format("evil"), *WORDS, "--out", "out", "--python", sys.executable)
    assert "evil.pth does not fit" in said.err + said.out
    assert int(Path("unpickled").read_text()) != os.getpid()
    assert "isegm" not in sys.modules


def test_without_trust_it_ends_in_one_sentence(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    model = MODEL.format("a").replace("trust=true,", "")
    for more in ((), ("--python", sys.executable), ("--dry-run",)):
        said = say("run", "--model", model, *WORDS, "--out", "out", *more)
        dry = "--dry-run" in more  # which goes on, and lists what is in the way
        assert said.code == (0 if dry else 2)
        told = said.out if dry else said.err
        assert told == wording
        assert told.rstrip() == wording
        assert "Traceback" not in said.out + said.err
    assert not list(Path("out").rglob("*.parquet"))


def test_info_says_what_it_needs(say: Callable[..., Said]) -> None:
    said = say("info", "isegm")
    assert said.code == 0
    for words in ("trust=true", "--python", "MIT for RITM", "COCO, LVIS or SBD", "repo: text"):
        assert words in said.out
