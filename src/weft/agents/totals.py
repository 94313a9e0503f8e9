"""Tokens, added up; and of agents that tell only how many a conversation has used since it began.

What one call has used is then the difference to what the conversation had used before. Nobody but us knows that,
so it goes where we get it back: behind the name of the session, as `NAME#INPUT/OUTPUT/CACHED`.
"""

import re
from collections.abc import Iterable

from weft.plan.prices import Usage

_MARK = re.compile(r"(.+)#(\d{1,12})/(\d{1,12})/(\d{1,12})", re.DOTALL)


def marked(name: str, total: Usage | None, *, before: str | None) -> str:
    """The session, with what it has used by now.

    If a call did not tell, it is what was known `before` it, of the session it went on with: so what the call has
    used is counted with the next one.
    """
    if total is None:
        total = Usage() if before is None else unmarked(before)[1]
    return name if total is None else f"{name}#{total.input}/{total.output}/{total.cached_input}"


def unmarked(session: str) -> tuple[str, Usage | None]:
    """The name that the agent gave the session, and what it had used; None if that is not known."""
    found = _MARK.fullmatch(session)
    if found is None:
        return session, None
    name, *numbers = found.groups()
    given, made, cached = map(int, numbers)
    return name, Usage(input=given, output=made, cached_input=cached)


def used_since(session: str | None, total: Usage | None) -> Usage | None:
    """What this call has used, if the conversation has now used `total`; None if that cannot be told."""
    if session is None or total is None:
        return total
    before = unmarked(session)[1]
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
    if min(kinds) < 0:  # it has begun to count anew
        return None
    return Usage(input=kinds[0], output=kinds[1], cached_input=kinds[2])


def together(parts: Iterable[Usage | None]) -> Usage | None:
    """The sum of those that are known; None if none is."""
    known = [one for one in parts if one is not None]
    if not known:
        return None
    return Usage(
        input=sum(one.input for one in known),
        output=sum(one.output for one in known),
        cached_input=sum(one.cached_input for one in known),
    )
