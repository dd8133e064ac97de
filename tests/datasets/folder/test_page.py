"""The page about one's own data is run as a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import intrabench
from intrabench.datasets.folder.rules import Rules
from intrabench.registry import registry
from tests.datasets.folder.made import NO_FILES

PAGE = Path(intrabench.__file__).parents[1] / "docs" / "your_own_data.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def make_folder() -> None:
    (code,) = blocks("python")
    exec(code, {})


def test_the_folder_and_the_rules_of_the_page(data: Path) -> None:
    make_folder()
    assert registry.make("datasets", "scans").cases() == ("patient0", "patient1")
    (toml,) = blocks("toml")
    Path("scans/dataset.toml").write_text(toml, encoding="utf-8")
    assert set(re.findall(r"^(\w+) = ", toml.partition("[labels]")[0], re.MULTILINE)) < set(Rules.model_fields)
    dataset = registry.make("datasets", "scans")
    assert dataset.name == "liver_lab"
    assert [target.id for target in dataset.load("patient1", NO_FILES)[1]] == ["liver.1", "lesion.1", "lesion.2"]


def test_the_commands_of_the_page_work_in_order(data: Path) -> None:
    make_folder()
    for line in "".join(blocks("console")).splitlines():
        words = line.removeprefix("$ ").split()
        done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    assert list(Path().glob("*/rows/*.parquet"))
