"""What the shell completes, and that it stays light; the version."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import intrabench
from intrabench import registry
from intrabench.cli.options import completes
from tests.conftest import Said


def completed(words: str) -> list[str]:
    """What bash is offered for a line that ends in `words`, by a process of its own; no torch may be imported there."""
    environment = {**os.environ, "COMP_WORDS": f"intrabench {words}", "COMP_CWORD": str(len(words.split()))}
    heavy = {"torch", "polars", "intrabench.models.box_fill", "intrabench.prompters.scribble"}
    code = (
        "import sys; from intrabench.cli.main import app\n"
        "try: app(prog_name='intrabench')\n"
        f"finally: assert not {heavy} & set(sys.modules)"
    )
    command = [sys.executable, "-c", code]
    environment["_INTRABENCH_COMPLETE"] = "complete_bash"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("run --model box_", ["box_fill"]),
        ("run --prompter box_interp+click_d", ["box_interp+click_deepest"]),
        ("run --refine scrib", ["scribble"]),
        ("run --dataset spine_", ["spine_ct", "spine_mr"]),
        ("run --protocol rit", ["ritm-noc@1"]),
        ("run --metric lesion", ["lesion_f1"]),
        ("preview --prompter clickab", ["clickability"]),
        ("check grabc", ["grabcut"]),
        ("table --per-r", ["--per-round"]),
        ("table --metric lesion", ["lesion_f1"]),
        ("info box_vol", ["box_volume"]),
        ("info rclicks", ["rclicks@1", "rclicks-users@1", "rclicks"]),
        ("list me", ["metrics"]),
        ("data get spine_", ["spine_ct", "spine_mr"]),
        ("weights get sam_vit_", ["sam_vit_b", "sam_vit_l", "sam_vit_h"]),
        ("weights path paper:medsam", ["paper:medsam"]),
    ],
)
def test_the_shell_completes_names(words: str, offered: list[str]) -> None:
    assert completed(words) == offered


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
