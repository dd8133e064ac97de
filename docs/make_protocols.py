"""Writes the lists of protocols/README.md from the protocols and their published numbers; `make docs` runs it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

from short_pages import prose, short, store, table

from intrabench.cli.describe import describe
from intrabench.protocols import PROTOCOLS, Protocol
from intrabench.protocols.row import Row
from intrabench.reporting import reference

PAGE = "protocols/README.md"
NUMBERS = Path(reference.__file__).parent
MORE = {
    "intrabench": ("../intrabench_paper.md", "Text, code and IntraBench"),
    "rclicks": ("../clickability.md#the-published-protocol", "Where people click"),
    "rclicks-users": ("../clickability.md#real-users", "Real users"),
    "ritm-noc": ("../clickability.md", "Where people click"),
    "davis": ("../davis.md#the-protocol", "DAVIS Interactive"),
    "cvpr25": ("../challenges.md#cvpr-2025", "CVPR 2025"),
    "cvpr25-fixed": ("../challenges.md#cvpr-2025", "CVPR 2025"),
    "toothfairy3": ("../challenges.md#toothfairy3", "ToothFairy3"),
    "toothfairy3-fixed": ("../challenges.md#toothfairy3", "ToothFairy3"),
    "autopet4": ("../challenges.md#autopet", "autoPET"),
    "autopet5": ("../challenges.md#where-the-published-code-surprises", "autoPET"),
    "superpixels": ("../superpixels.md#the-benchmark", "Superpixels"),
}
"""The page that explains a protocol, and what its code does oddly, by the name without the version."""
_CLICKS = ("method", "backbone", "data", "dataset")


def file_name(id: str) -> str:
    """The page of a protocol."""
    return f"protocols/{id.replace('@', '-')}.md"


def index() -> str:
    """The page in git: of each protocol the rules, and where its published numbers are."""
    return short(PAGE, (line for preset in PROTOCOLS.values() for line in _brief(preset)))


def pages() -> dict[str, str]:
    """The pages of the site."""
    lines = table(("protocol", "what it is", "rows", "published numbers"), map(_cells, PROTOCOLS.values()))
    made = {file_name(id): "\n".join(_page(preset)) for id, preset in PROTOCOLS.items()}
    return {PAGE: "\n".join([prose(PAGE), *lines]), **made}


def _cells(preset: Protocol) -> tuple[str, ...]:
    link = f"[{preset.id}]({Path(file_name(preset.id)).name})"
    return link, preset.summary, str(len(preset.rows) or ""), "yes" if _name(preset) in PUBLISHED else ""


def _name(preset: Protocol) -> str:
    return preset.id.partition("@")[0]


def _brief(preset: Protocol) -> Iterator[str]:
    yield from [f"## {preset.id}", "", *_about(preset)]
    if preset.rows:
        yield from [f"Rows: {', '.join(row.name for row in preset.rows)}.", ""]
    if files := PUBLISHED.get(_name(preset), dict)():
        yield from [f"Published numbers: {', '.join(map(_link, files))}.", ""]


def _about(preset: Protocol) -> Iterator[str]:
    """What it is, and its rules."""
    yield from [preset.summary, ""]
    if _name(preset) in MORE:
        place, title = MORE[_name(preset)]
        yield from [f"More, and where it differs from the published code: [{title}]({place}).", ""]
    yield from table(("property", "value"), _facts(preset))


def _link(file: str) -> str:
    return f"[{file}](../../intrabench/reporting/reference/{file})"


def _page(preset: Protocol) -> Iterator[str]:
    yield from [f"# {preset.id}", "", *_about(preset)]
    if preset.numbers:
        yield from ["## Numbers that it reports", ""]
        yield from table(("heading", "summary"), ((head, f"`{spec}`") for head, spec in preset.numbers))
    yield from _rows(preset)
    if published := PUBLISHED.get(_name(preset), dict)():
        yield from ["## Published numbers", ""]
        for file, lines in published.items():
            yield from [*lines, f"As a table for programs: {_link(file)}.", ""]


def _facts(preset: Protocol) -> Iterator[tuple[str, str]]:
    """What `intrabench info` tells above its lists."""
    told = describe(preset.id).partition("\n\n")[0].splitlines()
    for line in told[2:]:  # name and summary stand above
        key, _, value = line.partition(": ")
        yield key, value
    if preset.models:
        yield "models", ", ".join(f"`{spec}`" for spec in preset.models)


def _rows(preset: Protocol) -> Iterator[str]:
    if not preset.rows:
        return
    yield from ["## Rows", "", "They are run without `--prompter`; `--only` chooses some by name.", ""]
    yield from table(("row", "table", "for models", "prompter"), map(_row, preset.rows))
    notes: dict[str, list[str]] = {}
    for row in preset.rows:
        notes.setdefault(row.note, []).append(row.name)
    notes.pop("", None)
    if notes:
        yield from ["## Decisions and oddities", ""]
        yield from (f"- **{', '.join(names)}**: {note}" for note, names in notes.items())
        yield ""


def _row(row: Row) -> tuple[str, ...]:
    suits = f"{row.dims}D" if row.dims else "all"
    suits += " that answer without prompts" if row.unprompted else ""
    return row.name, str(row.table or ""), suits, f"`{row.prompter}`"


def _read(file: str) -> tuple[str, list[dict[str, str]]]:
    """The comment of a file of published numbers, and its lines."""
    lines = (NUMBERS / file).read_text(encoding="utf-8").splitlines()
    said = " ".join(line.removeprefix("# ") for line in lines if line.startswith("#"))
    return said, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def _columns(columns: list[str], rows: list[dict[str, str]]) -> Iterator[str]:
    return table(columns, ([row[column] for column in columns] for row in rows))


def _intrabench(file: str) -> Iterator[str]:
    said, rows = _read(file)
    yield from [said, ""]
    columns = [column for column in rows[0] if column not in ("table", "trained_on_D2")]
    for number in sorted({row["table"] for row in rows}):
        printed = [row for row in rows if row["table"] == number]
        shown = columns if len({row["iteration"] for row in printed}) > 1 else columns[1:]
        seen = [{**row, "D2": row["D2"] + (" (seen)" if row["trained_on_D2"] == "1" else "")} for row in printed]
        yield from [f"### Table {number}", "", *_columns(shown, seen)]
    yield "D1 to D10 are [data sets](../datasets.md). `intrabench table --reference paper` shows ours beside these."
    yield ""


def _rclicks(file: str, *prefixes: str) -> Iterator[str]:
    said, rows = _read(file)
    yield from [said, ""]
    yield from _columns([*_CLICKS, *(column for column in rows[0] if column.startswith(prefixes))], rows)


def _superpixels(number: int, file: str) -> Iterator[str]:
    said, rows = _read(file)
    yield from [f"### Table {number}", "", said, "", *_columns(list(rows[0]), rows)]


PAPER = reference.PAPERS["paper"].name
TABLES = {f"superpixels_table{number}.csv": number for number in (2, 3)}
PUBLISHED: dict[str, Callable[[], dict[str, Iterator[str]]]] = {
    "intrabench": lambda: {PAPER: _intrabench(PAPER)},
    "rclicks": lambda: {"rclicks.csv": _rclicks("rclicks.csv", "noc_", "nof_", "auc_", "nsr20")},
    "rclicks-users": lambda: {"rclicks.csv": _rclicks("rclicks.csv", "iou1_")},
    "superpixels": lambda: {file: _superpixels(number, file) for file, number in TABLES.items()},
}
"""The numbers printed for a protocol by their file, by its name without the version."""


if __name__ == "__main__":
    store(PAGE, index())
