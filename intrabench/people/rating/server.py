"""The server of a rating study."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StringConstraints, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from intrabench.errors import IntraBenchError
from intrabench.people.images import page
from intrabench.people.rating import guideline
from intrabench.people.rating.answers import Answer, Answers, Taken
from intrabench.people.rating.study import Study
from intrabench.people.servers.guard import Guard, Rates, Rules

Id = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z-]{8,64}$")]
Seconds = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]
Count = Annotated[StrictInt, Field(ge=0, le=10**6)]


class Posted(BaseModel):
    """An answer as a page sends it. seen: the axial slices that were shown."""

    model_config = ConfigDict(extra="forbid")

    id: Id
    place: Count
    job: str
    score: Annotated[StrictInt, Field(ge=1, le=10)] | None = None
    clinical: Literal["accept", "minor", "major", "reject"] | None = None
    pair: Literal["a", "b", "tie"] | None = None
    skip: str | None = None
    errors: list[str] = []
    seconds: Seconds
    paused_seconds: Seconds = 0.0
    seen: list[Count] = []
    views: Count = 0


class Undo(BaseModel):
    """Taking back the answer of a place."""

    model_config = ConfigDict(extra="forbid")

    id: Id
    place: Count


class Refused(ValueError):
    """What was sent is no answer of this study."""


def checked(study: Study, rater: str, posted: Posted) -> Answer:
    """The answer, if it fits the study: its job, its questions, and all slices seen.

    Raises:
        Refused: it does not, with a sentence for the rater.
    """
    order = study.order(rater)
    if posted.place >= len(order) or order[posted.place] != posted.job:
        raise Refused("this mask is not yours to rate; reload the page")
    if {*posted.errors} - {each["id"] for each in guideline.ERRORS} or len({*posted.errors}) < len(posted.errors):
        raise Refused("there is no such kind of error; reload the page")
    if posted.skip is not None:
        if posted.skip not in [each["id"] for each in guideline.SKIPS]:
            raise Refused("give one of the reasons to skip")
        if (posted.score, posted.clinical, posted.pair) != (None, None, None):
            raise Refused("a mask is rated or skipped, not both")
    else:
        _complete(study, posted)
    given = posted.model_dump(exclude={"seen", "errors"})
    return Answer(rater=rater, errors=tuple(posted.errors), **given)


def _complete(study: Study, posted: Posted) -> None:
    asked = study.content["questions"]
    for question, given in (("score", posted.score), ("clinical", posted.clinical), ("pair", posted.pair)):
        if question in asked and given is None:
            raise Refused("answer every question, or skip the mask")
        if question not in asked and given is not None:
            raise Refused("that is not asked in this study; reload the page")
    first, last = study.see(posted.job)
    left = sorted({*range(first, last)} - {*posted.seen})
    if left:
        raise Refused(f"look at all slices of the structure first; slice {left[0]} was not shown yet")


def make_app(study: Study, hosts: frozenset[str], rates: Rates | None = None) -> ASGIApp:
    """The app of a study; hosts: names by which it may be called.

    Raises:
        IntraBenchError: raters could tell masks apart in this study, or its answers cannot be opened.
    """
    study.refuse_open()
    answers = Answers(study.answers_file)
    html = page("rate")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        answers.close()

    async def index(request: Request) -> Response:
        return HTMLResponse(html)

    async def about(request: Request) -> Response:
        who = request.state.who
        done, trained = await run_in_threadpool(lambda: (answers.done(who), answers.trained(who)))
        return JSONResponse({**study.about(who), "done": done, "trained": trained})

    async def job(request: Request) -> Response:
        path = study.job_file(request.state.who, request.path_params["id"])
        if path is None:
            return _error(404, "there is no such mask")
        return Response(await run_in_threadpool(path.read_bytes), media_type="application/json")

    async def image(request: Request) -> Response:
        path = study.image_file(request.path_params["case"], request.path_params["slab"])
        if path is None:
            return _error(404, "there is no such image")
        content = await run_in_threadpool(path.read_bytes)
        return Response(content, media_type="application/octet-stream", headers={"Content-Encoding": "gzip"})

    async def answer(request: Request) -> Response:
        who = request.state.who
        return await _posted(
            request, Posted, lambda posted: answers.add(checked(study, who, posted)), lambda: answers.done(who)
        )

    async def undo(request: Request) -> Response:
        who = request.state.who
        return await _posted(
            request, Undo, lambda posted: answers.undo(who, posted.place, posted.id), lambda: answers.done(who)
        )

    async def trained(request: Request) -> Response:
        await run_in_threadpool(answers.train, request.state.who)
        return JSONResponse({})

    routes = [
        Route("/", index),
        Route("/api/study", about),
        Route("/api/job/{id}", job),
        Route("/api/image/{case}/{slab}", image),
        Route("/api/answers", answer, methods=["POST"]),
        Route("/api/undo", undo, methods=["POST"]),
        Route("/api/trained", trained, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), Rules(study.tokens, hosts, rates=rates or Rates()))


async def _posted(
    request: Request, model: type[Any], store: Callable[[Any], None], done: Callable[[], list[int]]
) -> Response:
    """Check what was posted and store it; every refusal is one sentence."""
    try:
        posted = model.model_validate_json(await request.body())
        await run_in_threadpool(store, posted)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) or "the answer"
        return _error(422, f"{where} is not as expected; reload the page")
    except Refused as error:
        return _error(422, str(error))
    except Taken as error:
        return _error(409, str(error))
    except IntraBenchError:  # a file of the study was damaged meanwhile; raters are told no paths
        return _error(503, "a file of this study cannot be read; tell whoever runs it")
    except OSError as error:
        return _error(507, f"{error}; your answer is kept in this browser and sent again")
    return JSONResponse({"done": await run_in_threadpool(done)})


def _error(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status)
