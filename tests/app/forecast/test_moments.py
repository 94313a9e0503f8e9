"""Moments and durations as people write them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from weft.app.forecast.moments import seconds_until
from weft.errors import InputError

NOW = datetime(2026, 11, 18, 22, 30, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("23:00", 30 * 60),
        ("07:00", 8.5 * 3600),
        ("7:00", 8.5 * 3600),
        ("22:30", 24 * 3600),
        ("8h", 8 * 3600),
        ("90m", 90 * 60),
        ("90min", 90 * 60),
        ("7h30m", 7.5 * 3600),
        ("7h 30m", 7.5 * 3600),
        ("1.5h", 1.5 * 3600),
        ("45s", 45),
        ("2026-11-19T07:00", 8.5 * 3600),
        ("2026-11-19 07:00", 8.5 * 3600),
        ("2026-11-19T06:00+00:00", 8.5 * 3600),
        (" 8h ", 8 * 3600),
    ],
)
def test_times_and_durations(text: str, seconds: float) -> None:
    assert seconds_until(text, NOW) == seconds


@pytest.mark.parametrize("text", ["", "soon", "25:00", "7:60", "90", "-8h", "0m", "8 hours", "7.30"])
def test_what_is_neither_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(InputError, match=r"such as 07:00 .* or a duration such as 8h"):
        seconds_until(text, NOW)


@pytest.mark.parametrize("text", ["2026-11-18T22:29", "2020-01-01", "2026-11-18T21:30+00:00"])
def test_a_moment_that_is_over_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="which is over"):
        seconds_until(text, NOW)


def test_a_moment_in_another_time_zone() -> None:
    assert seconds_until("2026-11-19T00:00", NOW.astimezone(UTC)) == 2.5 * 3600
