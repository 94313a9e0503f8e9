"""The journal, opened at one run, for commands such as `weft events`, `logs`, `answer` and `replay`.

A reader does not disturb the coordinator.
"""

import math
import os
import shlex
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from weft.app.project.files import STDIN, InputSource
from weft.app.project.places import PLAN_NAMES, Places, absolute, find_used_project
from weft.app.project.step_limits import find_sight
from weft.app.record.subplan_journal import SubplanJournal, is_inside
from weft.engine.messages.event_codec import kinds_of
from weft.engine.messages.events import (
    CoordinatorLeftEvent,
    Recorded,
    RecoveredEvent,
    RunFinishedEvent,
    RunStartedEvent,
)
from weft.engine.messages.facts import RunStarted
from weft.errors import InputError
from weft.plan.text.problems import nearest
from weft.ports.journal import JournalReader, RunRecord
from weft.store.lease import is_alive
from weft.store.sqlite import open_reader
from weft.terms import AT_REST, RunState

_BEGINS = kinds_of(RunStartedEvent, RecoveredEvent)
_LEAVES = kinds_of(RunFinishedEvent, CoordinatorLeftEvent)
"""Kinds of events: a coordinator takes a run up; it leaves the run."""
POLL_INTERVAL = 0.2
"""Seconds between two polls of the journal by a follower."""

Alone = Callable[[], None]
"""Called when a followed run loses its coordinator; once for each coordinator."""


def ignore_absence() -> None:
    pass


class RecordedRun(Struct, frozen=True):
    places: Places
    journal: JournalReader
    run: RunRecord
    subplan: str = ""
    """The only visible subplan, inside a step; empty if the whole run is visible."""

    def sees(self, path: str) -> bool:
        """Returns whether this subplan is visible; inside a step, only the step's own subplan is."""
        return is_inside(path, self.subplan)

    def require_sight(self, paths: Iterable[str], name: str) -> None:
        """Raises `InputError` if none of the subplans that the user called `name` is visible."""
        if not any(self.sees(path) for path in paths):
            raise InputError(
                f"inside a step of {self.subplan} only {self.subplan} can be seen, and not {name}"
            )

    def events(
        self, *, after: int = 0, follow: bool = False, alone: Alone = ignore_absence
    ) -> Iterator[Recorded]:
        """Yields the recorded events and, with `follow`, new ones until the run is over."""
        for is_news in self.poll(follow=follow, alone=alone):
            # `changed` is a cheap check of the database's counter; without news, no query runs.
            for recorded in self.journal.events(self.run.run, after=after) if is_news else ():
                after = recorded.seq
                yield recorded

    def poll(self, *, follow: bool, alone: Alone = ignore_absence) -> Iterator[bool]:
        """Yields whether there may be new events: once or, with `follow`, for each poll until no more come.

        That is when the run is over, or waits for a person without a coordinator.
        """
        is_news, was_alone = True, False
        while True:
            # Read the state before the caller reads events, so that it misses none that came with the end.
            is_last = not follow or (is_news and self._is_inactive())
            yield is_news
            if is_last:
                return
            time.sleep(POLL_INTERVAL)
            # In this order: a coordinator writes the end of its run before it exits.
            is_alone = not self.has_coordinator()
            is_news = self.journal.changed()
            if is_alone and not is_news and not was_alone:
                alone()
            was_alone = is_alone and (was_alone or not is_news)

    def _is_inactive(self) -> bool:
        state = self.state()
        return state in AT_REST or (state == RunState.WAITING and self.has_left())

    def state(self) -> str:
        record = self.journal.record(self.run.run)
        assert record is not None, "a run stays in the journal"
        return record.state

    def has_coordinator(self) -> bool:
        """Returns whether a coordinator is alive in this project."""
        holder = self.journal.holder()
        return holder is not None and is_alive(holder)

    def takes_requests(self) -> bool:
        """Returns whether a coordinator works on this run and takes up requests.

        Callers write their request first. A coordinator that is present then takes it up before it leaves the run;
        otherwise the next coordinator does.
        """
        began, at = self._last_change()
        holder = self.journal.holder()
        # The event must not be older than the lease: an earlier coordinator, which has died, may have been the one
        # to take the run up.
        return began and holder is not None and is_alive(holder) and at >= holder.since

    def has_left(self) -> bool:
        """Returns whether the last coordinator has left this run; its process may still be alive."""
        began, at = self._last_change()
        holder = self.journal.holder()
        return holder is not None and not began and at >= holder.since

    def _last_change(self) -> tuple[bool, float]:
        """Returns whether the last change was that a coordinator took the run up (or left it), and its time."""
        changes = [
            glimpse
            for glimpse in self.journal.notable_events(self.run.run)
            if glimpse.kind in _BEGINS | _LEAVES
        ]
        return (changes[-1].kind in _BEGINS, changes[-1].at) if changes else (False, -math.inf)

    def chosen(self) -> tuple[str, ...]:
        """Returns the selected subplans of the run; empty for the whole plan."""
        started = next(iter(self.journal.facts(self.run.run)), None)
        return started.chosen if isinstance(started, RunStarted) else ()

    def run_command(self) -> str:
        """The command that resumes the run in the foreground."""
        return self._command("run")

    def start_command(self) -> str:
        """The command that resumes the run in the background."""
        return self._command("start")

    def _command(self, name: str) -> str:
        return shlex.join(["weft", name, *self.plan_words(), *self.chosen()])

    def plan_words(self) -> list[str]:
        """Returns the plan argument of a command line; empty if the plan need not be named."""
        if self.run.file == InputSource(name=STDIN).shown:
            return [STDIN]
        file = Path(self.run.directory, Path(self.run.file).name)
        current = absolute(Path())
        name = str(file.relative_to(current) if file.is_relative_to(current) else file)
        # The commands find a plan with a usual name by themselves, and a suggestion should be short enough to
        # type.
        return [] if name in PLAN_NAMES else [name]


@contextmanager
def open_book(
    directory: Path, run: str | None = None, *, environ: Mapping[str, str] = os.environ
) -> Generator[RecordedRun]:
    """Opens the run with that id, or the last run; inside a step, only the step's own subplan and run."""
    places = find_used_project(absolute(directory))
    journal = open_reader(places.journal)
    try:
        sight = find_sight(places, journal, run, environ)
        # The filter sits below all views, so that none of them has to think about steps.
        visible = SubplanJournal(journal, sight.subplan) if sight.subplan else journal
        # `_find_run` reads the unfiltered journal: the list of runs is no secret, and its errors name other runs.
        yield RecordedRun(places, visible, _find_run(journal, sight.run), sight.subplan)
    finally:
        journal.close()


def _find_run(journal: JournalReader, run: str | None) -> RunRecord:
    record = journal.record(run)
    if record is not None:
        return record
    names = [known_run.run for known_run in journal.runs()]
    if run is None or not names:
        raise InputError("nothing has been run here yet; to run the plan, type: weft run")
    near = nearest(run, names)
    hint = f"did you mean {near}?" if near else f"the last one is {names[0]}"
    raise InputError(f"there is no run {run!r}; {hint}")
