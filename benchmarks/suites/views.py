"""What `weft ui` and `weft top` do with a large run: open it, fold events, take snapshots and increments."""

import shutil
from pathlib import Path
from tempfile import mkdtemp

import msgspec

from benchmarks.large_run import write_large_run
from weft.app.read_model.live_run import LiveRun
from weft.app.record.journal import open_book
from weft.app.record.run_plan import plan_of
from weft.app.views.run_view import RunView
from weft.app.views.snapshot_model import Increment
from weft.engine.messages.events import Recorded
from weft.plan.model import Plan

_NEWS = 250
"""Events between two increments, of a run with a thousand events a second."""


class LargeRun:
    params = (1, 10, 100)
    param_names = ("groups of 100 slices",)
    timeout = 300

    def setup(self, groups: int) -> None:
        self.folder = Path(mkdtemp())
        write_large_run(self.folder / "run", groups=groups, is_detailed=True)
        self.live = LiveRun(self.folder / "run", None)
        with open_book(self.folder / "run") as recorded_run:
            self.recorded_run = recorded_run
            self.plan = plan_of(recorded_run)
            self.events = list(recorded_run.events())

    def teardown(self, *_: object) -> None:
        self.live.close()
        shutil.rmtree(self.folder)

    def time_loading_the_plan(self, *_: object) -> Plan:
        return plan_of(self.recorded_run)

    def time_reading_events(self, *_: object) -> list[Recorded]:
        with open_book(self.folder / "run") as recorded_run:
            return list(recorded_run.events())

    def time_folding(self, *_: object) -> RunView:
        view = RunView(self.plan)
        view.apply_all(self.events)
        return view

    def time_opening(self, *_: object) -> int:
        return self._open()

    def time_snapshot(self, *_: object) -> bytes:
        return msgspec.json.encode(self.live.snapshot())

    def time_increment(self, *_: object) -> Increment | None:
        return self.live.increment_since(max(0, self.live.view.seq - _NEWS))

    def peakmem_open(self, *_: object) -> int:
        return self._open()

    def _open(self) -> int:
        """Opens the run and returns the number of its last event."""
        live = LiveRun(self.folder / "run", None)
        live.close()
        return live.view.seq
