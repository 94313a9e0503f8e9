"""Keeps the status files up to date with a run.

Only what lasts is mirrored: a slice that begins and is completed within a second leaves no file, so that a plan of
a thousand quick slices does not cost a thousand files. What failed by itself, or asks something, always has one.
"""

from collections.abc import Sequence
from typing import Any

from weft.app.run_events import timestamp
from weft.engine.run.events import Event, Recorded
from weft.runtime.status_files import StatusFiles

LASTS = 1.0
"""Seconds after which a state is worth a file."""
_BY_OTHERS = frozenset({None, "blocked", "cancelled"})
"""Reasons of an end that nobody has to look into."""
_KINDS = frozenset({"subplan_state", "step_started", "step_finished", "ask", "answered"})


class StatusMirror:
    def __init__(self, files: StatusFiles, run: str) -> None:
        self._files = files
        self._run = run
        self._records: dict[str, dict[str, Any]] = {}
        """Of subplans that have not ended."""
        self._waiting: dict[str, float] = {}
        """Those whose file is not as it should be, and since when."""
        self._written: set[str] = set()

    def hears(self, events: Sequence[Recorded]) -> None:
        for one in events:
            event = one.event
            # A result lands when its subplan has ended.
            if event.kind in _KINDS and event.subplan and event.step != "@land":
                self._hear(event, one.at)

    def _hear(self, event: Event, at: float) -> None:
        path = event.subplan
        record = self._records.setdefault(path, {"weft": 1, "run": self._run, "subplan": path})
        record["updated_at"] = timestamp(at)
        if event.kind == "subplan_state":
            record |= {"state": event.outcome, "reason": event.data.get("reason")}
            record["message"] = event.data.get("message")
        else:
            under_way = event.kind in {"step_started", "ask"}
            record |= {"step": event.step if under_way else None, "attempt": event.attempt}
            record["question"] = event.data.get("question")
        self._waiting.setdefault(path, at)
        if event.kind == "subplan_state" and event.outcome in {"completed", "failed"}:
            self._ended(path)

    def _ended(self, path: str) -> None:
        del self._waiting[path]
        record = self._records.pop(path)
        by_others = record["reason"] in _BY_OTHERS
        if not by_others or path in self._written or self._files.has(path):  # perhaps from before a crash
            self._files.set(path, record)

    def looks(self, now: float) -> None:
        """To be called now and then."""
        for path in [path for path, since in self._waiting.items() if now - since >= LASTS]:
            del self._waiting[path]
            self._written.add(path)
            self._files.set(path, dict(self._records[path]))

    def close(self) -> None:
        for path in self._waiting:
            if path in self._written or self._records[path].get("question"):
                self._files.set(path, self._records[path])
        self._files.close()
