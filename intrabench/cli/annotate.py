"""The command `annotate`: a person in the place of the simulated user."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from intrabench.cli import options as o
from intrabench.cli.console import echo
from intrabench.cli.rate import Host, Port, need_people
from intrabench.cli.results import Out
from intrabench.cli.shared import Cases, Plugins, Targets, add_plugins, flag


def annotate(
    model: o.Models = [],  # noqa: B006
    dataset: o.Datasets = [],  # noqa: B006
    rater: Annotated[list[str], typer.Option("--rater", help="Pseudonym of a person, e.g. r1; give each.")] = ["r1"],  # noqa: B006
    cases: Cases = [],  # noqa: B006
    targets: Targets = [],  # noqa: B006
    outline: Annotated[bool, flag("--outline", help="Show the outline of the reference.")] = False,
    title: Annotated[str, typer.Option("--title", help="What people see at the top.")] = "Annotation",
    rounds: o.Rounds = None,
    effort: o.Effort = None,
    protocol: o.Protocol = "basic@1",
    metric: Annotated[list[str], o.metric] = [],  # noqa: B006
    out: Out = None,
    device: o.Device = "auto",
    dtype: o.Dtype = "float32",
    weights: o.Weights = None,
    strict: Annotated[bool, flag("--strict", help="Never convert prompts for a model.")] = False,
    host: Host = "127.0.0.1",
    port: Port = 8751,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Let people prompt a model in the browser; their sessions are rows as of any prompter. Ctrl-C ends it."""
    need_people("annotating")
    from starlette.types import ASGIApp

    from intrabench.engine.progress.reporter import Quiet
    from intrabench.people.annotating.annotation import Annotation
    from intrabench.people.annotating.server import check_raters, make_app, tokens_of
    from intrabench.people.servers.run_server import announce, serve
    from intrabench.workspace import results_folder

    add_plugins(plugin)
    check_raters(rater)
    folder = results_folder(out)
    given = {
        **{"model": model, "dataset": dataset, "cases": cases, "targets": targets, "rounds": rounds},
        **{"protocol": protocol, "metric": metric, "device": device, "dtype": dtype, "weights": weights},
        **{"strict": strict, "plugin": plugin, "effort": effort},
    }
    options = {name: value for name, value in given.items() if value != []}
    with ExitStack() as stack:
        tokens: dict[str, str] = {}

        def make(hosts: frozenset[str]) -> ASGIApp:
            """The app; tokens are written last, once nothing is refused any more."""
            annotation = stack.enter_context(Annotation(options, folder, Quiet()))
            tokens.update(tokens_of(folder, rater))
            return make_app(annotation, tokens, hosts, title, outline)

        serve(make, host, port, lambda address: announce(address, tokens, host, echo))
