"""The command ``annotate``: people prompt a model, or click once on each target."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from intrabench.cli import options as o
from intrabench.cli.console import echo, note
from intrabench.cli.people import Host, Port, need_people
from intrabench.cli.results import Out
from intrabench.cli.shared import Cases, Plugins, Targets, add_plugins, flag
from intrabench.errors import IntraBenchError, several

if TYPE_CHECKING:
    from intrabench.people.clicking.collection import Collection


def annotate(
    model: o.Models = [],  # noqa: B006
    dataset: o.Datasets = [],  # noqa: B006
    rater: Annotated[list[str], typer.Option("--rater", help="Pseudonym of a person, e.g. r1; give each.")] = ["r1"],  # noqa: B006
    cases: Cases = [],  # noqa: B006
    targets: Targets = [],  # noqa: B006
    outline: Annotated[bool, flag("--outline", help="Show the outline of the reference.")] = False,
    window: o.Window = "",
    orientation: o.Orientation = "radiological",
    title: Annotated[str, typer.Option("--title", help="What people see at the top.")] = "Annotation",
    rounds: o.Rounds = None,
    effort: o.Effort = None,
    protocol: o.Protocol = "basic@2",
    metric: Annotated[list[str], o.metric] = [],  # noqa: B006
    out: Out = None,
    device: o.Device = "auto",
    dtype: o.Dtype = "float32",
    weights: o.Weights = None,
    strict: Annotated[bool, flag("--strict", help="Never convert prompts for a model.")] = False,
    first_clicks: Annotated[
        str,
        typer.Option(
            "--first-clicks",
            metavar="DISPLAY",
            help="Collect one click per target without a model, as RClicks did: show the target for 2 s as text, "
            "cutout, shifted, silhouette or outline.",
        ),
    ] = "",
    close: Annotated[
        bool | None,
        typer.Option("--close/--reopen", help="Let nothing in the results folder be changed any more."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8751,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Let people prompt a model in the browser; their sessions are rows as of any prompter. Ctrl-C ends it."""
    need_people("annotating")
    if first_clicks:
        _check_only_clicks(locals())
    from starlette.types import ASGIApp

    from intrabench.engine.progress.reporter import Quiet
    from intrabench.people.annotating.annotation import Annotation
    from intrabench.people.annotating.server import check_raters, make_app, tokens_of
    from intrabench.people.clicking.server import make_app as make_clicking_app
    from intrabench.people.servers.run_server import announce, serve
    from intrabench.reporting.windows import check_window
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    check_raters(rater)
    check_window(window)
    folder = results_folder(out)
    if close is not None:
        return _set_closed(folder, close)
    arguments = {
        **{"model": model, "dataset": dataset, "cases": cases, "targets": targets, "rounds": rounds},
        **{"protocol": protocol, "metric": metric, "device": device, "dtype": dtype, "weights": weights},
        **{"strict": strict, "plugin": plugin, "effort": effort},
    }
    options = {name: value for name, value in arguments.items() if value != []}
    with ExitStack() as stack:
        tokens: dict[str, str] = {}

        def make(hosts: frozenset[str]) -> ASGIApp:
            """The app; tokens are written last, once nothing is refused any more."""
            app: Callable[..., ASGIApp]
            if first_clicks:
                clicks = _first_clicks(folder, first_clicks, dataset, cases, targets, window)
                app = partial(make_clicking_app, stack.enter_context(clicks))
            else:
                annotation = stack.enter_context(Annotation(options, folder, Quiet()))
                app = partial(make_app, annotation, outline=outline, window=window, orientation=orientation)
            tokens.update(tokens_of(folder, rater))
            return app(tokens, hosts, title)

        serve(make, host, port, lambda address: announce(address, tokens, host, echo))


def _set_closed(results: Path, closed: bool) -> None:
    """Close what people annotated into a results folder, or open it again."""
    from intrabench.files.locks import Busy, locked
    from intrabench.people.annotating.log import FILE, Log

    if not (results / "people" / FILE).exists():
        raise IntraBenchError(f"nobody has annotated into {results}; give its folder with --out")
    try:
        with locked(results / "locks" / "annotating.lock"):
            log = Log(results / "people" / FILE)
            log.set_closed(closed)
            log.close()
    except Busy as busy:
        raise IntraBenchError(f"people annotate into {results} now, by {busy}; end that first") from busy
    note(f"{results} is closed; --reopen takes it back" if closed else f"{results} is open again")


def _check_only_clicks(given: dict[str, Any]) -> None:
    """Refuse what is of sessions with a model."""
    unused = ("model", "outline", "rounds", "effort", "metric", "weights", "strict")
    wrong = [name for name in unused if given[name]] + ["close"] * (given["close"] is not None)
    if given["orientation"] != "radiological":
        raise IntraBenchError("--first-clicks shows scans as radiologists see them; omit --orientation")
    if wrong:
        raise IntraBenchError(f"--first-clicks asks no model and shows no outline of its own; omit --{wrong[0]}")


def _first_clicks(
    results: Path, display: str, dataset: list[str], cases: list[str], targets: list[str], window: str
) -> Collection:
    """The clicks that people make, one on each target."""
    from intrabench.people.clicking.collection import Collection
    from intrabench.people.clicking.displays import DISPLAYS
    from intrabench.people.clicking.scenes import Scenes
    from intrabench.registry import registry
    from intrabench.results.merged_clicks import FILE, FOLDER

    if display not in DISPLAYS:
        raise IntraBenchError(f"--first-clicks {display} is no display; give one of {', '.join(DISPLAYS)}")
    if not dataset:
        raise IntraBenchError("--first-clicks needs what to click; give --dataset")
    folder, made = results / FOLDER, [registry.make("datasets", spec) for spec in dataset]
    scenes = Scenes(made, cases, targets, folder, window, named=display == "text")
    echo(*scenes.notes, f"{several(len(scenes), 'target')} each; clicks go to {folder / FILE}", err=True)
    return Collection(folder, scenes, display)
