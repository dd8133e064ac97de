"""The command line: parse, call, print. Heavy imports are inside the commands that need them."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command_name

from intrabench import __version__
from intrabench.cli import headings, options, verbosity
from intrabench.cli.annotate import annotate
from intrabench.cli.clickability import clickability_app
from intrabench.cli.console import echo, echo_text, note
from intrabench.cli.data import data_app
from intrabench.cli.job import add_job
from intrabench.cli.output import Output
from intrabench.cli.people import calibrate, gap, rate_app
from intrabench.cli.publishing import add_exports, add_submit, board_app, methods
from intrabench.cli.report import add_reports
from intrabench.cli.results import add_results, export_app, failures
from intrabench.cli.run import add_runs
from intrabench.cli.serve import record, serve
from intrabench.cli.shared import (
    Json,
    Plugins,
    add_plugins,
    flag,
    listing,
    problems,
    refuse_empty,
    show_datasets,
    show_names,
)
from intrabench.cli.superpixels import superpixels_app
from intrabench.cli.weights import weights_app
from intrabench.errors import IntraBenchError, about_path, foreign, in_words, is_foreign, traced
from intrabench.files.names import check_utf8


class Commands(TyperGroup):
    """The commands; nothing that a plug-in raises passes for their own end, as EOFError and those of typer would.

    All have the options of `verbosity`.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        headings.arrange(self)
        verbosity.add_to(self)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the program's own options, among them those that typer adds last."""
        headings.hide_types(self)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Parse and run the command, in a folder that exists."""
        from intrabench.workspace import here

        here()
        try:
            with foreign():
                return super().invoke(ctx)
        except Exception as error:
            if is_foreign(error):
                raise IntraBenchError(in_words(error)) from error
            if isinstance(error, ModuleNotFoundError):  # what extras install is imported where it is used
                raise IntraBenchError(
                    f"this command needs {error.name}, which is not installed; run: pip install {error.name}"
                ) from error
            if sentence := about_path(error):
                raise IntraBenchError(sentence) from error
            raise


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": [*headings.HELP]},
    pretty_exceptions_enable=False,
)
app.add_typer(data_app, name="data")
app.add_typer(clickability_app, name="clickability")
app.add_typer(weights_app, name="weights")
app.add_typer(superpixels_app, name="superpixels")
app.add_typer(rate_app, name="rate")
app.add_typer(board_app, name="board")


def _version(asked: bool) -> None:
    if asked:
        echo(f"intrabench {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, flag("--version", "-V", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Measure promptable segmentation models on 3D radiology volumes the way a clinician would use them."""


@app.command("list")
def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="models, prompters, datasets, metrics, clickability, superpixels or protocols",
            autocompletion=options.lists,
        ),
    ],
    json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """List all names of one kind, e.g. models."""
    if what == "datasets":
        add_plugins(plugin)
        show_datasets(json)
    else:
        show_names(listing(what, plugin), json)
    if wrong := problems(what):
        echo(*(f"left out: {problem}" for problem in wrong), err=True)
        raise typer.Exit(1)


@app.command()
def info(
    name: Annotated[str, typer.Argument(help="A name or spec.", autocompletion=options.anything)],
    json: Json = False,
    toml: Annotated[bool, flag("--toml", help="Print a table of effort as a file for --effort.")] = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Describe a model, prompter, data set, metric, protocol or table of effort, and its parameters."""
    from intrabench.cli.describe import describe, described
    from intrabench.cli.describe_numbers import toml as as_toml

    add_plugins(plugin)
    if toml:
        echo(*as_toml(name).split("\n"))
        return
    if json:
        echo(*described(name).split("\n"))
    else:
        echo_text(describe(name))


@app.command()
def init(folder: Path) -> None:
    """Create a workspace: a folder with intrabench.toml and an example of each class that you can add."""
    from intrabench.workspace import make_workspace

    make_workspace(folder)
    note(f"made the workspace {folder}; now: cd {folder} && intrabench list prompters")


add_runs(app)
app.command()(annotate)
app.command()(calibrate)
app.command()(gap)
app.command()(failures)
app.command()(serve)
app.command()(record)
add_job(app)
add_submit(app)
add_reports(app)
app.command()(methods)
add_results(app)
add_exports(export_app)


def named(commands: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """The commands that words of a command line name, all unless the first one does: to make all takes a while."""
    groups = {str(one.name): one for one in commands.registered_groups}
    single = {
        one.name or get_command_name(getattr(one.callback, "__name__", "")): one for one in commands.registered_commands
    }
    if not words or words[0] not in groups.keys() | single.keys():
        return commands
    few = copy(commands)
    few.registered_groups = [one for name, one in groups.items() if name in words]
    few.registered_commands = [one for name, one in single.items() if name in words]  # `job` takes those of `run`
    return few


def main() -> NoReturn:
    """Entry point: 0 ok, 1 some units failed, 2 usage, or output that cannot be written, 75 more to do, 130 Ctrl-C."""
    atexit.register(gc.freeze)  # to look for garbage at the end takes a fifth of the time of short commands
    output = Output()
    code = _exit_code()
    if problem := output.problem():
        echo(f"error: {problem}", err=True)
        code = code or 2
    sys.exit(code)


def _exit_code() -> Any:
    """Run the command."""
    try:
        for word in sys.argv[1:]:
            check_utf8(word, "the argument")
        refuse_empty(app, sys.argv[1:])
        named(app, sys.argv[1:])()
    except SystemExit as end:
        return end.code
    except IntraBenchError as error:
        if verbosity.verbose():
            echo(*traced(error).split("\n"), err=True)
        _, *lines = error.args if len(error.args) > 1 else ("",)
        echo(f"error: {error.args[0] if lines else in_words(error)}", *lines, err=True)
        return 2
    return 0
