"""The pages in docs/ are run as a reader would; their code is the code of the examples."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import intrabench
from intrabench.volume import Volume, write_nifti
from tests.server import Server, answer

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
    code, *_ = blocks(page, "python")
    room = page.removeprefix("adding_a_") + "s"
    (example,) = (ROOT / room).glob("*.py")
    assert code == example.read_text()


def test_the_refinement_of_the_page_works(data: Path) -> None:
    _, code = blocks("adding_a_prompter", "python")
    Path("last_missed.py").write_text(code)
    rows = intrabench.run(
        "random_walker",
        "box_volume",
        "phantom:shape=16x32x32,instances=1",
        refine="last_missed",
        rounds=2,
        plugins=[Path("last_missed.py")],
    )
    assert rows["prompter"].to_list() == ["box_volume+last_missed"] * 3
    assert rows["interactions"].to_list() == [3, 4, 5]


def test_the_published_data_set_of_the_page_works(data: Path, server: Server) -> None:
    body = io.BytesIO()
    labels = np.zeros((8, 16, 16), dtype=np.uint8)
    labels[1:7, 2:14, 2:14] = 1
    labels[2:4, 3:6, 3:6] = labels[5, 9:13, 9:13] = 2  # 18 and 16 voxels
    labels[4, 12, 3] = 2  # one that is too small
    with zipfile.ZipFile(body, "w") as archive:
        for case in ("case_1", "case_2"):
            for folder, array in (("images", 40 * labels), ("labels", labels)):
                write_nifti(Path("one.nii.gz"), array, Volume.from_canonical(array).grid)
                archive.writestr(f"liver_ct/{folder}/{case}.nii.gz", Path("one.nii.gz").read_bytes())
    server.pages["/liver_ct.zip"] = answer(body=body.getvalue())
    code = blocks("adding_a_dataset", "python")[1]
    code = code.replace("https://example.org/liver_ct.zip", f"{server.root}/liver_ct.zip")
    code = code.replace("0123456789abcdef" * 2, hashlib.md5(body.getvalue()).hexdigest())
    Path("liver_ct.py").write_text(code)
    rows = intrabench.run("box_fill", "box_slice", "liver_ct", plugins=[Path("liver_ct.py")])
    assert rows.select("case", "target", "target_voxels").rows() == [
        (case, f"tumour.{instance}", voxels) for case in ("case_1", "case_2") for instance, voxels in ((1, 18), (2, 16))
    ]


def test_the_root_is_the_workspace_that_init_makes() -> None:
    template = ROOT / "intrabench" / "template"
    files = [path.relative_to(template) for path in template.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert len(files) == 5
    for path in files:
        assert (ROOT / path).read_bytes() == (template / path).read_bytes(), path


def test_the_page_of_prompters_is_what_make_docs_writes_now(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("make_prompters", ROOT / "docs" / "make_prompters.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, made)  # dataclasses look their module up there
    spec.loader.exec_module(made)
    assert (ROOT / "docs" / "prompters.md").read_text() == made.page(made.examples()), "run: make docs"
    pictures = list((ROOT / "docs" / "prompters").glob("*.png"))
    assert {path.stem for path in pictures} == {example.name for example in made.examples()}
    assert max(path.stat().st_size for path in pictures) < 40_000


@pytest.mark.parametrize("page", ["models", "datasets"])
def test_pages_from_classes_are_what_make_docs_writes_now(page: str) -> None:
    spec = importlib.util.spec_from_file_location(f"make_{page}", ROOT / "docs" / f"make_{page}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert (ROOT / "docs" / f"{page}.md").read_text() == made.page(), "run: make docs"
