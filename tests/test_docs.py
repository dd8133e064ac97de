"""The pages in docs/ are run as a reader would; their code is the code of the examples."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("adding_a_prompter", "adding_a_model", "adding_a_dataset")


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / f"{page}.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_the_page_work_in_order(page: str, data: Path) -> None:
    folder = Path.cwd()
    for line in "".join(blocks(page, "console")).splitlines():
        words = shlex.split(line.removeprefix("$ "))
        if words[0] == "cd":
            folder = folder / words[1]
            continue
        assert words[0] == "intrabench"
        done = subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    if page == "adding_a_prompter":
        assert (folder / "preview.png").stat().st_size > 1000
    assert list(folder.glob("results/rows/*.parquet"))


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_the_page_is_the_example_of_the_workspace(page: str) -> None:
    (code,) = blocks(page, "python")
    room = page.removeprefix("adding_a_") + "s"
    (example,) = (ROOT / room).glob("*.py")
    assert code == example.read_text()


def test_the_root_is_the_workspace_that_init_makes() -> None:
    template = ROOT / "intrabench" / "template"
    files = [path.relative_to(template) for path in template.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert len(files) == 5
    for path in files:
        assert (ROOT / path).read_bytes() == (template / path).read_bytes(), path
