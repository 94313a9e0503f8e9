"""A journal on the disk with one run in it, made of events that never were."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct

from stored_events import make_event
from weft.app.record.journal import RecordedRun, open_book
from weft.engine.messages.events import AnyEvent
from weft.ports.journal import RunRecord
from weft.store.sqlite import SqliteJournal, open_journal

PLAN = """
weft: 1
plan: tried
isolation: dir
pipelines:
  inner: [{id: lint, run: "true"}, {id: test, run: "true"}]
subplans:
  - id: store
    verify: "true"
    subplans:
      - {id: model, steps: [{id: work, run: "true"}, {id: checks, pipeline: inner}]}
  - {id: docs, steps: [{id: write, run: "true"}]}
"""


class Written(Struct):
    """Whoever writes the journal."""

    root: Path
    journal: SqliteJournal

    def tell(self, *events: AnyEvent, state: str | None = None) -> None:
        self.journal.append("r1", [(0.0, event) for event in events], state=state)

    def die(self) -> None:
        """As far as the journal tells, whoever writes is a process that is not there any more."""
        dead = subprocess.Popen(["true"])
        dead.wait()
        self._be(dead.pid)

    def come_back(self) -> None:
        self._be(os.getpid())

    def be(self, pid: int) -> None:
        """As far as the journal tells, whoever writes is that process, which is alive."""
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        self._be(pid, started=int(stat[19]))

    def _be(self, pid: int, *, started: int | None = None) -> None:
        with closing(sqlite3.connect(self.root / ".weft" / "weft.db")) as database, database:
            database.execute("UPDATE lease SET pid = ?, started = coalesce(?, started)", (pid, started))

    @contextmanager
    def opened(self) -> Iterator[RecordedRun]:
        with open_book(self.root) as recorded_run:
            yield recorded_run

    def log(self, name: str) -> Path:
        """A file with what a step wrote."""
        file = self.root / ".weft" / "runs" / "r1" / "logs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        return file


@contextmanager
def written(
    root: Path, events: Sequence[AnyEvent] = (), *, file: str = "weft.yaml", text: str = PLAN
) -> Iterator[Written]:
    journal = open_journal(root / ".weft" / "weft.db", now=0.0)
    try:
        journal.add_run(
            RunRecord(
                run="r1", plan="tried", file=file, directory=str(root), text=text, digest="", created_at=0.0,
                state="running",
            )
        )  # fmt: skip
        item = Written(root, journal)
        item.tell(*events)
        yield item
    finally:
        journal.close()


def started(
    step: str, *, subplan: str = "docs", firing: int = 1, execution: int = 1, **data: object
) -> AnyEvent:
    more = {"firing": firing, "execution": execution, "command": "true", **data}
    return make_event(kind="step_started", subplan=subplan, step=step, attempt=1, data=more)


def finished(
    step: str, outcome: str = "done", *, subplan: str = "docs", firing: int = 1, execution: int = 1
) -> AnyEvent:
    data = {"firing": firing, "execution": execution}
    return make_event(kind="step_finished", subplan=subplan, step=step, attempt=1, outcome=outcome, data=data)
