"""The spending that a server reports. Pure. Missing and ambiguous values are unknown.

Tokens arrive at the end of a turn. By the protocol they cover the whole turn, but some servers report only the
last request to the model. The size of the conversation reveals this: an agent that has called tools has sent the
conversation more than once, so it must have used more tokens than the conversation holds.

A cost covers the whole conversation since its start. When a step resumes a conversation, Weft must subtract the
earlier cost, so it appends that cost to the name of the conversation: `NAME#cost=MICRODOLLARS`.
"""

import re

from weft.agents.shared.result_file import LONGEST_SESSION
from weft.agents.shared.streams import read_cost, read_count, read_session, value_at
from weft.plan.prices import Usage

_MARK = re.compile(r"(.+)#cost=(\d{1,12})", re.DOTALL)


def split_cost_mark(name: str) -> tuple[str, int | None]:
    """Returns the server's name of the conversation, and its cost so far, or None if that is not known."""
    mark = _MARK.fullmatch(name)
    return (name, None) if mark is None else (mark[1], int(mark[2]))


class Spending:
    """The cost and tokens of one turn."""

    def __init__(self, resumed: str | None) -> None:
        """`resumed` is the marked name of the conversation that the step resumes, if any."""
        self._before = 0 if resumed is None else split_cost_mark(resumed)[1]
        self._total = self._before or None
        self._context_size: int | None = None
        self.tokens: Usage | int | None = None

    def update(self, usage_update: object) -> None:
        """Reads a `usage_update`, which a server may send while it works."""
        self._context_size = read_count(value_at(usage_update, "used"))
        if value_at(usage_update, "cost", "currency") == "USD":
            # Some servers report 0 for a model without a known price.
            self._total = read_cost(value_at(usage_update, "cost", "amount")) or self._total

    def end(self, result: object, *, used_tools: bool) -> None:
        """Reads the tokens from the response that ends the turn."""
        usage = value_at(result, "usage")
        if usage is None:
            quota = value_at(result, "_meta", "quota", "token_count")  # where Gemini CLI reports tokens
            input_tokens, output_tokens = (
                read_count(value_at(quota, "input_tokens")),
                read_count(value_at(quota, "output_tokens")),
            )
            self.tokens = (
                None
                if input_tokens is None or output_tokens is None
                else Usage(input=input_tokens, output=output_tokens)
            )
        elif not (used_tools and self._covers_last_request_only(usage)):
            self.tokens = _parse_tokens(usage)

    def _covers_last_request_only(self, usage: object) -> bool:
        total, output_tokens = (
            read_count(value_at(usage, "totalTokens")),
            read_count(value_at(usage, "outputTokens")),
        )
        return (
            bool(self._context_size)
            and total is not None
            and total - (output_tokens or 0) <= (self._context_size or 0)
        )

    @property
    def cost(self) -> int | None:
        """The cost of this turn in micro-dollars."""
        # A resumed conversation without a mark, or a total that shrank: the difference would be wrong, so it is
        # unknown.
        if self._total is None or self._before is None or self._total < self._before:
            return None
        return self._total - self._before or None

    def append_cost_mark(self, name: str) -> str | None:
        """Returns the name of the conversation with its cost so far; None if the name is unusable."""
        session_name = read_session(name)
        if session_name is None or self._total is None:
            return session_name
        marked_name = f"{session_name}#cost={self._total}"
        return marked_name if len(marked_name) <= LONGEST_SESSION else session_name


def _parse_tokens(usage: object) -> Usage | int | None:
    """Returns the tokens by kind if the numbers add up in one of two known conventions; otherwise their total."""
    input_tokens, output_tokens = (
        read_count(value_at(usage, "inputTokens")),
        read_count(value_at(usage, "outputTokens")),
    )
    cache_read = read_count(value_at(usage, "cachedReadTokens")) or 0
    cache_written = read_count(value_at(usage, "cachedWriteTokens")) or 0
    thinking = read_count(value_at(usage, "thoughtTokens")) or 0
    # Some servers report 0 for a cancelled turn, although they have called the model.
    total = read_count(value_at(usage, "totalTokens")) or None
    if input_tokens is None or output_tokens is None or total is None:
        return total
    # The protocol does not say whether cached tokens are part of the input. The total reveals which way a server
    # counts.
    disjoint_sum = input_tokens + output_tokens + cache_read + cache_written
    if total in {disjoint_sum, disjoint_sum + thinking}:
        return Usage(
            input=input_tokens + cache_written,
            output=total - input_tokens - cache_read - cache_written,
            cached_input=cache_read,
        )
    if (
        total in {input_tokens + output_tokens, input_tokens + output_tokens + thinking}
        and cache_read <= input_tokens
    ):
        return Usage(input=input_tokens - cache_read, output=total - input_tokens, cached_input=cache_read)
    return total
