"""Job scripts and files of Dask clusters: golden ones in tests/golden/clusters; shells and Dask take them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from intrabench.engine.clusters.description import Description, imported, read_description
from intrabench.engine.clusters.script import CLUSTERS, SCRIPTS, Request, cluster_file, job_script
from intrabench.errors import IntraBenchError
from tests.conftest import GOLDEN

ODD = '/data/a b/it\'s $HOME `date` "x" \\ # @cpus@ é'
WORDS = ["intrabench", "run", "--dataset", ODD, "--targets", "liver*"]


ALL = Request(members=8, gpus=1, cpus=6, memory="32G", time="1-02:30:15", queue="gpu.long")
LINES = ["module load cuda", "source venv/bin/activate"]


def example(scheduler: str) -> str:
    """The script of a job that asks for everything."""
    command = ["intrabench", "run", "--model", "litemedsam", "--targets", "vertebra.2*"]
    return job_script(scheduler, ALL, "/home/me/my bench", LINES, command)


def cluster_example(scheduler: str) -> str:
    """The file of a Dask cluster that asks for everything."""
    command = ["intrabench", "run", "--model", "litemedsam", "--targets", "vertebra.2*", "--dask", "cluster.yaml"]
    return cluster_file(scheduler, ALL, "/home/me/my bench", LINES, "python", command)


@pytest.mark.parametrize("scheduler", SCRIPTS)
def test_the_script_that_asks_for_everything(scheduler: str) -> None:
    assert example(scheduler) == (GOLDEN / "clusters" / SCRIPTS[scheduler]).read_text()


@pytest.mark.parametrize("scheduler", SCRIPTS)
def test_what_is_not_asked_for_has_no_line(scheduler: str) -> None:
    least = job_script(scheduler, Request(members=1), "/bench", [], ["intrabench", "run"])
    assert "None" not in least
    assert "@" not in least.replace("TERM@120", "")
    gone = set(example(scheduler).splitlines()) - set(least.splitlines())
    assert len(least.splitlines()) < len(example(scheduler).splitlines())
    for asked in {
        "slurm": ("gres", "--time", "partition"),
        "lsf": ("-gpu", "-W", "-q"),
        "pbs": ("-J", "wall", "-q"),
    }.get(scheduler, ("gpu:", "Deadline", "queue-name")):
        assert any(asked in line for line in gone)
        assert asked not in least


def shell(scheduler: str, script: str) -> str:
    """The part of a script that a shell runs."""
    return container(script)["args"][0] if scheduler == "k8s" else script


def container(script: str) -> dict[str, Any]:
    return yaml.safe_load(script)["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("scheduler", SCRIPTS)
@pytest.mark.parametrize("code", [0, 1, 75])
def test_a_shell_runs_the_command_as_it_was_given(scheduler: str, code: int, tmp_path: Path) -> None:
    """The programs are stand-ins, which write down what they get."""
    folder = tmp_path / "it's a bench"
    folder.mkdir()
    stand_ins = (
        f'intrabench() {{ pwd; printf "%s\\n" "$@"; return {code}; }}\n'
        'srun() { shift; "$@"; }\nscontrol() { echo "scontrol $*"; }\nSLURM_JOB_ID=17\n'
    )
    script = job_script(scheduler, Request(members=3, cpus=2), str(folder), ["VENV='here it is'; echo $VENV"], WORDS)
    text = shell(scheduler, script).replace("exec ", "")  # a function cannot be run in the place of a shell
    done = subprocess.run(["bash", "-c", stand_ins + text], capture_output=True, text=True, check=False)
    again = ["scontrol requeue 17"] if scheduler == "slurm" and code == 75 else []
    assert done.stdout.splitlines() == ["here it is", str(folder), *WORDS[1:], *again]
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize("scheduler", ["lsf", "pbs", "k8s"])
def test_the_run_takes_the_place_of_the_shell(scheduler: str) -> None:
    """Else a signal would end the shell and not reach the run."""
    assert shell(scheduler, example(scheduler)).splitlines()[-1].startswith("exec intrabench run ")


@pytest.mark.parametrize("scheduler", SCRIPTS)
def test_nothing_runs_where_the_folder_is_missing(scheduler: str, tmp_path: Path) -> None:
    script = job_script(scheduler, Request(members=1), str(tmp_path / "none"), ["echo here"], ["echo", "there"])
    done = subprocess.run(["bash", "-c", shell(scheduler, script)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 1


def test_what_kubernetes_reads() -> None:
    job = yaml.safe_load(example("k8s"))
    pod = job["spec"]["template"]["spec"]
    assert (job["spec"]["completions"], job["spec"]["parallelism"], job["spec"]["completionMode"]) == (8, 8, "Indexed")
    assert job["spec"]["podFailurePolicy"]["rules"][0] == {
        "action": "Ignore",
        "onExitCodes": {"operator": "In", "values": [75]},
    }
    assert pod["activeDeadlineSeconds"] == 26 * 3600 + 30 * 60 + 15
    assert container(example("k8s"))["resources"] == {"limits": {"cpu": 6, "memory": "32Gi", "nvidia.com/gpu": 1}}
    mounts = {mount["name"]: mount["mountPath"] for mount in container(example("k8s"))["volumeMounts"]}
    assert mounts == {"work": "/home/me/my bench", "data": "/intrabench-data", "shared-memory": "/dev/shm"}
    assert [volume["name"] for volume in pod["volumes"]] == list(mounts)
    odd = job_script("k8s", Request(members=1), ODD, [], WORDS)
    assert container(odd)["volumeMounts"][0]["mountPath"] == ODD
    assert shlex.split(container(odd)["args"][0].splitlines()[-1]) == ["exec", *WORDS]


@pytest.mark.parametrize(
    "wrong",
    [
        {"members": 0},
        {"members": -3},
        {"cpus": 0},
        {"gpus": -1},
        {"memory": "16"},
        {"memory": "0G"},
        {"memory": "16GB\n"},
        {"time": "4:00"},
        {"time": "0:00:00"},
        {"time": "4:61:00"},
        {"queue": "gpu long"},
        {"queue": "gpu\n#SBATCH --uid=0"},
        {"queue": ""},
    ],
    ids=str,
)
def test_values_that_no_scheduler_understands(wrong: dict[str, Any], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        Request(**{"members": 8} | wrong)
    assert str(caught.value) == wording


@pytest.mark.parametrize("where", ["folder", "preparation", "command"])
def test_a_word_that_no_script_can_show(where: str, wording: SnapshotAssertion) -> None:
    given = {"folder": "/bench", "preparation": ["true"], "command": ["intrabench"]}
    odd = "two\nlines"
    with pytest.raises(IntraBenchError) as caught:
        job_script("slurm", Request(members=1), **given | {where: odd if where == "folder" else [odd]})  # type: ignore[arg-type]
    assert caught == wording


@pytest.mark.parametrize("scheduler", CLUSTERS)
def test_the_dask_cluster_that_asks_for_everything(scheduler: str) -> None:
    assert cluster_example(scheduler) == (GOLDEN / "clusters" / f"dask-{scheduler}.yaml").read_text()


def read(text: str) -> Description:
    Path("cluster.yaml").write_text(text, encoding="utf-8")
    return read_description(Path("cluster.yaml"))


def jobs(description: Description) -> list[str]:
    """The script that the class of the cluster makes for each job, without a scheduler; `lsf.conf` might be read."""
    with getattr(imported("dask_jobqueue"), description.cluster)(
        **description._completed("dask_jobqueue"),
        scheduler_options={"dashboard_address": ":0"},
        **({"lsf_units": "mb"} if description.cluster == "LSFCluster" else {}),
    ) as made:
        return made.job_script().splitlines()


HEADERS = {
    "slurm": [
        *("-J intrabench", "-p gpu.long", "-n 1", "--cpus-per-task=6", "--mem=32G", "-t 26:30:15"),
        *("--gres=gpu:1", "--output=intrabench-%j.log"),
    ],
    "lsf": [
        *("-J intrabench", "-q gpu.long", "-n 6", '-R "span[hosts=1]"', "-M 34360", "-W 26:31"),
        *('-gpu "num=1"', '-R "rusage[mem=32GB]"', "-o intrabench-%J.log"),
    ],
    "pbs": [
        *("-N intrabench", "-q gpu.long", "-l select=1:ncpus=6:ngpus=1:mem=32gb", "-l walltime=26:30:15", "-j oe"),
    ],
}


@pytest.mark.parametrize("scheduler", CLUSTERS)
def test_dask_asks_for_the_same(scheduler: str, wording: SnapshotAssertion) -> None:
    description = read(cluster_example(scheduler))
    assert (description.cluster, description.scale) == (CLUSTERS[scheduler], 8)
    lines = jobs(description)
    mark = {"slurm": "#SBATCH ", "lsf": "#BSUB ", "pbs": "#PBS "}[scheduler]
    assert [line.removeprefix(mark) for line in lines if line.startswith(mark)] == HEADERS[scheduler]
    *before, worker = lines[-4:]
    assert before == [wording, *LINES]
    assert worker.startswith("python -m distributed.cli.dask_worker tcp://")
    assert re.sub(r"tcp://\S+", "ADDRESS", worker) == wording
    assert f" --lifetime {26 * 3600 + 30 * 60 + 15 - 300}s --lifetime-stagger 60s" in worker


@pytest.mark.parametrize("scheduler", CLUSTERS)
def test_a_dask_cluster_has_no_line_for_what_is_not_asked_for(scheduler: str) -> None:
    text = cluster_file(scheduler, Request(members=1, time="0:20:00"), ODD, [], f"{ODD}/python", WORDS)
    assert not {"queue:", "gres", "-gpu"} & set(text.split())
    description = read(text)
    assert description.scale == 1
    assert "queue" not in description.arguments
    *_, before, worker = jobs(description)
    assert shlex.split(before) == ["cd", ODD, "||", "exit"]
    assert shlex.split(worker)[:2] == [f"{ODD}/python", "-m"]
    assert "--lifetime 900s" in worker


@pytest.mark.parametrize(
    ("scheduler", "wrong"),
    [
        ("slurm", {"time": None}),
        ("k8s", {}),
    ],
)
def test_what_no_dask_cluster_can_be_made_of(scheduler: str, wrong: dict[str, Any], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        cluster_file(scheduler, Request(**{"members": 1, "time": "1:00:00"} | wrong), "/bench", [], "python", WORDS)
    assert str(caught.value) == wording
    with pytest.raises(IntraBenchError) as caught:
        cluster_file("pbs", Request(members=1, time="1:00:00"), "/bench", ["two\nlines"], "python", WORDS)
    assert caught == wording
