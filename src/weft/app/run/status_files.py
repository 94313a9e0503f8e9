"""Keeps the status files up to date with a run.

Only what lasts is mirrored: a slice that begins and is completed within a second leaves no file, so that a plan of
a thousand quick slices does not cost a thousand files. What failed by itself, asks something, or is held always
has one.
"""

from collections.abc import Sequence

from msgspec import Struct

from weft.app.views.event_json import timestamp
from weft.app.views.landing import LandingCourse, held_of
from weft.app.views.rows import HeldWork
from weft.engine.messages.events import Event, Recorded
from weft.engine.states import SubplanExecutionState as State
from weft.plan.model import Plan
from weft.runtime.status_files import StatusFiles

LASTS = 1.0
"""Seconds after which a state is worth a file."""
_BY_OTHERS = frozenset({None, "blocked", "cancelled"})
"""Reasons of an end that nobody has to look into."""
_STEPS = frozenset({"step_started", "step_finished", "ask", "answered"})
_UNDER_WAY = frozenset({"step_started", "ask"})
_RUNNING = Event(kind="subplan_state", outcome="running")
_COMPLETED = Event(kind="subplan_state", outcome="completed")
_STOPPED = Event(kind="subplan_state", outcome="stopped")
"""What is so when a step begins or ends, and when something lands; one who was here before us has heard it."""


class _Heard(Struct, eq=False):
    """The last that was heard of a subplan."""

    at: float
    state: Event
    step: Event | None = None
    landing: str = ""
    held: HeldWork | None = None

    @property
    def question(self) -> str | None:
        return None if self.step is None else self.step.data.get("question")

    def record(self) -> dict[str, object]:
        """What its file says of it."""
        record: dict[str, object] = {"updated_at": timestamp(self.at), **self._state()}
        if self.step is not None:
            step = self.step.step if self.step.kind in _UNDER_WAY else None
            record |= {"step": step, "attempt": self.step.attempt, "question": self.question}
        return record

    def _state(self) -> dict[str, object]:
        data, held = self.state.data, self.held
        message, landing, conflict = data.get("message"), self.landing or None, list[str]()
        if held is not None:
            message, landing = held.message, "conflict" if held.conflict else "held"
            conflict = list(held.files) if held.conflict else []
        return {
            "state": self.state.outcome,
            "reason": data.get("reason"),
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
        self._heard: dict[str, _Heard] = {}
        """Of subplans that have not ended."""
        self._waiting: dict[str, float] = {}
        """Those whose file is not as it should be, and since when."""
        self._written: set[str] = set()

    def hears(self, events: Sequence[Recorded]) -> None:
        for one in events:
            event = one.event
            if event.kind == "run_finished" and event.outcome == _STOPPED.outcome:
                self._stop(one.at)
            if not event.subplan:
                continue
            if event.kind == "subplan_state":
                self._hear_state(event, one.at)
            elif event.kind in _STEPS and event.step == "@land":
                self._hear_landing(event, one.at)
            elif event.kind in _STEPS:
                self._hear_step(event, one.at)

    def _stop(self, at: float) -> None:
        """A file that still said `running` would be wrong until the run is resumed."""
        for path, heard in self._heard.items():
            if heard.question is None and heard.held is None:
                heard.at, heard.state, heard.step = at, _STOPPED, None
                if self._has_file(path):
                    self._write(path)
                    self._waiting.pop(path, None)
        for path in self._left_running():
            landing = self._course.landing(self._rows[path], State.RUNNING)
            self._set(path, _Heard(at, state=_STOPPED, landing=landing))

    def _left_running(self) -> list[str]:
        """The subplans of which only an earlier coordinator has heard, and whose files say `running`."""
        heard = self._heard.keys() | self._written
        return [path for path in self._rows if path and path not in heard and self._says_running(path)]

    def _says_running(self, path: str) -> bool:
        """A question, and why something is held, stay in the file: they are so also when nothing runs."""
        status = self._files.read(path) if self._files.had(path) else None
        if status is None or status.get("run") != self._run or status.get("state") != _RUNNING.outcome:
            return False
        return not status.get("question") and not status.get("message")

    def _hear(self, path: str, at: float) -> _Heard:
        self._waiting.setdefault(path, at)
        if path not in self._heard:
            landing = self._course.landing(self._rows[path], State.RUNNING)
            self._heard[path] = _Heard(at, state=_RUNNING, landing=landing)
        self._heard[path].at = at
        return self._heard[path]

    def _hear_state(self, event: Event, at: float) -> None:
        path, state = event.subplan, State(event.outcome)
        heard = self._hear(path, at)
        heard.state, heard.held = event, None
        heard.landing = self._course.landing(self._rows[path], state)
        if not state.terminal:
            return
        if event.data.get("reason") not in _BY_OTHERS or self._has_file(path):
            self._write(path)
        del self._waiting[path], self._heard[path]

    def _hear_step(self, event: Event, at: float) -> None:
        heard = self._hear(event.subplan, at)
        heard.step = event
        heard.held = held_of(event) if event.outcome == "held" else None
        if heard.held is not None:
            self._write(event.subplan)

    def _hear_landing(self, event: Event, at: float) -> None:
        """A result lands when its subplan has ended; nobody need know, unless it is held, or was."""
        path = event.subplan
        held = held_of(event) if event.outcome == "held" else None
        landing = self._course.landing(self._rows[path], State.COMPLETED)
        if event.outcome == "done" and landing:
            landing = "merged"
        if held is not None or self._has_file(path):
            self._set(path, _Heard(at, state=_COMPLETED, landing=landing, held=held))

    def looks(self, now: float) -> None:
        """To be called now and then."""
        for path in [path for path, since in self._waiting.items() if now - since >= LASTS]:
            del self._waiting[path]
            self._write(path)

    def close(self) -> None:
        for path in self._waiting:
            if path in self._written or self._heard[path].question:
                self._write(path)
        self._files.close()

    def _has_file(self, path: str) -> bool:
        return path in self._written or self._files.had(path)

    def _write(self, path: str) -> None:
        self._set(path, self._heard[path])

    def _set(self, path: str, heard: _Heard) -> None:
        self._written.add(path)
        about = {"weft": 1, "run": self._run, "subplan": path}
        self._files.set(path, about | heard.record())
