import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.agents.shared.usage_limits import clamp_reset_time, find_limit_line

LIMITS = [
    "429 Too Many Requests",
    "Error: 429 Client Error: Too Many Requests for url: https://api.example.com/v1",
    "unexpected status 429 Too Many Requests: slow down, url: https://api.example.com:443/v1",
    "HTTP 429",
    "HTTP/1.1 429 Too Many Requests",
    "request failed with status code 429",
    "status: 429, retrying is pointless",
    "openai.RateLimitError: Error code: 429 - {'error': {'message': 'slow down'}}",
    'API Error: 429 {"type":"error"}',
    '{"error": {"code": 429, "message": "…"}}',
    'API Error (529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})',
    "HTTP 529 Overloaded",
    "Rate limit exceeded, try again later",
    "error: rate limit reached for gpt in organization org on tokens per min",
    "rate-limit was exceeded",
    "You have exceeded your current rate limit.",
    '{"type":"rate_limit_error"}',
    "anthropic.RateLimitError: slow down",
    "You are being rate limited.",
    "Claude usage limit reached. Your limit will reset at 3pm.",
    "You've hit your usage limit. Upgrade or try again at 14:05.",
    "5-hour limit reached ∙ resets 3pm",
    "You have reached your weekly limit",
    '{"code": "usage_limit_reached"}',
    "Quota exceeded for quota metric 'requests'",
    "You exceeded your current quota, please check your plan and billing details.",
    "insufficient_quota",
    "[429] RESOURCE_EXHAUSTED: slow down",
    "The model is currently overloaded with other requests",
    "overloaded_error",
    "API Error: Overloaded",
]
NEAR_MISSES = [
    "added a rate limit to the login page",
    "implemented rate limiting",
    "the client now backs off on HTTP 429 responses",
    "429 tests passed, 1 failed",
    "src/app.py, line 429: syntax error",
    "wrote code: 429 lines",
    "FAILED tests/test_api.py::test_rate_limit_exceeded",
    "AssertionError: assert 'rate limit exceeded' == ''",
    "expected: rate limit exceeded",
    "app.py:12: rate limit exceeded is not handled",
    "raise RateLimitError(seconds)",
    "see docs/rate_limit_exceeded.md",
    "class RateLimitError is missing",
    "fatal: write error: Disk quota exceeded",
    "you have exceeded the disk quota",
    "cannot resolve overloaded function",
    "error: call to overloaded operator is ambiguous",
    "the speed limit was reached",
    "error 4290",
    "HTTP 500 Internal Server Error",
    "commit 429abc",
]


@pytest.mark.parametrize("line", LIMITS)
def test_a_line_that_reports_a_limit_is_found(line: str) -> None:
    assert find_limit_line(f"Working on it\n{line}\nbye\n") == line


@pytest.mark.parametrize("line", NEAR_MISSES)
def test_a_line_that_only_sounds_like_it_is_not(line: str) -> None:
    assert find_limit_line(f"Working on it\n{line}\nbye\n") is None


def test_colours_hide_nothing() -> None:
    assert find_limit_line("\x1b[1;31mHTTP 429\x1b[0m\n") == "HTTP 429"


def test_only_the_last_lines_count() -> None:
    assert find_limit_line("HTTP 429\n" + "and then\n\n" * 9) == "HTTP 429"
    assert find_limit_line("HTTP 429\n" + "and then\n\n" * 10) is None


def test_of_several_lines_the_last_is_reported() -> None:
    assert find_limit_line("HTTP 429\nrate limit exceeded") == "rate limit exceeded"


def test_a_huge_line_is_read_only_at_its_beginning() -> None:
    assert find_limit_line("x" * 1_000_000 + " HTTP 429") is None


def test_when_a_limit_ends_is_what_was_said_within_bounds() -> None:
    assert clamp_reset_time(1_060.0, at=1_000.0) == 1_060.0
    assert clamp_reset_time(10.0, at=1_000.0) == 1_001.0
    assert clamp_reset_time(1e12, at=1_000.0) == 1_000.0 + 7 * 24 * 3600
    assert clamp_reset_time(None, at=1_000.0) == 1_900.0


@given(st.text())
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    assert find_limit_line(text) is None
