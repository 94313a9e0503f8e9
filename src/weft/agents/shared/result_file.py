"""Read the file that an agent's process may write at the path in WEFT_RESULT: a JSON object with these keys.

A process may replace the file while it works, with its cost so far, or append a line each time that is an object
by itself. The last line that has a key decides the value of that key.

result         the result, instead of what it wrote to standard output: text, or any JSON
cost_usd       what it cost, in dollars
tokens         how many tokens it used: a number, or an object with any of input, output and cached_input. The
kinds do not overlap: `input` does not include tokens that came from a cache
session        the name of its conversation, for a step that resumes it
error          what went wrong; the step has failed even if the exit code is 0
limited_until  it met a usage limit that ends at this time: ISO 8601 (UTC if it has no zone), or seconds since 1970
limited_for    the same, in seconds from the end of the process

`null` counts as absent. Each key is read by itself: an invalid value is reported and ignored, because the other
keys may say that the work failed, or what it cost. An invalid `limited_…` still means a limit with an unknown
end.
"""

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, TypeVar, cast

from msgspec import Struct

from weft.agents.shared.usage_limits import clamp_reset_time
from weft.plan.prices import Usage
from weft.terms import MICRO

MOST_DOLLARS = 1_000_000
MOST_TOKENS = 10**12
LONGEST_SESSION = 1_000
_LONGEST_VALUE = 60
_MOST_PROBLEMS = 3
_NOT_JSON = object()

T = TypeVar("T")


class Report(Struct, frozen=True, kw_only=True):
    """The contents of a result file."""

    result: str | None = None
    cost: int | None = None
    """In micro-dollars."""
    tokens: int | None = None
    usage: Usage | None = None
    """The same by kind, if that is known."""
    session: str | None = None
    error: str | None = None
    until: float | None = None
    problems: tuple[str, ...] = ()
    """Descriptions of the keys and lines that could not be read."""


def read_report(text: str | None, *, at: float) -> Report:
    """Reads the report of a process that ended at the time `at`. Never raises."""
    if text is None:
        return Report()
    values = _parse_json(text)
    if values is _NOT_JSON:
        return _read_lines(text, at)
    if not isinstance(values, dict):
        return Report(problems=("the contents are not a JSON object",))
    return _build_report(_Keys(cast("dict[str, Any]", values)), at)


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _read_lines(text: str, at: float) -> Report:
    """Merges a report of one object per line. The first line must be an object; the last may be cut off."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        entry = _parse_json(line)
        if isinstance(entry, dict):
            values |= cast("dict[str, Any]", entry)
        # The last line may be incomplete, but a file that starts without an object is no report.
        elif not values:
            return Report(problems=("the contents are not JSON",))
        else:
            problems.append(f"line {number} is not a JSON object")
    if not values:
        return Report(problems=("the contents are not JSON",))
    keys = _Keys(values)
    keys.problems += problems[:_MOST_PROBLEMS]
    return _build_report(keys, at)


def _build_report(keys: "_Keys", at: float) -> Report:
    tokens = keys.take("tokens", _parse_tokens)
    # Asked before the values are taken: an unreadable time is still a limit.
    is_limited = keys.has("limited_until") or keys.has("limited_for")
    until = keys.take("limited_until", _parse_time)
    seconds = keys.take("limited_for", _parse_seconds)
    ends = [time for time in (until, None if seconds is None else at + seconds) if time is not None]
    return Report(
        result=keys.take("result", _parse_result),
        cost=keys.take("cost_usd", micro_dollars),
        tokens=tokens.total if isinstance(tokens, Usage) else tokens,
        usage=tokens if isinstance(tokens, Usage) else None,
        session=keys.take("session", session_name),
        error=keys.take("error", _parse_error),
        until=clamp_reset_time(max(ends, default=None), at=at) if is_limited else None,
        problems=(*keys.problems, *keys.unknown_keys()),
    )


class _Keys:
    """The keys of a JSON object, and the problems with the values read so far."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = {name: value for name, value in values.items() if value is not None}
        self.problems: list[str] = []

    def has(self, name: str) -> bool:
        return name in self._values

    def take(self, name: str, read: Callable[[Any], T]) -> T | None:
        if name not in self._values:
            return None
        value = self._values.pop(name)
        try:
            return read(value)
        except ValueError as error:
            self.problems.append(f"`{name}` must be {error}, not {_shorten(value)}")
            return None

    def unknown_keys(self) -> list[str]:
        return [f"unknown key {_shorten(name)}" for name in self._values]


def _shorten(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


# --- parsers of values; the message of each ValueError completes "must be …" ---


def _parse_result(value: object) -> str:
    try:
        return clean_text(value)
    except ValueError:
        raise ValueError("JSON, which has no such number") from None


def _parse_error(value: object) -> str | None:
    """Returns the text of the error. False, 0 and empty values mean that there is none."""
    return clean_text(value, allow_nan=True) if value else None


def clean_text(value: object, *, allow_nan: bool = False) -> str:
    """Returns a string, or any other value as JSON, in a form that can be encoded as UTF-8."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=allow_nan)
    # JSON can contain lone surrogates; files and the journal cannot.
    return text.encode(errors="replace").decode()


def micro_dollars(value: object) -> int:
    """Converts dollars to micro-dollars, rounded half to even."""
    if not _is_number(value, MOST_DOLLARS):
        raise ValueError(f"a number from 0 to {MOST_DOLLARS:,}")
    # The shortest text of a float is the number as it was written: 0.1 becomes exactly one tenth.
    return int((Decimal(repr(value)) * MICRO).to_integral_value(ROUND_HALF_EVEN))


def _parse_tokens(value: object) -> int | Usage:
    if is_count(value):
        return cast("int", value)
    if isinstance(value, dict):
        kinds = cast("dict[str, object]", value)
        if kinds and kinds.keys() <= set(Usage.__struct_fields__) and all(map(is_count, kinds.values())):
            return Usage(**cast("dict[str, int]", kinds))
    kind_names = ", ".join(Usage.__struct_fields__)
    raise ValueError(
        f"a whole number from 0 to {MOST_TOKENS:,}, or an object of such numbers by {kind_names}"
    )


def is_count(value: object) -> bool:
    return isinstance(value, int) and _is_number(value, MOST_TOKENS)


def session_name(value: object) -> str:
    """Returns the value if it can be passed in an environment and on a command line."""
    if isinstance(value, str) and 0 < len(value) <= LONGEST_SESSION and value.isprintable():
        return value
    raise ValueError(f"text of 1 to {LONGEST_SESSION:,} characters on one line")


def _parse_time(value: object) -> float:
    if isinstance(value, int | float) and _is_number(value, math.inf):
        return float(min(value, datetime.max.replace(tzinfo=UTC).timestamp()))
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
        except ValueError:
            pass
        else:
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    raise ValueError("a time such as 2031-01-31T14:30:00Z, or seconds since 1970")


def _parse_seconds(value: object) -> float:
    if isinstance(value, int | float) and _is_number(value, 10**12):
        return float(value)
    raise ValueError("a number of seconds from 0 on")


def _is_number(value: object, most: float) -> bool:
    """Returns whether the value is a number from 0 to `most`; booleans, NaN and infinity are not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= most and value != math.inf
