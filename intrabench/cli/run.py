"""Commands to run sessions: run, preview, check."""

from __future__ import annotations

import gc
import inspect
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from intrabench.cli import options as o
from intrabench.cli.config import check_config
from intrabench.cli.console import echo, echo_sentences, note, note_sentences
from intrabench.cli.results import tell_damage
from intrabench.cli.run_options import PANELS
from intrabench.cli.shared import Json, Plugins, flag, interruptible, show
from intrabench.cli.verbosity import quiet, verbose
from intrabench.errors import IntraBenchError, several

if TYPE_CHECKING:
    import polars as pl

    from intrabench.engine.options import Options
    from intrabench.engine.progress.reporter import Reporter
    from intrabench.engine.summary import Summary
    from intrabench.protocols import Protocol


def add_runs(app: typer.Typer) -> None:
    """Add the commands of this file to `app`."""
    app.command(cls=InPanels)(run)
    for command in (check, preview):
        app.command()(command)


class InPanels(TyperCommand):
    """A command whose help has its options under headings, in the order of `PANELS`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All options that it has by now, arranged."""
        panels = {name: panel for panel, options in PANELS.items() for name in options}
        panels |= dict.fromkeys(("quiet", "verbose"), "Where results go")  # of all commands
        places = list(panels)
        for option in self.params:
            if isinstance(option, TyperOption) and option.name in panels:
                option.rich_help_panel = panels[option.name]
        self.params.sort(key=lambda one: places.index(one.name) if one.name in panels else len(places))
        return super().get_params(ctx)


def run(context: typer.Context, **arguments: Any) -> None:
    """Prompt models on data sets with simulated users; repeat the command to continue it.

    Without --prompter and --model, those of the protocol are run (intrabench@1 has both).
    """
    from intrabench.engine.make_job import check_idle
    from intrabench.engine.options import DEFAULTS
    from intrabench.protocols import protocol as protocol_of

    out: Path | None = arguments["out"]
    check_config(context, arguments["config"])
    options = options_of(arguments, "out", "dry_run", "trial", "config")
    check_idle(options)
    if not arguments["dataset"]:
        note(f"no --dataset given: using {DEFAULTS.dataset[0]}, three vertebrae in a small real CT", err=True)
    if arguments["dry_run"]:
        from intrabench.engine.dry_run import describe
        from intrabench.workspace import results_folder

        echo_sentences(*describe(options, results_folder(out), arguments["trial"]), hanging="  ")
    elif arguments["trial"]:
        raise IntraBenchError("--trial plays sessions for the estimates of --dry-run; give that, too, or omit it")
    else:
        preset = protocol_of(options.protocol)
        command = f"intrabench table --protocol {preset.id}" if preset.numbers else "intrabench table"
        play(options, out, command, partial(_show, preset=preset, command=command + _out_option(out)))


def _with_options(command: Callable[..., None], options: Mapping[str, tuple[Any, Any]]) -> None:
    """Give a command its options as parameters, which typer reads from its signature."""
    kinds = {name: kind for name, (kind, _) in options.items()}
    first = inspect.signature(command).parameters["context"].replace(annotation=typer.Context)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kinds[name])
        for name, (_, default) in options.items()
    ]
    # Typer reads parameters from the signature and their kinds from the annotations, so both are made.
    command.__annotations__ = {"context": typer.Context, **kinds, "return": None}
    command.__signature__ = inspect.Signature([first, *more])  # type: ignore[attr-defined]


_with_options(run, {name: option for panel in PANELS.values() for name, option in panel.items()})


def options_of(arguments: dict[str, Any], *others: str) -> Options:
    """The options of a run among the arguments of a command; typer gives an empty list for missing options."""
    from intrabench.engine.options import chosen

    return chosen({name: value for name, value in arguments.items() if name not in others and value != []})


def _out_option(out: Path | None) -> str:
    """The option that names the results folder, if it was given."""
    return f" --out {shlex.quote(str(out))}" if out else ""


def _show(rows: pl.DataFrame, preset: Protocol, command: str) -> None:
    """Print the table of a run; command: shows it again."""
    from intrabench.cli.report import show_table
    from intrabench.reporting.make_table import table_of_run

    show_table(table_of_run(rows, preset), everything=f"`{command} --csv` has everything")


def play(options: Options, out: Path | None, command: str, show: Callable[[pl.DataFrame], None]) -> None:
    """Run, show the rows of the run, and set the exit code. command: shows all results."""
    from intrabench.engine.progress.display import reporting
    from intrabench.engine.run import execute, rows_of
    from intrabench.models.parts.allocator import return_freed_memory
    from intrabench.models.parts.embedding_cache import quota_gb, usage_line
    from intrabench.reporting.click_tables import further
    from intrabench.statistics.evaluation import STATISTICAL
    from intrabench.workspace import results_folder

    folder = results_folder(out)
    with reporting(quiet=quiet()) as reporter, interruptible(reporter, "sessions"), _showing_failures(reporter):
        summary, last = execute(options, folder, reporter)
    gc.collect()  # the plan and the state of the folder, which have circles: of a million sessions they are large
    return_freed_memory()
    rows = rows_of(summary, folder, last, STATISTICAL)
    if not rows["status"].eq("no_data").all():
        show(rows)
    for line in summary.moved + summary.valueless + summary.meaningless + summary.not_applicable:
        echo(line, err=True)
    table, page = (f"`{one}{_out_option(out)}`" for one in (command, command.replace(" table", " report", 1)))
    note_sentences(f"results in {folder}; {table} shows all of them, {page} as one HTML file")
    if option := further(rows["prompter"].unique()):
        note_sentences(f"`{command} {option}{_out_option(out)}` shows how much it matters where people click")
    kept = options.cache_embeddings is not False and summary.encode_s > 0
    if kept and (line := usage_line(quota_gb(options.cache_gb))):
        note_sentences(line)
    for line in summary.left_out:
        echo(line, err=True)
    if summary.failed:
        tell_failures(summary)
        count = f"{summary.failed} of {several(summary.total, 'session')} failed"
        data = f", {summary.no_data} of them for lack of data, which count in no mean" if summary.no_data else ""
        echo(f"{count}{data}; {summary.advice(_out_option(out))}", err=True)
    if summary.failed or summary.left_out:
        raise typer.Exit(1)
    tell_damage(folder)


@contextmanager
def _showing_failures(reporter: Reporter) -> Iterator[None]:
    """The failures that are to end a run are shown, and end the command with exit code 1."""
    from intrabench.engine.failure_limit import TooManyFailures

    try:
        yield
    except TooManyFailures as failures:
        for line in [*failures.details, str(failures)]:
            reporter.say(line)
        raise typer.Exit(1) from None


def tell_failures(summary: Summary) -> None:
    """Print each distinct failure once, with the number of its sessions, and with its traceback if that is wanted."""
    from intrabench.engine.summary import counted

    for line in counted(summary.failures):
        echo(line, err=True)
    for why, text in summary.tracebacks.items() if verbose() else ():
        echo("", why, *text.split("\n"), err=True)


def check(
    model: Annotated[
        str,
        typer.Argument(
            help="Model spec, e.g. sammed3d, or address of a server of nnInteractive's protocol, http://...",
            autocompletion=o.completes("models"),
        ),
    ],
    random_weights: Annotated[bool, flag("--random-weights", help="Check the untrained network.")] = False,
    weights: o.Weights = None,
    device: o.Device = "auto",
    dtype: o.Dtype = "float32",
    batch: o.Batch = "fixed",
    python: o.Python = None,
    json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Check a model on a synthetic scan: prompts, geometry, batches, determinism, memory, time."""
    arguments = dict(locals())
    from intrabench.engine.check import check as findings
    from intrabench.engine.model_runners import make_runner

    arguments["weights"] = "random" if random_weights else weights
    found = []
    for finding in findings(make_runner(options_of(arguments, "random_weights", "json"))):
        found.append(finding)
        if not json:
            mark = {True: "ok", False: "FAILED", None: ""}[finding.ok]
            say = echo_sentences if finding.ok is False else note_sentences
            say(f"{mark:<7} {finding.name:<32} {finding.message}", hanging=" " * 41)
    if json:
        show([asdict(finding) for finding in found], json)
    if any(finding.ok is False for finding in found):
        raise typer.Exit(1)


def preview(
    prompter: Annotated[str, o.prompter],
    dataset: Annotated[str, o.dataset] = "spine_ct",
    case: Annotated[str | None, typer.Option("--case", help="Case name. Default: the first.")] = None,
    target: Annotated[str | None, typer.Option("--target", help="Target id. Default: the first.")] = None,
    seed: Annotated[int, o.seed] = 0,
    model: Annotated[str | None, o.model] = None,
    rounds: o.Rounds = None,
    refine: Annotated[str | None, o.refine] = None,
    hand: o.Hand = "",
    file: Annotated[Path, typer.Option("--file", help="The PNG; with --model NAME_round0.png, ...")] = Path(
        "preview.png"
    ),
    window: o.Window = "",
    plane: o.Plane = "acquisition",
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Draw the first prompts on the scan; with --model the prompts and answers of each round."""
    arguments = dict(locals())
    from intrabench.engine.preview import preview as pictures
    from intrabench.engine.preview import write

    own = ("case", "target", "file", "window", "plane")
    for name, picture in pictures(options_of(arguments, *own), case, target, window, plane):
        note(f"wrote {write(picture, name, file)}")
