"""Moments and durations as people write them: 07:00, 2026-11-19T07:00, 8h, 90m."""

import re
from datetime import datetime, timedelta

from weft.errors import InputError

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})")
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?:in)?)?(?:(\d+(?:\.\d+)?)s)?")
_WORDS = "a time such as 07:00 or 2026-11-19T07:00, or a duration such as 8h, 90m or 7h30m"


def seconds_until(text: str, now: datetime) -> float:
    """Returns the seconds from now until the moment that the text names; `now` is in the user's time zone."""
    compact = text.strip().replace(" ", "")
    clock = _CLOCK.fullmatch(compact)
    if clock is not None and int(clock[1]) < 24 and int(clock[2]) < 60:  # noqa: PLR2004 - hours and minutes
        moment = now.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        if moment <= now:  # the next time that a clock shows it
            moment += timedelta(days=1)
        return (moment - now).total_seconds()
    duration = _DURATION.fullmatch(compact)
    if compact and duration is not None:
        hours, minutes, seconds = (float(part or 0) for part in duration.groups())
        total = 3600 * hours + 60 * minutes + seconds
        if total > 0:
            return total
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"--by is {text!r}; it must be {_WORDS}") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)
    if moment <= now:
        raise InputError(f"--by is {text!r}, which is over; it must be {_WORDS}")
    return (moment - now).total_seconds()
