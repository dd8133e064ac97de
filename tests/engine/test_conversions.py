"""Cases are converted in workers, next to playing: one that kills or holds its conversion fails, and nothing else."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import intrabench
from intrabench.engine.executors import make
from intrabench.engine.executors.timeout import Timeout
from tests.engine.test_run import PASSING

PLUGIN = Path(__file__).with_name("unruly_plugin.py")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def run(out: str, *kinds: str, **options: object) -> pl.DataFrame:
    given = {"model": "telling", "prompter": ["box_volume", "box_slice"], "dataset": f"unruly:kinds={'/'.join(kinds)}"}
    rows = intrabench.run(**{**given, "plugin": PLUGIN, "out": out, "workers": 1, **options})  # type: ignore[arg-type]
    return rows.drop(PASSING).sort("case", "session", "round")


FATAL = ("segv", "exit", "sysexit", "memory", "loop", "leak")
FEW = ("segv", "sysexit", "memory", "loop")  # test_getting.py has the others


def allowed(timeout: Timeout) -> float:
    """Long, but little for the case that never ends, so that nobody waits for that."""
    begun = Path("loaded").read_text().splitlines() if Path("loaded").exists() else []
    return 2.0 if timeout.phase == "preparing" and begun[-1:] and begun[-1].startswith("loop ") else 3600.0


@pytest.mark.parametrize("fatal", [FEW, pytest.param(FATAL, marks=pytest.mark.slow)], ids=["few", "all"])
def test_a_case_that_kills_its_conversion_fails_alone(
    data: Path, monkeypatch: pytest.MonkeyPatch, fatal: tuple[str, ...]
) -> None:
    monkeypatch.setattr(Timeout, "allowed", property(allowed))
    monkeypatch.setattr(make, "default_memory_limit_mb", lambda workers: 500.0)
    kinds = ("once", *fatal, "good")
    rows = run("out", *kinds)
    alone = run("alone", *kinds, cases=["once", "good"], workers=0)  # what is left of `once` lets it be converted now
    assert len(alone) == 2 * 3 * 2
    assert rows.filter(~pl.col("case").is_in(fatal)).equals(alone)
    bad = rows.filter(pl.col("case").is_in(fatal))
    assert len(bad) == len(fatal) * 2  # one row for the whole case and each prompter
    assert bad["target"].unique().to_list() == ["*"]
    said = {case: (status, error) for case, status, error in bad.select("case", "status", "error").rows()}
    killed = "the worker process ended with "
    assert said.pop("segv")[1].startswith(f"{killed}signal 11: Fatal Python error: Segmentation fault, File ")
    assert said.pop("sysexit")[1].startswith("SystemExit('no more') would have ended the program; raise an ordinary ")
    assert said.pop("memory") == ("no_data", "MemoryError: no room, in line 48 of unruly_plugin.py")
    rest = {
        "exit": ("no_data", f"{killed}exit code 3"),
        "loop": ("no_data", "converting took longer than 2 s"),
        "leak": (
            "no_data",
            "converting took more than 0.5 GB of memory, a worker's share; use fewer --workers or a machine with more",
        ),
    }
    assert said == {case: words for case, words in rest.items() if case in fatal}
    assert not list(data.glob("cases/*/.*"))
    assert not list(Path("out/locks").glob("*.lock"))


def test_a_case_is_played_while_the_next_one_is_converted(data: Path) -> None:
    assert set(run("out", "good", "after", timeout=60)["status"]) == {"ok"}  # `after` waits until `good` is played
