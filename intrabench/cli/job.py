"""The command job: print a job script for a cluster, or the file of a Dask cluster."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from intrabench.cli.console import echo
from intrabench.cli.shared import flag
from intrabench.errors import IntraBenchError

_FOLDERS = ("INTRABENCH_DATA", "INTRABENCH_WEIGHTS")
"""Variables that members need as they are here; not every scheduler hands the environment on."""


def add_job(app: typer.Typer) -> None:
    """Add the command to `app`; what follows its own options belongs to `run`."""
    app.command(context_settings={"allow_interspersed_args": False})(job)


def job(
    context: typer.Context,
    run: Annotated[list[str], typer.Argument(metavar="-- run ...", help="The run, with all its options.")],
    members: Annotated[int, typer.Option("-n", help="Number of members of the job.")],
    slurm: Annotated[bool, flag("--slurm", help="For Slurm.")] = False,
    lsf: Annotated[bool, flag("--lsf", help="For LSF.")] = False,
    pbs: Annotated[bool, flag("--pbs", help="For PBS Pro and OpenPBS.")] = False,
    k8s: Annotated[bool, flag("--k8s", help="For Kubernetes.")] = False,
    dask: Annotated[bool, flag("--dask", help="Print a file for `run --dask`, whose workers are the members.")] = False,
    gpus: Annotated[int, typer.Option("--gpus", help="GPUs of each member.")] = 0,
    cpus: Annotated[int, typer.Option("--cpus", help="Cores of each member.")] = 4,
    memory: Annotated[str, typer.Option("--memory", help="Memory of each member.")] = "16G",
    time: Annotated[str | None, typer.Option("--time", help="Wall time of each member, e.g. 4:00:00.")] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="Queue or partition.")] = None,
    env: Annotated[
        list[str], typer.Option("--env", help="Line of the shell before the run, e.g. 'source venv/bin/activate'.")
    ] = [],  # noqa: B006
) -> None:
    """Print a job script whose members run the same command and share its work; read it, change it, submit it.

    Members work in the current folder, so relative paths mean what they mean here. With --dask, print a file for `run
    --dask FILE.yaml` instead: one run, whose Dask workers are the members.
    """
    arguments = dict(locals())
    from intrabench.engine.clusters.script import CLUSTER_FILE, SCRIPTS, Request, cluster_file, job_script

    chosen = [name for name in SCRIPTS if arguments[name]]
    if len(chosen) != 1:
        raise IntraBenchError("give exactly one of --slurm, --lsf, --pbs and --k8s, before `-- run`")
    request = Request(members=members, gpus=gpus, cpus=cpus, memory=memory, time=time, queue=queue)
    _check_lines(env)
    here = chosen != ["k8s"] and not env
    _check_run(context, run, here, CLUSTER_FILE if dask else "")
    exported = [f"export {name}={shlex.quote(os.environ[name])}" for name in _FOLDERS if name in os.environ]
    preparation = env if chosen == ["k8s"] else [*exported, *env]
    folder = str(Path.cwd())
    if dask:
        command = ["intrabench", *run, "--dask", CLUSTER_FILE]
        text = cluster_file(chosen[0], request, folder, preparation, sys.executable if here else "python", command)
    else:
        program = [sys.executable, "-m", "intrabench"] if here else ["intrabench"]
        text = job_script(chosen[0], request, folder, preparation, [*program, *run])
    echo(*text.splitlines())


def _check_lines(lines: Sequence[str]) -> None:
    """Refuse a line of the shell with a quotation that does not end."""
    for line in lines:
        try:
            shlex.split(line, comments=True)
        except ValueError as error:
            raise IntraBenchError(f"--env {line!r} is no line of a shell ({error}); correct it") from None


def _check_run(context: typer.Context, words: Sequence[str], local: bool, dask: str) -> None:
    """Parse the command as the members will; if they have what is installed here, ask for all that it needs.

    dask: the cluster that the command will be given.
    """
    from intrabench.engine.make_job import check_names, make_run
    from intrabench.engine.options import Options, chosen

    name, *rest = words
    if name != "run":
        raise IntraBenchError(f"a job runs `run`, not {name!r}; write `intrabench job ... -- run --model ...`")
    commands: Any = context.parent and context.parent.command
    arguments = commands.commands["run"].make_context("run", rest, parent=context.parent).params
    if arguments["dry_run"] or arguments["trial"]:
        raise IntraBenchError("--dry-run computes nothing; give it to `intrabench run` here, not to a job")
    if dask and arguments["dask"]:
        raise IntraBenchError(f"the run has --dask {arguments['dask']} and gets --dask {dask}; omit one of the two")
    values = {option.name: arguments[option.name] for option in fields(Options)}
    values["dask"] = dask or arguments["dask"]
    options = chosen({name: value for name, value in values.items() if value not in ([], ())})
    if local:
        for runner in make_run(options, here=False).runners:
            runner.close()
    else:
        check_names(options)
