"""Results of somebody else are safe to look at: no code is executed that only they name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store as cases
from intrabench.engine.make_job import make_run
from intrabench.engine.options import Options
from intrabench.engine.plan import Plan
from intrabench.models.weights.registry import BY_HAND
from intrabench.registry import registry
from tests.conftest import Said
from tests.wording import line_with

pytestmark = pytest.mark.usefixtures("data")
Say = Callable[..., Said]

PLUGIN = """
from dataclasses import dataclass
from pathlib import Path

from intrabench.models.box_fill import BoxFill

with Path("executed").open("a") as log:
    log.write("plug-in ")


@dataclass(eq=False)
class Theirs(BoxFill):
    name = "theirs"
"""
PYTHON = f"""#!/bin/sh
printf 'interpreter ' >> executed
exec {sys.executable} "$@"
"""


def executed() -> set[str]:
    """What was executed since this was last asked."""
    log = Path("executed")
    found = set(log.read_text().split()) if log.exists() else set()
    log.unlink(missing_ok=True)
    return found


def forget() -> None:
    """As in another process."""
    for room in registry._plugins.values():
        room.clear()
    for name in [name for name in sys.modules if name.startswith("intrabench_files.")]:
        del sys.modules[name]
    executed()


@pytest.fixture
def theirs() -> Path:
    """A folder of results that names a plug-in, merged from another."""
    Path("theirs.py").write_text(PLUGIN)
    options = {"dataset": "phantom:shape=16x32x32,instances=1", "targets": "blob.1", "save_masks": True}
    intrabench.run(model="theirs", prompter="box_slice", plugin="theirs.py", out="first", **options)
    intrabench.merge("first", "merged")
    forget()
    return Path("merged")


@pytest.fixture
def interpreter() -> Path:
    """A folder of results that names an interpreter."""
    options = {"dataset": "phantom:shape=16x32x32,instances=1", "targets": "blob.1"}
    intrabench.run(model="box_fill", prompter="box_slice", out="remote", **options)
    (record,) = Path("remote/runs").iterdir()
    content = json.loads(record.read_text())
    content["options"]["python"] = str(Path("python").resolve())
    record.write_text(json.dumps(content))
    Path("python").write_text(PYTHON)
    Path("python").chmod(0o755)
    return Path("remote")


def test_verify_loads_no_plug_in_that_only_the_folder_names(say: Say, theirs: Path, wording: SnapshotAssertion) -> None:
    said = say("verify", "merged")
    assert executed() == set()
    assert said.code == 1
    assert "cannot be verified" in said.out
    assert said.out == wording
    sentence = (
        "; not loaded: theirs.py, which the run loaded and only merged names; give your copy by --plugin, or --trust"
    )
    assert sentence in said.out
    (verdict,) = intrabench.verify(theirs)
    assert (verdict.found, sentence in verdict.message, executed()) == ("unknown", True, set())


def test_a_reason_that_sessions_have_in_common_is_one_line(say: Say, wording: SnapshotAssertion) -> None:
    Path("theirs.py").write_text(PLUGIN)
    dataset = "phantom:shape=16x32x32,instances=2"
    rows = intrabench.run(model="theirs", prompter="box_slice", plugin="theirs.py", dataset=dataset, out="first")
    intrabench.run(model="box_fill", prompter="box_slice", dataset=dataset, out="first", targets="blob.1")
    forget()
    said = say("verify", "first")
    count = rows["session"].n_unique()
    assert count > 1
    ok, line, total = said.out.splitlines()
    assert ok.startswith("ok ")
    assert f"{count} sessions:" in line
    assert line == wording
    assert total == f"1 ok, {count} cannot be verified"
    assert len(json.loads(say("verify", "first", "--json").out)) == count + 1
    assert say("verify", "first", "-q").out.splitlines() == [line, total]


@pytest.mark.parametrize("word", [("--plugin", "theirs.py"), ("--trust",)])
def test_verify_loads_what_the_user_names_or_trusts(say: Say, theirs: Path, word: tuple[str, ...]) -> None:
    said = say("verify", "merged", *word)
    assert (said.code, executed()) == (0, {"plug-in"})
    assert said.out.startswith("ok ")


def test_the_same_in_python(theirs: Path) -> None:
    assert [verdict.found for verdict in intrabench.verify(theirs, trust=True)] == ["equal"]
    forget()
    assert [verdict.found for verdict in intrabench.verify(theirs, plugin="theirs.py")] == ["equal"]


def test_verify_starts_no_interpreter_that_only_the_folder_names(
    say: Say, interpreter: Path, wording: SnapshotAssertion
) -> None:
    said = say("verify", "remote")
    assert (said.code, executed()) == (1, set())
    assert said.out == wording
    assert [verdict.found for verdict in intrabench.verify(interpreter)] == ["unknown"]
    assert executed() == set()


@pytest.mark.parametrize(("words", "started"), [(("--trust",), {"interpreter"}), (("--python", sys.executable), set())])
def test_verify_starts_what_the_user_names_or_trusts(
    say: Say, interpreter: Path, words: tuple[str, ...], started: set[str]
) -> None:
    Path("numpy.py").write_text("from pathlib import Path\nPath('executed').write_text('numpy')\n")
    said = say("verify", "remote", *words)
    assert (said.code, executed()) == (0, started)
    assert said.out.startswith("ok ")


def test_verify_runs_no_program_that_only_the_folder_names(say: Say, wording: SnapshotAssertion) -> None:
    np.savez("ready.npz", segs=np.ones((16, 32, 32), np.uint8))
    Path("theirs.sh").write_text('printf "program " >> executed; cp ready.npz "$OUTPUTS/case-1.npz"')
    data = "phantom:shape=16x32x32,instances=1"
    said = say(
        *("run", "--model", "npz:command='sh theirs.sh'", "--model", "box_fill+npz:command='sh theirs.sh'"),
        *("--prompter", "box_volume+click_center", "--rounds", "1", "--dataset", data, "--out", "ran"),
    )
    assert (said.code, executed()) == (0, {"program"})
    said = say("verify", "ran")
    assert (said.code, executed()) == (1, set())
    assert said.out == wording
    assert (say("verify", "ran", "--trust").code, executed()) == (0, {"program"})


@pytest.mark.parametrize(
    "words",
    [
        ("table", "--out", "merged"),
        ("compare", "first", "merged"),
        ("report", "report.html", "--out", "merged"),
        ("figures", "drawn", "--out", "merged"),
        ("export", "rows", "rows.csv", "--out", "merged"),
        ("export", "masks", "masks", "--out", "merged"),
        ("merge", "first", "merged", "--out", "both"),
        (
            "run",
            "--dry-run",
            "--model",
            "box_fill",
            "--prompter",
            "box_slice",
            "--dataset",
            "phantom",
            "--out",
            "merged",
        ),
    ],
)
def test_no_other_command_executes_what_a_folder_names(say: Say, theirs: Path, words: tuple[str, ...]) -> None:
    for record in [*theirs.glob("runs/*.json"), *Path("first/runs").glob("*.json")]:
        content = json.loads(record.read_text())
        content["options"]["python"] = str(Path("python").resolve())
        record.write_text(json.dumps(content))
    Path("python").write_text(PYTHON)
    Path("python").chmod(0o755)
    assert say(*words).code == 0
    assert executed() == set()


@pytest.mark.parametrize(
    "changed",
    [
        {"options": 1},
        {"options": {"plugin": "theirs.py"}},
        {"options": {"plugin": [None]}},
        {"options": {"python": 1}},
        {"options": {"weights": ["x"]}},
        {"options": {"dataset": {"a": 1}}},
        {"rounds": "many"},
        {"started": 7},
        {"sessions": 3},
    ],
    ids=str,
)
def test_a_record_with_wrong_types_counts_as_none(
    say: Say, theirs: Path, changed: dict[str, object], wording: SnapshotAssertion
) -> None:
    for record in theirs.glob("runs/*.json"):
        record.write_text(json.dumps({**json.loads(record.read_text()), **changed}))
    for words in (("verify", "merged"), ("verify", "merged", "--trust")):
        said = say(*words)
        assert (said.code, executed()) == (1, set())
        assert said.out == wording
    assert say("table", "--out", "merged").code == 0


def test_a_folder_of_results_is_no_workspace(
    say: Say, theirs: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    (theirs / "intrabench.toml").touch()
    (theirs / "models").mkdir()
    Path("theirs.py").rename(theirs / "models" / "theirs.py")
    monkeypatch.chdir(theirs)
    for words in (
        ("verify", "."),
        ("verify",),
        ("table", "--out", "."),
        ("report", "r.html", "--out", "."),
        ("info", "theirs"),
    ):
        said = say(*words)
        assert (said.code, executed()) == (2, set())
        assert said.out + said.err == wording


def test_a_workspace_keeps_its_results_in_a_folder_of_their_own(say: Say, wording: SnapshotAssertion) -> None:
    Path("intrabench.toml").write_text('results = "."')
    assert say("list", "models").err == wording
    Path("intrabench.toml").write_text('results = "results"')
    Path("rows").mkdir()  # of something else
    assert say("list", "models").code == 0


@pytest.mark.parametrize("what", ["link", "folder"])
def test_a_lock_that_is_none_is_named_and_nothing_is_written_through_it(
    say: Say, what: str, wording: SnapshotAssertion
) -> None:
    run = ("run", "--model", "box_fill", "--prompter", "box_slice", "--dataset", "phantom:shape=16x32x32,instances=1")
    assert say(*run, "--out", "out").code == 0
    job = make_run(Options(model=["box_fill"], prompter=["box_slice"], dataset=[run[-1]]))
    ((dataset, case),) = job.selected()
    (task,) = Plan(job).tasks(dataset, case, cases.prepare(dataset, case))
    lock = Path("out/locks") / task.lock_name
    Path("precious").write_text("kept")
    lock.symlink_to(Path("precious").resolve()) if what == "link" else lock.mkdir()
    for part in Path("out/rows").iterdir():
        part.unlink()
    said = say(*run, "--out", "out")
    assert (said.code, Path("precious").read_text()) == (2, "kept")
    assert f"{lock} cannot be locked (" in said.err
    assert line_with(said.err, "another folder") == wording


@pytest.mark.parametrize("weights", [[{}], [{"model": ["sam"], "id": 7}], [{"model": "sam", "id": "nothing"}]])
def test_a_record_with_odd_weights_ends_no_report(say: Say, theirs: Path, weights: object) -> None:
    for record in theirs.glob("runs/*.json"):
        record.write_text(json.dumps({**json.loads(record.read_text()), "weights": weights}))
    for part in theirs.glob("rows/*.parquet"):
        pl.read_parquet(part).with_columns(weights=pl.lit("registered"), model=pl.lit("sam")).write_parquet(part)
    assert say("report", "report.html", "--out", "merged").code == 0


def test_verify_gives_no_class_of_the_users_weights_that_only_the_folder_names(
    say: Say, theirs: Path, wording: SnapshotAssertion
) -> None:
    for part in theirs.glob("rows/*.parquet"):
        pl.read_parquet(part).with_columns(weights=pl.lit(BY_HAND)).write_parquet(part)
    for record in theirs.glob("runs/*.json"):
        content = json.loads(record.read_text())
        content["options"]["weights"] = "evil.pt"
        record.write_text(json.dumps(content))
    said = say("verify", "merged", "--plugin", "theirs.py")
    assert said.code == 1
    assert said.out == wording
    assert "which only" not in say("verify", "merged", "--trust").out
