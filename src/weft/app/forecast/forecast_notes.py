"""The newest forecast of a run, for views that are redrawn several times a second."""

from math import inf

from weft.app.forecast.forecast_files import read_outlook
from weft.app.project.places import Places
from weft.app.views.run_view import RunView

_INTERVAL = 5.0
"""Seconds between two looks for a new forecast."""


class ForecastNotes:
    """Reads the newest forecast now and then; another process writes it."""

    def __init__(self, places: Places, run: str) -> None:
        self._places = places
        self._run = run
        self._looked_at = -inf

    def update(self, view: RunView, now: float) -> None:
        """Notes the forecast in the view."""
        if not 0 <= now - self._looked_at < _INTERVAL:
            self._looked_at = now
            view.forecast = read_outlook(self._places, self._run)
