"""Parse the output of agents: JSON objects, one per line, mixed with other text.

The output of an agent is untrusted. It may contain warnings, output of the commands that the agent ran, colours,
half a character or an unterminated line. The parser skips whatever is not an object, in time linear in the length
of the text. Each reader of a value states the type it expects and gets None for any other.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from weft.agents.shared.result_file import clean_text, is_count, micro_dollars, session_name

LONGEST_LINE = 4_000_000
"""Characters. Events are far shorter; a longer line is data and is skipped."""
_DECODER = json.JSONDecoder()
_GAP = re.compile(r"^\[… [\d,]+ bytes left out …\]$", re.MULTILINE)


def parse_events(text: str) -> Iterator[Mapping[str, Any]]:
    """Yields the objects in order. An object may follow other text on its line."""
    # Not `splitlines`: JSON strings may contain U+2028 and others unescaped, which it treats as line ends.
    for line in text.split("\n"):
        start = line.find('{"')
        # The object may follow a prompt or colour codes on the same line.
        if start >= 0 and len(line) - start <= LONGEST_LINE:
            value = _object(line, start)
            if value is not None:
                yield value


def _object(line: str, start: int) -> Mapping[str, Any] | None:
    try:
        value, _ = _DECODER.raw_decode(line, start)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value)


def parse_document(text: str | None) -> Mapping[str, Any]:
    """Returns the JSON object in the text; an empty one if the text is not a JSON object."""
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def has_gap(text: str) -> bool:
    """Returns whether Weft cut the middle out of a long output; sums over its events are then incomplete."""
    return _GAP.search(text) is not None


# --- values ---


def value_at(value: object, *path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Follows the keys through nested objects and returns the value; None if a key is missing."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, object]", value).get(key)
    return value


def list_objects(value: object) -> list[Mapping[str, Any]]:
    """Returns the objects of a list; an empty list for any other value."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", entry) for entry in cast("list[object]", value) if isinstance(entry, dict)]


def list_values(value: object) -> list[object]:
    """Returns the values of an object; an empty list for any other value."""
    return list(cast("Mapping[str, object]", value).values()) if isinstance(value, Mapping) else []


def as_text(value: object) -> str:
    """Returns a string unchanged, None as an empty string, and any other value as JSON."""
    return "" if value is None else clean_text(value, allow_nan=True)


def read_count(value: object) -> int | None:
    """Returns a token count, or None if the value is not a plausible one."""
    return cast("int", value) if is_count(value) else None


def read_cost(value: object) -> int | None:
    """Converts dollars to micro-dollars; None if the value is not a plausible amount."""
    try:
        return micro_dollars(value)
    except ValueError:
        return None


def read_session(value: object) -> str | None:
    """Returns a session name, or None if the value cannot be used as an argument or in an environment."""
    try:
        return session_name(value)
    except ValueError:
        return None
