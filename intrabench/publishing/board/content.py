"""What the pages of a board show, as plain data for their templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.documents import json_number
from intrabench.protocols import protocol
from intrabench.publishing.board.files import Data
from intrabench.publishing.board.submission import Submission
from intrabench.publishing.board.tables import RANKED, UNITS, Line, Table
from intrabench.registry import reach, registry
from intrabench.reporting.page import texts
from intrabench.reporting.page.grid import Cell, interval_text, mean, number
from intrabench.results.runs import read_records
from intrabench.statistics.infinite import NOTHING, Infinite
from intrabench.statistics.measures import with_direction
from intrabench.volume import states_ct


def index_content(submissions: Sequence[Submission], tables: Sequence[Table]) -> dict[str, Any]:
    """The start page: all tables, models and submissions."""
    rows = [_table_row(table, data_of(table, submissions)) for table in tables]
    models = {line.of: line.model for table in tables for line in table.lines}
    return {
        "tables": rows,
        "filters": {name: sorted({row[name] for row in rows}) for name in ("dataset", "modality", "protocol")},
        "models": sorted(models.items(), key=lambda one: one[1]),
        "submissions": [_named(one) for one in submissions],
        "rows": sum(len(one.rows) for one in submissions if one.rows is not None),
    }


def _table_row(table: Table, data: Data) -> dict[str, Any]:
    column = table.columns[0]
    ranks = table.ranks(column)
    first = min(ranks, key=lambda line: ranks[line], default=None)
    return {
        "id": table.id,
        "dataset": table.dataset,
        "version": table.key["dataset_version"],
        "modality": modality(data.modality),
        "protocol": table.protocol,
        "contract": table.key["contract"],
        "targets": table.targets,
        "lines": len(table.lines),
        "withheld": sum(line.training == "yes" for line in table.lines),
        "submissions": len({line.submission for line in table.lines}),
        "column": column.id,
        "best": None if first is None else _score(table.lines[first], column.id),
        "best_line": None if first is None else table.lines[first],
    }


def table_content(table: Table, submissions: Sequence[Submission]) -> dict[str, Any]:
    """The page of a table, and the data of its script."""
    main = table.columns[0]
    ranks = table.ranks(main)
    lines = sorted(table.lines, key=lambda line: (ranks.get(line.number, len(ranks) + 1), line.status, line.number))
    preset = protocol(table.key["protocol"])
    return {
        "table": table,
        "card": data_of(table, submissions),
        "modality": modality(data_of(table, submissions).modality),
        "main": main,
        "lines": [_row(line, table, ranks) for line in lines],
        "columns": [(column.id, with_direction(column.spec)) for column in table.columns],
        "numbers": [(name, True) for name in (*_EFFORTS, *(one.id for one in table.columns[1:]), *_COUNTS)],
        "averaging": main.how.description,
        "protocol_words": preset.summary,
        "names": {line.submission: _name_of(line.submission, submissions) for line in table.lines},
        "models": sorted({line.model for line in table.lines}),
        "prompters": sorted({line.prompter for line in table.lines}),
        "units": [(unit, name, table.budgets[unit]) for unit, name in UNITS.items() if table.budgets.get(unit)],
        "data": _data(table),
        "curves": table.curves,
    }


_EFFORTS, _COUNTS = ("Interactions", "DoF", "User,\u00a0s", "Machine,\u00a0s"), ("Targets", "Failed", "n/a")


def _row(line: Line, table: Table, ranks: Mapping[int, int]) -> dict[str, Any]:
    effort = [number(line.effort.get(name), 2 if name == "machine_s" else 1) for name in line.effort]
    return {
        "line": line,
        "rank": ranks.get(line.number),
        "score": _score(line, table.columns[0].id),
        "counts": [number(line.counts.get(name)) for name in ("targets", "failed", "not_applicable")],
        "effort": effort or [number(None)] * 4,
        "others": [_score(line, column.id) for column in table.columns[1:]],
    }


def _score(line: Line, column: str) -> Cell:
    value, low, high = line.means.get(column, (None, None, None))
    infinite = line.infinite.get(column, NOTHING)
    if infinite:
        return mean((value, infinite), 3)
    return number(value, 3, "; ".join(filter(None, (interval_text(low, high, 2), infinite.misses))))


def _data(table: Table) -> dict[str, Any]:
    """What the script of a table needs, which is also its data for other programs."""
    return {
        **{"dataset": table.dataset, "version": table.key["dataset_version"], "protocol": table.protocol},
        "columns": [{"id": column.id, "best": column.best} for column in table.columns],
        "budgets": table.budgets,
        "lines": [
            {
                **{"id": line.id, "model": line.model, "prompter": line.prompter, "submission": line.submission},
                **{"status": line.status, "why": line.why, "training": line.training, "marks": line.marks},
                **{"counts": line.counts, "effort": {name: _short(value) for name, value in line.effort.items()}},
                "means": {id: [*map(_short, ends)] for id, ends in line.means.items()},
                "infinite": {id: _infinite(one) for id, one in line.infinite.items() if one},
                "misses": {id: one.misses for id, one in line.infinite.items() if one.missed},
                "budgets": line.budgets,
            }
            for line in table.lines
        ],
    }


def _short(value: float | None) -> float | str | None:
    """Six digits, as `json_number`."""
    return None if value is None else json_number(float(f"{value:.6g}"))


def _infinite(one: Infinite) -> dict[str, Any]:
    """What is infinite, in words and by the numbers that lines are ordered by."""
    return {"words": one.words(), "others": _short(one.others), "net": _short(one.net)}


def model_contents(tables: Sequence[Table]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The address and the content of the page of each model: its lines, apart for each table."""
    first = {line.of: line for table in reversed(tables) for line in reversed(table.lines)}
    for address, line in sorted(first.items()):
        name = line.model
        yield (
            address,
            {
                "model": name,
                "summary": _summary(name),
                "card": line.card,
                "tables": [
                    (table, _lines(table, [line for line in table.lines if line.of == address]))
                    for table in tables
                    if any(line.of == address for line in table.lines)
                ],
            },
        )


def _lines(table: Table, lines: Sequence[Line]) -> list[dict[str, Any]]:
    ranks = table.ranks(table.columns[0])
    rows = [_row(line, table, ranks) for line in lines]
    return sorted(rows, key=lambda row: (row["line"].status != RANKED, row["rank"] or 0, row["line"].number))


def _summary(model: str) -> str:
    """What this installation says of a model in one sentence."""
    entry = registry.entries("models").get(model.partition(":")[0].partition(" ")[0])
    return entry.summary if entry is not None and entry.origin == "intrabench" else ""


def submission_content(one: Submission, tables: Sequence[Table]) -> dict[str, Any]:
    """The page of a submission."""
    assert one.statement is not None
    assert one.rows is not None
    records = read_records(one.folder)
    return {
        "submission": one.statement,
        "files": {
            "rows": len(one.rows),
            "sessions": one.rows["session"].n_unique(),
            "sampled": len(one.statement.sampled),
            "masks": len(one.statement.masks),
        },
        "environment": texts.environment(records),
        "commands": list(dict.fromkeys(str(record.get("command", "")) for record in records)),
        "tables": [
            (table, _lines(table, [line for line in table.lines if line.submission == one.name]))
            for table in tables
            if any(line.submission == one.name for line in table.lines)
        ],
    }


def _named(one: Submission) -> dict[str, Any]:
    assert one.statement is not None
    assert one.rows is not None
    return {"id": one.name, "name": one.statement.by.name, "created": one.statement.created[:10], "rows": len(one.rows)}


def _name_of(id: str, submissions: Sequence[Submission]) -> str:
    return next(one.statement.by.name for one in submissions if one.name == id and one.statement is not None)


def data_of(table: Table, submissions: Sequence[Submission]) -> Data:
    """What is known of a table's data: by its card here if it ships, else by what a submission says."""
    version = str(table.key["dataset_version"])
    if table.published:
        with suppress(IntraBenchError):
            card = reach.make("datasets", table.dataset, "the rows").card
            texts = card.title, card.modality, card.licence, card.citation, card.homepage
            return Data(table.dataset, version, True, *texts)
    stated = (data for one in submissions if one.statement is not None for data in one.statement.data)
    return next(
        (one for one in stated if (one.dataset, one.version) == (table.dataset, version)), Data(table.dataset, version)
    )


def modality(text: str) -> str:
    """A group of modalities, to filter by."""
    first = text.partition(",")[0].strip()
    if first.lower().startswith("natural"):
        return "natural images"
    is_ct = states_ct(first)
    return "CT" if is_ct else "MR" if is_ct is False and first.lower().startswith("mr") else first or "not stated"
