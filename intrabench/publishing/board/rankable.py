"""What cannot be ranked, in sentences; the command that makes a submission and the one that checks it ask the same."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from intrabench.engine.session_spec import CONTRACT
from intrabench.errors import several
from intrabench.files.names import one_line
from intrabench.models.weights.registry import RANDOM
from intrabench.protocols import PROTOCOLS
from intrabench.publishing.board.digests import ANSWERED
from intrabench.publishing.board.lines import LINE, TABLE, columns_of, tables_of
from intrabench.statistics.scores import last_round

LONGEST, MOST_ROUNDS = 2000, 1000
"""Characters of a text in a row, and rounds of a session."""

_NEEDED = (
    *("contract", "stop", "effort", "dataset_version", "label", "seed", "run_id"),
    *("prompter_version", "weights", "weights_sha256", "model_version", "dtype", "strict"),
    *("interactions", "dof", "seconds_human"),
)
"""Columns that this version always writes, and that tables rely on."""


def refusals(rows: pl.DataFrame) -> Iterator[str]:
    """A sentence for each reason why rows cannot be ranked; none if they can."""
    if rows.is_empty():
        yield "there are no rows; `intrabench run` computes some"
        return
    for name, kind in rows.schema.items():
        if kind == pl.String and (rows[name].str.len_chars().max() or 0) > LONGEST:  # type: ignore[operator]
            yield f"the column {one_line(name)} has a text of more than {LONGEST} characters; shorten it, and run again"
    if lacking := [name for name in _NEEDED if rows[name].has_nulls()]:
        yield f"some rows have no {', '.join(lacking)}, which every run writes; run these sessions again"
        return
    if (top := last_round(rows)) > MOST_ROUNDS:
        yield f"a session has {top} rounds, expected {MOST_ROUNDS} at most"
    yield from _versions(rows)
    for id in rows["protocol"].unique().sort():
        of = rows.filter(protocol=id)
        if id in PROTOCOLS and any(not columns_of(part) for part in tables_of(of)):
            yield f"rows under {id} have no metric that this version of intrabench knows; update it, or use another one"
        if id not in PROTOCOLS:
            yield f"the protocol {one_line(id)} is unknown to this version of intrabench; update it, or use another one"
    if models := rows.filter(pl.col("weights") == RANDOM)["model"].unique().sort().to_list():
        yield f"{', '.join(models)} has random weights, which measure nothing; run it with others, or leave it out"
    if not rows["status"].is_in(ANSWERED).any():
        yield "no session ended with an answer, so there is nothing to rank"
    whole = [id for id, preset in PROTOCOLS.items() if preset.partition]
    blank = rows.filter(
        pl.col("status").is_in(ANSWERED),
        ~pl.col("protocol").is_in(whole),
        pl.col("prompts_hash").fill_null("") == "",
    )
    if len(blank):
        yield (
            f"{several(len(blank), 'row')} of {one_line(blank['model'][0])} on {one_line(blank['dataset'][0])} have no "
            "hash of their prompts, so nobody can tell what was prompted; run these sessions again"
        )


def _versions(rows: pl.DataFrame) -> Iterator[str]:
    contracts = rows["contract"].unique().sort().to_list()
    if len(contracts) > 1 or None in contracts:
        yield (
            f"the rows are of versions {', '.join(map(str, contracts))} of the meaning of rows, without a common mean; "
            "run the older ones again, or submit them apart"
        )
    elif contracts[0] > CONTRACT:
        yield f"rows are of version {contracts[0]} of the meaning of rows, this intrabench has {CONTRACT}; update it"
    mixed = rows.group_by(*TABLE, *LINE).agg(pl.col("metrics").drop_nulls().unique().sort()).sort(*TABLE, *LINE)
    for line in mixed.filter(pl.col("metrics").list.len() > 1).iter_rows(named=True):
        sets = " and others ".join(line["metrics"])
        yield (
            f"{line['model']} with {line['prompter']} on {line['dataset']} has sessions with the metrics {sets}, whose "
            "means would be of different targets; run all of them with the same --metric"
        )
