"""Changes of code that are drawn, and which of them tests notice."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts import script

mutations = script("mutations")

CODE = '''"""Text."""

def larger(a: int = 1, b: float = 0.5, *, most: int = 9) -> int:
    """At most 9."""
    if not a:
        raise ValueError(f"{a + 1} is wrong", min(a, 2))
    a += 1
    print(max(a, b), zip(a, b, strict=True))
    return [*range(a, most)][-1] if a <= b and b == 2.0 else a * b
'''
DRAWN = {
    ("1", "(2)"),
    ("1", "(0)"),
    ("0.5", "(1.5)"),
    ("9", "(10)"),
    ("9", "(8)"),
    ("not a", "False"),
    ("not a", "(a)"),
    ("a += 1", "pass"),
    ("print(max(a, b), zip(a, b, strict=True))", "pass"),
    ("print(max(a, b), zip(a, b, strict=True))", "(print(zip(a, b, strict=True), max(a, b)))"),
    ("max(a, b)", "(min(a, b))"),
    ("zip(a, b, strict=True)", "(zip(b, a, strict=True))"),
    ("range(a, most)", "(range(most, a))"),
    ("-1", "(1)"),
    ("a <= b and b == 2.0", "(a <= b or b == 2.0)"),
    ("a <= b", "(a < b)"),
    ("b == 2.0", "(b != 2.0)"),
    ("2.0", "(3.0)"),
    ("a * b", "(a / b)"),
    (
        CODE.splitlines()[-1].strip().removeprefix("return "),
        "(a * b if a <= b and b == 2.0 else [*range(a, most)][-1])",
    ),
}


def test_what_is_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutations, "ROOT", tmp_path)
    (tmp_path / "code.py").write_text(CODE)
    found = mutations.changes(Path("code.py"))
    assert {(one.old, one.new) for one in found} == DRAWN
    for one in found:
        compile(one.made(), "code.py", "exec")
    (one,) = (one for one in found if one.old == "a <= b")
    assert one.made().decode() == CODE.replace("a <= b", "(a < b)")
    assert str(one) == "code.py:9  a <= b  ->  (a < b)"


def test_the_same_seed_draws_the_same() -> None:
    one, again, other = (mutations.drawn(["davis"], 20, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len(set(one)) == 20
    assert {change.path.parts[:2] for change in one} == {("intrabench", "davis")}


def test_what_no_test_notices_is_printed(tmp_path: Path) -> None:
    for name, text in {
        "intrabench/room/code.py": "def double(a):\n    return a * 2\n\n\ndef half(a):\n    return a * 0.5\n",
        "tests/room/test_code.py": "from intrabench.room.code import double\ndef test(): assert double(3) == 6\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "intrabench" / "__init__.py").touch()
    (tmp_path / "scripts").mkdir()
    shutil.copy(mutations.__file__, tmp_path / "scripts")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    command = [sys.executable, str(tmp_path / "scripts" / "mutations.py"), "room"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("FAILED tests/room/test_code.py::test\n") == 3
    *_, total, first, second = done.stdout.splitlines()
    assert total == "2 of 5 pass"
    assert {line.partition(":6  ")[2] for line in (first, second)} == {"a * 0.5  ->  (a / 0.5)", "0.5  ->  (1.5)"}
