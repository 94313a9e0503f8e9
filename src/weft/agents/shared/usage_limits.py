"""Recognise usage limits in the output of an agent's process.

A failure that is mistaken for a limit is worse than the reverse: the step would run again and again, and no retry
would be counted. A text therefore counts only if all of this holds:

- the process failed by its exit code, or the text is the error that it left in its result file;
- it stands in one of the last lines, where programs report their reason for exiting;
- the line says that a limit *was met* (`rate limit exceeded`, `HTTP 429`), not only that there are limits
  (`added a rate limit`, `429 tests`, `disk quota exceeded`);
- the line does not look like one of a test's (`assert`, `expected`, `test_…`, `x.py:12`).
"""

import re

from weft.agents.shared.text import strip_control_codes

SOONEST = 1.0
LATEST = 7 * 24 * 3600.0
UNKNOWN = 15 * 60.0
"""Seconds to wait when the end of a limit is not known."""

_LAST_LINES = 10
_LONGEST_LINE = 10_000

_MET = r"(?:\s+(?:has\s+been|was|is))?\s+(?:exceeded|reached|hit|exhausted)"
_KINDS = r"(?:usage|session|hourly|daily|weekly|monthly|\d+-?\s?hours?)"
_YOURS = r"(?:exceeded|reached|hit|exhausted)\s+(?:your|the|its)\s+(?:\w+\s+){0,3}?"
_CODE_OF = r"(?:http(?:/[\d.]+)?|status|status[\s_]code|error\s+code|api\s+error|[\"']code[\"'])"
_PATTERNS = (
    # HTTP status codes: 429 is "too many requests", and some providers use 529 for "overloaded". The number must
    # end the clause, or it may count something else.
    r"429\W{1,3}(?:client\s+error\W+)?too\s+many\s+requests",
    rf"{_CODE_OF}[\s:=('\"]{{1,4}}(?:429|529)(?=\s*(?:$|[^\w\s]|too\s+many|overloaded))",
    # Rates.
    rf"rate[\s_-]?limits?{_MET}",
    rf"{_YOURS}rate[\s-]?limit",
    r"rate_limit_(?:error|exceeded)",
    r"RateLimitError(?=:)",
    r"you\s+(?:are|have\s+been|are\s+being)\s+rate[\s-]?limited",
    # Limits of a subscription.
    rf"{_KINDS}\s+limit{_MET}",
    rf"{_YOURS}{_KINDS}\s+limit",
    r"usage_limit_(?:reached|exceeded)",
    # Quotas, except a disk quota: waiting does not help against it.
    rf"(?<!disk\s)quota{_MET}",
    rf"{_YOURS}(?<!disk\s)quota",
    r"insufficient_quota",
    r"RESOURCE_EXHAUSTED",
    # Overload by other users.
    r"overloaded_error",
    r"(?:model|server|service|api|engine)(?:\s+is)?(?:\s+(?:currently|temporarily))?\s+overloaded",
    r"api\s+error\W{1,3}overloaded",
)
_LIMIT = rf"(?<![\w/])(?:{'|'.join(_PATTERNS)})(?![\w(/])"
"""Compiled on first use: that takes longer than loading a small plan."""
_OF_A_TEST = re.compile(
    r"\bassert|\bexpected\b|\btests?\b|\btest_|\.(?:py|[jt]sx?|go|rs|rb|java|cc?|cpp|h):\d", re.IGNORECASE
)


def find_limit_line(text: str) -> str | None:
    """Returns the line near the end of the text that reports a usage limit; None if there is none."""
    last = [line for line in strip_control_codes(text).splitlines() if line.strip()][-_LAST_LINES:]
    # The last such line is nearest to the reason of the exit.
    return next((line for line in reversed(last) if _reports_limit(line[:_LONGEST_LINE])), None)


def _reports_limit(line: str) -> bool:
    return re.search(_LIMIT, line, re.IGNORECASE) is not None and _OF_A_TEST.search(line) is None


def clamp_reset_time(until: float | None, *, at: float) -> float:
    """Returns the time to try again: `until` if it is known, but between one second and one week from now."""
    if until is None:
        return at + UNKNOWN
    return min(max(until, at + SOONEST), at + LATEST)
