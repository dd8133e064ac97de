"""Writes the pages in protocols/ from the protocols and from the published numbers; `make docs` runs it."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from intrabench.cli.describe import describe
from intrabench.protocols import PROTOCOLS, Protocol
from intrabench.reporting import reference

FOLDER = Path(__file__).parent / "protocols"
MADE = "<!-- Written by `make docs` from the protocols and the published numbers. Do not edit it. -->\n"
HEAD = f"""# Protocols

{MADE}
A protocol fixes metrics, corrections, stop rule and averages under a name with a version. Some bring the prompters and
models of a published table, and can then be run without `--prompter` and `--model`. Each page has the rows, where the
published code does something else than its paper, and the published numbers that IntraBench knows.

| protocol | what it is | rows | published numbers |
|---|---|---|---|
"""
MORE = {
    "intrabench": ("../use.md#protocols", "Protocols"),
    "rclicks": ("../clickability.md#the-published-protocol", "Where people click"),
    "rclicks-users": ("../clickability.md#real-users", "Real users"),
    "ritm-noc": ("../clickability.md", "Where people click"),
    "davis": ("../davis.md#the-protocol", "DAVIS Interactive"),
    "cvpr25": ("../challenges.md#cvpr-2025", "CVPR 2025"),
    "cvpr25-fixed": ("../challenges.md#cvpr-2025", "CVPR 2025"),
    "autopet4": ("../challenges.md#autopet", "autoPET"),
    "autopet5": ("../challenges.md#where-the-published-code-surprises", "autoPET"),
    "superpixels": ("../superpixels.md#the-benchmark", "Superpixels"),
}
"""The page that explains a protocol, and what its code does oddly, by the name without the version."""
_CLICKS = ("method", "backbone", "data", "dataset")


def file_name(id: str) -> str:
    """The page of a protocol."""
    return f"{id.replace('@', '-')}.md"


def pages() -> dict[str, str]:
    """Markdown by file name."""
    made = {file_name(id): "\n".join([*_page(preset), ""]) for id, preset in PROTOCOLS.items()}
    index = (_line(preset, "## Published numbers" in made[file_name(id)]) for id, preset in PROTOCOLS.items())
    return {"README.md": HEAD + "".join(index), **made}


def _line(preset: Protocol, published: bool) -> str:
    cells = f"{preset.summary} | {len(preset.rows) or ''} | {'yes' if published else ''}"
    return f"| [{preset.id}]({file_name(preset.id)}) | {cells} |\n"


def _page(preset: Protocol) -> Iterator[str]:
    yield from [f"# {preset.id}", "", MADE, preset.summary, ""]
    name = preset.id.partition("@")[0]
    if name in MORE:
        place, title = MORE[name]
        yield from [f"More about it, and where it differs from the published code: [{title}]({place}).", ""]
    yield from ["| property | value |", "|---|---|", *_facts(preset), ""]
    if preset.numbers:
        yield from ["## Numbers that it reports", "", "| heading | summary |", "|---|---|"]
        yield from (f"| {head} | `{spec}` |" for head, spec in preset.numbers)
        yield ""
    yield from _rows(preset)
    if published := list(PUBLISHED.get(name, lambda: iter(()))()):
        yield from ["## Published numbers", "", *published]


def _facts(preset: Protocol) -> Iterator[str]:
    """What `intrabench info` tells above its lists."""
    told = describe(preset.id).partition("\n\n")[0].splitlines()
    for line in told[2:]:  # name and summary stand above
        key, _, value = line.partition(": ")
        yield f"| {key} | {value} |"
    if preset.models:
        yield f"| models | {', '.join(f'`{spec}`' for spec in preset.models)} |"


def _rows(preset: Protocol) -> Iterator[str]:
    if not preset.rows:
        return
    yield from ["## Rows", "", "They are run without `--prompter`; `--only` chooses some by name.", ""]
    yield from ["| row | table | for models | prompter |", "|---|---|---|---|"]
    for row in preset.rows:
        suits = f"{row.dims}D" if row.dims else "all"
        suits += " that answer without prompts" if row.unprompted else ""
        yield f"| {row.name} | {row.table or ''} | {suits} | `{row.prompter}` |"
    notes: dict[str, list[str]] = {}
    for row in preset.rows:
        notes.setdefault(row.note, []).append(row.name)
    notes.pop("", None)
    if notes:
        yield from ["", "## Decisions and oddities", ""]
        yield from (f"- **{', '.join(names)}**: {note}" for note, names in notes.items())
    yield ""


def _read(path: Path) -> tuple[str, list[dict[str, str]]]:
    """The comment of a file of published numbers, and its lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    said = " ".join(line.removeprefix("# ") for line in lines if line.startswith("#"))
    return said, list(csv.DictReader(line for line in lines if not line.startswith("#")))


def _table(columns: Sequence[str], rows: Sequence[dict[str, str]]) -> Iterator[str]:
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    yield from ("| " + " | ".join(row[column] for column in columns) + " |" for row in rows)
    yield ""


def _intrabench() -> Iterator[str]:
    said, rows = _read(reference.PAPERS["paper"])
    yield from [said, ""]
    columns = [column for column in rows[0] if column not in ("table", "trained_on_D2")]
    for number in sorted({row["table"] for row in rows}):
        printed = [row for row in rows if row["table"] == number]
        shown = columns if len({row["iteration"] for row in printed}) > 1 else columns[1:]
        seen = [{**row, "D2": row["D2"] + (" (seen)" if row["trained_on_D2"] == "1" else "")} for row in printed]
        yield from [f"### Table {number}", "", *_table(shown, seen)]
    yield "D1 to D10 are [data sets](../datasets.md). `intrabench table --reference paper` shows ours beside these."


def _rclicks(*prefixes: str) -> Iterator[str]:
    said, rows = _read(FOLDER.parents[1] / "intrabench" / "reporting" / "reference" / "rclicks.csv")
    yield from [said, ""]
    yield from _table([*_CLICKS, *(column for column in rows[0] if column.startswith(prefixes))], rows)


def _superpixels() -> Iterator[str]:
    for number in (2, 3):
        path = FOLDER.parents[1] / "intrabench" / "reporting" / "reference" / f"superpixels_table{number}.csv"
        said, rows = _read(path)
        yield from [f"### Table {number}", "", said, "", *_table(list(rows[0]), rows)]


PUBLISHED = {
    "intrabench": _intrabench,
    "rclicks": lambda: _rclicks("noc_", "nof_", "auc_", "nsr20"),
    "rclicks-users": lambda: _rclicks("iou1_"),
    "superpixels": _superpixels,
}
"""The numbers printed for a protocol, by its name without the version."""


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
