"""A run is planned without torch: `make_run(..., here=False)`, which leaves loading to the processes that play."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.engine import model_runners, requirements
from intrabench.engine.make_job import make_run
from intrabench.engine.options import Options, chosen
from intrabench.engine.plan import make_plan
from intrabench.engine.progress.reporter import Silent
from intrabench.engine.requirements import pick_device
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.engine.conftest import Started
from tests.wording import without_reasons

SMALL = "phantom:shape=8x16x16,instances=2"
PLANNED = """
import sys
from intrabench.engine.make_job import make_run
from intrabench.engine.options import chosen
from intrabench.engine.plan import make_plan, prepare
from intrabench.engine.progress.reporter import Silent
models, *given = sys.argv[1:]
options = dict(zip(("weights", "device"), given))
prompters = ["box_slice", "clickability:model=uniform"]
job = make_run(chosen({"model": models.split(), "dataset": "DATASET", "prompter": prompters, **options}), here=False)
plan = make_plan(job, Silent())
assert "nibabel" not in sys.modules  # of use only where a file is read
(case,) = plan.waiting
tasks = plan.tasks(*case, prepare(*case, Silent()))
keys = {spec.key for task in tasks for spec in task.specs}
print(len(tasks), len(keys), sorted({runner.device for runner in job.runners}))
print(sorted({"torch", "torchvision", "timm", "cv2"} & sys.modules.keys()))
""".replace("DATASET", SMALL)


def options_of(given: dict[str, object]) -> Options:
    """Options of a small run."""
    return chosen({"dataset": SMALL, "prompter": "box_slice", **given})


def planned(*given: str) -> list[str]:
    """What a process of its own says of a plan of these models, and the heavy modules that it imported."""
    done = subprocess.run([sys.executable, "-c", PLANNED, *given], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def networks() -> list[str]:
    """The built-in models that run with random weights."""
    untrained = {"nninteractive", "nninteractive_server", "npz", "gc", "masks", "hf", "hf_video", "isegm", "voxtell"}
    entries = registry.entries("models").items()
    return [name for name, entry in entries if entry.origin == "intrabench" and name not in untrained]


@pytest.mark.usefixtures("data")
def test_models_that_ship_are_planned_without_torch() -> None:
    models = networks()
    assert len(models) >= 14
    assert planned(" ".join(models), "random") == [f"{len(models)} {4 * len(models)} ['cpu']", "[]"]


@pytest.mark.usefixtures("data")
def test_a_file_of_weights_is_not_loaded_to_plan(tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "mine.pth").write_bytes(b"no checkpoint")
    assert planned("scribbleprompt_unet", str(tmp_path / "mine.pth"), "cuda") == ["1 4 ['cuda']", "[]"]
    options = options_of({"model": "scribbleprompt_unet", "weights": tmp_path / "mine.pth"})
    with pytest.raises(IntraBenchError) as caught:
        make_run(options)
    assert without_reasons(str(caught.value)) == wording


@pytest.mark.parametrize(
    ("wanted", "devices", "listed", "device"),
    [
        ("auto", ("cpu", "cuda"), ("GPU-1",), "cuda"),
        ("auto", ("cpu", "cuda"), (), "cpu"),
        ("auto", ("cpu",), ("GPU-1",), "cpu"),
        ("cpu", ("cpu", "cuda"), ("GPU-1",), "cpu"),
        ("cuda", ("cpu", "cuda"), (), "cuda"),  # torch will say what is wrong with that
        ("cuda", ("cpu",), ("GPU-1",), "cpu"),
    ],
)
def test_the_device_of_a_plan(
    monkeypatch: pytest.MonkeyPatch, wanted: str, devices: tuple[str, ...], listed: tuple[str, ...], device: str
) -> None:
    monkeypatch.setattr(requirements, "gpus", lambda: listed)
    assert pick_device(wanted, devices, here=False) == device


def test_another_interpreter_is_started_to_plan_only_if_it_alone_has_the_weights(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = options_of({"model": "scribbleprompt_unet", "weights": "random", "python": sys.executable})
    (runner,) = make_run(options, here=False).runners
    assert (runner.weights_sha256, started) == ("random", [])

    def only_there(model: object) -> str:
        raise IntraBenchError("missing")

    monkeypatch.setattr(model_runners.weights, "identity", only_there)
    (runner,) = make_run(options, here=False).runners
    assert (runner.weights_sha256, [process.returncode for process in started]) == ("random", [0])


def test_missing_weights_and_packages_are_reported_by_the_plan(
    data: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    with pytest.raises(IntraBenchError) as caught:
        make_run(options_of({"model": "scribbleprompt_unet"}), here=False)
    assert caught == wording
    monkeypatch.setattr(requirements, "find_spec", lambda name: None)
    with pytest.raises(IntraBenchError) as caught:
        make_run(options_of({"model": "medsam", "weights": "random"}), here=False)
    assert caught == wording


def test_runs_beside_each_other_begin_with_different_cases() -> None:
    job = make_run(chosen({"model": "box_fill", "prompter": "box_volume", "dataset": "phantom:scans=5"}), here=False)
    plan = make_plan(job, Silent())
    names = [case for _, case in plan.waiting]
    plan.begin_at(0.5)
    assert [case for _, case in plan.waiting] == names[2:] + names[:2]
    plan.begin_at(0.999)
    plan.begin_at(0)
    assert sorted(case for _, case in plan.waiting) == names


TELLING = """
import sys
from dataclasses import dataclass
from pathlib import Path
from intrabench.models.box_fill import BoxFill

@dataclass(eq=False)
class Telling(BoxFill):
    '''Writes down what its process has imported.'''

    name = "telling"

    def segment_one(self, volume, request):
        Path("imported.txt").write_text("\\n".join(sys.modules))
        return super().segment_one(volume, request)
"""
PLAYED = """
import sys, intrabench
intrabench.run("telling", "box_slice", "DATASET", plugin="telling.py", workers=int(sys.argv[1]), out=sys.argv[2])
print(" ".join(sys.modules))
""".replace("DATASET", SMALL)
HEAVY = {"torch", "cv2", "nibabel", "pydicom", "SimpleITK", "highdicom", "httpx2", "unearth", "rich", "matplotlib"}
"""Packages that a run of a small model on cases that are prepared needs nowhere."""


def imported(folder: Path, workers: int, out: str) -> tuple[set[str], set[str]]:
    """Which top-level packages a run imports, and the process in which it plays."""
    words = [sys.executable, "-c", PLAYED, str(workers), out]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    told = done.stdout, (folder / "imported.txt").read_text("utf-8")
    run, playing = ({name.partition(".")[0] for name in names.split()} for names in told)
    return run, playing


@pytest.mark.usefixtures("data")
def test_what_a_run_on_prepared_cases_imports(tmp_path: Path) -> None:
    (tmp_path / "telling.py").write_text(TELLING, "utf-8")
    imported(tmp_path, 0, "prepares the case")
    run, playing = imported(tmp_path, 1, "in a worker")
    assert not (HEAVY | {"scipy"}) & run  # it plans and stores
    assert not (HEAVY | {"polars", "typer"}) & playing
    assert not HEAVY & imported(tmp_path, 0, "here")[0]
