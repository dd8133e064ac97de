"""The commands `serve` and `record`: nnInteractive's protocol for models of ours, and its recording."""

from __future__ import annotations

import secrets
from typing import Annotated

import typer

from intrabench.cli import options as o
from intrabench.cli.console import echo
from intrabench.cli.people import Host, Port
from intrabench.cli.results import Out
from intrabench.cli.shared import Plugins, add_plugins
from intrabench.errors import IntraBenchError, attempt

Spacing = Annotated[
    str,
    typer.Option("--spacing", help="Voxel size z,y,x in mm of images whose client does not say it. Default: 1,1,1."),
]


def serve(
    model: Annotated[str, typer.Argument(help="Model spec, e.g. litemedsam.", autocompletion=o.completes("models"))],
    spacing: Spacing = "",
    sessions: Annotated[int, typer.Option("--sessions", help="Clients at once; each has an image in memory.")] = 3,
    device: o.Device = "auto",
    dtype: o.Dtype = "float32",
    weights: o.Weights = None,
    host: Host = "127.0.0.1",
    port: Port = 1527,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Serve a model to clients of nnInteractive, such as those in napari and 3D Slicer. Ctrl-C ends it."""
    need_servers()
    from intrabench.engine.model_runners import make_runner
    from intrabench.engine.options import chosen
    from intrabench.people.servers.app import Settings, make_app
    from intrabench.people.servers.run_server import serve as serving

    add_plugins(plugin)
    if sessions < 1:
        raise IntraBenchError(f"--sessions is {sessions}, expected 1 or more")
    arguments = {"model": model, "device": device, "dtype": dtype, "weights": weights, "plugin": plugin}
    runner = make_runner(chosen({name: value for name, value in arguments.items() if value != []}))
    token, mm = token_for(host), spacing_of(spacing)
    attempt(runner.model.load, f"the model {runner.model.name} cannot be loaded", "try it with intrabench check")
    serving(
        lambda hosts: make_app(runner.model, Settings(token, hosts, sessions, mm)),
        *(host, port, lambda address: announce(f"{runner.model.short_spec} is served", address, token, host)),
    )


def record(
    upstream: Annotated[str, typer.Option("--upstream", help="Address of the server that answers.")],
    rater: Annotated[str, typer.Option("--rater", help="Pseudonym of who gives prompts, e.g. r1.")] = "r1",
    out: Out = None,
    host: Host = "127.0.0.1",
    port: Port = 1528,
) -> None:
    """Pass a client's requests on to a server, and write down what its person gives; Ctrl-C ends it.

    Give clients this address instead. `recorded:FOLDER` gives the prompts to other models.
    """
    need_servers()
    from intrabench.models.nninteractive_server import NnInteractiveServer, token_of
    from intrabench.people.recording.proxy import Upstream, make_app
    from intrabench.people.servers.run_server import serve as serving
    from intrabench.prompters.human import Human
    from intrabench.workspace import results_folder

    if not upstream.startswith(("http://", "https://")):
        raise IntraBenchError(f"--upstream {upstream} is no address; give one such as http://127.0.0.1:1527")
    try:
        Human(rater)
    except ValueError as error:
        raise IntraBenchError(f"--rater {rater}: {error}") from error
    folder, token = results_folder(out), token_for(host)
    behind = Upstream(upstream.rstrip("/"), folder, rater, token_of(upstream))
    _ = NnInteractiveServer(url=behind.url).capabilities  # refuses an address at which nothing answers
    serving(
        lambda hosts: make_app(behind, token, hosts),
        *(host, port, lambda address: announce(f"{rater} is recorded into {folder}", address, token, host)),
    )


def token_for(host: str) -> str | None:
    """A new token for a server that other machines can reach; this one alone needs none."""
    from intrabench.people.servers.run_server import LOCAL

    return None if host in LOCAL else secrets.token_urlsafe(24)


def announce(what: str, address: str, token: str | None, host: str) -> None:
    """Say where the server is, and its token."""
    echo(f"{what} at {address}")
    if token:
        echo(f"token: {token}")
        echo("the connection is not encrypted; put a proxy with TLS before it outside of a trusted network", err=True)
    echo("give clients this address; Ctrl-C ends it", err=True)


def spacing_of(text: str) -> tuple[float, float, float] | None:
    """Three numbers, or None for nothing.

    Raises:
        IntraBenchError: they are no spacing.
    """
    if not text:
        return None
    try:
        z, y, x = (float(part) for part in text.split(","))
    except ValueError:
        z = y = x = 0.0
    if not all(1e-4 < mm < 1e6 for mm in (z, y, x)):
        raise IntraBenchError(f"--spacing {text} is no voxel size; give three numbers of mm, such as 3,0.8,0.8")
    return z, y, x


def need_servers() -> None:
    """Refuse a command whose extra is not installed."""
    try:
        import nnInteractive.inference.remote  # noqa: F401
        import starlette  # noqa: F401
    except ImportError as error:
        raise IntraBenchError(
            f"serving models needs {error.name}, which is not installed; run: pip install 'intrabench[servers]'"
        ) from error
