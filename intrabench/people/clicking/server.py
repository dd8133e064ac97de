"""The server of `intrabench annotate --first-clicks`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any

from PIL import Image
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from intrabench.errors import IntraBenchError
from intrabench.people.clicking.collection import SECONDS, Collection
from intrabench.people.servers.guard import Rates, Rules
from intrabench.people.servers.page_server import Refusals, answered, page_app, posted
from intrabench.people.slices import address_of
from intrabench.play.validate import Refused

Number = Annotated[float, Field(allow_inf_nan=False)]
REFUSALS: Refusals = ((Refused, 422, "{}"), (IntraBenchError, 503, "{}"), (OSError, 503, "{}"))


class PostedClick(BaseModel):
    """A click as the page sends it. y, x: pixels of the picture. seconds: from when a click counted."""

    model_config = ConfigDict(extra="forbid")

    code: str
    id: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z-]{8,64}$")]
    y: Number
    x: Number
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    device: str


def make_app(
    collection: Collection, tokens: Mapping[str, str], hosts: frozenset[str], title: str, rates: Rates | None = None
) -> ASGIApp:
    """The app; hosts: names by which it may be called. Whoever made `collection` closes it after the server."""
    server = _Server(collection, title)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield

    get = {"/api/clicking": server.about, "/api/scene/{code}": server.scene}
    rules = Rules(tokens, hosts, rates=rates or Rates())
    return page_app("click", get, {"/api/click": server.click}, REFUSALS, rules, lifespan)


class _Server:
    """The endpoints of a collection."""

    def __init__(self, collection: Collection, title: str) -> None:
        self._collection, self._title = collection, title

    async def about(self, request: Request) -> Response:
        return await answered(lambda: self._about(request.state.who))

    def _about(self, who: str) -> dict[str, Any]:
        done = self._collection.done(who)
        left = [scene.code for scene in self._collection.scenes.all if scene.code not in done]
        return {
            **{"title": self._title, "rater": who, "display": self._collection.display, "seconds": SECONDS},
            **{"left": left, "done": len(done)},
        }

    async def scene(self, request: Request) -> Response:
        code, who = request.path_params["code"], request.state.who
        return await answered(lambda: self._scene(code, who))

    def _scene(self, code: str, who: str) -> dict[str, Any]:
        """What a person sees of a target: never its mask, but where the display shows it."""
        picture, shown = self._collection.shown(code, who)
        told = {"text": shown} if isinstance(shown, str) else {"shown": address_of(Image.fromarray(shown))}
        told |= {"picture": address_of(Image.fromarray(picture))}
        height, width = picture.shape[:2]
        aspect = self._collection.scenes[code].aspect
        return {"code": code, "height": height, "width": width, "aspect": aspect, **told}

    async def click(self, request: Request) -> Response:
        sent, who = await posted(PostedClick, request), request.state.who
        at = sent.y, sent.x
        given = self._collection.click
        await run_in_threadpool(lambda: given(sent.code, who, sent.id, at, sent.seconds, sent.device))
        return JSONResponse({})
