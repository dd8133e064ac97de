"""Stands between a client and a server of nnInteractive's protocol: passes everything on, and writes down each turn."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from intrabench.errors import IntraBenchError
from intrabench.mask import Box, Mask, Region
from intrabench.people.recording.orientation import profiles
from intrabench.people.recording.recordings import Recorder, folder_of
from intrabench.people.servers import protocol
from intrabench.people.servers.arrays import TooLarge, largest_mask, most_bytes, unpack
from intrabench.people.servers.client_gestures import flag, gesture
from intrabench.people.servers.guard import Guard
from intrabench.play.validate import Refused

PASSED_ON = ("content-type", "x-meta", "x-lease-token")
PASSED_BACK = ("content-type", "x-meta", "retry-after")
DESCRIBING = ("inference_session_version", "license", "intrabench")
"""Of what the server says about itself, what a recording keeps."""
ANSWER_SECONDS = 3600.0
MOST_CLIENTS = 1000
"""Clients that are remembered; those that were there longest are forgotten first."""


@dataclass(frozen=True)
class Upstream:
    """The server behind. token: that it wants; None: none. rater: who gives prompts. folder: of the recordings."""

    url: str
    folder: Path
    rater: str
    token: str | None = None
    most: int = field(default_factory=most_bytes)


@dataclass
class Client:
    """What the proxy knows of a client. shape: of its image."""

    recorder: Recorder
    shape: tuple[int, int, int] | None = None


def make_app(upstream: Upstream, token: str | None, hosts: frozenset[str]) -> ASGIApp:
    """The app. token: that clients need; None: none."""
    return Guard(_Proxy(upstream).app, protocol.rules(token, hosts, upstream.most))


class _Proxy:
    def __init__(self, upstream: Upstream) -> None:
        self.upstream, self.clients = upstream, dict[str, Client]()
        paths = ("/healthz", "/lease_status")
        passed = ("/heartbeat", "/set_target_buffer", "/set_do_autozoom")
        recorded: Mapping[str, Callable[..., None]] = {
            "/claim": self.claimed,
            "/release": self.released,
            "/set_image": self.imaged,
            "/reset_interactions": lambda client, *_: client.recorder.next_target(),
            protocol.INITIAL: lambda client, *_: client.recorder.next_target(with_mask=True),
            "/end_turn": lambda client, *_: client.recorder.ended(),
            "/predict": self.predicted,
            "/undo": self.undone,
            **{path: partial(self.drawn, kind) for path, kind in protocol.DRAWN.items()},
        }
        self.app = Starlette(
            routes=[
                *(Route(path, partial(self.passed, None), methods=["GET"]) for path in paths),
                Route("/capabilities", partial(self.passed, self.described), methods=["GET"]),
                *(Route(path, partial(self.passed, None), methods=["POST"]) for path in passed),
                *(Route(path, partial(self.passed, record), methods=["POST"]) for path, record in recorded.items()),
            ],
            lifespan=self.lifespan,
        )

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        times = httpx2.Timeout(ANSWER_SECONDS, connect=10)
        async with httpx2.AsyncClient(base_url=self.upstream.url, timeout=times, trust_env=False) as self.http:
            yield

    async def passed(self, record: Callable[..., None] | None, request: Request) -> Response:
        """Pass a request on, and its answer back; record: writes down what was done, if it was."""
        at, path = time.time(), request.url.path
        try:
            body = await protocol.received(request, self.upstream.most if path in protocol.WITH_ARRAYS else None)
        except TooLarge as error:
            return protocol.refusal(413, str(error))
        except Refused as error:
            return protocol.refusal(400, str(error))
        headers = _only(request.headers.raw, PASSED_ON)
        if self.upstream.token:
            headers[b"authorization"] = f"Bearer {self.upstream.token}".encode()
        try:
            answer = await self.http.request(request.method, path, content=body, headers=headers)
        except httpx2.HTTPError as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            return protocol.refusal(502, f"the server at {self.upstream.url} does not answer ({reason})")
        # Only what the server took is written down. Where that fails the client gets an error, for else somebody would
        # draw on in the belief that it is recorded.
        if record is not None and answer.status_code == 200:
            try:
                token = request.headers.get(protocol.LEASE, "")
                client = self.clients.get(token) or self._client()
                await run_in_threadpool(record, client, at, request, body, answer)
            except Refused as error:  # the server took it, but we cannot write it down
                return protocol.refusal(500, f"this cannot be recorded: {error}")
            except (IntraBenchError, OSError) as error:
                return protocol.refusal(500, f"this was not recorded: {error}")
            except (ValueError, TypeError, LookupError, AttributeError):
                reason = "gave an answer that is not as the protocol of nnInteractive has it"
                return protocol.refusal(502, f"the server at {self.upstream.url} {reason}, so nothing was recorded")
        back = {
            name.decode(): value.decode("latin-1") for name, value in _only(answer.headers.raw, PASSED_BACK).items()
        }
        if answer.status_code >= 400 and (reason := _reason(answer)):
            return protocol.refusal(answer.status_code, reason, **back)
        return Response(answer.content, answer.status_code, headers=back)

    def _client(self) -> Client:
        about = {"rater": self.upstream.rater, "upstream": self.upstream.url}
        return Client(Recorder(folder_of(self.upstream.folder), about))

    def claimed(self, _: Client, at: float, request: Request, body: bytes, answer: httpx2.Response) -> None:
        while len(self.clients) >= MOST_CLIENTS:
            self.clients.pop(next(iter(self.clients)))
        self.clients[answer.json()["lease_token"]] = self._client()

    def described(self, client: Client, at: float, request: Request, body: bytes, answer: httpx2.Response) -> None:
        about = answer.json()
        client.recorder.about["server"] = {name: about.get(name) for name in DESCRIBING if about.get(name)}

    def released(self, _: Client, at: float, request: Request, *rest: Any) -> None:
        self.clients.pop(request.headers.get(protocol.LEASE, ""), None)

    def imaged(self, client: Client, at: float, request: Request, body: bytes, answer: httpx2.Response) -> None:
        image = unpack(body, self.upstream.most, images=True)
        if image.ndim != 4:
            raise Refused(f"an image of the shape {image.shape} was sent")
        depth, height, width = image.shape[1:]
        client.shape = depth, height, width
        client.recorder.next_target(profiles(image[0] if len(image) == 1 else image.transpose(1, 2, 3, 0)))

    def drawn(
        self, kind: Any, client: Client, at: float, request: Request, body: bytes, answer: httpx2.Response
    ) -> None:
        if client.shape is None:
            raise Refused("no image of this client was seen; connect it again")
        most = min(self.upstream.most, largest_mask(client.shape))
        painted = unpack(body, most) if kind in protocol.PAINTED else None
        meta = protocol.parsed(body, "what was sent") if painted is None else protocol.meta_of(request.headers)
        interaction = gesture(kind, meta, painted, client.shape)
        client.recorder.drawn(interaction, at)
        if flag(meta, "run_prediction", True):
            self._answered(client, answer)

    def predicted(self, client: Client, at: float, request: Request, body: bytes, answer: httpx2.Response) -> None:
        if protocol.meta_of(_headers(answer)).get("ran_prediction"):
            self._answered(client, answer)

    def undone(self, client: Client, at: float, request: Request, body: bytes, answer: httpx2.Response) -> None:
        if protocol.meta_of(_headers(answer)).get("ran_prediction"):
            client.recorder.undone(at)

    def _answered(self, client: Client, answer: httpx2.Response) -> None:
        box = protocol.meta_of(_headers(answer)).get("bbox")
        content, seconds = answer.content, answer.elapsed.total_seconds()
        client.recorder.answered(lambda before: _changed(before, box, content, self.upstream.most), seconds)


def _only(headers: Iterable[tuple[bytes, bytes]], names: Collection[str]) -> dict[bytes, bytes]:
    """Some headers, in lower case, as they came: they may have bytes that are no text."""
    return {name.lower(): value for name, value in headers if name.lower().decode("latin-1") in names}


def _headers(answer: httpx2.Response) -> Any:
    return answer.headers


def _reason(answer: httpx2.Response) -> str:
    """Why the server refused, as it says in the body; empty if it does not say it in a text."""
    with suppress(ValueError, AttributeError):
        return detail if isinstance(detail := answer.json().get("detail"), str) else ""
    return ""


def _changed(before: Mask, where: Any, content: bytes, most: int) -> Mask:
    """A mask after the answer of the server."""
    if where is None or not content:
        return before
    (z0, z1), (y0, y1), (x0, x1) = ((int(first), int(stop)) for first, stop in where)
    box: Box = z0, y0, x0, z1, y1, x1
    return before.overwrite(Mask.of(unpack(content, most), box[:3]), Region(box=box))
