"""Small changes of the code that no test notices: ``python scripts/mutations.py [--number N] [--seed S] [ROOM ...]``.

In a copy of the repository, one expression or statement at a time is changed: comparisons, `and` and `or`, `not`,
arithmetic, numbers by one, arguments swapped, conditions that never hold, statements left out. Then the tests of that
room run until one fails; one that takes much longer than all of them took before counts as failed. What passes is
printed: it is a missing test, or a change that means the same. The same seed and code draw the same changes;
``--only 3,14`` tries some of them again.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import IO

import pytest

ROOT = Path(__file__).parent.parent

TESTS = {
    "metrics": ("tests/metrics", "tests/superpixels/partitions", "tests/test_golden_versions.py"),
    "davis": ("tests/davis", "tests/prompters/test_davis.py", "tests/statistics/test_davis_curves.py"),
    "superpixels": ("tests/superpixels", "tests/datasets/test_superpixel_sets.py", "tests/test_golden_versions.py"),
}
"""Rooms, and their tests; of another room, the tests are in the folder of its name."""

LIBRARIES = (
    "numpy",
    "scipy.ndimage",
    "scipy.stats",
    "skimage.segmentation",
    "polars",
    "SimpleITK",
    "nibabel",
    "cv2",
    "hypothesis",
)
"""What tests import takes longer than most tests, so it is imported once."""

OPPOSITE = {
    **{"min": "max", "max": "min", "np.minimum": "np.maximum", "np.maximum": "np.minimum", "any": "all", "all": "any"},
    **{"np.minimum.at": "np.maximum.at", "np.maximum.at": "np.minimum.at"},
}
COMPARED = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
}
COMPUTED = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult},
    **{ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr},
}


@dataclass(frozen=True)
class Change:
    """A part of a file, and what stands there instead; `start` and `stop` count bytes."""

    path: Path
    line: int
    start: int
    stop: int
    old: str
    new: str

    def made(self) -> bytes:
        """The file with it."""
        text = (ROOT / self.path).read_bytes()
        return text[: self.start] + self.new.encode() + text[self.stop :]

    def __str__(self) -> str:
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.path}:{self.line}  {old}  ->  {new}"


def changes(path: Path) -> list[Change]:
    """All changes of a file, which is relative to the repository."""
    text = (ROOT / path).read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = {}
    for node, new in _changed(ast.parse(text)):
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        old = text[start:stop].decode()
        found[start, stop, new] = Change(path, node.lineno, start, stop, old, new)
    return [found[key] for key in sorted(found)]


def _changed(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Parts of a tree, each with the text that replaces it."""
    if isinstance(node, ast.expr):
        for new in _expressions(node):
            yield node, f"({ast.unparse(new)})"
    elif isinstance(node, (ast.AugAssign, ast.Continue, ast.Break)) or _is_call(node):
        yield node, "pass"
    elif isinstance(node, ast.If):
        yield node.test, "False"
    for child in _inside(node):
        yield from _changed(child)


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _inside(node: ast.AST) -> Iterable[ast.AST]:
    """What below a node may be changed: no annotations and decorators."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*node.args.defaults, *(one for one in node.args.kw_defaults if one), *node.body]
    if isinstance(node, ast.ClassDef):
        return node.body
    if isinstance(node, ast.AnnAssign):
        return [node.value] if node.value else []
    return [one for one in ast.iter_child_nodes(node) if not _means_nothing(one)]


def _means_nothing(node: ast.AST) -> bool:
    """Messages, f-strings, and what only checks."""
    checks = isinstance(node, ast.keyword) and node.arg == "strict"
    return checks or isinstance(node, (ast.Raise, ast.Assert, ast.JoinedStr))


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    """What may stand instead of an expression."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare):
        for place, operator in enumerate(new.ops):
            new.ops[place] = COMPARED[type(operator)]()
            yield new
            new.ops[place] = operator
    elif isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
        yield new
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, (ast.Not, ast.Invert, ast.USub)):
        yield new.operand
    elif isinstance(new, ast.BinOp) and type(new.op) in COMPUTED:
        new.op = COMPUTED[type(new.op)]()
        yield new
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool):
        yield ast.Constant(not new.value)
    elif isinstance(new, ast.Constant) and isinstance(new.value, (int, float)):
        yield ast.Constant(new.value + 1)
        if isinstance(new.value, int):
            yield ast.Constant(new.value - 1)
    elif isinstance(new, ast.IfExp):
        new.body, new.orelse = new.orelse, new.body
        yield new
    elif isinstance(new, ast.Call):
        name = ast.unparse(new.func)
        if name in OPPOSITE:
            new.func = ast.parse(OPPOSITE[name], mode="eval").body
            yield new
        elif len(new.args) > 1 and not any(isinstance(one, ast.Starred) for one in new.args[:2]):
            new.args[:2] = new.args[1], new.args[0]
            yield new


def drawn(rooms: Iterable[str], number: int, seed: int) -> list[Change]:
    """Changes of these rooms, in the order in which they are drawn."""
    paths = [path.relative_to(ROOT) for room in rooms for path in sorted((ROOT / "intrabench" / room).rglob("*.py"))]
    found = [change for path in paths for change in changes(path)]
    return random.Random(seed).sample(found, min(number, len(found)))


class Copy:
    """A copy of the repository in which changes are tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        command = ["git", "ls-files", "-co", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        self._seconds: dict[str, float] = {}

    def noticed_by(self, change: Change) -> str:
        """The first test that fails with a change, or nothing."""
        room = change.path.parts[1]
        if room not in self._seconds:
            begun = time.monotonic()
            if failed := self._failed(change.path, None):
                raise SystemExit(f"without any change, the tests of {room} fail: {failed}")
            self._seconds[room] = time.monotonic() - begun
        file = self.folder / change.path
        file.write_bytes(change.made())
        try:
            return self._failed(change.path, 60 + 2 * self._seconds[room])
        finally:
            file.write_bytes((ROOT / change.path).read_bytes())

    def _failed(self, path: Path, limit_s: float | None) -> str:
        """The first test of the room of a file that fails, or nothing."""
        with tempfile.TemporaryFile("w+") as printed:
            tests = get_context("fork").Process(target=_test, args=(self.folder, path, printed))
            tests.start()
            tests.join(limit_s)
            if tests.exitcode is None:
                os.killpg(tests.pid or 0, signal.SIGKILL)
                return "takes too long"
            printed.seek(0)
            failed = [line for line in printed if line.startswith(("FAILED", "ERROR"))]
        return "" if tests.exitcode == 0 else (failed or ["no test runs"])[0].partition(" - ")[0].strip()


def _test(folder: Path, path: Path, printed: IO[str]) -> None:
    """Run the tests of a file until one fails, in a process of its own; first those that import it."""
    os.setsid()
    os.dup2(printed.fileno(), 1)
    os.dup2(printed.fileno(), 2)
    os.chdir(folder)
    # Bytecode would be taken for that of the next change if both are as long and of the same second.
    os.environ |= {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[0] = str(folder)
    room, module = path.parts[1], ".".join(path.with_suffix("").parts)
    listed = [folder / name for name in TESTS.get(room, (f"tests/{room}",))]
    files = [file for one in listed for file in (sorted(one.rglob("test_*.py")) if one.is_dir() else [one])]
    files.sort(key=lambda file: module not in file.read_text(encoding="utf-8"))
    only = f"not test_golden_versions or {room}"
    sys.exit(pytest.main(["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-k", only, *map(str, files)]))


def main() -> int:
    """Try changes; exits with 1 if one passes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", default=[*TESTS], metavar="ROOM", help=f"by default {', '.join(TESTS)}")
    parser.add_argument("--number", type=int, default=100, help="how many changes are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="numbers of those drawn, with commas between them")
    asked = parser.parse_args()
    numbered = dict(enumerate(drawn(asked.rooms, asked.number, asked.seed), start=1))
    tried = [int(one) for one in asked.only.split(",")] if asked.only else [*numbered]
    passed = []
    for name in LIBRARIES:
        with suppress(ImportError):
            import_module(name)
    with tempfile.TemporaryDirectory() as place:
        here = Copy(Path(place))
        for number in tried:
            noticed = here.noticed_by(numbered[number])
            print(f"{number:3} {numbered[number]}\n    {noticed or 'NOT NOTICED'}", flush=True)
            if not noticed:
                passed.append(number)
    print(f"{len(passed)} of {len(tried)} pass", *(f"{number:3} {numbered[number]}" for number in passed), sep="\n")
    return int(bool(passed))


if __name__ == "__main__":
    sys.exit(main())
