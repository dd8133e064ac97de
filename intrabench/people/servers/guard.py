"""Who may ask a server of ours what: tokens, origins, hosts, rates and sizes, checked on every request.

`connections` limits what is there before a request is one.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 64_000
"""Bytes of a post, where nothing else is said."""
PER_SECOND, BURST = 10.0, 40.0
"""Posts of one person: a page sends one every few seconds, and some at once after it was offline."""
REASON = "X-Reason"
"""The header with the reason of a refusal; `connections` also puts it into the status line."""
LONGEST_REASON = 500
SECURE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


@dataclass
class Rates:
    """A bucket of tokens for each person."""

    clock: Callable[[], float] = time.monotonic
    left: dict[str, tuple[float, float]] = field(default_factory=dict)

    def allow(self, who: str) -> bool:
        """Whether one more post is allowed now."""
        now = self.clock()
        before, at = self.left.get(who, (BURST, now))
        filled = min(BURST, before + (now - at) * PER_SECOND)
        self.left[who] = max(0.0, filled - 1), now
        return filled >= 1


@dataclass(frozen=True)
class Rules:
    """What a server asks of those who call it.

    tokens: of each person; None: nobody needs one. hosts: names by which the server may be called; another one may be
    an attack by DNS. open_to_all: paths that need no token. larger: bytes of a post by its path, where it may have more
    than `LARGEST`. rates: None, if posts may come as fast as they can. unknown: what somebody without a token is told.
    key: under which reasons stand in answers.
    """

    tokens: Mapping[str, str] | None
    hosts: frozenset[str]
    open_to_all: frozenset[str] = frozenset({"/"})
    larger: Mapping[str, int] = field(default_factory=dict)
    rates: Rates | None = None
    unknown: str = "your link is not complete; ask for it again"
    key: str = "error"


class Guard:
    """ASGI middleware: `scope["state"]["who"]` is whose token a request has.

    Only a POST has a body. It is read before the app does anything, but for those in `Rules.larger`.
    """

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self.app, self.rules = app, rules
        self._bodies = set[Body]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await self._refusal(404, "there is nothing here")(scope, receive, send)
        most = self.rules.larger.get(scope["path"], LARGEST) if scope["method"] == "POST" else 0
        problem = self._problem(scope, most)
        body = Body(receive, min(most, LARGEST) if problem else most, self._bodies)
        self._bodies.add(body)
        try:
            if problem is None and most <= LARGEST:
                await body.read()
                problem = body.problem
            await self._answer(self._refusal(*problem) if problem else self.app, scope, body, send)
        except ClientDisconnect:
            pass  # nobody is there who could be told
        finally:
            self._bodies.discard(body)

    async def _answer(self, app: ASGIApp, scope: Scope, body: Body, send: Send) -> None:
        """What the app says; but if its body was cut while the app read it, why."""
        begun, early = False, body.problem

        async def secured(message: Message) -> None:
            nonlocal begun
            if not begun and body.problem != early:
                return
            if message["type"] == "http.response.start":
                begun = True
                await body.rest()
                headers = [(name.lower().encode(), value.encode()) for name, value in SECURE.items()]
                closing = [] if body.whole and not body.problem else [(b"connection", b"close")]
                message["headers"] = [*message["headers"], *headers, *closing]
            await send(message)

        try:
            await app(scope, body, secured)
        except Exception:
            if begun or body.problem == early:
                raise
        if not begun and body.problem:
            early = body.problem
            await self._refusal(*body.problem)(scope, body, secured)

    def _refusal(self, status: int, reason: str) -> ASGIApp:
        return refused(status, reason, self.rules.key)

    def _problem(self, scope: Scope, most: int) -> tuple[int, str] | None:
        """The status and the reason of a refusal, from the headers alone. most: bytes of the body."""
        headers, rules = Headers(scope=scope), self.rules
        host = headers.get("host", "")
        if _parsed(f"//{host}", "hostname") not in rules.hosts:
            return 421, "this server is not called so"
        origin = headers.get("origin")
        if origin is not None and _parsed(origin, "netloc") != host:
            return 403, "another site may not ask this server"
        size = headers.get("content-length", "0")
        if not (size.isascii() and size.isdecimal()) or len(size) > 20 or int(size) > most:
            return too_long(most)
        if not most and "transfer-encoding" in headers:
            return too_long(most)
        if scope["path"] in rules.open_to_all and scope["method"] in ("GET", "HEAD"):
            return None
        who = self._user(headers.get("authorization", ""))
        if who is None:
            return 401, rules.unknown
        scope.setdefault("state", {})["who"] = who
        if scope["method"] == "POST" and rules.rates is not None and not rules.rates.allow(who):
            return 429, "that was too fast; it is sent again"
        return None

    def _user(self, header: str) -> str | None:
        if self.rules.tokens is None:
            return ""
        scheme, _, token = header.partition(" ")
        tokens = self.rules.tokens.items()
        # every token is compared, so that the time says nothing
        found = [who for who, one in tokens if secrets.compare_digest(one.encode(), token.encode())]
        return found[0] if found and scheme.lower() == "bearer" else None


def refused(status: int, reason: str, key: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """A refusal: its reason is in the body under `key`, and in the header `REASON`, as far as that has its letters."""
    said = " ".join(reason.split())[:LONGEST_REASON].encode("ascii", "replace").decode()
    return JSONResponse({key: reason}, status, {**(headers or {}), REASON: "".join(filter(str.isprintable, said))})


def _parsed(address: str, part: str) -> str:
    """A part of an address; empty if it has none, or is no address."""
    try:
        return getattr(urlsplit(address), part) or ""
    except ValueError:
        return ""


PATIENCE, SLOWEST = 10.0, 1000.0
"""Seconds that a body may take, and the bytes of each further second."""
QUIET = 1.0
"""Seconds without a byte after which nobody waits for what the app did not read."""
BESIDE = 2**24
"""Bytes that all small bodies together may have."""
_GONE: Message = {"type": "http.disconnect"}


class Body:
    """A body, called as the `receive` of an app. most: its bytes. others: of all requests that are answered now.

    problem: the status and the sentence of a refusal, once it is too long, too slow, or too much with all others.
    whole: nothing more comes.
    """

    def __init__(self, receive: Receive, most: int, others: set[Body]) -> None:
        self.problem: tuple[int, str] | None = None
        self.whole, self.arrived = False, 0
        self._receive, self._most, self._others = receive, most, others
        self._waited, self._kept = 0.0, list[Message]()

    async def __call__(self) -> Message:
        """The next piece; once there is a problem, the client counts as gone."""
        if self._kept:
            return self._kept.pop(0)
        if self.whole:
            return await self._receive()  # which waits for the end of the connection
        return _GONE if self.problem else await self._piece(self._patience)

    async def read(self) -> None:
        """Take all of it in, before anything is done."""
        while not (self.whole or self.problem):
            self._kept.append(await self._piece(self._patience))

    async def rest(self) -> None:
        """Throw away what the app did not read, so that its answer reaches a client that is still sending."""
        while not (self.whole or self.problem):
            await self._piece(min(QUIET, self._patience))  # one who sends byte by byte is not waited for, either

    @property
    def _patience(self) -> float:
        return PATIENCE + self.arrived / SLOWEST - self._waited

    async def _piece(self, seconds: float) -> Message:
        began = time.monotonic()
        try:
            async with asyncio.timeout(seconds):
                message = await self._receive()
        except TimeoutError:
            self.problem = 408, "what was sent came too slowly; send it again"
            return _GONE
        self._waited += time.monotonic() - began
        self.whole = not message.get("more_body", False)  # nor does anything come from a client that is gone
        self.arrived += len(message.get("body", b""))
        if self.arrived > self._most:
            self.problem = too_long(self._most)
        elif sum(body.arrived for body in self._others) > 2 * self._most + BESIDE:
            self.problem = 503, "too much is sent at once; send it again later"
        return _GONE if self.problem else message


def too_long(most: int) -> tuple[int, str]:
    """The refusal of a body that has more bytes than it may."""
    return 413, f"what is sent must have at most {most} bytes" if most else "this request must be sent without a body"
