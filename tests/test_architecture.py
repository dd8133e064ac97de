"""The structure of the package: arrows run downwards, and no two files or rooms import each other in a circle.

And of its tests: each process that runs some collects all, so what is large is imported by those that need it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

import intrabench
from tests.conftest import IMPORTED
from tests.scripts import script

PACKAGE = Path(intrabench.__file__).parent
structure = script("structure")


@cache
def imports() -> dict[str, set[str]]:
    """Which modules each module imports, at its top or inside of a function."""
    found: dict[str, set[str]] = structure.imports()
    return found


def test_no_circle_of_files() -> None:
    arrows = {name: found - {"intrabench"} for name, found in imports().items() if name != "intrabench"}
    assert len(arrows) > 200
    assert structure.circle(arrows) == []


def test_no_circle_of_rooms() -> None:
    """But for `DOORS`, which name classes of every room that are imported on first use."""
    rooms: dict[str, set[str]] = {}
    for name, found in imports().items():
        if name not in structure.DOORS:
            others = map(structure.room, found - structure.DOORS)
            rooms.setdefault(structure.room(name), set()).update(others)
    rooms = {name: others - {name} for name, others in rooms.items()}
    assert {"intrabench.cli", "intrabench.engine", "intrabench.statistics"} <= rooms.keys()
    assert structure.circle(rooms) == []


@pytest.mark.parametrize(
    ("room", "never"),
    [
        ("models", {"play", "engine", "results", "statistics", "report", "cli", "prompters", "target"}),
        ("prompters", {"play", "engine", "results", "statistics", "report", "cli"}),
        ("play", {"engine", "results", "statistics", "report", "cli", "fetch"}),
        ("statistics", {"engine", "report", "cli", "models"}),
        ("reporting", {"board", "people", "cli", "api"}),
        ("board", {"people", "servers", "cli", "api"}),
        ("fetch", {"datasets", "models", "play", "engine", "cli"}),
    ],
)
def test_what_a_room_must_not_know(room: str, never: set[str]) -> None:
    """A model never sees a target, a prompter never sees what plays it, and no room knows those above it."""
    known = {
        other.split(".")[1]
        for name, found in imports().items()
        if name.split(".")[1:2] == [room]
        for other in found
        if "." in other
    }
    assert not known & never


@pytest.mark.parametrize("large", ["torch", "SimpleITK", "matplotlib", "itk", "monai"])
def test_collecting_tests_imports_nothing_large(pytestconfig: pytest.Config, large: str) -> None:
    assert large not in pytestconfig.stash[IMPORTED]


def test_what_the_page_says_is_decided_somewhere_is_there() -> None:
    """The last column of the table of questions in docs/architecture.md."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| question | decided in |")[2].partition("\n\n")[0]
    places = re.findall(r"`(intrabench\.[\w.]+)` \|$", table, re.MULTILINE)
    assert len(places) > 5
    for place in places:
        assert resolve_name(place)


def test_the_page_names_the_classes_of_a_run() -> None:
    """The classes in the table of words in docs/architecture.md exist, and so do the files and folders on the page."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    words = page.partition("| word | what it is |")[2].partition("\n\n")[0]
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in (PACKAGE / "engine").rglob("*.py"))
    classes = {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}
    named = re.findall(r"`([A-Z]\w+)`", words)
    assert len(named) > 15
    assert [name for name in named if name not in classes] == []
    places = re.findall(r"`((?:engine|files)/[\w/]+(?:\.py)?)/?`", page)
    assert [name for name in places if not (PACKAGE / name).exists()] == []


def test_a_room_says_what_the_page_says() -> None:
    """The first sentence of a room's docstring is its line in docs/architecture.md."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE))
    rooms = [path for path in PACKAGE.iterdir() if (path / "__init__.py").exists() and path.name != "template"]
    assert len(rooms) > 15
    for room in rooms:
        docstring = ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))) or ""
        first = " ".join(docstring.partition("\n\n")[0].split()).rstrip(".")
        assert rows[room.name].lower() == first.lower(), room.name


def test_parts_of_the_package_import_only_what_the_page_lists_below_them() -> None:
    table = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", table, re.M)
    height = {part: -number for number, line in enumerate(lines) for part in re.findall(r"\w+", line)}
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert found - {"__init__", "__main__"} == set(height)
    for path in PACKAGE.rglob("*.py"):
        part = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for name in _imported(ast.parse(path.read_text(encoding="utf-8"))) if part in height else ():
            below = height[part] > height[name] or part == name or height[part] == height[name] == 1 - len(lines)
            assert below or part == "registry", f"{path} imports intrabench.{name}"


def _imported(tree: ast.AST) -> Iterator[str]:
    """The parts of the package that a file imports, other than for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "intrabench":
            _, *names = (node.module or "").split(".")
            yield from names[:1] or [alias.name for alias in node.names if not alias.name.startswith("_")]
        yield from _imported(node)
