"""Values that are almost right, as people write them: `5usd`, `30min`, `yes`, a number in quotes.

Each function returns the value that was probably meant, as a plan writes it; None if the text is no such value.
"""

import re

# Patterns as texts: they are compiled when the first value is wrong.
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,6})?"
_DOLLARS = rf"(?i:(?:usd|us\$|\$)?\s*({_NUMBER})\s*(?:usd|us\$|\$|dollars?)?)"
_TOKENS = r"(?i:([0-9]{1,9}(?:\.[0-9]{1,3})?)\s*(k|m|b|)\s*(?:tokens?|tok)?)"
_TIME = rf"(?i:({_NUMBER})\s*(ms|(?:sec|min|hour|day)[a-z]*|hrs?|[smhd])(?![a-z]))"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_BOOLEANS = {
    **dict.fromkeys(("yes", "on", "y", "true"), "true"),
    **dict.fromkeys(("no", "off", "n", "false"), "false"),
}


def dollars_meant(text: str) -> str | None:
    match = re.fullmatch(_DOLLARS, text.strip())
    return match[1] if match and float(match[1]) else None


def tokens_meant(text: str) -> str | None:
    match = re.fullmatch(_TOKENS, text.strip())
    if match is None or not float(match[1]) or ("." in match[1] and not match[2]):
        return None
    return match[1] + match[2].upper().replace("K", "k")


def duration_meant(text: str) -> str | None:
    """Returns a single unit as it is, and several in the smallest of them: 1h30m is 90m."""
    parts = [(number, unit.lower()) for number, unit in re.findall(_TIME, text)]
    if not parts or re.sub(_TIME, "", text).strip(" ,"):
        return None
    units = ["ms" if unit == "ms" else unit[0] for _, unit in parts]
    if len(parts) == 1:
        return f"{parts[0][0]}{units[0]}" if float(parts[0][0]) else None
    if "ms" in units:
        return None
    least = min(units, key=_UNITS.__getitem__)
    total = sum(float(number) * _UNITS[unit] for (number, _), unit in zip(parts, units, strict=True))
    amount = total / _UNITS[least]
    # A guess that is not exact (1.5h10s) would be worse than none.
    return f"{amount:.0f}{least}" if amount.is_integer() and amount else None


def boolean_meant(text: str) -> str | None:
    return _BOOLEANS.get(text.lower())


def whole_number_meant(text: str, low: int, high: int) -> str | None:
    return text if re.fullmatch(r"[0-9]{1,18}", text) and low <= int(text) <= high else None
