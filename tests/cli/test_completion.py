"""What the shell completes, and that it stays light; the version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import intrabench
from intrabench.cli.options import completes
from intrabench.registry import registry
from tests.conftest import Said

LINES = [
    ("run --model box_", ["box_fill"]),
    ("run --prompter box_interp+click_d", ["box_interp+click_deepest"]),
    ("run --refine scrib", ["scribble"]),
    ("run --dataset spine_", ["spine_ct", "spine_mr"]),
    ("run --protocol rit", ["ritm-noc@1"]),
    ("run --metric lesion", ["lesion_f1", "lesion_precision", "lesion_recall"]),
    ("preview --prompter clickab", ["clickability"]),
    ("check grabc", ["grabcut"]),
    ("table --per-r", ["--per-round"]),
    ("table --metric lesion", ["lesion_f1", "lesion_precision", "lesion_recall"]),
    ("info box_vol", ["box_volume"]),
    ("info rclicks", ["rclicks@1", "rclicks-users@1", "rclicks_auc", "rclicks"]),
    ("list me", ["metrics"]),
    ("data get spine_", ["spine_ct", "spine_mr"]),
    ("weights get sam_vit_", ["sam_vit_b", "sam_vit_l", "sam_vit_h"]),
    ("weights path paper:medsam", ["paper:medsam"]),
]
HEAVY = {"torch", "polars", "intrabench.models.box_fill", "intrabench.prompters.scribble"}
ASKING = """
import io, json, os, sys
from contextlib import redirect_stdout, suppress
from intrabench.cli.main import app
offered = []
for words in json.load(sys.stdin):
    os.environ |= {"COMP_WORDS": f"intrabench {words}", "COMP_CWORD": str(len(words.split()))}
    with redirect_stdout(io.StringIO()) as said, suppress(SystemExit):
        app(prog_name="intrabench")
    offered.append(said.getvalue().split())
print(json.dumps([offered, list(sys.modules)]))
"""


@pytest.fixture(scope="module")
def asked() -> tuple[list[list[str]], list[str]]:
    """What bash is offered for lines that end in such words, by one process for all; and what that has imported."""
    lines = json.dumps([words for words, _ in LINES])
    environment = {**os.environ, "_INTRABENCH_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", ASKING]
    done = subprocess.run(command, env=environment, input=lines, capture_output=True, text=True, check=False)
    assert not done.stderr
    offered, imported = json.loads(done.stdout)
    return offered, imported


@pytest.mark.parametrize(("words", "offered"), LINES)
def test_the_shell_completes_names(asked: tuple[list[list[str]], list[str]], words: str, offered: list[str]) -> None:
    assert asked[0][[line for line, _ in LINES].index(words)] == offered


def test_completing_imports_nothing_heavy(asked: tuple[list[list[str]], list[str]]) -> None:
    assert "intrabench.registry.registry" in asked[1]
    assert not HEAVY & set(asked[1])


def test_classes_of_a_workspace_are_completed(say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    say("init", "bench")
    monkeypatch.chdir("bench")
    (summary,) = [summary for name, summary in completes("prompters")("mid") if name == "middle_box"]
    assert summary == registry.entries("prompters")["middle_box"].summary
    assert len(completes("datasets")("")) == len(registry.entries("datasets"))
    Path("intrabench.toml").write_text("results =")
    assert completes("prompters")("mid") == []


def test_the_version_is_that_of_the_package(say: Callable[..., Said]) -> None:
    assert say("--version").out == f"intrabench {intrabench.__version__}\n"
    pyproject = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'version = "{intrabench.__version__}"' in pyproject
    assert "--install-completion" in say("--help").out
