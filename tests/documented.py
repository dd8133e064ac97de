"""The commands and code that pages show, and whether the command line would take them.

Blocks marked ``console`` are run by tests, line by line. Those marked ``sh``, and commands in running text, are
compared with the command line. Words in capitals stand for something of the reader's, ``...`` for more options.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import intrabench
from intrabench.cli.describe import describe
from intrabench.cli.main import app
from intrabench.cli.weights import weights_id
from intrabench.clickability.named import click_model
from intrabench.metrics.lookup import metric
from intrabench.protocols import chosen_rows, protocol, stopping
from intrabench.results.selection import selection
from tests.conftest import get_command

ROOT = Path(__file__).parents[1]
PAGES = tuple(sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")}))
PROGRAMS = ("cd", "export", "sbatch", "git", "docker", "pre-commit", "python")
"""What pages call beside ours, and nobody checks."""
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_PLACEHOLDER = re.compile(r"(^|[=/:])[A-Z][A-Z0-9]+\b")


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return [body for marked, body in _FENCE.findall(page.read_text(encoding="utf-8")) if marked == language]


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command of a page that is not run: in its blocks, and in its text after ``intrabench``."""
    text = page.read_text(encoding="utf-8")
    for body in blocks(page, "sh"):
        yield from _statements(body)
    for code in re.findall(r"`(intrabench\s[^`]*)`", _FENCE.sub("", text)):
        yield from _statements(re.sub(r"\s+", " ", code))


def calls(page: Path) -> set[str]:
    """The names that code in the text of a page calls, outside of blocks; ``My...`` is the reader's own."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    called = {name for code in re.findall(r"`([^`]+)`", text) for name in re.findall(r"\b([A-Za-z_]\w+)\(", code)}
    return {name for name in called if not name.startswith("My")}


def _statements(script: str) -> Iterator[list[str]]:
    """The commands of a shell script, with its variables put in."""
    variables: dict[str, list[str]] = {}
    waiting = ""
    for line in script.replace("\\\n", " ").splitlines():
        waiting += line + "\n"
        try:
            words = shlex.split(waiting, comments=True)
        except ValueError:  # a quotation goes on
            continue
        waiting = ""
        if len(words) == 1 and (assigned := re.fullmatch(r"(\w+)=(.*)", words[0], re.DOTALL)):
            variables[f"${assigned[1]}"] = shlex.split(assigned[2])
        elif words:
            yield [part for word in words for part in variables.get(word, [word])]
    assert not waiting, f"a quotation does not end: {waiting}"


def check(words: list[str], results: Path) -> None:
    """Whether a command would be taken; metrics are tried on a results folder.

    Raises:
        Exception: an option, a command or a name does not exist, or a value does not fit.
    """
    words = words[: words.index(">")] if ">" in words else words
    program, *rest = [word for number, word in enumerate(words) if number or not re.match(r"[A-Z0-9_]+=", word)]
    if program == "intrabench":
        _check_intrabench(rest, results)
    elif program in ("pip", "uv"):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        named = {extra for found in re.findall(r"\[([\w,]+)\]", rest[-1]) for extra in found.split(",")}
        assert named <= project["optional-dependencies"].keys(), words
    elif program == "make":
        assert f"\n{rest[0]}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), words
    else:
        assert Path(program).name in PROGRAMS, words


def _check_intrabench(words: list[str], results: Path) -> None:
    command: Any = get_command(app)
    path = []
    while words and hasattr(command, "commands"):
        if words[0].startswith("-"):  # of the program itself
            assert words[0] in {name for one in command.params for name in one.opts}, words
            return
        path.append(words[0])
        assert words[0] in command.commands, f"there is no command {' '.join(path)}"
        command, words = command.commands[words[0]], words[1:]
    given = [word for word in words if word != "..."]
    if hasattr(command, "commands") or not given:  # a command that is only named
        return
    try:
        names = {"help_option_names": ["-h", "--help"]}  # a command keeps those that it first hears of
        values = command.make_context(path[-1], list(given), **names).params
    except Exception as error:
        if type(error).__name__ == "Exit" or (type(error).__name__ == "MissingParameter" and "..." in words):
            return  # --help ends the command
        raise
    _check_values(" ".join(path), values, results)
    if path == ["job"]:
        _check_intrabench(values["run"], results)


def _check_values(command: str, values: dict[str, Any], results: Path) -> None:
    meaning: dict[str, Callable[[str], object]] = {
        "model": click_model if command.startswith("clickability") else intrabench.model,
        "prompter": intrabench.prompter,
        "dataset": intrabench.dataset,
        "refine": lambda spec: intrabench.prompter(f"box_slice+{spec}"),
        "hand": lambda spec: spec.endswith(".toml") or intrabench.prompter(f"box_slice+hand:{spec}"),
        "protocol": lambda words: [protocol(one) for one in selection(protocol=words).protocol],
        "only": lambda glob: chosen_rows(protocol(values["protocol"]), [glob]),
        "stop": lambda words: stopping(protocol("basic@1"), words),
        "metric": metric if command in ("run", "score") else lambda spec: intrabench.table(results, metric=spec),
        "name": weights_id if command.startswith("weights") else describe,
        "names": weights_id if command.startswith("weights") else intrabench.dataset,
    }
    for name, resolve in meaning.items():
        value = values.get(name) or []
        for spec in [value] if isinstance(value, str) else value:
            is_glob = name in ("model", "prompter", "dataset") and "*" in spec
            if not (is_glob or _PLACEHOLDER.search(spec)):
                resolve(spec)
    if command == "list":
        what = values["what"]
        assert what in ("models", "prompters", "datasets", "protocols", "clickability", "metrics", "superpixels"), what
