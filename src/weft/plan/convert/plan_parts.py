"""Helpers that all conversions share."""

import re
from collections.abc import Mapping

from weft.plan.order.globs import glob_fault
from weft.plan.text.emit import Plain

AGENT = "coder"
ASSUMED = "claude"
ID_RULE = "an id has only lowercase letters, digits, _ and -"
NO_AGENT_NAMED = (
    "the format names no agent",
    f"{ASSUMED!r} is assumed; change `use` under `agents` in the plan",
)


def without_empty(entries: Mapping[str, Plain]) -> dict[str, Plain]:
    """Returns the entries that are not empty."""
    return {key: value for key, value in entries.items() if value is not None and value not in ("", [])}


def one_or_all(values: list[str]) -> Plain:
    """Returns the only value of a list of one; otherwise the list."""
    return values[0] if len(values) == 1 else list(values)


def as_glob(path: str) -> tuple[str, str]:
    """Returns a pattern that matches only this path and an empty text; or an empty pattern and what is wrong."""
    glob = re.sub(r"([*?[])", r"[\1]", path.removeprefix("./"))
    fault = glob_fault(glob)
    return ("", fault) if fault else (glob, "")
