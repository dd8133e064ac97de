"""The command line: parse, call, print. Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from intrabench.cli.clickability import clickability_app
from intrabench.cli.data import data_app
from intrabench.cli.report import add_reports
from intrabench.cli.results import Out, add_results, tell_damage
from intrabench.cli.shared import (
    Cases,
    Json,
    Plugins,
    Targets,
    add_plugins,
    listing,
    show_names,
    show_table,
    tell_failures,
)
from intrabench.cli.weights import weights_app
from intrabench.errors import IntraBenchError

if TYPE_CHECKING:
    from intrabench.engine.options import Options

app = typer.Typer(
    help="Measure promptable segmentation models on 3D radiology volumes the way a clinician would use them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")
app.add_typer(clickability_app, name="clickability")
app.add_typer(weights_app, name="weights")


@app.command()
def run(
    model: Annotated[list[str], typer.Option("--model", "-m", help="Model spec, e.g. litemedsam. Several are fine.")],
    prompter: Annotated[list[str], typer.Option("--prompter", "-p", help="Prompter spec, e.g. box_interp:n=3.")] = [],  # noqa: B006
    dataset: Annotated[list[str], typer.Option("--dataset", "-d", help="Data set spec. Default: spine_ct.")] = [],  # noqa: B006
    refine: Annotated[list[str], typer.Option("--refine", help="How answers are corrected, e.g. scribble.")] = [],  # noqa: B006
    hand: Annotated[str, typer.Option("--hand", help="An imperfect hand, e.g. jitter_mm=2,miss_rate=0.1.")] = "",
    stop: Annotated[str, typer.Option("--stop", help="Ends early, e.g. dice=0.9,interactions=30,seconds=60.")] = "",
    seed: Annotated[list[int], typer.Option("--seed", help="Root seed of the simulated user.")] = [0],  # noqa: B006
    cases: Cases = [],  # noqa: B006
    targets: Targets = [],  # noqa: B006
    rounds: Annotated[int | None, typer.Option("--rounds", help="Corrections after the initial prompting.")] = None,
    protocol: Annotated[str, typer.Option("--protocol", help="See `intrabench list protocols`.")] = "basic@1",
    metric: Annotated[list[str], typer.Option("--metric", help="Beside the protocol's, e.g. lesion_f1.")] = [],  # noqa: B006
    only: Annotated[list[str], typer.Option("--only", help="Glob of the protocol's rows, e.g. '3B Inter*'.")] = [],  # noqa: B006
    out: Out = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    batch: Annotated[str, typer.Option("--batch", help="fixed, auto, or a number (1 for latency claims).")] = "fixed",
    memory: Annotated[int, typer.Option("--memory", help="MiB of embeddings kept in memory; more go to disk.")] = 512,
    dtype: Annotated[str, typer.Option("--dtype", help="float32, bfloat16 or float16.")] = "float32",
    compile: Annotated[bool, typer.Option("--compile", help="Have torch compile image encoders.")] = False,
    weights: Annotated[str | None, typer.Option("--weights", help="A checkpoint brought by hand, or `random`.")] = None,
    cache_embeddings: Annotated[bool, typer.Option("--cache-embeddings", help="Keep embeddings across runs.")] = False,
    python: Annotated[
        Path | None, typer.Option("--python", help="Interpreter that models run in, ENV/bin/python.")
    ] = None,
    save_masks: Annotated[bool, typer.Option("--save-masks", help="Keep the mask of every round.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Never adapt a prompt to a model.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done.")] = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Prompt models on data sets with simulated users; repeat the command to continue it.

    Prompters are those of --prompter, else the rows of the protocol (intrabench@1 has some).
    """
    from intrabench import api
    from intrabench.engine.options import Options, given_weights

    options = Options(
        models=model,
        prompters=prompter,
        datasets=dataset or [api.DEFAULT_DATASET],
        seeds=seed,
        protocol=protocol,
        metrics=metric,
        only=only,
        rounds=rounds,
        refine=refine,
        hand=hand,
        stop=stop,
        cases=cases,
        targets=targets,
        strict=strict,
        save_masks=save_masks,
        device=device,
        batch=batch,
        memory_mb=memory,
        dtype=dtype,
        compile=compile,
        python=python,
        weights=given_weights(weights),
        cache_embeddings=cache_embeddings,
        plugins=plugin,
    )
    if not dataset:
        typer.echo(f"no --dataset given: using {api.DEFAULT_DATASET}, three vertebrae in a small real CT", err=True)
    if dry_run:
        from intrabench.engine.dry_run import describe
        from intrabench.workspace import results_folder

        typer.echo("\n".join(describe(options, results_folder(out))))
    else:
        _run(options, out)


def _run(options: Options, out: Path | None) -> None:
    """Run, print the table of what was asked for, and set the exit code."""
    from intrabench import api
    from intrabench.cli.console import print_frame
    from intrabench.engine.local import execute
    from intrabench.engine.progress import Console
    from intrabench.reporting.table import effort_table, readable, seen_in_training
    from intrabench.workspace import results_folder

    folder = results_folder(out)
    with Console() as console:
        try:
            summary, last = execute(options, folder, console)
        except KeyboardInterrupt:
            console.say("interrupted; what is finished is kept, and the same command continues")
            raise typer.Exit(1) from None
    rows = api.rows_of(summary, folder, last)
    if not rows.is_empty():
        print_frame(readable(effort_table(rows)))
        for told in seen_in_training(rows):
            typer.echo(told)
    tell_failures(summary.unmeasured)
    option = f" --out {shlex.quote(str(out))}" if out else ""
    typer.echo(f"results in {folder}; `intrabench table{option}` shows all of them")
    if summary.failed:
        tell_failures(summary.failures)
        told = f"{summary.failed} of {summary.total} sessions failed; run the same command to try them again"
        typer.echo(told, err=True)
        raise typer.Exit(1)
    tell_damage(folder)


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="models, prompters, datasets, metrics, clickability or protocols")],
    json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """List what is known by name."""
    if what == "datasets":
        from intrabench.cli.describe import datasets

        add_plugins(plugin)
        show_table(datasets(), json)
    else:
        show_names(listing(what, plugin), json)


@app.command()
def info(name: str, plugin: Plugins = []) -> None:  # noqa: B006
    """Show what a model, prompter, data set, metric or protocol is, and its parameters."""
    from intrabench.cli.describe import describe

    add_plugins(plugin)
    typer.echo(describe(name))


@app.command()
def check(
    model: Annotated[str, typer.Argument(help="Model spec, e.g. sammed3d.")],
    random_weights: Annotated[bool, typer.Option("--random-weights", help="Try the network untrained.")] = False,
    weights: Annotated[str | None, typer.Option("--weights", help="A checkpoint brought by hand, or `random`.")] = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")] = "auto",
    dtype: Annotated[str, typer.Option("--dtype", help="float32, bfloat16 or float16.")] = "float32",
    batch: Annotated[str, typer.Option("--batch", help="fixed, auto or a number.")] = "fixed",
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Check a model on a synthetic scan: prompts, geometry, batches, determinism, memory, time."""
    from intrabench.engine.check import check as findings
    from intrabench.engine.options import Options, given_weights
    from intrabench.engine.runners import make_runner

    add_plugins(plugin)
    chosen = given_weights("random" if random_weights else weights)
    options = Options([model], (), device=device, dtype=dtype, batch=batch, weights=chosen)
    failed = False
    for finding in findings(make_runner(model, options).model):
        mark = {True: "ok", False: "FAILED", None: ""}[finding.ok]
        typer.echo(f"{mark:<7} {finding.name:<32} {finding.message}")
        failed |= finding.ok is False
    if failed:
        raise typer.Exit(1)


@app.command()
def preview(
    prompter: Annotated[str, typer.Option("--prompter", "-p", help="Prompter spec.")],
    dataset: Annotated[str, typer.Option("--dataset", "-d", help="Data set spec.")] = "spine_ct",
    case: Annotated[str | None, typer.Option("--case", help="Case name. Default: the first.")] = None,
    target: Annotated[str | None, typer.Option("--target", help="Target id. Default: the first.")] = None,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Draw each round against this model.")] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", help="Corrections after the initial prompting.")] = None,
    refine: Annotated[str, typer.Option("--refine", help="How answers are corrected, e.g. scribble.")] = "",
    hand: Annotated[str, typer.Option("--hand", help="An imperfect hand, e.g. jitter_mm=2,miss_rate=0.1.")] = "",
    out: Annotated[Path, typer.Option("--out", help="The PNG; per round NAME_round0.png, ...")] = Path("preview.png"),
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Draw the simulated user's first prompts on the scan; with --model those of each round, and the answers."""
    from intrabench.engine.preview import preview as draw

    add_plugins(plugin)
    for path in draw(prompter, dataset, case, target, seed, out, model=model, rounds=rounds, refine=refine, hand=hand):
        typer.echo(f"wrote {path}")


@app.command()
def init(folder: Path) -> None:
    """Make a workspace: a folder with intrabench.toml and an example of each class that you can add."""
    from intrabench.workspace import make_workspace

    make_workspace(folder)
    typer.echo(f"made the workspace {folder}; now: cd {folder} && intrabench list prompters")


add_reports(app)
add_results(app)


def main() -> NoReturn:
    """Entry point: 0 ok, 1 some units failed or the run was interrupted, 2 usage."""
    try:
        app()
    except IntraBenchError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0)
