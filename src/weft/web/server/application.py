"""The routes of `weft ui`."""

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from weft import __version__
from weft.app.project.places import absolute
from weft.app.read_model.run_list import RunLister
from weft.errors import InputError, WeftError
from weft.threads import run_sync
from weft.web.api.envelope import RefusedError, ServerInfo
from weft.web.api.questions import RUN_QUESTIONS, SLOW_QUESTIONS, Query
from weft.web.server.access import Access
from weft.web.server.commands import BODIES, Body, Commands, words_of
from weft.web.server.feeds import MOST_READERS, Feeds
from weft.web.server.forecasts import Forecasts
from weft.web.server.guard import Guard
from weft.web.server.live_runs import LAST, LiveRuns, existing_run
from weft.web.server.pages import FILES, STATIC, plain_page, shell
from weft.web.server.responses import answer, json_response, refusal

_MOST_BODY = 1 << 20
_BARE = frozenset({"trace"})
"""Answers that other programs read, without the envelope."""


class Site:
    """The state behind the routes of one server."""

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        self.directory = directory = absolute(directory)
        self.read_only = read_only
        self.runs = LiveRuns(directory)
        self.feeds = Feeds(self.runs)
        self.commands = Commands(directory)
        self.lister = RunLister(directory, read_only=read_only)
        self.forecasts = Forecasts(directory, self.runs)

    # Answers

    async def info(self, request: Request) -> Response:
        runs = await run_sync(self.lister.newest)
        last = runs.runs[0].run if runs.runs else None
        data = ServerInfo(version=__version__, project=runs.project, read_only=self.read_only, last_run=last)
        return answer(request, data)

    async def list_runs(self, request: Request) -> Response:
        return answer(request, await run_sync(self.lister.newest))

    async def ask_run(self, request: Request) -> Response:
        """Answers a question about a run."""
        run, name = request.path_params["run"], request.path_params["question"]
        query = Query(dict(request.query_params))
        if name in RUN_QUESTIONS:
            self.forecasts.want(run)
            data = await self.runs.ask(run, lambda live: RUN_QUESTIONS[name](live, query))
        elif name in SLOW_QUESTIONS:
            # Git, long logs and forecasts have a thread of their own, so that the tree stays current meanwhile.
            run_id = await run_sync(existing_run, self.directory, run)
            data = await run_sync(SLOW_QUESTIONS[name], self.directory, run_id, query)
        elif name == "forecast":
            data = await self.forecasts.of_run(await run_sync(existing_run, self.directory, run))
        else:
            raise RefusedError(404, f"there is no question {name!r}")
        if isinstance(data, bytes):
            return Response(
                data, media_type="text/plain; charset=utf-8", headers={"Cache-Control": "no-store"}
            )
        return json_response(request, data) if name in _BARE else answer(request, data)

    async def stream(self, request: Request) -> Response:
        if self.feeds.readers >= MOST_READERS:
            raise RefusedError(503, "too many streams are open", hint="close some tabs")
        text = request.headers.get("last-event-id") or request.query_params.get("after")
        if text is not None and not text.isdecimal():
            raise RefusedError(400, f"after must be the number of an event, not {text!r}")
        self.forecasts.want(request.path_params["run"])
        return await self.feeds.stream(request.path_params["run"], None if text is None else int(text))

    async def plan(self, request: Request) -> Response:
        return answer(request, await self.forecasts.of_plan(simulates="simulate" in request.query_params))

    async def plan_graph(self, request: Request) -> Response:
        query = Query(dict(request.query_params))
        first, last = query.number("first"), query.number("last")
        part = (str(first), str(last)) if first is not None and last is not None else ()
        return answer(request, await self.forecasts.graph_of_plan(query.text("path"), *part))

    async def change(self, request: Request, *, verb: str) -> Response:
        """Does what the command of the same name does."""
        body = await self._body(request, verb)
        run = await run_sync(existing_run, self.directory, request.path_params["run"])
        is_last = run == await run_sync(existing_run, self.directory, LAST)
        return answer(request, await self.commands.run(words_of(verb, body, run=run, is_last=is_last)))

    async def _body(self, request: Request, verb: str) -> Body:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            raise RefusedError(415, "the body must be application/json")
        data = b""
        async for chunk in request.stream():
            data += chunk
            if len(data) > _MOST_BODY:
                raise RefusedError(413, "the body must be at most 1 MB")
        try:
            return msgspec.json.decode(data or b"{}", type=BODIES[verb])
        except msgspec.DecodeError as error:
            raise RefusedError(400, f"the body is wrong: {error}") from None

    # Pages

    async def page(self, _request: Request) -> Response:
        return HTMLResponse(shell(), headers={"Cache-Control": "no-store"})

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES or not (STATIC / name).is_file():
            return HTMLResponse(plain_page("Not found", name), 404)
        data = await run_sync((STATIC / name).read_bytes)
        tag = f'"{hashlib.sha256(data).hexdigest()[:20]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(data, media_type=f"{FILES[name]}; charset=utf-8", headers=headers)


async def _refuse(request: Request, error: Exception) -> Response:
    """Turns an error into an answer."""
    match error:
        case RefusedError():
            return refusal(request, error)
        case InputError():
            return refusal(request, RefusedError(400, str(error)))
        case _:
            # Such as a journal of a newer version, or a damaged one.
            return refusal(request, RefusedError(503, str(error)))


def application(site: Site, access: Access) -> ASGIApp:
    """Returns the application with its guard."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        yield
        site.feeds.close()
        await site.forecasts.close()
        await site.runs.close()

    run = "/api/v1/runs/{run}"
    routes = [
        Route("/api/v1/info", site.info),
        Route("/api/v1/runs", site.list_runs),
        Route("/api/v1/plan", site.plan),
        Route("/api/v1/plan/graph", site.plan_graph),
        Route(f"{run}/stream", site.stream),
        *(Route(f"{run}/{verb}", partial(site.change, verb=verb), methods=["POST"]) for verb in BODIES),
        Route(f"{run}/{{question:path}}", site.ask_run),
        Route("/api/{rest:path}", _nothing, methods=["GET", "POST"]),
        Route("/static/{name}", site.static),
        Route("/", _home),
        Route("/{rest:path}", site.page),
    ]
    handlers = {RefusedError: _refuse, WeftError: _refuse}
    starlette = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    return Guard(starlette, access, read_only=site.read_only)


async def _nothing(request: Request) -> Response:
    raise RefusedError(404, f"there is no {request.url.path}")


async def _home(_request: Request) -> Response:
    return RedirectResponse("/runs", 303)
