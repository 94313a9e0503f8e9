"""Runs plans that are killed at a given point. The process does nothing else, so that it may fork.

Each line of its input is one run: the directory of a project, the process to kill, the point, and the number of
its occurrence. The answer is a line: `ended` or `killed`.

The points are before or after calls of real objects: the disk, the supervisor and the workspaces.
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from e2e.projects import Project
from e2e.repositories import Repository
from weft.app.run.status_files import StatusMirror
from weft.hosts.link import SupervisorLink
from weft.hosts.local import LocalHost
from weft.runtime.effects import Effects
from weft.store.sqlite import SqliteJournal
from weft.workspaces.directories import DirectoryWorkspaces
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.checkouts import advance_branch

POINTS: dict[str, list[tuple[Any, str]]] = {
    "append": [(SqliteJournal, "append"), (SqliteJournal, "add_run")],
    "send": [(SupervisorLink, "send")],
    "flush": [(SupervisorLink, "_flush")],
    "obey": [(Effects, "carry_out")],
    "hear": [(Effects, "job_ended"), (LocalHost, "open")],
    "close": [(StatusMirror, "close")],
    "work": [(DirectoryWorkspaces, name) for name in ("prepare", "accept", "merge", "gather")],
}
OF_GIT: dict[str, list[tuple[Any, str]]] = {"git": [(Git, "ask")], "forward": [(advance_branch, "_forward")]}
"""Only in repositories."""
KILLED = -signal.SIGKILL


class Killer:
    """Kills, once, at the n-th passage."""

    def __init__(self, victim: str, left: int, project: Project) -> None:
        self._victim = victim
        self._left = left
        self._project = project

    def passes(self) -> None:
        self._left -= 1
        if self._left == 0:
            (self._project.outside / "reached").touch()
            if self._victim in {"supervisor", "both", "machine"}:
                self._project.kill_supervisors()
            if self._victim == "machine":
                self._project.kill_processes()
            if self._victim not in {"supervisor", "nobody"}:
                os.kill(os.getpid(), signal.SIGKILL)

    def before(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def passing(*arguments: Any, **named: Any) -> Any:
            self.passes()
            return call(*arguments, **named)

        return passing

    def after(self, call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def passing(*arguments: Any, **named: Any) -> Any:
            result = call(*arguments, **named)
            self.passes()
            return result

        return passing


def killed_run(directory: str, victim: str, point: str, number: int) -> None:
    place = Path(directory)
    project = Repository(place) if (place / ".git").exists() else Project(place)
    (project.outside / "pid").write_text(str(os.getpid()))
    killer = Killer(victim, number, project)
    name, _, when = point.partition(".")
    anywhere = [place for group in POINTS.values() for place in group]
    places = {**POINTS, **OF_GIT, "any": anywhere}[name]
    for owner, method in places:
        setattr(owner, method, getattr(killer, when)(getattr(owner, method)))
    project.run()


def main() -> None:
    for line in sys.stdin:
        directory, victim, point, number = line.split()
        child = os.fork()
        if child == 0:
            try:
                killed_run(directory, victim, point, int(number))
            except BaseException:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.write({0: "ended\n", KILLED: "killed\n"}.get(status, f"exit {status}\n"))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
