"""Code that does not ship changes what all code of its process shares: other models and data sets never see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.executors.process import ProcessExecutor
from intrabench.engine.make_job import make_run
from intrabench.engine.options import chosen
from intrabench.engine.session_spec import ModelRunner
from intrabench.identity.versions import ships
from intrabench.registry import registry
from intrabench.results.parts import read_rows
from tests.conftest import Said
from tests.engine.patching_plugin import FORGED
from tests.engine.test_workers import lasting
from tests.processes import Process, command

PLUGIN = Path(__file__).with_name("patching_plugin.py")
DATA = "phantom:shape=12x32x32,instances=2"
SHORT = "phantom:shape=12x32x32,instances=1"
HOWS = ["numpy", "scipy", "torch", "json", "path", "recursion"]
pytestmark = [pytest.mark.usefixtures("data"), pytest.mark.filterwarnings("ignore::UserWarning")]
Say = Callable[..., Said]


def run(out: str, model: list[str], **options: Any) -> pl.DataFrame:
    """The rows of the models that are sound."""
    given = {"prompter": "box_slice", "dataset": DATA, "metric": "hd95", "plugin": PLUGIN, "workers": 1, **options}
    rows = lasting(intrabench.run(model=model, out=out, **given))
    return rows.filter(~pl.col("model").str.starts_with("patching"))


@pytest.mark.parametrize(
    ("hows", "sound"), [(["all"], "sound"), pytest.param(HOWS, "sound:tensors=true", marks=pytest.mark.slow)]
)
def test_whatever_a_model_changes_the_rows_of_others_are_those_of_an_undisturbed_run(
    hows: list[str], sound: str
) -> None:
    expected = run("undisturbed", [sound, "box_fill"], workers=0)
    assert len(expected) == 4
    assert set(expected["status"]) == {"ok"}
    assert expected["dice"].n_unique() == 4
    assert run("disturbed", [*(f"patching:how={how}" for how in hows), sound, "box_fill"]).equals(expected)


@pytest.mark.parametrize(
    ("options", "whole"),
    [({}, True), ({"model": "patching"}, False), ({"prompter": "wild"}, False), ({"dataset": "rough"}, False)],
)
def test_a_run_ships_if_all_its_parts_do(options: dict[str, str], whole: bool) -> None:
    given = {"model": "box_fill", "prompter": "box_slice", "dataset": DATA, "plugin": PLUGIN, **options}
    assert make_run(chosen(given), here=False).ships is whole


class Worker:
    """Counts the processes that it had, as `Watched` does what it is asked."""

    name = "1"

    def __init__(self) -> None:
        self.processes = 1

    def ask(self, *_: Any) -> None:
        raise RuntimeError

    def rest(self) -> None:
        self.processes += 1


def test_a_process_is_kept_as_long_as_nobody_else_could_notice() -> None:
    registry.add_plugins([PLUGIN])
    ours, other, mine, yours = (
        ModelRunner(registry.make("models", spec)) for spec in ("box_fill", "random_walker", "patching", "sound")
    )
    worker: Any = Worker()
    supervisor = ProcessExecutor(None, worker)  # type: ignore[arg-type]
    had = []
    for runner in (ours, other, mine, mine, ours, other, yours, mine, ours):
        supervisor._use_for(runner, runner.ships)
        had.append(worker.processes)
    assert had == [1, 1, 1, 1, 2, 2, 2, 3, 4]


def test_a_conversion_changes_nothing_of_the_next_data_set(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run("undisturbed", ["box_fill"], workers=0)
    monkeypatch.setenv("INTRABENCH_DATA", str(Path("elsewhere").absolute()))
    rows = run("disturbed", ["box_fill"], dataset=["rough", DATA])
    assert rows.filter(dataset=expected["dataset"][0]).equals(expected)


def test_a_prompter_changes_nothing_of_others() -> None:
    expected = run("undisturbed", ["box_fill"], workers=0, dataset=SHORT)
    rows = run("disturbed", ["box_fill"], prompter=["wild", "box_slice"], dataset=SHORT)
    assert rows.filter(pl.col("prompter") == "box_slice").equals(expected)


def test_who_writes_into_the_connection_of_a_worker_fails_alone() -> None:
    forgers = [f"patching:how={how}" for how in FORGED]
    options = {"prompter": "box_slice", "dataset": SHORT, "plugin": PLUGIN, "workers": 1, "out": "out"}
    rows = lasting(intrabench.run(model=[*forgers, "box_fill"], **options))
    assert dict(rows.select("model", "status").rows()) == {**dict.fromkeys(forgers, "error"), "box_fill": "ok"}
    assert rows.filter(status="error")["error"].str.contains("worker process").all()


@pytest.mark.parametrize(
    ("room", "spec", "whole"),
    [
        ("models", "box_fill", True),
        ("models", "masks:folder=.+random_walker", True),
        ("models", "patching+random_walker", False),
        ("models", "patching", False),
        ("prompters", "box_slice", True),
        ("prompters", "wild", False),
        ("datasets", "phantom+noise:sigma=0.1", True),
        ("datasets", "rough+noise:sigma=0.1", False),
    ],
)
def test_what_ships_does_so_with_all_its_parts(room: Any, spec: str, whole: bool) -> None:
    registry.add_plugins([PLUGIN])
    assert ships(registry.make(room, spec)) is whole


def test_all_that_ships_ships() -> None:
    for room in ("models", "prompters", "datasets", "metrics"):
        for entry in registry.entries(room).values():
            if entry.origin == "intrabench":
                assert ships(entry.load()), entry.name


def test_programs_and_repositories_of_others_do_not_ship() -> None:
    for spec in ("npz:command=true", "isegm:repo=R,checkpoint=C", "box_fill+npz:command=true"):
        assert not ModelRunner(registry.make("models", spec)).ships, spec
    assert ModelRunner(registry.make("models", "box_fill+random_walker")).ships


@pytest.mark.parametrize(("workers", "how"), [(0, "itself"), pytest.param(1, "parent", marks=pytest.mark.slow)])
def test_a_run_that_a_session_ends_each_time_comes_to_an_end(
    workers: int, how: str, wording: SnapshotAssertion
) -> None:
    models = ["-m", f"patching:how={how}", "-m", "box_fill"]
    words = ["run", *models, "-p", "box_slice", "-d", DATA, "--plugin", str(PLUGIN), "--workers", str(workers)]
    codes = []
    while not codes or codes[-1] == 75:
        codes.append(Process(command, *words, "--out", "out").ended()[0])
        assert len(codes) < 8
    assert codes[-1] == 1
    assert 3 <= len(codes) <= 5
    found = {(row["model"].partition(":")[0], row["status"]) for row in read_rows(Path("out")).to_dicts()}
    assert ("box_fill", "ok") in found
    assert all(status == "ok" for model, status in found if model == "box_fill")
    errors = read_rows(Path("out")).filter(status="error")["error"].unique().to_list()
    assert errors == wording


def test_what_shares_this_process_is_said_once(say: Say) -> None:
    words = ["run", "-p", "box_slice", "-d", DATA, "--plugin", str(PLUGIN), "--workers", "0", "--out", "out"]
    said = "2 models share this process with code that is not part of IntraBench"
    assert say(*words, "-m", "patching", "-m", "box_fill").err.count(said) == 1
    assert "share this process" not in say(*words, "-m", "box_fill", "-m", "random_walker").err
    assert "share this process" not in say(*words, "-m", "patching").err
