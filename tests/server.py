"""A local web server that answers as it is told, and remembers what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Answers the n-th request with the n-th of ``answers`` (the last one again and again) and keeps the headers."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.pages: dict[str, Answer] = {}  # answers for paths of their own, whenever they are asked for
        self.requests: list[dict[str, str]] = []
        self.paths: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests.append(dict(self.headers))
                outer.paths.append(self.path)
                page = outer.pages.get(self.path)
                (page or outer.answers[min(len(outer.requests), len(outer.answers)) - 1])(self)

            def log_message(self, *_: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.url = f"{self.root}/file.bin"


@contextmanager
def serving() -> Iterator[Server]:
    """A server that runs meanwhile."""
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.http.shutdown()
        thread.join()
        server.http.server_close()


def answer(status: int = 200, body: bytes = b"", claimed: int | None = None, **headers: str) -> Answer:
    """Send ``body`` under a Content-Length of ``claimed`` bytes: fewer bytes than claimed are a broken connection."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body) if claimed is None else claimed))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        with suppress(ConnectionError):  # a client that cannot store it hangs up
            handler.wfile.write(body)

    return send


def the_rest_of(body: bytes) -> Answer:
    """What a server does that knows ranges."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        start = int(handler.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        answer(206, body[start:], Content_Range=f"bytes {start}-{len(body) - 1}/{len(body)}")(handler)

    return send


def dripping(begin: bytes, over: threading.Event, sent: list[bytes] | None = None) -> Answer:
    """Go on byte by byte after the beginning of an answer, for 20 seconds, or until it is over or the client hangs up.

    sent: gets each byte.
    """
    drops = [] if sent is None else sent

    def send(handler: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):
            handler.wfile.write(begin)
            while len(drops) < 2000 and not over.wait(0.01):
                handler.wfile.write(b"x")
                drops.append(b"x")

    return send
