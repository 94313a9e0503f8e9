"""The lines with which Weft's own agents, `builtin` and `acp`, report their activities on standard error."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from weft.agents.shared.activity_reader import LONGEST_OBJECT, LONGEST_OUTCOME, LONGEST_TEXT
from weft.agents.shared.event_activities import describe_events
from weft.ports.activity import TEXTS, Activity, CallResult

_ACTIVITY, _RESULT = "activity", "result"


def activity_line(activity: Activity | CallResult) -> str:
    """Returns the activity as one line of JSON."""
    if isinstance(activity, CallResult):
        fields = {"type": _RESULT, **msgspec.to_builtins(activity)}
        fields["outcome"] = activity.outcome[:LONGEST_OUTCOME]
    else:
        fields = {"type": _ACTIVITY, **msgspec.to_builtins(activity)}
        fields["object"] = activity.object[: LONGEST_TEXT if activity.verb in TEXTS else LONGEST_OBJECT]
    # Lone surrogates, which names of files may contain, cannot be encoded otherwise.
    return msgspec.json.encode(_encodable(fields)).decode()


def _encodable(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.encode(errors="replace").decode() if isinstance(value, str) else value
        for name, value in fields.items()
    }


def _describe(event: Mapping[str, Any]) -> Iterator[Activity | CallResult]:
    shape = {_ACTIVITY: Activity, _RESULT: CallResult}.get(event["type"])
    if shape is None:
        return
    try:
        yield msgspec.convert({name: value for name, value in event.items() if name != "type"}, shape)
    except msgspec.ValidationError:
        return


describe_activity_line = describe_events(_describe)
