"""Files of the user as modules: what is imported again, and when."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from intrabench.identity.loading import import_file

EARLY = "import part_of_tests\ndef number():\n    return part_of_tests.NUMBER\n"
LATE = "def number():\n    import part_of_tests\n    return part_of_tests.NUMBER\n"


@pytest.mark.parametrize("text", [EARLY, LATE])
def test_an_edited_module_is_imported_again(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where only its content tells: same size, same second; and when it is edited back."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(Path.cwd())
    Path("mine.py").write_text(text)
    for number in (1, 2, 1, 3, 2):
        Path("part_of_tests.py").write_text(f"NUMBER = {number}\n")
        assert import_file(Path("mine.py")).number() == number


def test_a_file_imports_those_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(Path.cwd()))])
    Path("own").mkdir()
    Path("own/neighbour_of_tests.py").write_text("NUMBER = 5\n")
    Path("own/mine.py").write_text("from neighbour_of_tests import NUMBER\n")
    monkeypatch.delitem(sys.modules, "neighbour_of_tests", raising=False)
    assert import_file(Path("own/mine.py")).NUMBER == 5
    Path("own/neighbour_of_tests.py").write_text("NUMBER = 6\n")
    assert import_file(Path("own/mine.py")).NUMBER == 6
    assert sys.path[-1] == str(Path("own").resolve())  # last, so that it hides no installed package
