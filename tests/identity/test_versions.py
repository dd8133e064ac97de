"""Versions of classes: of IntraBench, of files, of packages, of a notebook's cells."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import intrabench
from intrabench.identity.loading import import_file
from intrabench.identity.versions import version_of
from intrabench.prompters.box_slice import BoxSlice
from intrabench.registry import registry

MINE = """
from intrabench.prompters.box_slice import BoxSlice
FACTOR = {factor}
def helper(): return {number} * FACTOR
class Mine(BoxSlice):
    name = "mine"
    def interact(self, user): return helper()
"""


def test_what_is_built_in_has_its_version_alone() -> None:
    assert version_of(BoxSlice) == version_of(BoxSlice()) == "1"
    assert version_of(intrabench.model("litemedsam")) == "3"
    assert version_of(intrabench.dataset("phantom")) == "1"


def test_versions_of_parts_are_joined() -> None:
    assert version_of(intrabench.prompter("box_interp:n=3+scribble+hand:jitter_mm=2")) == "1+2+1"
    assert version_of(intrabench.prompter("box_slice+hand:jitter_mm=0")) == "1"
    assert version_of(intrabench.prompter("clickability:model=uniform+hand:jitter_mm=2")) == "2/1+1"


def test_a_clickability_model_of_ones_own_is_part_of_its_prompter() -> None:
    text = (
        "from dataclasses import dataclass\n"
        "from intrabench.clickability.uniform import Uniform\n"
        "@dataclass(frozen=True)\nclass Flat(Uniform):\n    'Flat.'\n    name = 'flat'\n"
    )
    Path("flat.py").write_text(text)
    registry.add_plugin(Path("flat.py"))
    before = version_of(intrabench.prompter("clickability:model=flat"))
    Path("flat.py").write_text(text + "# edited\n")
    after = version_of(intrabench.prompter("clickability:model=flat"))
    assert before.startswith("2/1.")
    assert after.startswith("2/1.")
    assert before != after


def test_objects_of_an_old_class_keep_their_version() -> None:
    path = Path("mine.py")
    path.write_text(MINE.format(factor=1, number=2))
    old = import_file(path).Mine()
    assert import_file(path).Mine is type(old)
    before = version_of(old)
    path.write_text(MINE.format(factor=1, number=30))
    new = import_file(path).Mine()
    assert (old.interact(None), new.interact(None)) == (2, 30)
    assert version_of(old) == before != version_of(new)
    assert before.startswith("1.")
    assert len(before) == len("1.") + 8


def test_the_place_of_a_file_does_not_count() -> None:
    for place in ("here", "there"):
        Path(place).mkdir()
        Path(place, f"{place}.py").write_text(MINE.format(factor=1, number=2))
    assert version_of(import_file(Path("here/here.py")).Mine) == version_of(import_file(Path("there/there.py")).Mine)


def test_modules_of_the_same_package_count_even_where_packages_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(text: str) -> str:
        package = Path("site-packages/own_package_of_tests")
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text("")
        (package / "box.py").write_text(MINE.format(factor=1, number=2) + "from .parts import part\n")
        (package / "parts.py").write_text(text)
        (package / "unused.py").write_text(text)
        monkeypatch.syspath_prepend(Path("site-packages").resolve())
        for name in [name for name in sys.modules if name.startswith("own_package_of_tests")]:
            del sys.modules[name]
        from own_package_of_tests.box import Mine  # type: ignore[import-not-found]

        return version_of(Mine)

    assert version("part = 1\n") == version("part = 1\n") != version("part = 200\n")


def imported(text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that a script or notebook would import, imported anew."""
    Path("own_of_tests.py").write_text(text)
    monkeypatch.syspath_prepend(Path.cwd())
    monkeypatch.delitem(sys.modules, "own_of_tests", raising=False)
    return importlib.import_module("own_of_tests")


def test_a_module_that_is_imported_again_in_place_counts_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the autoreload of notebooks does: the class stays the same object and gets the new methods."""
    module = imported(MINE.format(factor=1, number=2), monkeypatch)
    mine = module.Mine
    before = version_of(mine)
    Path("own_of_tests.py").write_text(MINE.format(factor=1, number=300))
    assert version_of(mine) == before  # the class in use is still that of the old file
    importlib.reload(module)
    assert version_of(mine) != before
    assert version_of(mine) == version_of(module.Mine)


def test_a_file_that_was_edited_before_its_class_was_first_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old methods must not count as the new file, whose results a later run would look for."""
    other = MINE.replace("return helper()", "return -helper()")
    edited = version_of(imported(other.format(factor=1, number=2), monkeypatch).Mine)
    old = imported(MINE.format(factor=1, number=2), monkeypatch).Mine
    Path("own_of_tests.py").write_text(other.format(factor=1, number=2))
    mixed = version_of(old)
    assert mixed != edited
    again = imported(MINE.format(factor=1, number=2), monkeypatch).Mine
    Path("own_of_tests.py").write_text("def (:\n")
    assert version_of(again) not in (edited, mixed)
