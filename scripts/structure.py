"""Measure the structure of the package: ``make structure``, or ``python scripts/structure.py [--places]``.

What is counted, and how. Only Python counts, and only the package, not the template of new workspaces.

- A *room* is a folder right below ``intrabench``, or a module of its root; `__init__` and `__main__` are such modules.
- An *arrow* is a pair of rooms of which a file of the first imports something of the second, wherever in the file.
- An arrow *runs up* if it is against the order of rooms that leaves the fewest such arrows. So 0 means layers.
- A *circle* is a group of files that import each other, without `DOORS`, which find classes of all rooms by name.
- A *noun* of the engine is a class of ``intrabench/engine`` that is made or does something during a run, in this
  process, in a worker or with Dask. Names that begin with ``_``, exceptions and what only shows progress do not count.
- Nouns *on the way of a batch* are those among them that the functions work with that lie on the stack when the first
  part is written by a run without worker processes: what must be known to follow a batch from the command to its row.
- *Frames* are the functions on the stack of a run without worker processes, from ``run`` to the first `Session` and to
  the first part that is written; comprehensions are functions to Python and count, too.
- A test *pins a sentence* if its assertions, ``match`` patterns or parameters have a text of `WORDS` words or more.
- *Words* of the documentation are what stands between blanks in all Markdown files of the repository but those in
  ``tests/golden``; lines of tables and of code blocks are not prose.

Lines are those of files. ``--places`` also names the members of each figure.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "intrabench"
DOORS = {"intrabench", "intrabench.registry.registry", "intrabench.registry.contract"}
WORDS = 5
Arrows = Mapping[str, Set[str]]

GOALS = {
    "rooms": 34,
    "modules of the root": 12,
    "arrows": 261,
    "arrows that run up": 15,
    "circles": 0,
    "nouns of the engine": 14,
    "nouns on the way of a batch": 14,
    "frames from run to a session": 12,
    "frames from run to a row": 15,
    "lines of Python": 67_000,
    "tests that pin a sentence, in percent": 5,
    "words of documentation": 65_000,
    "words of prose": 45_000,
}


def modules() -> dict[str, Path]:
    """The modules of the package by name."""
    files = (path for path in PACKAGE.rglob("*.py") if "template" not in path.parts)
    return {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def imports() -> dict[str, set[str]]:
    """The modules that each module imports, at its top or inside of a function."""
    known = modules()
    return {name: set(_imported(path, known)) - {name} for name, path in known.items()}


def _imported(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found = [name if name in known else node.module for name in names]
            yield from (name for name in found if name in known)


def room(module: str) -> str:
    """The room of a module."""
    return ".".join(module.split(".")[:2])


def rooms() -> dict[str, set[str]]:
    """The rooms, each with those that it imports from."""
    found: dict[str, set[str]] = {}
    for name, imported in imports().items():
        found.setdefault(room(name), set()).update(room(other) for other in imported)
    return {name: others - {name} for name, others in found.items()}


def circle(arrows: Arrows) -> list[str]:
    """The names of a circle, nothing where there is none."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def running_up(arrows: Arrows) -> list[tuple[str, str]]:
    """The arrows against the best order of rooms that is found; the top of it imports, the bottom is imported.

    The order begins as Eades, Lin and Smyth (1993) make it. Then each room moves to its best place until none gains.
    """
    order = _greedy(arrows)
    improved = True
    while improved:
        improved = False
        for name in sorted(order):
            place = order.index(name)
            rest = order[:place] + order[place + 1 :]
            # the gain of each place: passing an imported room costs an arrow, passing one that imports saves one
            cost, costs = 0, [0]
            for other in rest:
                cost += (other in arrows[name]) - (name in arrows[other])
                costs.append(cost)
            best = min(range(len(costs)), key=costs.__getitem__)
            if costs[best] < costs[place]:
                order, improved = [*rest[:best], name, *rest[best:]], True
    rank = {name: place for place, name in enumerate(order)}
    return sorted((one, other) for one, others in arrows.items() for other in others if rank[other] < rank[one])


def _greedy(arrows: Arrows) -> list[str]:
    left, top, bottom = set(arrows), list[str](), list[str]()
    while left:
        down = {name: len(arrows[name] & left) for name in left}
        up = {name: sum(name in arrows[other] for other in left) for name in left}
        if ends := sorted(name for name in left if not down[name]):
            bottom = ends + bottom
        elif ends := sorted(name for name in left if not up[name]):
            top += ends
        else:
            ends = [max(sorted(left), key=lambda name: down[name] - up[name])]
            top += ends
        left -= set(ends)
    return top + bottom


RUN = (
    "run --model random_walker --prompter box_interp:n=3+scribble --rounds 2 --out out "
    "-d phantom:shape=16x48x48,instances=2,scans=2"
)
PROFILED = """
import inspect, json, sys, threading
from pathlib import Path
package, stacks, classes, way = sys.argv[1], {}, set(), set()
ends = {("play/session.py", "Session.__init__"): "session", ("results/store.py", "Store.write_part"): "row"}
def look(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename == "<string>" and code.co_name == "__init__":  # of a dataclass
        kind = type(frame.f_locals.get("self"))
        if kind.__module__.startswith("intrabench.engine."):
            classes.add((kind.__module__.replace(".", "/").partition("/")[2] + ".py", kind.__qualname__))
    if event != "call" or not code.co_filename.startswith(package):
        return
    file = code.co_filename[len(package) + 1 :]
    if file.startswith("engine/") and "." in code.co_qualname:
        classes.add((file, code.co_qualname.split(".")[0]))
    if (what := ends.get((file, code.co_qualname))) and what not in stacks:
        stack = []
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(package):
                stack.append(name[len(package) + 1 :] + " " + frame.f_code.co_qualname)
                for kind in map(type, frame.f_locals.values() if what == "row" else ()):
                    if kind.__module__.startswith("intrabench.engine."):
                        way.add((kind.__module__.replace(".", "/").partition("/")[2] + ".py", kind.__qualname__))
            frame = frame.f_back
        stacks[what] = stack[::-1]
import intrabench
from intrabench.cli.main import main
from intrabench.engine import write_buffer, writer
writer.LEAST_SECONDS = 0  # the first row is written at once
write_buffer.LEAST_SECONDS = float("inf")  # a slow machine writes early, by another way
sys.argv[1:] = json.loads(sys.argv[2])
threading.setprofile(look)
sys.setprofile(look)
try:
    main()
finally:
    sys.setprofile(None)
    Path("profile.json").write_text(json.dumps({"stacks": stacks, "classes": sorted(classes), "way": sorted(way)}))
"""
"""Plays with a profiler that notes the first stacks of interest and the classes of the engine that do something."""


def profiled(words: str = RUN) -> dict[str, list[str]]:
    """The stacks of a run from `run` to its first session and to its first row, outermost first, one name per frame."""
    found = _profile(f"{words} --workers 0")["stacks"]
    return {what: stack[_begin(stack) :] for what, stack in found.items()}


def _begin(stack: Sequence[str]) -> int:
    """Where the command `run` begins, below what the command line needs to find it."""
    return next(place for place, name in enumerate(stack) if name.startswith("cli/run.py"))


def _profile(words: str) -> dict[str, dict[str, list[str]]]:
    with tempfile.TemporaryDirectory() as folder:
        here = os.environ | {"PYTHONPATH": str(ROOT), "INTRABENCH_DATA": f"{folder}/data", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-c", PROFILED, str(PACKAGE), json.dumps(words.split())]
        done = subprocess.run(command, cwd=folder, env=here, capture_output=True, text=True)
        try:
            found: dict[str, dict[str, list[str]]] = json.loads(Path(folder, "profile.json").read_text())
        except OSError:
            sys.exit(f"the run that is measured ended with {done.returncode}: {done.stderr[-2000:]}")
        return found


SHOWS = "engine/progress/"
ELSEWHERE = ("engine/executors/worker.py", "engine/executors/dask/*.py")
"""What runs where the profiler does not look: in workers, and with Dask. All of its classes count."""


def nouns() -> list[str]:
    """The nouns of the engine: those of a run in this process, those of the process that supervises, of the worker."""
    alone = {(file, name) for file, name in _profile(f"{RUN} --workers 0")["classes"]}
    supervised = {(file, name) for file, name in _profile(f"{RUN} --workers 1")["classes"]}
    elsewhere = {
        (str(path.relative_to(PACKAGE)), node.name)
        for pattern in ELSEWHERE
        for path in PACKAGE.glob(pattern)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    return sorted(f"{file}: {name}" for file, name in alone | supervised | elsewhere if _is_noun(file, name))


def nouns_on_the_way() -> list[str]:
    """The nouns that the functions between `run` and the first row work with."""
    found = _profile(f"{RUN} --workers 0")["way"]
    return sorted(f"{file}: {name}" for file, name in found if _is_noun(file, name))


def _is_noun(file: str, name: str) -> bool:
    if file.startswith(SHOWS) or not name[:1].isupper() or not (PACKAGE / file).exists():
        return False
    for node in ast.parse((PACKAGE / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            bases = [ast.unparse(base) for base in node.bases]
            return not any(re.search(r"(Error|Exception|Protocol)$", base) for base in bases)
    return False


def tests() -> tuple[int, list[str]]:
    """The number of test functions, and those that pin a sentence."""
    total, pinning = 0, list[str]()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                total += 1
                if any(len(text.split()) >= WORDS for text in _compared(node)):
                    pinning.append(f"{path.relative_to(ROOT)}: {node.name}")
    return total, pinning


def _compared(test: ast.FunctionDef) -> Iterator[str]:
    """The texts that a test compares with: in assertions, `match` patterns, and parameters."""
    places: list[ast.AST] = [node for node in ast.walk(test) if isinstance(node, ast.Assert)]
    places += [node.value for node in ast.walk(test) if isinstance(node, ast.keyword) and node.arg == "match"]
    places += [one for one in test.decorator_list if "parametrize" in ast.unparse(one)]
    for place in places:
        for node in ast.walk(place.test if isinstance(place, ast.Assert) else place):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def documentation() -> tuple[int, int]:
    """Words of the documentation, and of its prose."""
    words = prose = 0
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.split():
        if name.startswith("tests/golden/"):
            continue
        code = False
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            count = len(line.split())
            words += count
            code ^= line.lstrip().startswith("```")
            prose += 0 if code or line.lstrip().startswith(("|", "```")) else count
    return words, prose


def main() -> None:
    """Print all figures beside the goals."""
    arrows = rooms()
    up = running_up(arrows)
    files = {name: found - DOORS for name, found in imports().items() if name not in DOORS}
    stacks, engine, (total, pinning), (words, prose) = profiled(), nouns(), tests(), documentation()
    top = sorted(name for name in arrows if modules()[name].parent == PACKAGE or name == "intrabench")
    places: dict[str, Sequence[str]] = {
        "rooms": sorted(arrows),
        "modules of the root": top,
        "arrows that run up": [f"{one} -> {other}" for one, other in up],
        "nouns of the engine": engine,
        "nouns on the way of a batch": nouns_on_the_way(),
        "frames from run to a session": stacks["session"],
        "frames from run to a row": stacks["row"],
    }
    figures = {name: len(found) for name, found in places.items()} | {
        "arrows": sum(map(len, arrows.values())),
        "circles": int(bool(circle(files))),
        "lines of Python": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in modules().values()),
        "tests that pin a sentence, in percent": round(100 * len(pinning) / total, 1),
        "words of documentation": words,
        "words of prose": prose,
    }
    for name, goal in GOALS.items():
        print(f"{name:40} {figures[name]:>9,} goal {goal:>9,}")
        for one in places.get(name, ()) if "--places" in sys.argv else ():
            print(f"    {one}")


if __name__ == "__main__":
    main()
