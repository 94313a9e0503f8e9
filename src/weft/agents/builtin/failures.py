"""What goes wrong when a model is asked, and whether to ask again. Pure.

Only what may be over in a moment is tried again, a few times: a limit that ends soon, an overload, a fault of
the server, a line that was cut. A limit that lasts is left to Weft, which waits without a process; and where
waiting does not help, that is said at once.
"""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from weft.agents.builtin.values import table, text

LIMITED, UNAVAILABLE, REFUSED, FAILED = "limited", "unavailable", "refused", "failed"
"""A usage limit or an overload; out of order; not let in; a request that the provider does not take."""

PATIENCE = 20.0
"""Seconds that are worth to be waited here."""
_LONGEST_SAID = 500
_FIRST_ERROR, _NOT_FOUND, _TOO_MANY, _SERVER, _OVERLOADED = 400, 404, 429, 500, 529
_NOT_LET_IN = {401, 402, 403}
_NOT_NOW = {408, 409, 425}
_MILLISECONDS, _EPOCH = 10**11, 10**9
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?")
_UNITS = (86_400, 3_600, 60, 1, 0.001)


class Failure(NamedTuple):
    kind: str
    message: str
    wait: float | None = None
    """Seconds until it is worth to ask again, if somebody said so."""
    again: bool = True
    """Whether to ask again at all."""


class Asked(NamedTuple):
    """Who, for what, and with which key: for messages."""

    url: str
    model: str
    key: str
    """The variable that it is in."""
    base: str
    """The variable that the address is in."""


def pause(failure: Failure, tried: int, *, retries: int, first: float) -> float | None:
    """Seconds to wait before asking again; None: no more."""
    if not failure.again or tried > retries:
        return None
    wait = first * 2 ** (tried - 1) if failure.wait is None else failure.wait
    return wait if wait <= PATIENCE else None


def of_line(asked: Asked, error: str) -> Failure:
    """Nobody answered, or not to the end."""
    return Failure(UNAVAILABLE, f"{asked.url} does not answer: {error}; its address comes from {asked.base}")


def of_body(asked: Asked, status: int, problem: str) -> Failure:
    return Failure(
        UNAVAILABLE, f"{asked.url} answers something else than a model does (HTTP {status}): {problem}"
    )


def of_status(asked: Asked, status: int, headers: Mapping[str, str], body: bytes, *, now: float) -> Failure:
    said, code = _said(body)
    told = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    if status in {_TOO_MANY, _OVERLOADED}:
        what = "is overloaded" if status == _OVERLOADED else "cannot be asked: a usage limit was met"
        return Failure(
            LIMITED,
            f"the model {asked.model!r} {what} ({told})",
            wait=reset_in(headers, now=now),
            again=code != "insufficient_quota",
        )
    if status in _NOT_LET_IN:
        return Failure(REFUSED, f"{asked.url} does not accept the key in {asked.key} ({told})", again=False)
    if status == _NOT_FOUND:
        return _not_found(asked, said, told)
    if status < _FIRST_ERROR:
        return Failure(
            REFUSED, f"{asked.url} answers as no model does ({told}); mend {asked.base}", again=False
        )
    if status >= _SERVER or status in _NOT_NOW:
        return Failure(UNAVAILABLE, f"{asked.url} is out of order ({told})", wait=reset_in(headers, now=now))
    return Failure(FAILED, f"{asked.url} does not take the request ({told})", again=False)


def _not_found(asked: Asked, said: str, told: str) -> Failure:
    if "model" in said.lower():
        message = (
            f"the model {asked.model!r} does not exist at {asked.url} ({told}); mend `model` in the plan"
        )
    else:
        message = f"there is no model at {asked.url} ({told}); mend {asked.base}"
    return Failure(REFUSED, message, again=False)


def _said(body: bytes) -> tuple[str, str]:
    """The message of an error, and its code, if it has one."""
    plain = body.decode(errors="replace")
    try:
        error = table(json.loads(plain)).get("error")
    except (ValueError, RecursionError):
        error = None
    said = text(table(error).get("message")) or text(error) or plain
    return " ".join(said[:_LONGEST_SAID].split()), text(table(error).get("code"))


# --- when a limit ends ---


def reset_in(headers: Mapping[str, str], *, now: float) -> float | None:
    """In how many seconds a limit ends, as the headers of an answer say, whose names are in small letters."""
    asked_for = (_number(headers.get("retry-after-ms"), 0.001), _seconds(headers.get("retry-after"), now))
    found = [wait for wait in asked_for if wait is not None]
    # Else of several limits those count that are used up, and the one of them that lasts longest.
    resets = [_seconds(value, now) for name, value in headers.items() if _is_reset(name, headers)]
    found = found or [wait for wait in resets if wait is not None]
    return max(found, default=None)


def _is_reset(name: str, headers: Mapping[str, str]) -> bool:
    if "ratelimit" not in name or "reset" not in name:
        return False
    return _number(headers.get(name.replace("reset", "remaining"), "0"), 1) == 0


def _number(value: str | None, unit: float) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number * unit if 0 <= number < 10**15 else None


def _seconds(value: str | None, now: float) -> float | None:
    """From now: of seconds, of a time, of a duration such as 6m0s; None if it is none of these."""
    number = _number(value, 1)
    if number is None:
        return _duration(value or "") or _until(value or "", now)
    if number > _EPOCH:
        number = (number / 1000 if number > _MILLISECONDS else number) - now
    return max(number, 0.0)


def _duration(value: str) -> float | None:
    found = _DURATION.fullmatch(value)
    if found is None or not value:
        return None
    return sum(float(part) * unit for part, unit in zip(found.groups("0"), _UNITS, strict=True))


def _until(value: str, now: float) -> float | None:
    from datetime import UTC, datetime  # noqa: PLC0415 - few answers have a date
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            time = read(value)
        except (ValueError, TypeError):
            continue
        return max((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() - now, 0.0)
    return None
