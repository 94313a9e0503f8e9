"""Projects that something is wrong with, and what the doctor says of them."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

from msgspec import structs

from e2e.repositories import Repository
from store.books import sign
from weft.app.doctor.context import Bounds
from weft.app.doctor.examination import CheckResult, DoctorReport, doctor
from weft.app.doctor.findings import FindingState

CALM = Bounds(
    space_problem=0,
    space_warning=0,
    inodes_problem=0,
    inodes_warning=0,
    files_problem=0,
    files_warning=0,
    processes=0,
)
"""Whatever machine this is, it is good enough."""
LANDS = "merge: {mode: auto}\nsubplans: [{id: a, steps: [{id: work, run: 'echo a > a'}]}]"
FAILS = """
subplans:
  - id: group
    subplans: [{id: bad, steps: [{id: one, run: "echo 1 > one"}, {id: two, run: "false"}]}]
"""
STANDS = """
merge: {mode: auto}
subplans: [{id: a, steps: [{id: work, run: "echo a > a; echo > OUTSIDE/here; read _ < OUTSIDE/gate"}]}]
"""


class Patient(Repository):
    def doctor(self, *, fix: bool = False, at: Path | None = None, bounds: Bounds = CALM) -> DoctorReport:
        return doctor(at or self.root, fix=fix, environ=self.environ, bounds=bounds)

    def told(self, check: str, *, fix: bool = False, **bounds: Any) -> list[CheckResult]:  # type: ignore[override]
        """What is not fine."""
        report = self.doctor(fix=fix, bounds=structs.replace(CALM, **bounds))
        return [
            result
            for result in report.results
            if result.check.id == check and result.state is not FindingState.OK
        ]

    def one(self, check: str, *, fix: bool = False, **bounds: Any) -> CheckResult:
        (messages,) = self.told(check, fix=fix, **bounds)
        return messages

    def wrong(self, *, fix: bool = False) -> list[tuple[str, str]]:
        """Check and state of all that is not fine."""
        return [
            (result.check.id, str(result.state))
            for result in self.doctor(fix=fix).results
            if result.state is not FindingState.OK
        ]

    # --- a run ---

    @contextmanager
    def under_way(self, plan: str = STANDS) -> Iterator["Popen[str]"]:
        """A step of it stands at a gate."""
        self.plan(plan)
        for name in ("here", "gate"):
            os.mkfifo(self.outside / name)
        with self.started("run") as process:
            (self.outside / "here").read_text()
            yield process

    def let_through(self) -> None:
        (self.outside / "gate").write_text("\n")

    def kill_coordinator(self) -> None:
        """Of a run whose step stands at a gate: only the step and its supervisor are left."""
        with self.under_way() as process:
            process.kill()

    def kill_all_but_the_step(self) -> int:
        """The pid of the step."""
        self.kill_coordinator()
        self.kill_supervisors()
        (pid,) = self.processes()
        return pid

    def sql(self, statement: str, *values: object) -> None:
        with closing(sqlite3.connect(self.root / ".weft" / "weft.db")) as database, database:
            database.execute(statement, values)
        if "events" in statement or "runs" in statement:
            sign(self.root / ".weft" / "weft.db")

    def state(self) -> str:
        return self.story().state


@contextmanager
def bystander() -> Iterator[int]:
    """The pid of a process that has nothing to do with anything."""
    with Popen(["sleep", "3600"]) as process:
        try:
            yield process.pid
        finally:
            process.kill()
