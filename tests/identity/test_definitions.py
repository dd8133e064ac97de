"""What counts of a class of a notebook: all that it uses, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from intrabench.identity.versions import version_of

CELL = """
import functools, logging, types
import intrabench
from dataclasses import dataclass, field
import numpy as np
from intrabench import mask, prompters
from intrabench.prompters.box_slice import BoxSlice
FACTOR = 1
SETTINGS = {"low": 1}
WEIGHTS = np.array([1, 2])
first, second = (lambda: 1), (lambda: 2)
def helper(): return 2 * FACTOR
@functools.cache
def remembered(): return 3
shorter = functools.partial(helper)
class Table:
    def __init__(self, size): self.size = size
table = Table(5)
def made(scale):
    def scaled(): return scale
    return scaled
tenfold = made(10)
log = logging.getLogger("of a notebook")
space = types.SimpleNamespace(high=4)
inside = intrabench.prompter("box_interp:n=3")
@dataclass(frozen=True)
class Mine(BoxSlice):
    name = "mine"
    depth: float = FACTOR
    parts: tuple[int, ...] = field(default_factory=lambda: (1,))
    @property
    def near(self): return 6
    def interact(self, user, margin=7):
        log.info("%s %s", space.high, inside)
        inner = [remembered() for _ in range(8)]
        return helper(), SETTINGS["low"], WEIGHTS.sum(), first() + second(), shorter(), table.size, tenfold(), user.case
"""


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What is defined in a notebook."""
    notebook = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    return vars(notebook)


def version(names: dict[str, Any], *cells: str) -> str:
    """That of the class, once cells were run."""
    for text in cells:
        exec(compile(text, "<cell>", "exec", dont_inherit=True), names)
    return version_of(names["Mine"])


def test_the_same_cells_have_the_same_version(names: dict[str, Any]) -> None:
    assert version(names, CELL) == version(names, CELL) == version(names, "# edited\n" + CELL + "unrelated = 5\n")
    assert version(names, "log.setLevel(10)") == version(names, "log.setLevel(20)") == version(names, CELL)
    assert version(names, "case = 3\n") == version(names, CELL)  # an attribute that it uses has this name


def test_the_same_script_has_the_same_version_in_another_process(names: dict[str, Any]) -> None:
    text = f"{CELL}\nfrom intrabench.identity.versions import version_of\nprint(version_of(Mine))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == version(names, CELL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACTOR = 1", "FACTOR = 2"),
        ('"low": 1', '"low": 2'),
        ("np.array([1, 2])", "np.array([1, 3])"),
        ("(lambda: 2)", "(lambda: 9)"),
        ("return 2 * FACTOR", "return 3 * FACTOR"),
        ("return 3\n", "return 4\n"),
        ("Table(5)", "Table(6)"),
        ("self.size = size", "self.size = size + 1"),
        ("made(10)", "made(20)"),
        ("depth: float = FACTOR", "depth: float = 5.0"),
        ("lambda: (1,)", "lambda: (2,)"),
        ("return 6", "return 7"),
        ("margin=7", "margin=8"),
        ("range(8)", "range(9)"),
        ("high=4", "high=5"),
        ("box_interp:n=3", "box_interp:n=5"),
        ("partial(helper)", "partial(helper, 1)"),
        ("class Mine(BoxSlice)", "class Mine(Table, BoxSlice)"),
    ],
)
def test_all_that_it_uses_counts(names: dict[str, Any], old: str, new: str) -> None:
    assert old in CELL
    assert version(names, CELL) != version(names, CELL.replace(old, new))


@pytest.mark.parametrize(
    "cell", ["def helper(): return 5", "FACTOR = 5", 'SETTINGS["low"] = 5', "table.size = 6", "first = second"]
)
def test_a_cell_that_is_run_again_counts_without_that_of_the_class(names: dict[str, Any], cell: str) -> None:
    before = version(names, CELL)
    mine = names["Mine"]
    assert version(names, cell) != before
    assert names["Mine"] is mine


def test_a_local_module_that_it_uses_counts(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    cell = CELL.replace("return 6", "return aid_of_tests.number() + taken()")
    cell = f"import aid_of_tests\nfrom aid_of_tests import number as taken\n{cell}"

    def edited(number: int) -> str:
        Path("aid_of_tests.py").write_text(f"def number(): return {number}\n")
        monkeypatch.delitem(sys.modules, "aid_of_tests", raising=False)
        return version(names, cell)

    assert edited(1) == edited(1) != edited(200)
