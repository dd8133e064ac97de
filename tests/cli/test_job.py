"""`intrabench job`: a job script is printed, and what a member would refuse is refused here."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Said
from tests.documented import ROOT
from tests.wording import line_with

Say = Callable[..., Said]
RUN = ("run", "--model", "box_fill", "--prompter", "box_slice", "--dataset", "phantom")


def words(script: str) -> list[str]:
    """The command that the members run."""
    line = next(line for line in script.splitlines() if line.startswith(("srun", "exec")))
    return shlex.split(line)


def test_members_run_the_command_in_this_folder(say: Say, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path.cwd() / "it's a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("INTRABENCH_WEIGHTS", "my weights")
    said = say("job", "--slurm", "-n", "3", "--", *RUN, "--out", "a b/c'd", "--targets", "v*")
    assert (said.code, said.err) == (0, "")
    assert f"cd {shlex.quote(str(folder))} || exit" in said.out.splitlines()
    exported = [f"export INTRABENCH_DATA={shlex.quote(str(data))}", "export INTRABENCH_WEIGHTS='my weights'"]
    assert [line for line in said.out.splitlines() if line.startswith("export")] == exported
    assert words(said.out)[2:] == [sys.executable, "-m", "intrabench", *RUN, "--out", "a b/c'd", "--targets", "v*"]


def test_an_environment_brings_the_program(say: Say) -> None:
    said = say("job", "--lsf", "-n", "3", "--env", "module load cuda", "--env", "source 'a b'", "--", *RUN)
    assert words(said.out) == ["exec", "intrabench", *RUN]
    lines = said.out.splitlines()
    assert lines[lines.index("module load cuda") + 1] == "source 'a b'"


def test_pods_have_a_data_folder_of_their_own(say: Say) -> None:
    said = say("job", "--k8s", "-n", "3", "--", *RUN)
    assert "export" not in said.out
    assert f"exec intrabench {shlex.join(RUN)}" in said.out


def test_options_of_the_job(say: Say) -> None:
    given = ("--gpus", "2", "--cpus", "6", "--memory", "8G", "--time", "0:30:00", "--queue", "long")
    lines = say("job", "--slurm", "-n", "3", *given, "--", *RUN).out.splitlines()
    for option in ("array=1-3", "gres=gpu:2", "cpus-per-task=6", "mem=8G", "time=0:30:00", "partition=long"):
        assert f"#SBATCH --{option}" in lines


DASK = ("--slurm", "--dask", "-n", "3", "--time", "1:00:00")


def test_a_dask_cluster_is_printed_with_its_run(
    say: Say, data: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.delenv("INTRABENCH_WEIGHTS", raising=False)
    said = say("job", *DASK, "--", *RUN, "--out", "a b")
    assert (said.code, said.err) == (0, "")
    assert line_with(said.out.splitlines(), "--dask cluster.yaml") == wording
    arguments = yaml.safe_load(said.out)["arguments"]
    exported = f"export INTRABENCH_DATA={shlex.quote(str(data))}"
    assert arguments["job_script_prologue"] == [f"cd {shlex.quote(str(Path.cwd()))} || exit", exported]
    assert arguments["python"] == shlex.quote(sys.executable)
    said = say("job", *DASK, "--env", "source 'a b'", "--", *RUN)
    arguments = yaml.safe_load(said.out)["arguments"]
    assert (arguments["python"], arguments["job_script_prologue"][-1]) == ("python", "source 'a b'")


def test_two_dashes_may_be_left_out(say: Say) -> None:
    assert say("job", "--pbs", "-n", "2", *RUN) == say("job", "--pbs", "-n", "2", "--", *RUN)


def test_members_with_what_is_here_need_the_weights_here(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("-n", "2", "--", "run", "--model", "medsam", "--device", "cuda", "--prompter", "box_slice")
    said = say("job", "--slurm", *given)
    assert said.code == 2
    assert "medsam" in said.err
    assert "intrabench weights" in said.err
    monkeypatch.setattr(
        "intrabench.engine.model_runners.check_requirements", lambda _: pytest.fail("asked for packages")
    )
    assert say("job", "--k8s", *given).code == 0
    assert say("job", "--slurm", "--env", "source venv/bin/activate", *given).code == 0


def test_own_classes_are_known(say: Say) -> None:
    own = ("--prompter", "box_slice", "--model", "mine")
    assert say("job", "--slurm", "-n", "2", "--", "run", *own).code == 2
    Path("mine.py").write_text((ROOT / "models" / "threshold.py").read_text().replace('"threshold"', '"mine"'))
    assert say("job", "--slurm", "-n", "2", "--", "run", *own, "--plugin", "mine.py").code == 0


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("-n", "3", "--", *RUN), "give exactly one of --slurm, --lsf, --pbs and --k8s, before `-- run`"),
        (("--slurm", "--pbs", "-n", "3", *RUN), "give exactly one of --slurm, --lsf, --pbs and --k8s, before"),
        (("--slurm", "-n", "3", "--", "table"), "a job runs `run`, not 'table'; write `intrabench job ... -- run "),
        (("--slurm", "-n", "3", "--", "intrabench", *RUN), "a job runs `run`, not 'intrabench'; write"),
        (("--slurm", "-n", "3", "--"), "Missing argument '-- run ...'"),
        (("--slurm", "-n", "3"), "Missing argument '-- run ...'"),
        (("--slurm", "--", *RUN), "Missing option '-n'"),
        (("--slurm", "-n", "0", "--", *RUN), "-n 0 is too small; give 1 or more"),
        (("--slurm", "-n", "many", "--", *RUN), "Invalid value for '-n'"),
        (("--slurm", "-n", "3", "--memory", "much", "--", *RUN), "--memory 'much' is no size"),
        (("--slurm", "-n", "3", "--env", "echo it's", "--", *RUN), '--env "echo it\'s" is no line of a shell (No clos'),
        (("--slurm", "-n", "3", "--", *RUN, "--modle", "sam"), "No such option: --modle"),
        (("--slurm", "-n", "3", "--", *RUN, "--rounds", "many"), "Invalid value for '--rounds'"),
        (("--slurm", "-n", "3", "--", *RUN, "--rounds", "-1"), "--rounds -1 is not a number of corrections"),
        (("--slurm", "-n", "3", "--", *RUN, "extra"), "unexpected extra argument"),
        (("--slurm", "-n", "3", "--", *RUN, "--model", "smam"), "smam"),
        (("--slurm", "-n", "3", "--", *RUN, "--prompter", "box_interp:m=3"), "'m'"),
        (("--slurm", "-n", "3", "--", *RUN, "--dataset", "no/folder"), "no/folder"),
        (("--slurm", "-n", "3", "--", *RUN, "--metric", "dise"), "dise"),
        (("--slurm", "-n", "3", "--", *RUN, "--protocol", "basic@9"), "basic@9"),
        (("--slurm", "-n", "3", "--", *RUN, "--stop", "dise=1"), "dise"),
        (("--slurm", "-n", "3", "--", *RUN, "--plugin", "absent.py"), "absent.py"),
        (("--slurm", "-n", "3", "--", *RUN, "--dry-run"), "--dry-run computes nothing; give it to `intrabench run`"),
        (("--slurm", "-n", "3", "--", *RUN, "--trial"), "--dry-run computes nothing; give it to `intrabench run`"),
        (("--slurm", "--dask", "-n", "3", "--", *RUN), "--dask needs --time, e.g. 4:00:00"),
        (("--k8s", "--dask", "-n", "3", "--time", "1:00:00", "--", *RUN), "--k8s --dask: a Dask cluster of pods"),
        ((*DASK, "--", *RUN, "--dask", "local:2"), "the run has --dask local:2 and gets --dask cluster.yaml; omit one"),
        ((*DASK, "--", *RUN, "--workers", "2"), "--workers 2 is for this machine, and --dask cluster.yaml has workers"),
        ((*DASK, "--", *RUN, "--collcet"), "No such option: --collcet"),
        (("--slurm", "-n", "3", "--", *RUN, "--out", "two\nlines"), r"'two\nlines' has a character that a job script"),
    ],
)
def test_what_is_wrong_is_told_now(say: Say, given: tuple[str, ...], sentence: str) -> None:
    said = say("job", *given)
    assert (said.code, said.out) == (2, "")
    assert sentence in " ".join(said.err.replace("│", " ").split())


@pytest.mark.parametrize("given", [("--", *RUN), ("--slurm", "-n", "3", *RUN), ("--k8s", "-n", "3", "--", *RUN)])
def test_the_command_that_printed_them_names_this_one(say: Say, given: tuple[str, ...]) -> None:
    said = say("submit", *given)
    sentence = "error: job scripts are `intrabench job` now; write `intrabench job ... -- run ...`\n"
    assert (said.code, said.out, said.err) == (2, "", sentence)
