"""What the servers of pages share: their routes, what is posted, and answers; every refusal is one sentence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from intrabench.people.images import page
from intrabench.people.servers.guard import Guard, Rules, refused
from intrabench.play.validate import Refused

Endpoint = Callable[[Request], Awaitable[Response]]
Refusals = Sequence[tuple[type[Exception], int, str]]
"""Kinds of errors, each with the status and the text of the refusal, in which ``{}`` is the error; the first counts."""
B = TypeVar("B", bound=BaseModel)


def page_app(
    name: str,
    get: Mapping[str, Endpoint],
    post: Mapping[str, Endpoint],
    refusals: Refusals,
    rules: Rules,
    lifespan: Callable[[Starlette], Any],
) -> ASGIApp:
    """The app of a page. get, post: its endpoints by path, whose errors become `refusals`."""
    html = page(name)

    async def index(request: Request) -> Response:
        return HTMLResponse(html)

    routes = [Route("/", index)]
    for method, endpoints in (("GET", get), ("POST", post)):
        routes += [Route(path, refusing(one, refusals), methods=[method]) for path, one in endpoints.items()]
    return Guard(Starlette(routes=routes, lifespan=lifespan), rules)


def refusing(endpoint: Endpoint, refusals: Refusals) -> Endpoint:
    """The endpoint, whose errors of these kinds are answers."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except tuple(kind for kind, _, _ in refusals) as error:
            status, text = next((status, text) for kind, status, text in refusals if isinstance(error, kind))
            return refusal(status, text.format(error))

    return answer


async def posted(model: type[B], request: Request) -> B:
    """What was posted.

    Raises:
        Refused: it is not as the model has it.
    """
    try:
        return model.model_validate_json(await request.body())
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) or "what was sent"
        raise Refused(f"{where} is not as expected; reload the page") from error


async def answered(call: Callable[[], Mapping[str, Any]]) -> Response:
    """What a call returns, as JSON; it is made in another thread."""
    return JSONResponse(await run_in_threadpool(call))


def slab(content: bytes) -> Response:
    """A compressed slab of an image."""
    return Response(content, media_type="application/octet-stream", headers={"Content-Encoding": "gzip"})


def refusal(status: int, reason: str) -> Response:
    """Why something is not done."""
    return refused(status, reason, "error")
