"""Forecasts in the directory of a run: the one with which it started, and the newest.

A process of its own computes and writes them (`forecast_process`), so what people have read can be compared later
with what happened, even if Weft answers differently by then. Views read the files; they never compute.
"""

from typing import TypeVar

import msgspec
from msgspec import Struct

from weft.app.project.places import Places
from weft.app.views.finish_forecast import FinishForecast
from weft.safe_files import UnsafeFileError, read_file, replace_file

_MOST = 1 << 20

Stored = TypeVar("Stored")


class StartForecast(Struct, frozen=True, kw_only=True):
    """The forecast of a run from what was known when it started."""

    at: float
    """When it was computed."""
    seed: int
    seconds: list[float]
    """The makespans of all replications, sorted."""
    costs: list[float]
    """Their costs in micro-dollars, sorted."""


def write_start_forecast(places: Places, run: str, forecast: StartForecast) -> None:
    replace_file(places.start_forecast(run), msgspec.json.encode(forecast))


def read_start_forecast(places: Places, run: str) -> StartForecast | None:
    """Returns the forecast with which a run started; None if it is not stored."""
    forecast = _read(str(places.start_forecast(run)), StartForecast)
    return forecast if forecast is not None and forecast.seconds and forecast.costs else None


def write_outlook(places: Places, run: str, forecast: FinishForecast) -> None:
    replace_file(places.outlook(run), msgspec.json.encode(forecast))


def read_outlook(places: Places, run: str) -> FinishForecast | None:
    """Returns the newest forecast of a run that is under way; None if there is none yet."""
    return _read(str(places.outlook(run)), FinishForecast)


def _read(path: str, kind: type[Stored]) -> Stored | None:
    try:
        return msgspec.json.decode(read_file(path, most=_MOST), type=kind)
    except (OSError, UnsafeFileError, msgspec.DecodeError):
        # Without the file, or with one of another version, there is no forecast to show. Nothing else needs it.
        return None
