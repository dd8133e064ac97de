"""A class of the user's own that changes what all share fails with a sentence; nobody else notices."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import Changed, foreign, global_state, restore
from tests.conftest import Said

pytestmark = pytest.mark.usefixtures("data")
Say = Callable[..., Said]

PLUGIN = """
import os
from dataclasses import dataclass

from intrabench.metrics.overlap import Dice
from intrabench.models.box_fill import BoxFill
from intrabench.prompters.box_slice import BoxSlice

def change(where):
    if where == PLACE:
        HOW

change("import")

@dataclass(eq=False)
class Moving(BoxFill):
    name = "moving"

    def open(self, volume):
        change("open")
        return super().open(volume)

    def segment_one(self, volume, request):
        change("segment")
        return super().segment_one(volume, request)

@dataclass(frozen=True)
class Walking(BoxSlice):
    name = "walking"

    def interact(self, user):
        change("interact")
        yield from super().interact(user)
        change("ending")

@dataclass(frozen=True)
class Lost(Dice):
    name = "lost"

    def measure(self, pair):
        if pair.target.label == "blob":  # not when it is tried before the run
            change("metric")
        return super().measure(pair)
"""
FOLDER = "it changed the current folder, which everything in this run shares; give whole paths, or use contextlib.chdir"
TYPE = "it changed the default type of torch, which everything in this run shares; give tensors their type"
PRODUCTS = "it changed the precision of products in torch"
HOWS = {
    "os.chdir('/')": FOLDER,
    "import torch; torch.set_default_dtype(torch.float64)": TYPE,
    "import torch; torch.set_float32_matmul_precision('medium')": PRODUCTS,
    "import torch; torch.backends.cuda.matmul.allow_tf32 = True": PRODUCTS,
    "import torch; torch.backends.cudnn.allow_tf32 = False": "it changed torch.backends.cudnn.allow_tf32",
    "import torch; torch.autocast('cpu', torch.bfloat16).__enter__()": "it changed autocast of torch on cpu",
}


def run(say: Say, place: str, how: str = "os.chdir('/')", *more: str) -> Said:
    """A run of the plug-in's classes, and of a model that ships, with relative paths."""
    Path("mine.py").write_text(PLUGIN.replace("PLACE", repr(place)).replace("HOW", indent(how, " " * 8).strip()))
    words = ["--model", "moving", "--model", "box_fill", "--prompter", "walking", "--dataset", "phantom:shape=16x32x32"]
    return say("run", "--plugin", "mine.py", *words, "--protocol", "overlap@1", "--out", "out", *more)


def rows() -> dict[str, tuple[str, str]]:
    parts = [pl.read_parquet(part) for part in Path("out/rows").iterdir()]
    found = pl.concat(parts, how="diagonal").select("model", "status", "error").unique()
    return {model: (status, error) for model, status, error in found.iter_rows()}


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("place", ["open", "segment"])
def test_a_model_that_changes_what_all_share_fails_alone(say: Say, place: str, how: str) -> None:
    before, here = global_state(), Path.cwd()
    assert run(say, place, how).code == 1
    assert Path.cwd() == here
    assert {**global_state(), **before} == global_state()
    found = rows()
    assert found["box_fill"] == ("ok", "")
    assert found["moving"][0] == "error"
    assert HOWS[how] in found["moving"][1]


@pytest.mark.parametrize("place", ["interact", "ending"])
def test_a_prompter_that_changes_the_folder_fails_its_sessions(say: Say, place: str) -> None:
    assert run(say, place).code == 1
    assert set(rows().values()) == {("error", f"prompter: {FOLDER}")}


def test_a_metric_that_changes_the_folder_has_no_value(say: Say, wording: SnapshotAssertion) -> None:
    said = run(say, "metric", "os.chdir('/')", "--metric", "lost")
    assert said.code == 0
    assert said.err == wording
    assert FOLDER in said.err
    assert rows()["box_fill"][0] == "ok"


@pytest.mark.parametrize("how", HOWS)
def test_a_plug_in_that_does_so_at_import_is_refused(say: Say, how: str, wording: SnapshotAssertion) -> None:
    said = run(say, "import", how)
    assert said.code == 2
    assert said.err == wording
    assert not Path("out").exists()


def test_whoever_imports_torch_first_may_not_change_it_either() -> None:
    code = (
        "import sys; from intrabench.errors import Changed, foreign; assert 'torch' not in sys.modules\n"
        "try:\n    with foreign():\n        import torch; torch.set_default_dtype(torch.float64)\n"
        "except Changed as changed:\n    print(changed, torch.get_default_dtype())\n"
    )
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root}, check=True
    )
    assert TYPE in done.stdout
    assert done.stdout.endswith("torch.float32\n")


def test_what_the_users_own_program_has_set_stays() -> None:
    torch = pytest.importorskip("torch")
    torch.set_default_dtype(torch.float64)
    try:
        with foreign():
            torch.zeros(1)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_what_it_raises_comes_first_and_the_folder_is_set_back() -> None:
    @foreign()
    def leave() -> None:
        os.chdir("/")
        raise KeyError

    here = Path.cwd()
    with pytest.raises(KeyError):
        leave()
    assert Path.cwd() == here
    with pytest.raises(Changed), foreign(), foreign():
        os.chdir("/")
    assert Path.cwd() == here


def test_a_folder_that_is_gone_is_no_change() -> None:
    Path("gone").mkdir()
    os.chdir("gone")
    Path.cwd().rmdir()
    with foreign():
        pass
    assert restore(global_state()) == ""


def test_nobody_is_blamed_for_the_folder_of_itk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    here, library = Path.cwd(), tmp_path / "itk"
    library.mkdir()
    monkeypatch.setitem(sys.modules, "itkConfig", SimpleNamespace(swig_lib=str(library)))
    with foreign():
        os.chdir(library)  # as ITK does in another thread, while it is loaded
    assert Path.cwd() == library
    with foreign():
        os.chdir(here)
    assert Path.cwd() == here
    with pytest.raises(Changed), foreign():
        os.chdir(tmp_path)
    assert Path.cwd() == here
