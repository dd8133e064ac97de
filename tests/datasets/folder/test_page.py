"""The page about one's own data is run as a reader would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import intrabench
from intrabench.datasets.folder.rules import Rules
from intrabench.registry import registry
from tests.datasets.convert.dicom_files import write_ct, write_rtstruct
from tests.datasets.folder.made import NO_FILES, image, labels, nnunet, save

PAGE = Path(intrabench.__file__).parents[1] / "docs" / "your_own_data.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


def tree(number: int) -> list[str]:
    """The paths of the picture with this number, those of folders with a / at their end."""
    drawn = next(half for half in re.split(r"\n(?= 4 )", blocks("text")[0]) if f" {number} " in half.splitlines()[0])
    title, *lines = drawn.splitlines()
    begins = [found.start() for found in re.finditer(r" \d ", title)]
    column = slice(*[*begins, None][(number - 1) % 3 :][:2])
    paths, above = list[str](), list[str]()
    for text in (line[column].rstrip() for line in lines):
        name = text.lstrip(" │├└─")
        if name not in ("", "scans/"):
            depth = (len(text) - len(name)) // 4 - 1
            above[depth:] = [name]
            paths.append("".join(above))
    return paths


def make_tree(root: Path, number: int) -> None:
    """The folder of a picture, with what it leaves out."""
    paths, series = tree(number), list[Path]()
    if "case2/..." in paths:
        paths += [path.replace("case1", "case2") for path in paths if path.startswith("case1")]
    if number == 2:
        nnunet(root, cases=0)
    for path in map(Path, paths):
        if path.name == "IM0001":
            series = write_ct(root / path.parent, image().T.clip(0).astype(np.uint16))
        elif path.suffix == ".dcm":
            (root / path.parent).mkdir(parents=True)
            write_rtstruct(root / path, series, {"GTV": [np.array([[2, 2, 4], [8, 2, 4], [8, 8, 4], [2, 8, 4]])]})
        elif path.suffix == ".gz":
            scan = path.parts[0].startswith("images") or path.name in ("image.nii.gz", "ct.nii.gz")
            affine = np.diag([-1.0, -1.0, 2.0, 1.0])  # as the series has it
            save(root / path, image() if scan else (labels() == 1).astype(np.uint8), affine)


@pytest.mark.parametrize(
    ("number", "cases", "targets"),
    [
        (1, ("case1", "case2"), ["label_1.1"]),
        (2, ("case1", "case2"), ["liver.1"]),
        (3, ("case1", "case2"), ["label_1.1"]),
        (4, ("case1", "case2"), ["liver.1", "spleen.1"]),
        (5, None, ["GTV.1"]),
        (6, ("case1", "case2"), ["liver.1", "spleen.1"]),
    ],
)
def test_the_folders_that_the_page_draws(
    number: int, cases: tuple[str, ...] | None, targets: list[str], tmp_path: Path, data: Path
) -> None:
    make_tree(tmp_path / "scans", number)
    dataset = registry.make("datasets", str(tmp_path / "scans"))
    assert dataset.cases() == (cases or dataset.cases())
    for case in dataset.cases():
        assert [target.id for target in dataset.load(case, NO_FILES)[1]] == targets


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
