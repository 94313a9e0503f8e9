"""Keeps the status files up to date with a run.

Only what lasts is mirrored: a slice that begins and is completed within a second leaves no file, so that a plan of
a thousand quick slices does not cost a thousand files. What failed by itself, or asks something, always has one.
"""

from collections.abc import Sequence

from msgspec import Struct

from weft.app.run_events import timestamp
from weft.engine.run.events import Event, Recorded
from weft.runtime.status_files import StatusFiles

LASTS = 1.0
"""Seconds after which a state is worth a file."""
_BY_OTHERS = frozenset({None, "blocked", "cancelled"})
"""Reasons of an end that nobody has to look into."""
_STEPS = frozenset({"step_started", "step_finished", "ask", "answered"})
_UNDER_WAY = frozenset({"step_started", "ask"})
_ENDS = frozenset({"completed", "failed"})


class _Heard(Struct, eq=False):
    """The last that was heard of a subplan."""

    at: float
    state: Event | None = None
    step: Event | None = None

    @property
    def question(self) -> str | None:
        return None if self.step is None else self.step.data.get("question")

    def record(self) -> dict[str, object]:
        """What its file says of it."""
        record: dict[str, object] = {"updated_at": timestamp(self.at)}
        if self.state is not None:
            data = self.state.data
            record |= {
                "state": self.state.outcome,
                "reason": data.get("reason"),
                "message": data.get("message"),
            }
        if self.step is not None:
            step = self.step.step if self.step.kind in _UNDER_WAY else None
            record |= {"step": step, "attempt": self.step.attempt, "question": self.question}
        return record


class StatusMirror:
    def __init__(self, files: StatusFiles, run: str) -> None:
        self._files = files
        self._run = run
        self._heard: dict[str, _Heard] = {}
        """Of subplans that have not ended."""
        self._waiting: dict[str, float] = {}
        """Those whose file is not as it should be, and since when."""
        self._written: set[str] = set()

    def hears(self, events: Sequence[Recorded]) -> None:
        for one in events:
            event = one.event
            if not event.subplan:
                continue
            if event.kind == "subplan_state":
                self._hear(event.subplan, one.at).state = event
                if event.outcome in _ENDS:
                    self._ended(event.subplan, event.data.get("reason"))
            elif event.kind in _STEPS and event.step != "@land":  # a result lands when its subplan has ended
                self._hear(event.subplan, one.at).step = event

    def _hear(self, path: str, at: float) -> _Heard:
        self._waiting.setdefault(path, at)
        heard = self._heard.get(path)
        if heard is None:
            heard = self._heard[path] = _Heard(at)
        heard.at = at
        return heard

    def _ended(self, path: str, reason: str | None) -> None:
        if reason not in _BY_OTHERS or path in self._written or self._files.had(path):
            self._write(path)
        del self._waiting[path], self._heard[path]

    def looks(self, now: float) -> None:
        """To be called now and then."""
        for path in [path for path, since in self._waiting.items() if now - since >= LASTS]:
            del self._waiting[path]
            self._written.add(path)
            self._write(path)

    def close(self) -> None:
        for path in self._waiting:
            if path in self._written or self._heard[path].question:
                self._write(path)
        self._files.close()

    def _write(self, path: str) -> None:
        about = {"weft": 1, "run": self._run, "subplan": path}
        self._files.set(path, about | self._heard[path].record())
