"""The observer of a run in the background. It reports to `weft start` once, and then writes to the log file."""

import os
from collections.abc import Sequence

from weft.app.run.background import ReadyMessage, RotatingLog
from weft.cli.live.observers import LineObserver
from weft.engine.messages.events import Recorded


class BackgroundObserver(LineObserver):
    """Reports to `weft start` that work is running, and then writes lines to the coordinator's log."""

    def __init__(self, ready_message: ReadyMessage, *, plan: str | None) -> None:
        super().__init__(quiet=False, plan=plan)
        self._ready_message = ready_message
        self._log: RotatingLog | None = None

    def receive(self, events: Sequence[Recorded]) -> None:
        if self._log is None:
            self._log = RotatingLog(self.setup.places.log)
            # From the first events on the run is certain to have started; errors before that belong on the user's
            # terminal.
            self._log.take_over()
        super().receive(events)
        # After the first events: a person may have resumed the run before it was started.
        paused = self.view.control_requests.restraints()
        self._ready_message.send(
            run=self.setup.run, pid=os.getpid(), resumed=self.setup.resumed, paused=paused
        )
        self._log.rotate_if_long()
