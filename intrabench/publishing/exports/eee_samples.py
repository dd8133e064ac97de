"""The lines of single sessions in Every Eval Ever: one for each session and result that it is part of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from intrabench.files.documents import json_number
from intrabench.publishing.exports.evidence import facts
from intrabench.publishing.exports.scored import STATES, LineResults, Result
from intrabench.results.statuses import FAILED

_ASKED = ("round", "prompts_hash", "interactions", "dof", "seconds_human")


def samples(found: LineResults) -> Iterator[dict[str, Any]]:
    """The lines, without what all lines of a file share.

    A session is a conversation of the schema: each round is a message of the user, which says what the prompts were by
    their hash and what they had cost by then, and one of the model, which says how good its mask was. The schema takes
    only finite scores, so a session with an infinite one has no line; the details of the result count it.
    """
    rounds = found.rows.sort("session", "round").partition_by("session", as_dict=True)
    for result in found.results:
        finite = result.sessions.filter(pl.col("value").is_finite())
        for session in finite.sort("case", "target", "seed").iter_rows(named=True):
            last = STATES[result.state]
            played = rounds[session["session"],]
            if last is not None:
                played = played.filter(pl.col("round") <= last)
            yield _sample(result, session, played.to_dicts())


def _sample(result: Result, session: Mapping[str, Any], played: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    where = f"{session['dataset']} (version {session['dataset_version']}), case {session['case']}"
    raw = f"{where}, target {session['target']}, prompter {result.prompter}, seed {session['seed']}"
    turns = [message for row in played for message in _messages(row, result)]
    messages = [{"turn_idx": number, **message} for number, message in enumerate(turns)]
    value = float(session["value"])
    return {
        "evaluation_name": result.name,
        "evaluation_result_id": result.id,
        "sample_id": f"{session['dataset']}/{session['case']}/{session['target']}/seed{session['seed']}",
        "sample_hash": hashlib.sha256(raw.encode()).hexdigest(),
        "interaction_type": "multi_turn",
        "input": {"raw": raw, "reference": []},
        "output": None,
        "messages": messages,
        "answer_attribution": [
            {
                "turn_idx": len(messages) - 1,
                "source": "messages[turn_idx].content",
                "extracted_value": f"{value:g}",
                "extraction_method": "custom",
                "is_terminal": True,
            }
        ],
        "evaluation": {
            "score": value,
            "is_correct": value == result.metric.perfect,
            "num_turns": len(messages),
        },
        "performance": {"latency_ms": 1000 * float(session["machine_s"])},
        "error": session["status"] if session["status"] in FAILED else None,
        "metadata": facts(
            label=session["label"],
            status=session["status"],
            adapted=session["adapted"],
            seen_in_training=session["seen_in_training"],
            target_ml=None if session["target_ml"] is None else f"{session['target_ml']:.6g}",
        ),
    }


def _messages(row: Mapping[str, Any], result: Result) -> Iterator[dict[str, str]]:
    asked = {name: row[name] for name in _ASKED if row[name] is not None}
    value = row[result.metric.column]
    score = {} if value is None else {result.metric.column: json_number(value)}
    yield {"role": "user", "content": json.dumps(asked)}
    yield {"role": "assistant", "content": json.dumps({"status": row["status"], **score})}
