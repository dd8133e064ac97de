"""The tutorials, carried out as a reader would: files are saved, commands are typed, outputs are compared.

``python -m tests.tutorials`` renews the outputs and pictures that the pages show. With ``--wheel`` it changes nothing:
it builds a wheel, installs it into a fresh environment without torch, carries out all tutorials there, and says how
long that took.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = tuple(sorted(path for path in ROOT.glob("docs/tutorials/*.md") if path.stem != "README"))
_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
_SAVED = re.compile(r"`([\w./]+\.(?:py|toml))`:\s*$")
_PICTURE = re.compile(r"!\[[^]]*\]\(([\w.]+\.png)\)")
_TIME = re.compile(r"[+-]?\d[\d.]* (?:s|ms|MiB|MB)\b")
_NUMBER = re.compile(r"\d+\.\d+")

Execute = Callable[[list[str], Path], str]
"""Carries out a command in a folder and returns what it prints; raises if it fails."""


@dataclass(frozen=True)
class Save:
    """A file of the page."""

    path: str
    text: str


@dataclass(frozen=True)
class Type:
    """A command of the page, and the output below it; start and end: where that stands."""

    line: str
    shown: str
    start: int
    end: int


def steps(text: str) -> Iterator[Save | Type]:
    """What the reader of a page does, in order.

    A block after a sentence that ends with a file's name and a colon is saved. A block ``console`` has commands after
    ``$``, and below each its output; where none is shown, none is compared.
    """
    for block in _BLOCK.finditer(text):
        if block["language"] == "console":
            for one in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block["body"], re.MULTILINE):
                begin = block.start("body")
                yield Type(one[1], one[2], begin + one.start(2), begin + one.end(2))
        elif saved := _SAVED.search(text[: block.start()]):
            yield Save(saved[1], block["body"])


def carry_out(page: Path, folder: Path, execute: Execute) -> tuple[str, list[str]]:
    """Do what a page says in an empty folder: the page with the outputs of now, and what differs from those shown."""
    text = page.read_text(encoding="utf-8")
    parts, done, differ, here = [], 0, [], folder
    for step in steps(text):
        if isinstance(step, Save):
            (here / step.path).write_text(step.text, encoding="utf-8")
            continue
        words = shlex.split(step.line)
        if words[0] == "cd":
            here = here / words[1]
            continue
        said = execute(words, here).replace(str(folder), "~")
        parts += [text[done : step.start], said if step.shown else ""]
        done = step.end
        if step.shown and not same(step.shown, said):
            differ.append(f"$ {step.line}\n{said}instead of\n{step.shown}")
    return "".join([*parts, text[done:]]), differ


def same(shown: str, said: str) -> bool:
    """Whether two outputs are equal but for times, sizes of memory, and the last digit of numbers."""
    shown, said = (_TIME.sub("TIME", text).rstrip() for text in (shown, said))
    numbers = [[float(number) for number in _NUMBER.findall(text)] for text in (shown, said)]
    equal = _NUMBER.sub("N", shown) == _NUMBER.sub("N", said)
    return equal and all(abs(a - b) < 0.0021 for a, b in zip(*numbers, strict=True))


def pictures(page: Path, folder: Path) -> dict[Path, Path]:
    """The pictures that a page shows, and those that its commands have drawn in the folder."""
    names = _PICTURE.findall(page.read_text(encoding="utf-8"))
    return {page.parent / name: next(folder.rglob(name)) for name in names}


def typed(binaries: Path, data: Path) -> Execute:
    """Commands as processes, with the programs of one environment."""
    path = f"{binaries}{os.pathsep}{os.environ['PATH']}"
    given = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" or binaries == _OURS}
    given |= {"PATH": path, "INTRABENCH_DATA": str(data), "COLUMNS": "120"}

    def execute(words: list[str], here: Path) -> str:
        done = subprocess.run(words, cwd=here, env=given, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{shlex.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout.replace(str(data), "~/data")

    return execute


_OURS = Path(sys.executable).parent


def renew(page: Path, scratch: Path) -> None:
    """Write the outputs and pictures of now into a page."""
    sys.path.insert(0, str(ROOT / "docs"))
    from small_pictures import shrink

    folder = Path(tempfile.mkdtemp(dir=scratch))
    text, _ = carry_out(page, folder, typed(_OURS, scratch / "data"))
    page.write_text(text, encoding="utf-8")
    for shown, drawn in pictures(page, folder).items():
        shutil.copyfile(drawn, shown)
        shrink(shown)


def from_wheel(scratch: Path) -> list[str]:
    """Carry out all tutorials in a fresh environment with the wheel; what differs from the pages."""
    began = time.monotonic()
    _told("a wheel was built", began, sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", scratch, ROOT)
    (wheel,) = scratch.glob("*.whl")
    _told("an environment was made", began, sys.executable, "-m", "venv", scratch / "env")
    python = scratch / "env" / "bin" / "python"
    _told("the wheel was installed", began, python, "-m", "pip", "install", "-q", f"{wheel}[report,people]")
    execute, differ = typed(python.parent, scratch / "data"), []
    for page in PAGES:
        folder = Path(tempfile.mkdtemp(dir=scratch))
        differ += [f"{page.name}: {one}" for one in carry_out(page, folder, execute)[1]]
        print(f"{time.monotonic() - began:6.0f} s  {page.stem} was carried out", flush=True)
    return differ


def _told(what: str, began: float, *words: str | Path) -> None:
    subprocess.run(words, check=True, cwd="/")
    print(f"{time.monotonic() - began:6.0f} s  {what}", flush=True)


def main() -> int:
    """Renew the pages, or check them with a wheel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", action="store_true", help="check the pages in a fresh environment")
    with tempfile.TemporaryDirectory() as scratch:
        if parser.parse_args().wheel:
            differ = from_wheel(Path(scratch))
            print("\n".join(differ))
            return bool(differ)
        for page in PAGES:
            renew(page, Path(scratch))
            print(f"renewed {page.relative_to(ROOT)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
