"""Describe lines of a stream of JSON events as activities: what the adapters of such agents have in common."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from weft.agents.shared.streams import as_text, list_objects, parse_events
from weft.ports.activity import Activity, CallResult, DescribeLine, LineDescription, Verb

_Event = Mapping[str, Any]
DescribeEvent = Callable[[_Event], Iterable[Activity | CallResult]]


def describe_events(describe_event: DescribeEvent) -> DescribeLine:
    """Returns a function that describes a line with one event; None for a line without an event."""

    def describe(line: str) -> LineDescription | None:
        event = next(parse_events(line), None)
        # Other objects come from programs that the agent started, so people want to see them.
        if event is None or not isinstance(event.get("type"), str):
            return None
        return [*describe_event(event)]

    return describe


def say(text: object, *, call: str = "", is_part: bool = False, at: float | None = None) -> list[Activity]:
    """Returns the activity of a message; none if it is empty."""
    words = as_text(text)
    activity = Activity(verb=Verb.SAYS, object=words, call=call, is_part=is_part, at=at)
    return [activity] if words.strip() or (is_part and words) else []


def think(text: object) -> list[Activity]:
    return [Activity(verb=Verb.THINKS, object=as_text(text))]


def report(text: object) -> list[Activity]:
    """Returns the activity of an error; none without a text."""
    words = as_text(text)
    return [Activity(verb=Verb.REPORTS, object=words)] if words.strip() else []


def join_content(content: object) -> str:
    """Returns the text of a result: a string, or the texts in a list of blocks."""
    if isinstance(content, list):
        return "\n".join(
            as_text(block.get("text")) for block in list_objects(cast("object", content)) if "text" in block
        )
    return as_text(content)
