"""Values of a plan as they would be written in one. Reading them back gives the same value."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, cast

from weft.plan.hosts import HostChoice, HostSpec
from weft.plan.language.kinds import SECONDS, TOKENS
from weft.plan.model import Command, Estimate
from weft.plan.notify import Notify
from weft.plan.prices import Price
from weft.plan.sandbox import SandboxParts
from weft.plan.settings import AMOUNTS
from weft.plan.text.emit import Plain
from weft.terms import MICRO

_FINEST = Decimal("0.000000001")
"""A duration has at most nine decimals, and at most nine digits before them."""
_TOO_MANY = 10**9
MOST_IN_A_UNIT = 10**9
_DURATIONS = frozenset({"timeout", "idle_timeout", "grace"})
_TOKENS = frozenset(f"{name}.tokens" for name in AMOUNTS)


def setting(name: str, value: Any) -> Plain:  # noqa: ANN401 - as the setting's kind says
    """Returns the value of a setting, by its dotted name; None if it is not set."""
    if value is None or (name == "setup" and not value):  # an empty list of commands cannot be written
        return None
    if name in _DURATIONS:
        return duration(value)
    if name in AMOUNTS:
        return dollars(value)
    if name in _TOKENS:
        return tokens(value)
    if name == "setup":
        return commands(value)
    if name == "host":
        return host_choice(value)
    return value if isinstance(value, bool | int | str) else [*value]


def duration(seconds: float) -> str:
    """Returns the duration in the largest unit that makes it whole; otherwise in one that keeps each bit."""
    # Decimal, because a float of minutes may not give back the same seconds.
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
    """Returns an amount. It has at most fifteen digits, so a float holds it exactly."""
    return micros / MICRO if micros % MICRO else micros // MICRO


def tokens(count: int) -> int | str:
    """Returns the count in the largest unit that makes it whole, if that is shorter."""
    unit, size = next(((unit, size) for unit, size in TOKENS.items() if not count % size), ("", 1))
    # The language limits the digits before a unit; a larger count is written out.
    return f"{count // size}{unit}" if unit and count // size < MOST_IN_A_UNIT else count


def price(rates: Price) -> dict[str, Plain]:
    """Returns the price of a million tokens."""
    amounts = {"input": rates.input, "output": rates.output, "cached_input": rates.cached_input}
    return {name: dollars(amount) for name, amount in amounts.items() if amount is not None}


def commands(sequence: Sequence[Command]) -> Plain:
    """Returns the commands; a single shell command stands for a list of one."""
    if len(sequence) == 1 and isinstance(sequence[0], str):
        return sequence[0]
    return [command(entry) for entry in sequence]


def command(value: Command) -> Plain:
    return value if isinstance(value, str) else list(value)


def estimate(guess: Estimate) -> dict[str, Plain]:
    entries: dict[str, Plain] = {}
    if guess.minutes is not None:
        low, high = guess.minutes
        entries["minutes"] = number(low) if low == high else f"{_decimal(low)}..{_decimal(high)}"
    if guess.cost is not None:
        entries["cost"] = dollars(guess.cost)
    if guess.fail is not None:
        entries["fail"] = number(guess.fail)
    return entries


def notify(target: Notify) -> dict[str, Plain]:
    optional = {"run": None if target.run is None else command(target.run), "webhook": target.webhook}
    return {"on": list(target.on), "desktop": target.desktop, **without_empty(optional)}


def host_choice(choice: HostChoice) -> Plain:
    if choice.labels:
        return {"labels": list(choice.labels)}
    return choice.names[0] if len(choice.names) == 1 else list(choice.names)


def host(spec: HostSpec) -> Plain:
    """Returns an entry of `hosts`, with the keys that its carrier has."""
    far: dict[str, Plain] = {}
    if not spec.is_local:
        far = {
            "use": spec.use,
            "lost_after": duration(spec.lost_after),
            "directory": spec.directory,
            "python": spec.python,
            "fetch": spec.fetch,
        }
    return without_empty(
        {
            **far,
            "slots": spec.slots,
            "labels": list(spec.labels),
            "machine": spec.machine,
            "command": list(spec.command),
            "address": spec.address,
            "ssh": list(spec.ssh),
            "cluster": spec.cluster,
            "scale": spec.scale,
            "options": cast("Plain", dict(spec.options)),
            "tls": dict(spec.tls),
        }
    )


def sandbox(parts: SandboxParts) -> dict[str, Plain]:
    return {part: value if isinstance(value, bool | str) else [*value] for part, value in parts.items()}


def number(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < MICRO else value


def _decimal(value: float) -> str:
    return _plain(Decimal(repr(value)))


def without_empty(entries: Mapping[str, Plain]) -> dict[str, Plain]:
    """Returns the entries that differ from an absent key."""
    return {
        key: value
        for key, value in entries.items()
        if value is not None and value is not False and value not in ([], {})
    }
