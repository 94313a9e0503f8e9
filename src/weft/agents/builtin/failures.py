"""Failures of a request to a model, and whether to retry. Pure.

The agent retries, a few times, only what may pass within seconds: a short limit, an overload, a server error, a
broken connection. Longer limits are left to Weft, which waits without a process. A failure that waiting cannot
help is reported at once.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from weft.agents.builtin.values import as_object, as_text

LIMITED, UNAVAILABLE, REFUSED, FAILED = "limited", "unavailable", "refused", "failed"
"""Kinds: usage limit or overload; server not working; credentials or address wrong; request invalid."""

PATIENCE = 20.0
"""The longest wait in seconds that the agent itself does; Weft does longer ones."""
_LONGEST_MESSAGE = 500
_FIRST_ERROR, _NOT_FOUND, _TOO_MANY, _SERVER, _OVERLOADED = 400, 404, 429, 500, 529
_KEY_REJECTED = {401, 402, 403}
_RETRYABLE = {408, 409, 425}
_MILLISECONDS, _EPOCH = 10**11, 10**9
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")
_UNITS = (86_400, 3_600, 60, 1, 0.001)


class RequestFailure(NamedTuple):
    """A failed request."""

    kind: str
    message: str
    wait: float | None = None
    """Seconds until a retry makes sense, if the provider said so."""
    again: bool = True
    """Whether a retry can help."""


class RequestTarget(NamedTuple):
    """The endpoint and the variables that configure it, for messages."""

    url: str
    model: str
    key: str
    """The variable with the key."""
    base: str
    """The variable with the address."""


def retry_delay(failure: RequestFailure, tries: int, *, retries: int, first: float) -> float | None:
    """Returns the seconds to wait before the next try; None if there is none."""
    if not failure.again or tries > retries:
        return None
    wait = first * 2 ** (tries - 1) if failure.wait is None else failure.wait
    return wait if wait <= PATIENCE else None


def connection_failure(target: RequestTarget, error: str) -> RequestFailure:
    """Returns the failure of a server that did not answer, or not completely."""
    return RequestFailure(
        UNAVAILABLE, f"{target.url} does not answer: {error}; its address comes from {target.base}"
    )


def malformed_answer(target: RequestTarget, status: int, problem: str) -> RequestFailure:
    return RequestFailure(
        UNAVAILABLE, f"{target.url} answers something else than a model does (HTTP {status}): {problem}"
    )


def http_failure(
    target: RequestTarget, status: int, headers: Mapping[str, str], body: bytes, *, now: float
) -> RequestFailure:
    message, code = _parse_error(body)
    summary = f"HTTP {status}: {message}" if message else f"HTTP {status}"
    if status in {_TOO_MANY, _OVERLOADED}:
        problem = "is overloaded" if status == _OVERLOADED else "cannot be asked: a usage limit was met"
        return RequestFailure(
            LIMITED,
            f"the model {target.model!r} {problem} ({summary})",
            wait=seconds_until_reset(headers, now=now),
            # The provider reports an empty account as a limit, but waiting does not help.
            again=code != "insufficient_quota",
        )
    if status in _KEY_REJECTED:
        return RequestFailure(
            REFUSED, f"{target.url} does not accept the key in {target.key} ({summary})", again=False
        )
    if status == _NOT_FOUND:
        return _model_not_found(target, message, summary)
    # A redirect, mostly: the address is that of a website and not of an API.
    if status < _FIRST_ERROR:
        return RequestFailure(
            REFUSED, f"{target.url} answers as no model does ({summary}); fix {target.base}", again=False
        )
    if status >= _SERVER or status in _RETRYABLE:
        return RequestFailure(
            UNAVAILABLE,
            f"{target.url} is out of order ({summary})",
            wait=seconds_until_reset(headers, now=now),
        )
    return RequestFailure(FAILED, f"{target.url} does not take the request ({summary})", again=False)


def _model_not_found(target: RequestTarget, error_text: str, summary: str) -> RequestFailure:
    if "model" in error_text.lower():
        message = (
            f"the model {target.model!r} does not exist at {target.url} ({summary}); fix `model` in the plan"
        )
    else:
        message = f"there is no model at {target.url} ({summary}); fix {target.base}"
    return RequestFailure(REFUSED, message, again=False)


def _parse_error(body: bytes) -> tuple[str, str]:
    """Returns the message and the code of an error in the body of a response."""
    body_text = body.decode(errors="replace")
    try:
        error = as_object(json.loads(body_text)).get("error")
    except (ValueError, RecursionError):
        error = None
    message = as_text(as_object(error).get("message")) or as_text(error) or body_text
    return " ".join(message[:_LONGEST_MESSAGE].split()), as_text(as_object(error).get("code"))


# --- when a limit ends ---


def seconds_until_reset(headers: Mapping[str, str], *, now: float) -> float | None:
    """Returns the seconds until the limit ends, by the headers of a response; None if they do not say."""
    retry_headers = (
        _parse_number(headers.get("retry-after-ms"), 0.001),
        _parse_wait(headers.get("retry-after"), now),
    )
    waits = [wait for wait in retry_headers if wait is not None]
    # Without `retry-after`, the exhausted limits count, and of these the one that lasts longest.
    resets = [
        _parse_wait(value, now) for name, value in headers.items() if _is_exhausted_reset(name, headers)
    ]
    waits = waits or [wait for wait in resets if wait is not None]
    return max(waits, default=None)


def _is_exhausted_reset(name: str, headers: Mapping[str, str]) -> bool:
    if "ratelimit" not in name or "reset" not in name:
        return False
    # Providers send all their limits with each response; only those without anything left explain the failure.
    return _parse_number(headers.get(name.replace("reset", "remaining"), "0"), 1) == 0


def _parse_number(value: str | None, unit: float) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number * unit if 0 <= number < 10**15 else None


def _parse_wait(value: str | None, now: float) -> float | None:
    """Returns the seconds from now for a number, a time, or a duration such as 6m0s; None for other text."""
    number = _parse_number(value, 1)
    if number is None:
        return _parse_duration(value or "") or _parse_date(value or "", now)
    # Some providers send a point in time instead of a span, in seconds or in milliseconds.
    if number > _EPOCH:
        number = (number / 1000 if number > _MILLISECONDS else number) - now
    return max(number, 0.0)


def _parse_duration(value: str) -> float | None:
    match = _DURATION.fullmatch(value)
    if match is None or not value:
        return None
    return sum(float(part) * unit for part, unit in zip(match.groups("0"), _UNITS, strict=True))


def _parse_date(value: str, now: float) -> float | None:
    from datetime import UTC, datetime  # noqa: PLC0415 - few responses contain a date
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            time = read(value)
        except (ValueError, TypeError):
            continue
        return max((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() - now, 0.0)
    return None
