"""Token arithmetic for agents that report the total of a conversation instead of the usage of a call.

The usage of one call is the difference between two totals. The agent does not remember the earlier total, so Weft
appends it to the session name, which the next call receives: `NAME#INPUT/OUTPUT/CACHED`.
"""

import re
from collections.abc import Iterable

from weft.plan.prices import Usage

_MARK = re.compile(r"(.+)#(\d{1,12})/(\d{1,12})/(\d{1,12})", re.DOTALL)


def append_usage_mark(name: str, total: Usage | None, *, before: str | None) -> str:
    """Returns the session name with the total that the conversation has used so far.

    `before` is the session that the call resumed. If the call reported no total, the mark keeps the earlier total,
    so that the next call's usage includes this one's.
    """
    if total is None:
        total = Usage() if before is None else split_usage_mark(before)[1]
    return name if total is None else f"{name}#{total.input}/{total.output}/{total.cached_input}"


def split_usage_mark(session: str) -> tuple[str, Usage | None]:
    """Returns the agent's own name of the session and its total usage, or None if the session has no mark."""
    mark = _MARK.fullmatch(session)
    if mark is None:
        return session, None
    name, *numbers = mark.groups()
    input_tokens, output_tokens, cached = map(int, numbers)
    return name, Usage(input=input_tokens, output=output_tokens, cached_input=cached)


def usage_since(session: str | None, total: Usage | None) -> Usage | None:
    """Returns the usage of one call from the conversation's new `total`; None if it cannot be computed."""
    # A new conversation starts at zero, so its total is the usage of the call.
    if session is None or total is None:
        return total
    before = split_usage_mark(session)[1]
    if before is None:
        return None
    kinds = [
        now - then
        for now, then in zip(
            (total.input, total.output, total.cached_input),
            (before.input, before.output, before.cached_input),
            strict=True,
        )
    ]
    if min(kinds) < 0:  # the agent has restarted its count, for example after it compacted the conversation
        return None
    return Usage(input=kinds[0], output=kinds[1], cached_input=kinds[2])


def sum_usage(parts: Iterable[Usage | None]) -> Usage | None:
    """Returns the sum of the usages that are known; None if none is."""
    usages = [usage for usage in parts if usage is not None]
    if not usages:
        return None
    return Usage(
        input=sum(usage.input for usage in usages),
        output=sum(usage.output for usage in usages),
        cached_input=sum(usage.cached_input for usage in usages),
    )
