"""A model of ours for the clients of nnInteractive, such as its plug-ins for napari and 3D Slicer.

One thread opens images and predicts, for one client after the other, so that memory and the GPU have one user at a
time. Leases and the small answers stay in the event loop, which is never kept waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from intrabench.errors import IntraBenchError, in_words
from intrabench.mask import Mask
from intrabench.models.base import Model
from intrabench.people.servers import protocol
from intrabench.people.servers.arrays import TYPES, TooLarge, largest_mask, most_bytes, unpack
from intrabench.people.servers.client_gestures import flag, gesture
from intrabench.people.servers.client_session import Change, ClientSession
from intrabench.people.servers.guard import Guard
from intrabench.people.servers.leases import IDLE_SECONDS, SILENT_SECONDS, Full, Lease, Leases
from intrabench.play.validate import Refused
from intrabench.volume import Volume

T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]]
SWEEP_SECONDS = 5.0
FULL_SECONDS = 10


@dataclass
class Client:
    """What a lease holds. dtype: of the mask that the client keeps, whose changes it is sent."""

    session: ClientSession
    dtype: str = "uint8"
    at_work: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True)
class Settings:
    """How a model is served. token: None: nobody needs one. most: bytes of an array. Times are seconds."""

    token: str | None
    hosts: frozenset[str]
    sessions: int = 3
    spacing_mm: tuple[float, float, float] | None = None
    idle: float = IDLE_SECONDS
    silent: float = SILENT_SECONDS
    most: int = field(default_factory=most_bytes)
    sweep: float = SWEEP_SECONDS
    clock: Callable[[], float] = time.monotonic


def make_app(model: Model, settings: Settings) -> ASGIApp:
    """The app. The model is loaded when it starts."""
    return Guard(_Server(model, settings).app, protocol.rules(settings.token, settings.hosts, settings.most))


class _Server:
    def __init__(self, model: Model, settings: Settings) -> None:
        self.settings, self.about = settings, protocol.capabilities(model)
        self.leases: Leases[Client] = Leases(
            lambda: Client(ClientSession(model, settings.spacing_mm)),
            *(settings.sessions, settings.idle, settings.silent, settings.clock),
        )
        self._model, self._thread = model, ThreadPoolExecutor(1, "model")
        drawn = [Route(path, self._acting(partial(self.draw, path)), methods=["POST"]) for path in protocol.DRAWN]
        self.app = Starlette(
            routes=[
                Route("/healthz", self.healthz),
                Route("/capabilities", self.capabilities),
                Route("/lease_status", self.lease_status),
                Route("/claim", self.claim, methods=["POST"]),
                Route("/release", self.release, methods=["POST"]),
                Route("/heartbeat", self.heartbeat, methods=["POST"]),
                Route("/set_image", self._acting(self.set_image), methods=["POST"]),
                Route("/set_target_buffer", self._acting(self.set_target_buffer), methods=["POST"]),
                Route("/set_do_autozoom", self._acting(self.set_do_autozoom), methods=["POST"]),
                Route("/reset_interactions", self._acting(self.reset), methods=["POST"]),
                Route("/predict", self._acting(self.predict), methods=["POST"]),
                Route("/end_turn", self._acting(self.end_turn), methods=["POST"]),
                Route("/undo", self._acting(self.undo), methods=["POST"]),
                Route(protocol.INITIAL, self._acting(self.begin_with), methods=["POST"]),
                *drawn,
            ],
            lifespan=self.lifespan,
        )

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        await self.in_model_thread(self._model.load)
        sweeping = asyncio.create_task(self.sweep())
        try:
            yield
        finally:
            sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await sweeping
            for client in self.leases.all():
                await self.closed(client)
            self._thread.shutdown()

    async def sweep(self) -> None:
        """End leases in silence, for ever."""
        while True:
            await asyncio.sleep(self.settings.sweep)
            for client in self.leases.ended():
                await self.closed(client)

    async def closed(self, client: Client) -> None:
        with suppress(Exception):  # a model of the user's may fail to close; the lease has ended all the same
            await self.in_model_thread(client.session.close)

    async def in_model_thread(self, call: Callable[[], T]) -> T:
        """Call something in the thread of the model."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    def _acting(
        self, act: Callable[[Request, Client], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """An endpoint for those who have a lease; what a client sends at once is done in turn."""

        async def endpoint(request: Request) -> Response:
            lease = self.leases.find(request.headers.get(protocol.LEASE), acts=True)
            if lease is None:
                return protocol.refusal(410, "the lease has ended, or never was; claim another one")
            try:
                async with lease.content.at_work:
                    return await act(request, lease.content)
            except ClientDisconnect:
                return Response(status_code=400)
            except TooLarge as error:
                return protocol.refusal(413, str(error))
            except Refused as error:
                return protocol.refusal(400, str(error))
            except IntraBenchError as error:
                return protocol.refusal(500, str(error))
            except Exception as error:  # a model of the user's may raise anything
                return protocol.refusal(500, in_words(error))
            finally:
                self.leases.find(lease.token, acts=True)  # a long prediction is no silence

        return endpoint

    async def healthz(self, request: Request) -> Response:
        return JSONResponse({"ok": True})

    async def capabilities(self, request: Request) -> Response:
        return JSONResponse(self.about)

    async def claim(self, request: Request) -> Response:
        try:
            lease = self.leases.claim()
        except Full:
            reason = f"all {self.leases.most} sessions are taken; wait until one ends"
            return protocol.refusal(503, reason, Retry_After=str(FULL_SECONDS))
        times = {"idle_timeout_seconds": self.leases.idle, "liveness_timeout_seconds": self.leases.silent}
        return JSONResponse({"lease_token": lease.token, **times, "max_sessions": self.leases.most})

    async def release(self, request: Request) -> Response:
        client = self.leases.release(request.headers.get(protocol.LEASE))
        if client is not None:
            await self.closed(client)
        return JSONResponse({"released": True})

    async def heartbeat(self, request: Request) -> Response:
        return self._remaining_time(self.leases.find(request.headers.get(protocol.LEASE)))

    async def lease_status(self, request: Request) -> Response:
        return self._remaining_time(self.leases.find(request.headers.get(protocol.LEASE), seen=False))

    def _remaining_time(self, lease: Lease[Client] | None) -> Response:
        if lease is None:
            return protocol.refusal(410, "the lease has ended, or never was; claim another one")
        return JSONResponse({"remaining_seconds": self.leases.left(lease), "idle_timeout_seconds": self.leases.idle})

    async def set_image(self, request: Request, client: Client) -> Response:
        properties = protocol.meta_of(request.headers).get("image_properties") or {}
        if not isinstance(properties, dict):
            raise Refused("image_properties are no JSON object")
        image = await self._array(request, self.settings.most, images=True)
        await self.in_model_thread(lambda: client.session.set_image(image, properties))
        return JSONResponse({"original_image_shape": list(image.shape)})

    async def set_target_buffer(self, request: Request, client: Client) -> Response:
        asked = await self._json(request)
        volume, shape, dtype = client.session.volume, asked.get("shape"), asked.get("dtype")
        if volume is None:
            raise Refused("there is no image yet; send one first")
        if shape != list(volume.shape):
            raise Refused(f"a mask of the shape {str(shape)[:60]} cannot be, the image has {list(volume.shape)}")
        if not isinstance(dtype, str) or dtype not in TYPES:
            raise Refused(f"a mask of {str(dtype)[:40]} cannot be, expected {', '.join(sorted(TYPES))}")
        client.dtype = dtype
        return JSONResponse({})

    async def set_do_autozoom(self, request: Request, client: Client) -> Response:
        await self._json(request)  # no model of ours has it
        return JSONResponse({})

    async def reset(self, request: Request, client: Client) -> Response:
        await self.in_model_thread(client.session.reset)
        return JSONResponse({})

    async def end_turn(self, request: Request, client: Client) -> Response:
        """Ours: of what is sent again, clients can say which turns it was."""
        await self.in_model_thread(client.session.end_turn)
        return JSONResponse({})

    async def undo(self, request: Request, client: Client) -> Response:
        return await self._changed(client, client.session.undo)

    async def predict(self, request: Request, client: Client) -> Response:
        await self._json(request)
        return await self._changed(client, client.session.predict)

    async def draw(self, path: str, request: Request, client: Client) -> Response:
        kind, volume = protocol.DRAWN[path], client.session.volume
        if volume is None:
            raise Refused("there is no image yet; send one first")
        painted = await self._mask(request, volume) if kind in protocol.PAINTED else None
        meta = protocol.meta_of(request.headers) if painted is not None else await self._json(request)
        predict = flag(meta, "run_prediction", True)
        drawn = await run_in_threadpool(lambda: gesture(kind, meta, painted, volume.shape))
        return await self._changed(client, lambda: client.session.add(drawn, predict))

    async def begin_with(self, request: Request, client: Client) -> Response:
        predict = flag(protocol.meta_of(request.headers), "run_prediction", False)
        if (volume := client.session.volume) is None:
            raise Refused("there is no image yet; send one first")
        array = await self._mask(request, volume)
        if array.shape != volume.shape:
            raise Refused(f"a mask of the shape {array.shape} was sent, the image has {volume.shape}")
        mask = await run_in_threadpool(lambda: Mask.of(array))
        await self.in_model_thread(lambda: client.session.begin_with(mask))
        return protocol.answered(Change(predict), client.dtype)  # without a prompt there is nothing to ask

    async def _changed(self, client: Client, call: Callable[[], Change]) -> Response:
        change = await self.in_model_thread(call)
        # The answer is compressed in another thread, because all clients wait for that of the model.
        return await run_in_threadpool(lambda: protocol.answered(change, client.dtype))

    async def _json(self, request: Request) -> Any:
        return protocol.parsed(await protocol.received(request, None), "what was sent")

    async def _array(self, request: Request, most: int, images: bool = False) -> Any:
        body = await protocol.received(request, most)
        return await run_in_threadpool(lambda: unpack(body, most, images))

    async def _mask(self, request: Request, volume: Volume) -> Any:
        return await self._array(request, min(self.settings.most, largest_mask(volume.shape)))
