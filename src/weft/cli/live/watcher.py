"""The observer of a run on a terminal: the live view with its keys."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

from weft.app.forecast.forecast_notes import ForecastNotes
from weft.app.run.session import RunSetup
from weft.app.views.run_view import RunView
from weft.app.views.running_activities import RunningActivities
from weft.cli.live.key_reader import KeyReader
from weft.cli.live.live_view import LiveView
from weft.cli.live.observers import Clock, Observer
from weft.cli.text.run_lines import lines_of
from weft.engine.messages.events import Recorded, RecoveredEvent


class Watcher(Observer):
    """Shows the run on a terminal in a picture that is kept up to date, and handles keys."""

    def __init__(self, live: LiveView, *, plan: str | None = None, clock: Clock = time.time) -> None:
        super().__init__(plan=plan, clock=clock)
        self.live = live
        self._key_reader: KeyReader | None = None
        self._activities: RunningActivities | None = None
        self._forecasts: ForecastNotes | None = None

    def display(self) -> AbstractContextManager[object]:
        return self.live

    def start(self, setup: RunSetup) -> None:
        self.live.run = setup.run
        super().start(setup)

    def refresh(self) -> None:
        if self._history is not None or self._view is None:
            return  # nothing has happened yet that could be shown
        if self._activities is None:
            self._activities = RunningActivities(self.setup.plan, self.setup.places, self.setup.host)
            self._forecasts = ForecastNotes(self.setup.places, self.setup.run)
        self._activities.update(self._view, self._clock())
        assert self._forecasts is not None
        self._forecasts.update(self._view, self._clock())
        self._show()
        if self._key_reader is None:
            self._key_reader = KeyReader(self.live, self._show)
        self._key_reader.update()

    def _show(self) -> None:
        assert self._view is not None
        assert self._activities is not None
        self.live.show(self._view, self._clock(), self._activities.outputs)

    def _lines(self, recorded: Recorded, view: RunView) -> Sequence[str]:
        return (
            lines_of(recorded.event, recorded.at, view) if isinstance(recorded.event, RecoveredEvent) else ()
        )

    def _say(self, lines: Sequence[str]) -> None:
        if lines:
            self.live.screen.say(lines)
