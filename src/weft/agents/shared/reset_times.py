"""Find the end of a usage limit in the text of an error. A time of day without a time zone is ignored."""

import re
from collections.abc import Callable
from datetime import datetime

_LONGEST = 10_000
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_UNITS = {"ms": 0.001, "mi": 60.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds by the first letters of the unit. Longer prefixes come first, so that `min` does not match `m`."""
_UNIT = r"ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?"
_SPAN = rf"{_NUMBER}\s?(?:{_UNIT})"
_IS = r"[\"']?[:=\s]{1,3}[\"']?"


def find_reset_time(text: str, *, at: float) -> float | None:
    """Returns the end of the limit in seconds since 1970, or None. Spans such as `in 5 minutes` start at `at`."""
    # From the most to the least explicit: `retry in 5 minutes` means more than a bare date elsewhere in the text.
    for pattern, read in _PATTERNS:
        match = re.search(pattern, text[:_LONGEST], re.IGNORECASE)
        if match is not None:
            return read(match[1], at)
    return None


def _seconds(text: str, at: float) -> float:
    return at + float(text)


def _spans(text: str, at: float) -> float:
    """Adds up spans such as `1h 30m` or `2 hours and 5 minutes`."""
    spans = re.findall(rf"({_NUMBER})\s?({_UNIT})(?![a-z])", text, re.IGNORECASE)
    return at + sum(float(number) * _factor(unit.lower()) for number, unit in spans)


def _factor(unit: str) -> float:
    if unit.startswith("milli"):
        return _UNITS["ms"]
    return next(factor for start, factor in _UNITS.items() if unit.startswith(start))


def _since_1970(text: str, _at: float) -> float:
    return float(text)


def _iso(text: str, _at: float) -> float | None:
    try:
        return datetime.fromisoformat(text.upper()).timestamp()
    except (ValueError, OverflowError):
        return None


_PATTERNS: tuple[tuple[str, Callable[[str, float], float | None]], ...] = (
    (rf"(?:retry|again|wait|resets?)\b.{{0,40}}?\bin\s({_SPAN}(?:(?:,|\sand)?\s?{_SPAN}){{0,3}})\b", _spans),
    (rf"retry_?delay{_IS}({_SPAN})\b", _spans),
    (rf"retry[-_ ]?after{_IS}({_SPAN})\b", _spans),
    (rf"(?:retry[-_ ]?after|resets?_in_seconds){_IS}({_NUMBER})(?![\d:.-])", _seconds),
    (rf"(?:resets?_at{_IS}|reached\|)(\d{{10}})(?!\d)", _since_1970),
    (r"(?:until|again|resets?|at)\b.{0,20}?(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d))",
     _iso),
)  # fmt: skip
