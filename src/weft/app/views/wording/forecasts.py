"""Words for forecasts: the moment at which a run ends, and a run's finish and cost in a few words."""

from datetime import datetime, timedelta

from weft.app.views.finish_forecast import FinishForecast
from weft.app.views.wording.words import span
from weft.plan.prices import dollars

_DAY = 24 * 3600
_WEEK = 7
_FAR = 1_000 * 365 * _DAY
"""Calendars do not go much further."""


def moment(now: datetime, seconds: float) -> str:
    """Returns the time so many seconds from now, with the day if needed; `now` is in the user's time zone."""
    if seconds > _FAR:
        return f"after {span(seconds)}"
    then = now + timedelta(seconds=seconds)
    days = (then.date() - now.date()).days
    if days == 0 or seconds < _DAY / 2:
        return f"{then:%H:%M}"
    return f"{then:%a %H:%M}" if days < _WEEK else f"{then:%Y-%m-%d %H:%M}"


def forecast_words(forecast: FinishForecast, now: float, *, dash: str = "–") -> str:  # noqa: RUF001 - a range
    """Returns `finish 05:12–07:44, cost $14.10–$18.80`; empty if the run is later than foreseen."""  # noqa: RUF002 - a range
    clock = datetime.fromtimestamp(now).astimezone()
    early, late = (max(end - now, 0.0) for end in forecast.finish)
    if not late:
        return ""
    words = f"finish {_range(moment(clock, early), moment(clock, late), dash)}"
    low, high = map(dollars, forecast.cost)
    return f"{words}, cost {_range(low, high, dash)}" if forecast.cost[1] else words


def _range(low: str, high: str, dash: str) -> str:
    return low if low == high else f"{low}{dash}{high}"
