"""What was spent, by a server's account. Pure. What it does not tell, or not clearly, is not known.

Tokens come with the end of a turn. They are meant to be those of the whole turn, and with some servers are those
of its last request to the model. That shows if the size of the conversation was told, too: who has called tools
has sent it more than once, and cannot have used less than it holds.

A cost is that of the whole conversation since it began. What it was before goes behind the name of the
conversation, as `NAME#cost=MICRODOLLARS`: nobody but us knows it when the conversation goes on.
"""

import re

from weft.agents.report import LONGEST_SESSION
from weft.agents.streams import cost, count, inside, session
from weft.plan.prices import Usage

_MARK = re.compile(r"(.+)#cost=(\d{1,12})", re.DOTALL)


def unmarked(name: str) -> tuple[str, int | None]:
    """What the server calls the conversation, and what it had cost; None if that is not known."""
    found = _MARK.fullmatch(name)
    return (name, None) if found is None else (found[1], int(found[2]))


class Spent:
    def __init__(self, resumed: str | None) -> None:
        """`resumed` is the conversation that goes on, as we called it."""
        self._before = 0 if resumed is None else unmarked(resumed)[1]
        self._total = self._before or None
        self._held: int | None = None
        self.tokens: Usage | int | None = None

    def update(self, told: object) -> None:
        """Of the server, while it works."""
        self._held = count(inside(told, "used"))
        if inside(told, "cost", "currency") == "USD":
            # Of a model without a price, some say 0.
            self._total = cost(inside(told, "cost", "amount")) or self._total

    def end(self, result: object, *, used_tools: bool) -> None:
        """Of a turn."""
        usage = inside(result, "usage")
        if usage is None:
            quota = inside(result, "_meta", "quota", "token_count")  # Gemini CLI's way
            given, made = count(inside(quota, "input_tokens")), count(inside(quota, "output_tokens"))
            self.tokens = None if given is None or made is None else Usage(input=given, output=made)
        elif not (used_tools and self._is_of_the_last_request(usage)):
            self.tokens = _tokens(usage)

    def _is_of_the_last_request(self, usage: object) -> bool:
        total, made = count(inside(usage, "totalTokens")), count(inside(usage, "outputTokens"))
        return bool(self._held) and total is not None and total - (made or 0) <= (self._held or 0)

    @property
    def cost(self) -> int | None:
        """Since the prompt, in micro-dollars."""
        if self._total is None or self._before is None or self._total < self._before:
            return None
        return self._total - self._before or None

    def marked(self, name: str) -> str | None:
        """The conversation, as we call it; None if it has a name that cannot be written down."""
        known = session(name)
        if known is None or self._total is None:
            return known
        longer = f"{known}#cost={self._total}"
        return longer if len(longer) <= LONGEST_SESSION else known


def _tokens(usage: object) -> Usage | int | None:
    """By kind, if the numbers add up in one of the ways that are in use; else how many there are in all."""
    given, made = count(inside(usage, "inputTokens")), count(inside(usage, "outputTokens"))
    read = count(inside(usage, "cachedReadTokens")) or 0
    written = count(inside(usage, "cachedWriteTokens")) or 0
    thought = count(inside(usage, "thoughtTokens")) or 0
    # Of a turn that was cancelled, some say 0; but the model was asked.
    total = count(inside(usage, "totalTokens")) or None
    if given is None or made is None or total is None:
        return total
    apart = given + made + read + written
    if total in {apart, apart + thought}:
        return Usage(input=given + written, output=total - given - read - written, cached_input=read)
    if total in {given + made, given + made + thought} and read <= given:
        return Usage(input=given - read, output=total - given, cached_input=read)
    return total
