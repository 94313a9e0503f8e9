"""The guard in front of all routes: it lets through what `Access` allows, and adds headers to every response."""

from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from weft.web.api.envelope import RefusedError
from weft.web.server.access import Access
from weft.web.server.pages import plain_page
from weft.web.server.responses import HEADERS, refusal

LOGIN = "/login"
_READS = frozenset({"GET", "HEAD"})
_MOST_FORM = 4_096


class Guard:
    def __init__(self, app: ASGIApp, access: Access, *, read_only: bool) -> None:
        self._app = app
        self._access = access
        self._read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # no WebSockets

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        request = Request(scope, receive)
        response = await self._response(request)
        await (response or self._app)(scope, receive, send_with_headers)

    async def _response(self, request: Request) -> Response | None:
        """Returns the response to a request that does not reach the application; None for one that does."""
        access, headers = self._access, request.headers
        try:
            self._check_origin(request)
            if request.method in _READS and "token" in request.query_params:
                return self._exchange(request)
            if request.url.path == LOGIN and access.has_passphrase:
                return await self._login(request)
            if access.has_session(headers) or access.has_bearer(headers):
                return None
            return self._unknown(request)
        except RefusedError as error:
            return refusal(request, error) if _is_api(request) else _page(error)

    def _check_origin(self, request: Request) -> None:
        headers = request.headers
        if not self._access.knows_host(headers):
            raise RefusedError(
                403, "this is not the address of this server", hint="open the address that `weft ui` printed"
            )
        if request.method in _READS:
            # A link from elsewhere may lead to a page, but no other site may read data.
            if _is_api(request) and not self._access.knows_origin(headers):
                raise RefusedError(403, "requests from other sites are refused")
            return
        if request.method != "POST":
            raise RefusedError(405, f"{request.method} is not supported")
        if not self._access.knows_origin(headers):
            raise RefusedError(403, "requests from other sites are refused")
        if "origin" not in headers and "authorization" not in headers:
            raise RefusedError(
                403, "a request that changes something needs an Origin, or the token in a header"
            )
        if self._read_only and request.url.path != LOGIN:
            raise RefusedError(403, "this server is read-only", hint="start it without --read-only")

    def _exchange(self, request: Request) -> Response:
        """Exchanges the token for a cookie, and removes it from the address."""
        self._refuse_if_limited()
        if not self._access.accepts_token(request.query_params["token"]):
            raise RefusedError(
                401,
                "the token is wrong, or of another `weft ui`",
                hint="open the address that `weft ui` printed last",
            )
        query = [(name, value) for name, value in parse_qsl(request.url.query) if name != "token"]
        return self._let_in(request.url.path + (f"?{urlencode(query)}" if query else ""))

    def _let_in(self, target: str) -> Response:
        """Gives the browser its session, and leads it to an address of this server."""
        # One slash: two would be the address of another server.
        response = RedirectResponse("/" + target.lstrip("/\\"), 303)
        response.headers["Set-Cookie"] = self._access.cookie()
        response.headers["Cache-Control"] = "no-store"
        return response

    def _refuse_if_limited(self) -> None:
        if self._access.is_limited():
            raise RefusedError(429, "too many wrong tokens", hint="wait for a minute")

    async def _login(self, request: Request) -> Response:
        if request.method != "POST":
            return HTMLResponse(_login_page(""))
        self._refuse_if_limited()
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_FORM:
                raise RefusedError(413, "the request is too large")
        form = dict(parse_qsl(body.decode("utf-8", "replace")))
        if not self._access.accepts_passphrase(form.get("passphrase", "")):
            return HTMLResponse(_login_page("The passphrase is wrong."), 401)
        return self._let_in(request.query_params.get("to", "/"))

    def _unknown(self, request: Request) -> Response:
        if _is_api(request) or request.method not in _READS:
            self._refuse_if_limited()
            raise RefusedError(
                401, "the token is missing or wrong", hint="open the address that `weft ui` printed"
            )
        if self._access.has_passphrase:
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(f"{LOGIN}?{urlencode({'to': request.url.path + query})}", 303)
        raise RefusedError(401, "this browser has no session", hint="Open the address that weft ui printed.")


def _is_api(request: Request) -> bool:
    return request.url.path.startswith("/api/")


def _page(error: RefusedError) -> Response:
    return HTMLResponse(plain_page(error.problem.message, error.problem.hint), error.status)


def _login_page(message: str) -> str:
    # Without an `action` the form keeps the query, which says where to go.
    form = (
        '<form method="post"><label>Passphrase <input type="password" name="passphrase" '
        'autocomplete="current-password" autofocus required></label> <button>Continue</button></form>'
    )
    return plain_page("Weft", message, body=form)
