"""Servers of ours as processes of their own, and who asks them."""

from __future__ import annotations

import json
import resource
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.processes import Process, command


class Client:
    """Asks a server as the page does."""

    def __init__(self, address: str, token: str = "") -> None:
        self.address, self.token = address, token

    def ask(self, path: str, posted: Any = None, **headers: str) -> tuple[int, Any]:
        """The status, and the parsed answer (bytes if it is no JSON)."""
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        body = None if posted is None else posted if isinstance(posted, bytes) else json.dumps(posted).encode()
        request = urllib.request.Request(self.address + path, body, {**sent, **headers})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, content, kind = answer.status, answer.read(), answer.headers["Content-Type"]
        except urllib.error.HTTPError as error:
            status, content, kind = error.code, error.read(), error.headers["Content-Type"]
        return status, json.loads(content) if "json" in kind else content


class Running:
    """A command of `intrabench` that serves a page for some people."""

    def __init__(self, words: Sequence[str], people: Sequence[str], port: int = 0) -> None:
        self.process = Process(command, *words, "--port", str(port))
        self.links: dict[str, str] = {}
        for who in people:
            line = self.process.stdout.readline()
            name, _, link = line.strip().partition(": ")
            assert name == who, (line, self.process.stderr.read())
            self.links[who] = link
        self.port = int(next(iter(self.links.values())).split(":")[2].split("/")[0])

    def client(self, who: str) -> Client:
        """As one of them."""
        address, _, token = self.links[who].partition("#")
        return Client(address, token)

    def fill_disk(self, full: bool) -> None:
        """Let no write to any file of the process succeed, as on a full disk, or let them succeed again."""
        _, most = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (0 if full else most, most))

    def kill(self) -> None:
        """End it at once."""
        self.process.end()


@contextmanager
def running(words: Sequence[str], people: Sequence[str], port: int = 0) -> Iterator[Running]:
    """A server while the context lasts."""
    server = Running(words, people, port)
    try:
        yield server
    finally:
        server.kill()
