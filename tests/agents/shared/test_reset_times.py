import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.calls import NOW
from weft.agents.shared.reset_times import find_reset_time

TOLD = [
    ("Please try again in 20s.", 20),
    ("try again in 1.5 seconds", 1.5),
    ("Rate limit reached, retry in 300ms", 0.3),
    ("try again in 250 milliseconds", 0.25),
    ("Try again in 2 hours and 5 minutes", 7_500),
    ("please wait: it resets in 1h30m", 5_400),
    ("resets in 3 days", 259_200),
    ("Please retry in 2 mins", 120),
    ("retry-after: 17", 17),
    ('{"retry_after": 2.5}', 2.5),
    ("retry after 30 s", 30),
    ('"retryDelay": "32s"', 32),
    ('"resets_in_seconds": 60', 60),
]
NOT_TOLD = [
    "your limit resets at 3pm",
    "try again later",
    "in 20s",
    "Retrying in the morning",
    "retry-after: Wed, 21 Oct 2026 07:28:00 GMT",
    "try again in 5 minuets",
    "resets at 2027-99-99T00:00:00Z",
]


@pytest.mark.parametrize(("text", "seconds"), TOLD)
def test_a_time_to_wait_is_understood(text: str, seconds: float) -> None:
    assert find_reset_time(f"429: {text}", at=NOW) == pytest.approx(NOW + seconds)


@pytest.mark.parametrize(
    "text",
    [
        "usage limit reached|1800000600",
        '"resets_at": 1800000600',
        "resets at 2027-01-15T08:10:00Z",
        "blocked until 2027-01-15T09:10:00.000+01:00.",
    ],
)
def test_a_moment_is_understood(text: str) -> None:
    assert find_reset_time(text, at=NOW) == NOW + 600


@pytest.mark.parametrize("text", NOT_TOLD)
def test_what_says_no_time_for_certain_says_none(text: str) -> None:
    assert find_reset_time(text, at=NOW) is None


@given(st.text("0123456789.:-TZ smhd"))
def test_no_text_is_too_strange(text: str) -> None:
    assert isinstance(find_reset_time(f"retry after 3 {text}", at=NOW), float | None)
