"""Values of a plan as they would be written in one: what is read back is the same value."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from weft.plan.language.kinds import MICRO, SECONDS, TOKENS
from weft.plan.model import Command, Estimate
from weft.plan.notify import Notify
from weft.plan.prices import Price
from weft.plan.sandbox import SandboxParts
from weft.plan.settings import AMOUNTS
from weft.plan.text.emit import Plain

_FINEST = Decimal("0.000000001")
"""A duration has at most nine decimals, and at most nine digits before them."""
_TOO_MANY = 10**9
MOST_IN_A_UNIT = 10**9
_DURATIONS = frozenset({"timeout", "grace"})
_TOKENS = frozenset(f"{name}.tokens" for name in AMOUNTS)


def setting(name: str, value: Any) -> Plain:  # noqa: ANN401 - as the setting's kind says
    """The value of a setting, by its dotted name; None if it is not set."""
    if value is None or (name == "setup" and not value):  # no command is written by leaving the key out
        return None
    if name in _DURATIONS:
        return duration(value)
    if name in AMOUNTS:
        return dollars(value)
    if name in _TOKENS:
        return tokens(value)
    if name == "setup":
        return commands(value)
    return value if isinstance(value, bool | int | str) else [*value]


def duration(seconds: float) -> str:
    """In the largest unit that makes it a whole number; else in any that gives back each bit."""
    exact = Decimal(seconds)
    numbers = [(exact / size, size, unit) for unit, size in reversed(SECONDS.items())]
    whole = [(number.to_integral_value(), size, unit) for number, size, unit in numbers]
    fine = [(number.quantize(_FINEST, ROUND_HALF_EVEN), size, unit) for number, size, unit in numbers]
    return next(
        f"{_plain(number)}{unit}"
        for number, size, unit in (*whole, *reversed(fine))
        if 0 < number < _TOO_MANY and float(number * size) == seconds
    )


def _plain(number: Decimal) -> str:
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def dollars(micros: int) -> int | float:
    """An amount has at most fifteen digits, so a float holds it as it is."""
    return micros / MICRO if micros % MICRO else micros // MICRO


def tokens(count: int) -> int | str:
    """In the largest unit that makes it a whole number, if that is shorter."""
    unit, size = next(((unit, size) for unit, size in TOKENS.items() if not count % size), ("", 1))
    return f"{count // size}{unit}" if unit and count // size < MOST_IN_A_UNIT else count


def price(given: Price) -> dict[str, Plain]:
    """What a million tokens cost."""
    found = {"input": given.input, "output": given.output, "cached_input": given.cached_input}
    return {name: dollars(amount) for name, amount in found.items() if amount is not None}


def commands(given: Sequence[Command]) -> Plain:
    """One command for a shell stands for a list of one."""
    if len(given) == 1 and isinstance(given[0], str):
        return given[0]
    return [command(one) for one in given]


def command(given: Command) -> Plain:
    return given if isinstance(given, str) else list(given)


def estimate(given: Estimate) -> dict[str, Plain]:
    found: dict[str, Plain] = {}
    if given.minutes is not None:
        low, high = given.minutes
        found["minutes"] = number(low) if low == high else f"{_decimal(low)}..{_decimal(high)}"
    if given.cost is not None:
        found["cost"] = dollars(given.cost)
    if given.fail is not None:
        found["fail"] = number(given.fail)
    return found


def notify(given: Notify) -> dict[str, Plain]:
    said = {"run": None if given.run is None else command(given.run), "webhook": given.webhook}
    return {"on": list(given.on), "desktop": given.desktop, **without_empty(said)}


def sandbox(given: SandboxParts) -> dict[str, Plain]:
    return {part: value if isinstance(value, bool | str) else [*value] for part, value in given.items()}


def number(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < MICRO else value


def _decimal(value: float) -> str:
    return _plain(Decimal(repr(value)))


def without_empty(entries: Mapping[str, Plain]) -> dict[str, Plain]:
    """The entries that say more than what holds without them."""
    return {
        key: value
        for key, value in entries.items()
        if value is not None and value is not False and value not in ([], {})
    }
