"""Who may ask a server of ours what: tokens, origins, hosts, rates and sizes, checked on every request."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST = 64_000
"""Bytes of a post, where nothing else is said."""
PER_SECOND, BURST = 10.0, 40.0
"""Posts of one person: a page sends one every few seconds, and some at once after it was offline."""
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
    an attack by DNS. open_to_all: paths that need no token. largest: bytes of a post. rates: None, if posts may come as
    fast as they can. unknown: what somebody without a token is told. key: under which reasons stand in answers.
    """

    tokens: Mapping[str, str] | None
    hosts: frozenset[str]
    open_to_all: frozenset[str] = frozenset({"/"})
    largest: int = LARGEST
    rates: Rates | None = None
    unknown: str = "your link is not complete; ask for it again"
    key: str = "error"


class Guard:
    """ASGI middleware: `scope["state"]["who"]` is whose token a request has."""

    def __init__(self, app: ASGIApp, rules: Rules) -> None:
        self.app, self.rules = app, rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        key = self.rules.key
        if scope["type"] != "http":
            return await JSONResponse({key: "there is nothing here"}, 404)(scope, receive, send)
        status, reason = self._problem(scope)
        answer: ASGIApp = JSONResponse({key: reason}, status) if status else self.app

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(name.lower().encode(), value.encode()) for name, value in SECURE.items()]
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        await answer(scope, receive, secured)

    def _problem(self, scope: Scope) -> tuple[int, str]:
        """The status and the reason of a refusal; 0: none."""
        headers, rules = Headers(scope=scope), self.rules
        host = headers.get("host", "")
        if (urlsplit(f"//{host}").hostname or "") not in rules.hosts:
            return 421, "this server is not called so"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return 403, "another site may not ask this server"
        if scope["path"] in rules.open_to_all and scope["method"] in ("GET", "HEAD"):
            return 0, ""
        who = self._who(headers.get("authorization", ""))
        if who is None:
            return 401, rules.unknown
        scope.setdefault("state", {})["who"] = who
        if scope["method"] == "POST":
            size = headers.get("content-length", "")
            if not (size.isascii() and size.isdecimal()) or int(size) > rules.largest:
                return 413, f"what is sent must have at most {rules.largest} bytes"
            if rules.rates is not None and not rules.rates.allow(who):
                return 429, "that was too fast; it is sent again"
        return 0, ""

    def _who(self, given: str) -> str | None:
        if self.rules.tokens is None:
            return ""
        scheme, _, token = given.partition(" ")
        known = self.rules.tokens.items()
        # every token is compared, so that the time says nothing
        found = [who for who, one in known if secrets.compare_digest(one.encode(), token.encode())]
        return found[0] if found and scheme.lower() == "bearer" else None
