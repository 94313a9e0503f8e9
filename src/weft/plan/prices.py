"""Prices of tokens, for agents that report how many they used and not what they cost."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

_MILLION = 1_000_000
_CENT = _MILLION // 100


class Price(Struct, frozen=True, kw_only=True):
    """A price in micro-dollars for a million tokens."""

    input: int
    output: int
    cached_input: int | None = None
    """None means the same as `input`."""


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens by kind; each is counted once."""

    input: int = 0
    output: int = 0
    cached_input: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cached_input


def price_of(prices: Mapping[str, Price], *names: str | None) -> Price | None:
    """Returns the first price with a pattern that matches one of these names."""
    present = [name for name in names if name]
    return next(
        (price for pattern, price in prices.items() if any(_matches(pattern, name) for name in present)), None
    )


def _matches(pattern: str, name: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def cost_of(price: Price, tokens: int, usage: Usage | None) -> int:
    """Returns whole micro-dollars, rounded up. Tokens of unknown kind cost as much as the dearest kind."""
    cached = price.input if price.cached_input is None else price.cached_input
    if usage is None:
        # An unknown split must not understate the cost.
        total = tokens * max(price.input, price.output, cached)
    else:
        total = usage.input * price.input + usage.output * price.output + usage.cached_input * cached
    # Rounded up, so that many small calls cannot stay below a ceiling that they exceed together.
    return -(-total // _MILLION)


def cost_of_tokens(
    prices: Mapping[str, Price], names: Iterable[str | None], tokens: int | None, usage: Usage | None
) -> int | None:
    """Returns what an agent's tokens cost; `names` are those of the agent and its model. None if unknown."""
    price = price_of(prices, *names)
    return None if price is None or tokens is None else cost_of(price, tokens, usage)


def dollars(amount: int) -> str:
    """Returns micro-dollars as Weft prints them everywhere: to the cent, and `<$0.01` for less than one."""
    if 0 < amount < _CENT:
        return "<$0.01"
    whole, cents = divmod((amount + _CENT // 2) // _CENT, 100)
    return f"${whole:,}.{cents:02}"
