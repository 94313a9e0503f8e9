"""What a process may leave in the file that WEFT_RESULT names: a JSON object with any of these keys.

It may write the file anew while it works, with what it has cost so far; or add a line to it each time, which is an
object by itself: of each key the last line that has it counts.

result         the result, instead of what it wrote to standard output: text, or any JSON
cost_usd       what it cost, in dollars
tokens         how many tokens it used: a number, or an object with any of input, output and cached_input, which
               are then counted apart: what came from a cache is not in `input`
session        the name of its conversation, for a step that goes on with it
error          what went wrong; also with exit code 0 it has then failed
limited_until  it met a usage limit, which ends then: ISO 8601 (UTC if it has no zone), or seconds since 1970
limited_for    the same, as seconds from its end

`null` is the same as nothing. Each key counts for itself: one that is wrong is told and left out, for the others
may say that the work failed, or what it cost. With `limited_…` it is enough that it is there: only the time is not
known then.
"""

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, TypeVar, cast

from msgspec import Struct

from weft.agents.limits import reset_time
from weft.plan.prices import Usage

MOST_DOLLARS = 1_000_000
MOST_TOKENS = 10**12
LONGEST_SESSION = 1_000
_LONGEST_VALUE = 60
_MICRO = 1_000_000
_MOST_PROBLEMS = 3
_NOT_JSON = object()

T = TypeVar("T")


class Report(Struct, frozen=True, kw_only=True):
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
    """What could not be understood."""


def read_report(text: str | None, *, at: float) -> Report:
    """The report of a process that ended at this time; never fails."""
    if text is None:
        return Report()
    values = _json(text)
    if values is _NOT_JSON:
        return _of_lines(text, at)
    if not isinstance(values, dict):
        return Report(problems=("there is no JSON object",))
    return _report(_Table(cast("dict[str, Any]", values)), at)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _of_lines(text: str, at: float) -> Report:
    """Each line an object, the last of which may be cut off; if not even the first is one, it is no report."""
    found: dict[str, Any] = {}
    problems: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        values = _json(line)
        if isinstance(values, dict):
            found |= cast("dict[str, Any]", values)
        elif not found:
            return Report(problems=("there is something that is not JSON",))
        else:
            problems.append(f"line {number} is no JSON object")
    if not found:
        return Report(problems=("there is something that is not JSON",))
    table = _Table(found)
    table.problems += problems[:_MOST_PROBLEMS]
    return _report(table, at)


def _report(table: "_Table", at: float) -> Report:
    tokens = table.take("tokens", _tokens)
    limited = table.has("limited_until") or table.has("limited_for")
    until = table.take("limited_until", _time)
    seconds = table.take("limited_for", _seconds)
    known = [time for time in (until, None if seconds is None else at + seconds) if time is not None]
    return Report(
        result=table.take("result", _result),
        cost=table.take("cost_usd", micro_dollars),
        tokens=tokens.total if isinstance(tokens, Usage) else tokens,
        usage=tokens if isinstance(tokens, Usage) else None,
        session=table.take("session", session_name),
        error=table.take("error", _error),
        until=reset_time(max(known, default=None), at=at) if limited else None,
        problems=(*table.problems, *table.left_over()),
    )


class _Table:
    """An object of JSON; what is wrong with the values taken from it is collected."""

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
            self.problems.append(f"`{name}` must be {error}, not {_shown(value)}")
            return None

    def left_over(self) -> list[str]:
        return [f"{_shown(name)} is no key that Weft knows" for name in self._values]


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


# --- kinds of values; what each raises goes on a sentence: "must be …" ---


def _result(value: object) -> str:
    try:
        return clean_text(value)
    except ValueError:
        raise ValueError("JSON, which has no such number") from None


def _error(value: object) -> str | None:
    """Whatever is said there is an error, but for ways to say that there is none."""
    return clean_text(value, allow_nan=True) if value else None


def clean_text(value: object, *, allow_nan: bool = False) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=allow_nan)
    # JSON can hold halves of characters, and nothing after us can.
    return text.encode(errors="replace").decode()


def micro_dollars(value: object) -> int:
    if not _is_number(value, MOST_DOLLARS):
        raise ValueError(f"a number from 0 to {MOST_DOLLARS:,}")
    # The shortest text of a float is the number that was written: 0.1 is one tenth again, and not a little more.
    return int((Decimal(repr(value)) * _MICRO).to_integral_value(ROUND_HALF_EVEN))


def _tokens(value: object) -> int | Usage:
    if is_count(value):
        return cast("int", value)
    if isinstance(value, dict):
        kinds = cast("dict[str, object]", value)
        if kinds and kinds.keys() <= set(Usage.__struct_fields__) and all(map(is_count, kinds.values())):
            return Usage(**cast("dict[str, int]", kinds))
    kinds_said = ", ".join(Usage.__struct_fields__)
    raise ValueError(
        f"a whole number from 0 to {MOST_TOKENS:,}, or an object of such numbers by {kinds_said}"
    )


def is_count(value: object) -> bool:
    return isinstance(value, int) and _is_number(value, MOST_TOKENS)


def session_name(value: object) -> str:
    # It comes back in an environment and on command lines.
    if isinstance(value, str) and 0 < len(value) <= LONGEST_SESSION and value.isprintable():
        return value
    raise ValueError(f"text of 1 to {LONGEST_SESSION:,} characters on one line")


def _time(value: object) -> float:
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


def _seconds(value: object) -> float:
    if isinstance(value, int | float) and _is_number(value, 10**12):
        return float(value)
    raise ValueError("a number of seconds from 0 on")


def _is_number(value: object, most: float) -> bool:
    """JSON's true and false are none, and those that Python reads beyond JSON are none, either."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= most and value != math.inf
