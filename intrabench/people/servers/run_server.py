"""Serve a page of ours until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from intrabench.errors import IntraBenchError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(make: Callable[[frozenset[str]], ASGIApp], host: str, port: int, ready: Callable[[str], None]) -> None:
    """Run an app on `host`; `port` 0: any free one. ready: gets the address, just before it can be opened.

    make: the app, from the names by which it may be called. It is made once the port is ours.

    Raises:
        IntraBenchError: the extra is not installed, or the port cannot be used; whatever `make` raises.
    """
    try:
        import uvicorn

        from intrabench.people.servers.connections import BACKLOG, Configuration
    except ImportError as error:
        raise IntraBenchError(
            "serving pages needs uvicorn and starlette; run: pip install 'intrabench[people]'"
        ) from error
    everywhere = host in ("0.0.0.0", "::")
    names = frozenset({*LOCAL, host, *([socket.gethostname(), socket.getfqdn(), *_addresses()] if everywhere else [])})
    shown = socket.gethostname() if everywhere else host
    with bound(host, port) as listening:
        app = make(names)
        listening.listen(BACKLOG)  # who opens a link at once waits
        ready(f"http://{f'[{shown}]' if ':' in shown else shown}:{listening.getsockname()[1]}/")
        with suppress(KeyboardInterrupt):  # the usual end, after open requests were answered
            uvicorn.Server(Configuration(app)).run(sockets=[listening])


def bound(host: str, port: int) -> socket.socket:
    """A socket that has the port; `port` 0: any free one.

    Raises:
        IntraBenchError: it cannot be had.
    """
    if not 0 <= port <= 65535:
        raise IntraBenchError(f"--port {port} is no port; give a number from 1 to 65535, or 0 for any free one")
    if not host:
        raise IntraBenchError("--host is empty; give the address to listen at, such as 127.0.0.1, or 0.0.0.0 for all")
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, UnicodeError) as error:  # the second one of a name that cannot be
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise IntraBenchError(f"--host {host} --port {port} cannot be used ({reason}); give another --port") from error
    return listening


def _addresses() -> list[str]:
    """The addresses of this machine."""
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None)]
    except OSError:
        return []


def announce(address: str, tokens: Mapping[str, str], host: str, say: Callable[..., None]) -> None:
    """Print the link of each person; what is behind # never stands in a server's log."""
    say(*(f"{who}: {address}#{token}" for who, token in tokens.items()))
    say("give each person their own link; Ctrl-C ends the server", err=True)
    if host not in LOCAL:
        say("the connection is not encrypted; put a proxy with TLS before it outside of a trusted network", err=True)
