"""Answers to a server's requests for permission. Pure.

No person is present to answer, so every request is allowed, once each time. A read-only step allows only tools
of a declared kind that reads. A server need not ask at all; Weft checks elsewhere that a read-only step changed
nothing.
"""

from collections.abc import Mapping
from typing import Any

from weft.agents.shared.streams import list_objects, value_at

READING = frozenset({"read", "search", "think", "fetch"})
"""Kinds of tools that do not write. A tool of no or an unknown kind may do anything."""
_ALLOW = ("allow_once", "allow_always")
_REJECT = ("reject_once", "reject_always")
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def is_allowed(kind: object, *, read_only: bool) -> bool:
    return not read_only or (isinstance(kind, str) and kind in READING)


def choose_option(params: object, *, allowed: bool) -> Mapping[str, Any]:
    """Returns the response that picks a fitting option; it cancels the request if no option fits."""
    options = list_objects(value_at(params, "options"))
    # `once` first: an `always` may be stored in the user's own configuration and outlive the step.
    for kind in _ALLOW if allowed else _REJECT:
        for option in options:
            if option.get("kind") == kind and isinstance(option.get("optionId"), str):
                return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
    return CANCELLED
