"""Usage limits: how they are recognised in what an agent's process said, and when they end.

To take a failure for a limit is worse than the other way round: the step would be done again for ever, at nobody's
cost but time, and no retry would be counted. So a text counts only if all of this holds:

- the process failed by its exit code, or the text is the error that it left in its result file;
- it stands in one of the last lines, where programs say what they died of;
- the line says that a limit *was met* (`rate limit exceeded`, `HTTP 429`), not only that there are limits
  (`added a rate limit`, `429 tests`, `disk quota exceeded`);
- the line does not look like one of a test's (`assert`, `expected`, `test_…`, `x.py:12`).
"""

import re

from weft.agents.words import plain

SOONEST = 1.0
LATEST = 7 * 24 * 3600.0
UNKNOWN = 15 * 60.0
"""Until a limit is tried again whose end is not known."""

_LAST_LINES = 10
_LONGEST_LINE = 10_000

_MET = r"(?:\s+(?:has\s+been|was|is))?\s+(?:exceeded|reached|hit|exhausted)"
_KINDS = r"(?:usage|session|hourly|daily|weekly|monthly|\d+-?\s?hours?)"
_YOURS = r"(?:exceeded|reached|hit|exhausted)\s+(?:your|the|its)\s+(?:\w+\s+){0,3}?"
_CODE_OF = r"(?:http(?:/[\d.]+)?|status|status[\s_]code|error\s+code|api\s+error|[\"']code[\"'])"
_PATTERNS = (
    # HTTP's codes: 429 says too many requests; 529, with some, overloaded. The number must end the clause.
    r"429\W{1,3}(?:client\s+error\W+)?too\s+many\s+requests",
    rf"{_CODE_OF}[\s:=('\"]{{1,4}}(?:429|529)(?=\s*(?:$|[^\w\s]|too\s+many|overloaded))",
    # Rates.
    rf"rate[\s_-]?limits?{_MET}",
    rf"{_YOURS}rate[\s-]?limit",
    r"rate_limit_(?:error|exceeded)",
    r"RateLimitError(?=:)",
    r"you\s+(?:are|have\s+been|are\s+being)\s+rate[\s-]?limited",
    # What a subscription allows.
    rf"{_KINDS}\s+limit{_MET}",
    rf"{_YOURS}{_KINDS}\s+limit",
    r"usage_limit_(?:reached|exceeded)",
    # Quotas, but for that of a disk, which no waiting helps.
    rf"(?<!disk\s)quota{_MET}",
    rf"{_YOURS}(?<!disk\s)quota",
    r"insufficient_quota",
    r"RESOURCE_EXHAUSTED",
    # Too many others.
    r"overloaded_error",
    r"(?:model|server|service|api|engine)(?:\s+is)?(?:\s+(?:currently|temporarily))?\s+overloaded",
    r"api\s+error\W{1,3}overloaded",
)
_LIMIT = rf"(?<![\w/])(?:{'|'.join(_PATTERNS)})(?![\w(/])"
"""Not compiled before it is needed, as that takes longer than many a plan to load."""
_OF_A_TEST = re.compile(
    r"\bassert|\bexpected\b|\btests?\b|\btest_|\.(?:py|[jt]sx?|go|rs|rb|java|cc?|cpp|h):\d", re.IGNORECASE
)


def limit_met(text: str) -> str | None:
    """The line that says so, if the end of the text tells of a usage limit."""
    last = [line for line in plain(text).splitlines() if line.strip()][-_LAST_LINES:]
    return next((line for line in reversed(last) if _tells(line[:_LONGEST_LINE])), None)


def _tells(line: str) -> bool:
    return re.search(_LIMIT, line, re.IGNORECASE) is not None and _OF_A_TEST.search(line) is None


def reset_time(until: float | None, *, at: float) -> float:
    """When to try again: at what was said, if anything was, but neither at once nor in the distant future."""
    if until is None:
        return at + UNKNOWN
    return min(max(until, at + SOONEST), at + LATEST)
