"""The structure of the package: arrows run downwards, and no two files or rooms import each other in a circle.

And of its tests: each process that runs some collects all, so what is large is imported by those that need it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from pkgutil import resolve_name

import pytest

import intrabench
from tests.conftest import IMPORTED

PACKAGE = Path(intrabench.__file__).parent
DOORS = {"intrabench", "intrabench.registry.registry", "intrabench.registry.contract"}
"""They name classes of every room, which are imported on first use: the package's own names, and classes by name."""


@cache
def imports() -> dict[str, set[str]]:
    """Which modules each module imports, at its top or inside of a function."""
    files = {path for path in PACKAGE.rglob("*.py") if "template" not in path.parts}
    modules = {_name(path): path for path in files}
    return {name: set(_imported(path, modules.keys())) - {name} for name, path in modules.items()}


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _imported(path: Path, modules: object) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)  # type: ignore[operator]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found = [name if name in modules else node.module for name in names]  # type: ignore[operator]
            yield from (name for name in found if name in modules)  # type: ignore[operator]


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """The names of a circle, nothing where there is none."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_circle_of_files() -> None:
    arrows = {name: found - {"intrabench"} for name, found in imports().items() if name != "intrabench"}
    assert len(arrows) > 200
    assert circle(arrows) == []


def test_no_circle_of_rooms() -> None:
    """A room is a folder of the package; the files of its root are rooms of their own."""
    rooms: dict[str, set[str]] = {}
    for name, found in imports().items():
        if name in DOORS:
            continue
        room = ".".join(name.split(".")[:2])
        rooms.setdefault(room, set()).update({".".join(other.split(".")[:2]) for other in found - DOORS} - {room})
    assert {"intrabench.cli", "intrabench.engine", "intrabench.statistics"} <= rooms.keys()
    assert circle(rooms) == []


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
    """Files of the table of words in docs/architecture.md exist."""
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:engine|files)/[\w/]+(?:\.py)?)/?`", page)
    assert len(named) > 10
    assert [name for name in named if not (PACKAGE / name).exists()] == []


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
