"""What programs write for other programs: objects of JSON, one on a line, among whatever else gets there.

The output of an agent is a stranger's text. It may hold anything: warnings, output of the commands it ran,
colours, half a character, a line without an end. What is no object is passed over, at a cost that grows with the
length of the text and no faster; and whoever takes a value out of an object says of which kind it must be.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from weft.agents.report import clean_text, is_count, micro_dollars, session_name

LONGEST_LINE = 4_000_000
"""Characters. Events are far shorter; what is longer is data."""
_DECODER = json.JSONDecoder()
_GAP = re.compile(r"^\[… [\d,]+ bytes left out …\]$", re.MULTILINE)


def events(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects, in order: one on a line, maybe behind something that was written without an end of line."""
    # Not by `splitlines`: JSON may hold, as they are, signs that it takes for ends of lines.
    for line in text.split("\n"):
        start = line.find('{"')
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


def document(text: str | None) -> Mapping[str, Any]:
    """The object that a file is; an empty one if it is none."""
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def has_gap(text: str) -> bool:
    """Whether the middle was left out, as it was too long: then what is to be added up is not known."""
    return _GAP.search(text) is not None


# --- values ---


def inside(value: object, *path: str) -> Any:  # noqa: ANN401 - whatever is there
    """What is found along the keys; None if there is nothing."""
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = cast("Mapping[str, object]", value).get(key)
    return value


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list; none if it is no list."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", one) for one in cast("list[object]", value) if isinstance(one, dict)]


def values(value: object) -> list[object]:
    """Those of an object, whatever their keys; none if it is no object."""
    return list(cast("Mapping[str, object]", value).values()) if isinstance(value, Mapping) else []


def words(value: object) -> str:
    """A text as it is; anything else as JSON; nothing for nothing."""
    return "" if value is None else clean_text(value, allow_nan=True)


def count(value: object) -> int | None:
    return cast("int", value) if is_count(value) else None


def cost(value: object) -> int | None:
    """Dollars, in micro-dollars."""
    try:
        return micro_dollars(value)
    except ValueError:
        return None


def session(value: object) -> str | None:
    try:
        return session_name(value)
    except ValueError:
        return None
