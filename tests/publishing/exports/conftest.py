"""A results folder of a real run, and one made by hand of people, paths and failures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import intrabench
from intrabench.results.store import Store
from tests.results.made import rows

SCANS = 7
"""Enough for an interval."""
DATA = f"phantom:shape=12x24x24,scans={SCANS}"
SECRETS = ("jdoe", "gpu7", "DOE^JANE", "/home", "/srv", "secret-study", "1527")
"""What no export may say."""


@pytest.fixture(scope="package")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and two prompters on seven scans, with one correction."""
    root = tmp_path_factory.mktemp("exports")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(root / "data"))
        patch.setenv("INTRABENCH_WORKERS", "0")
        prompters = ["box_volume+scribble", "box_slice"]
        for prompter, rounds in zip(prompters, (1, None), strict=True):
            intrabench.run("box_fill", prompter, DATA, metric=["nsd", "hd95"], rounds=rounds, out=root / "results")
    return root / "results"


@pytest.fixture
def private() -> Path:
    """Rows of people, of models at paths and addresses, and of a failure whose message names a file."""
    root = Path("private")
    record = {
        "state": "finished",
        "started": "2026-01-02T03:04:05.678+00:00",
        "ended": "2026-01-02T03:05:05.678+00:00",
        "command": "intrabench annotate --rater jdoe --out /home/jdoe/secret-study",
        "options": {"dataset": ["/home/jdoe/secret-study/Liver"], "plugin": ["/home/jdoe/plug.py"]},
        "work": {"model": ["masks:folder=/home/jdoe/answers"], "prompter": ['recorded:folder="/home/jdoe",rater=jdoe']},
        "tracebacks": {"x": "File /home/jdoe/plug.py"},
        "versions": {"python": "3.11.7", "intrabench": "0.1.0", "numpy": "2.4.6", "machine": "x86_64"},
        "weights": [{"model": "m", "id": "i", "source": "https://gpu7:1527/m.pt"}],
    }
    shared: dict[str, Any] = {"dataset": "Liver", "seen_in_training": "unknown", "dice": 0.5}
    made = rows(
        {"prompter": "human:rater=jdoe", "model": "masks:folder=/home/jdoe/answers", "patient": "DOE^JANE"},
        {"prompter": "human:rater=ab", "model": "masks:folder=/srv/secret-study/answers"},
        {
            "prompter": 'recorded:folder="/home/jdoe/a, b",rater=jdoe',
            "model": "nninteractive_server:url=http://gpu7:1527",
        },
        {"case": "2", "prompter": "human:rater=ab", "status": "error", "error": "/home/jdoe/x is missing"},
        **shared,
    ).with_columns(session=pl.format("session-{}", pl.int_range(pl.len())))
    turn = {"prompts": {"points": [[1, 2, 3, 1]], "clicked": [True]}, "actions": [{"kind": "click"}]}
    turns = [{"session": name, "round": 0, "turn": 0, "given": json.dumps(turn)} for name in made["session"]]
    values = made.drop("run_id", "written_at").to_dicts()
    store = Store(root, "run-1", lambda: record)
    store.write_part([{name: value for name, value in row.items() if value is not None} for row in values], turns)
    return root


def texts(folder: Path) -> str:
    """All that is in the files of a folder, and their names."""
    said = []
    for path in sorted(folder.rglob("*")):
        said.append(str(path.relative_to(folder)))
        if path.suffix == ".parquet":
            said.append(json.dumps(pl.read_parquet(path).to_dicts(), default=str, ensure_ascii=False))
        elif path.is_file():
            said.append(path.read_text(encoding="utf-8"))
    return "\n".join(said)
