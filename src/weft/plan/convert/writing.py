"""Small things that all converted plans share."""

import re
from collections.abc import Mapping

from weft.plan.order.globs import glob_fault
from weft.plan.text.emit import Plain

AGENT = "coder"
ASSUMED = "claude"
ID_RULE = "an id has small letters, digits, _ and - only"
NO_AGENT_NAMED = (
    "the format names no agent",
    f"{ASSUMED!r} is assumed; change `use` under `agents` in the plan",
)


def without_empty(entries: Mapping[str, Plain]) -> dict[str, Plain]:
    """The entries that say something."""
    return {key: value for key, value in entries.items() if value is not None and value not in ("", [])}


def one_or_all(values: list[str]) -> Plain:
    """A list of one is written as its only value."""
    return values[0] if len(values) == 1 else list(values)


def as_glob(path: str) -> tuple[str, str]:
    """The pattern that only this path fits, and an empty text; or else an empty pattern and what is wrong."""
    glob = re.sub(r"([*?[])", r"[\1]", path.removeprefix("./"))
    fault = glob_fault(glob)
    return ("", fault) if fault else (glob, "")
