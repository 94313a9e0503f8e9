"""Keep the status files up to date with a run.

A slice that starts and completes within a second gets no file, so that a plan of a thousand quick slices does not
cost a thousand files. A subplan that failed by itself, asks a question or is held always has a file.
"""

from collections.abc import Sequence

from msgspec import Struct

from weft.app.views.event_json import timestamp
from weft.app.views.landing_view import LandingCourse
from weft.app.views.rows import HeldWork
from weft.app.views.run_fold import RunFold
from weft.engine.messages import events as kinds
from weft.engine.messages.events import (
    AnsweredEvent,
    AnyEvent,
    AskEvent,
    Recorded,
    RunEnd,
    StepEnd,
    StepFinishedEvent,
    StepStartedEvent,
    SubplanStateEvent,
)
from weft.engine.messages.internal_steps import InternalStep
from weft.engine.states import SubplanExecutionState as State
from weft.plan.model import Plan
from weft.runtime.status_files import StatusFiles

LASTS = 1.0
"""Seconds that a state must last before it is written."""
_BY_OTHERS = frozenset({None, "blocked", "cancelled"})
"""Reasons of an end that needs no attention here: none, or a cause outside the subplan."""
_STOPPED = "stopped"

Activity = StepStartedEvent | StepFinishedEvent | AskEvent | AnsweredEvent


class _SubplanStatus(Struct, eq=False):
    """The latest state of a subplan, as its events report it."""

    at: float
    state: str
    """A state of subplans, or `stopped`. Without news of it: the state in which such events happen."""
    reason: str | None = None
    message: str | None = None
    step: Activity | None = None
    landing: str = ""
    held: HeldWork | None = None

    @property
    def question(self) -> str | None:
        return self.step.question if isinstance(self.step, AskEvent) else None

    def record(self) -> dict[str, object]:
        """Returns the contents of the status file."""
        record: dict[str, object] = {"updated_at": timestamp(self.at), **self._state()}
        if self.step is not None:
            step = self.step.step if isinstance(self.step, StepStartedEvent | AskEvent) else None
            record |= {"step": step, "attempt": self.step.attempt, "question": self.question}
        return record

    def _state(self) -> dict[str, object]:
        held = self.held
        message, landing, conflict = self.message, self.landing or None, list[str]()
        if held is not None:
            message, landing = held.message, "conflict" if held.conflict else "held"
            conflict = list(held.files) if held.conflict else []
        return {
            "state": self.state,
            "reason": self.reason,
            "message": message,
            "landing": landing,
            "conflict": conflict,
        }


class StatusMirror:
    def __init__(self, files: StatusFiles, run: str, plan: Plan) -> None:
        self._files = files
        self._run = run
        self._rows: dict[str, int] = {path: row for row, path in enumerate(plan.outline.paths)}
        self._course = LandingCourse(plan)
        self._fold = RunFold()
        """The state since this coordinator has started."""
        self._statuses: dict[str, _SubplanStatus] = {}
        """The subplans that have not ended."""
        self._waiting: dict[str, float] = {}
        """The subplans with an outdated file, and the time of the change."""
        self._written: set[str] = set()

    def receive(self, events: Sequence[Recorded]) -> None:
        for recorded in events:
            self._fold.apply(recorded.event, recorded.at, recorded.seq)
            self._apply(recorded.event, recorded.at)

    def _apply(self, event: AnyEvent, at: float) -> None:
        match event:
            case kinds.RunFinishedEvent():
                if event.outcome is RunEnd.STOPPED:
                    self._stop(at)
            case kinds.SubplanStateEvent():
                self._apply_state(event, at)
            case (
                kinds.StepStartedEvent()
                | kinds.StepFinishedEvent()
                | kinds.AskEvent()
                | kinds.AnsweredEvent()
            ):
                self._apply_step(event, at)
            case _:
                kinds.overlook(event)

    def _stop(self, at: float) -> None:
        """Writes `stopped` into the files that say `running`, which would be wrong until the run is resumed."""
        for path, status in self._statuses.items():
            if status.question is None and status.held is None:
                status.at, status.state, status.step = at, _STOPPED, None
                status.reason = status.message = None
                if self._has_file(path):
                    self._write(path)
                    self._waiting.pop(path, None)
        # A coordinator that was killed could not correct its files. This one knows nothing about these subplans
        # except what the files say.
        for path in self._stale_running():
            landing = self._course.landing(self._rows[path], State.RUNNING)
            self._set(path, _SubplanStatus(at, state=_STOPPED, landing=landing))

    def _stale_running(self) -> list[str]:
        """Returns the subplans that an earlier coordinator reported as `running` and this one knows nothing of."""
        current = self._statuses.keys() | self._written
        return [path for path in self._rows if path and path not in current and self._says_running(path)]

    def _says_running(self, path: str) -> bool:
        """Returns whether the file says `running` and nothing more.

        A question or the reason of a hold stays in the file: both hold true while nothing runs.
        """
        status = self._files.read(path) if self._files.had(path) else None
        if status is None or status.get("run") != self._run or status.get("state") != State.RUNNING:
            return False
        return not status.get("question") and not status.get("message")

    def _update(self, path: str, at: float) -> _SubplanStatus:
        # The time of the first change counts, so that a subplan which changes every half second is written all the
        # same.
        self._waiting.setdefault(path, at)
        if path not in self._statuses:
            landing = self._course.landing(self._rows[path], State.RUNNING)
            self._statuses[path] = _SubplanStatus(at, state=State.RUNNING, landing=landing)
        self._statuses[path].at = at
        return self._statuses[path]

    def _apply_state(self, event: SubplanStateEvent, at: float) -> None:
        path, state = event.subplan, event.outcome
        if not path:
            return
        status = self._update(path, at)
        status.state, status.reason, status.message = state, event.reason, event.message
        status.held = None
        status.landing = self._course.landing(self._rows[path], state)
        if not state.terminal:
            return
        # A file that exists must show the end, whatever the end is; otherwise it would say `running` forever.
        if event.reason not in _BY_OTHERS or self._has_file(path):
            self._write(path)
        del self._waiting[path], self._statuses[path]

    def _apply_step(self, event: Activity, at: float) -> None:
        path = event.subplan
        if not path:
            return
        held = self._fold.holds.open.get(path)
        if event.step == InternalStep.LAND:
            self._apply_landing(event, held, at)
            return
        status = self._update(path, at)
        status.step, status.held = event, held
        # A hold is written at once: scripts poll these files to find out that a person is needed.
        if held is not None:
            self._write(path)

    def _apply_landing(self, event: Activity, held: HeldWork | None, at: float) -> None:
        """Records a landing, which happens after the subplan has ended, if it is held or has a file already."""
        path = event.subplan
        landing = self._course.landing(self._rows[path], State.COMPLETED)
        if isinstance(event, StepFinishedEvent) and event.outcome is StepEnd.DONE and landing:
            landing = "merged"
        if held is not None or self._has_file(path):
            self._set(path, _SubplanStatus(at, state=State.COMPLETED, landing=landing, held=held))

    def refresh(self, now: float) -> None:
        """Writes the files that are due. The session calls this regularly."""
        for path in [path for path, since in self._waiting.items() if now - since >= LASTS]:
            del self._waiting[path]
            self._write(path)

    def close(self) -> None:
        for path in self._waiting:
            # The others are young and would still say `running`; as no file exists, nothing is out of date.
            if path in self._written or self._statuses[path].question:
                self._write(path)
        self._files.close()

    def _has_file(self, path: str) -> bool:
        return path in self._written or self._files.had(path)

    def _write(self, path: str) -> None:
        self._set(path, self._statuses[path])

    def _set(self, path: str, status: _SubplanStatus) -> None:
        self._written.add(path)
        about = {"weft": 1, "run": self._run, "subplan": path}
        self._files.set(path, about | status.record())
