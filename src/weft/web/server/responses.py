"""Answers as HTTP responses: the envelope, compression, and headers that restrict what a page can do."""

import gzip
from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from weft.web.api.envelope import AnswerEnvelope, Refusal, RefusedError

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer`, browsers send `Origin: null` with forms, and the passphrase could not be entered.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_WORTH = 1_400
"""Bytes; less fits into a packet as it is."""
_LEVEL = 5
_encode = msgspec.json.Encoder().encode


def answer(request: Request, data: object) -> Response:
    """Returns data in the envelope."""
    return json_response(request, AnswerEnvelope(data=data))


def refusal(request: Request, error: RefusedError) -> Response:
    return json_response(request, Refusal(error=error.problem), status=error.status)


def json_response(
    request: Request, value: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns a value as JSON, compressed if the client takes that and it is worth it."""
    body = _encode(value)
    own = {"Cache-Control": "no-store", "Vary": "Accept-Encoding", **(headers or {})}
    if len(body) > _WORTH and "gzip" in request.headers.get("accept-encoding", ""):
        body = gzip.compress(body, _LEVEL, mtime=0)
        own["Content-Encoding"] = "gzip"
    return Response(body, status, own, "application/json")
