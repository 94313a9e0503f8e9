"""What a server may do that asks first. Pure.

Nobody is there to be asked, so all is allowed, once each time; but of who may only read, nothing but what reads by
its own account. A server need not ask: that it wrote nothing is for others to find out.
"""

from collections.abc import Mapping
from typing import Any

from weft.agents.streams import inside, objects

READING = frozenset({"read", "search", "think", "fetch"})
"""Kinds of tools. What has none, or one that we do not know, may do anything."""
_ALLOW = ("allow_once", "allow_always")
_REJECT = ("reject_once", "reject_always")
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def is_allowed(kind: object, *, read_only: bool) -> bool:
    return not read_only or (isinstance(kind, str) and kind in READING)


def chosen(params: object, *, allowed: bool) -> Mapping[str, Any]:
    """The answer to who asks, of those that are offered; if none of them says it, nothing is chosen."""
    options = objects(inside(params, "options"))
    for kind in _ALLOW if allowed else _REJECT:
        for option in options:
            if option.get("kind") == kind and isinstance(option.get("optionId"), str):
                return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
    return CANCELLED
