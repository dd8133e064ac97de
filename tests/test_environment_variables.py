"""The page of environment variables has those that the code reads, and no others."""

from __future__ import annotations

import ast
import re

import pytest

from tests.documented import ROOT

ELSEWHERE = {"HF_HOME", "TMPDIR", "COLUMNS"}
"""What libraries read: the hub's, Python's and rich."""
_NAME = re.compile(r"[A-Za-z]+(_[A-Za-z0-9]+)+|TERM|TMPDIR|COLUMNS|INPUTS|OUTPUTS|NSLOTS|NCPUS")


@pytest.fixture(scope="module")
def in_code() -> set[str]:
    """All texts of the package that may be names of variables."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "intrabench").rglob("*.py"))
    texts = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return {text for text in texts if isinstance(text, str) and _NAME.fullmatch(text)}


@pytest.fixture(scope="module")
def on_page() -> set[str]:
    """The variables in the first columns of the page's tables."""
    page = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]*`[^|]*) \|", page, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_every_variable_of_ours_is_on_the_page(in_code: set[str], on_page: set[str]) -> None:
    ours = {name for name in in_code if name.startswith("INTRABENCH_")}
    assert ours == {name for name in on_page if name.startswith("INTRABENCH_")}
    assert len(ours) > 3


def test_the_page_has_no_variable_that_nobody_reads(in_code: set[str], on_page: set[str]) -> None:
    assert on_page - in_code == ELSEWHERE
    assert len(on_page) > 15
