"""The journal, open at one run: what `weft events`, `logs`, `answer` and `replay` look into.

Whoever reads does not disturb whoever runs.
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
from weft.app.project.places import PLAN_NAMES, Places, absolute, used_project
from weft.app.project.step_limits import find_sight
from weft.app.record.subplan_journal import SubplanJournal, is_inside
from weft.engine.messages.events import Recorded
from weft.engine.messages.facts import RunStarted
from weft.engine.messages.run_status import AT_REST
from weft.errors import InputError
from weft.plan.text.problems import nearest
from weft.ports.journal import JournalReader, RunRecord
from weft.store.lease import is_alive
from weft.store.sqlite import open_reader

_BEGINS, _LEAVES = frozenset({"run_started", "recovered"}), frozenset({"run_finished", "coordinator_left"})
"""Events: a coordinator takes a run up; it leaves the run."""
LOOKS_EVERY = 0.2
"""Seconds between looks of whoever follows a run."""

Alone = Callable[[], None]
"""To be told that nobody runs what is followed; once for each time that its coordinator has gone."""


def nobody_minds() -> None:
    pass


class RecordedRun(Struct, frozen=True):
    places: Places
    journal: JournalReader
    run: RunRecord
    subplan: str = ""
    """The only subplan that can be seen, inside a step; empty for the whole run."""

    def sees(self, path: str) -> bool:
        """Whether this subplan can be seen; from inside a step only its own can."""
        return is_inside(path, self.subplan)

    def require_sight(self, paths: Iterable[str], name: str) -> None:
        """Raises `InputError` if none of these subplans, which were asked for by this name, can be seen."""
        if not any(self.sees(path) for path in paths):
            raise InputError(
                f"inside a step of {self.subplan} only {self.subplan} can be seen, and not {name}"
            )

    def events(
        self, *, after: int = 0, follow: bool = False, alone: Alone = nobody_minds
    ) -> Iterator[Recorded]:
        """Those there are; with `follow` also those to come, until the run is over."""
        for is_news in self.looks(follow=follow, alone=alone):
            for one in self.journal.events(self.run.run, after=after) if is_news else ():
                after = one.seq
                yield one

    def looks(self, *, follow: bool, alone: Alone = nobody_minds) -> Iterator[bool]:
        """Now and, with `follow`, again and again, until the run is over: whether there may be new events."""
        is_news, was_alone = True, False
        while True:
            # The state before the events, so that none is missed that came with it.
            is_last = not follow or (is_news and self.state() in AT_REST)
            yield is_news
            if is_last:
                return
            time.sleep(LOOKS_EVERY)
            # In this order: who has gone because the run is over has written so before.
            is_alone = not self.is_run_by_somebody()
            is_news = self.journal.changed()
            if is_alone and not is_news and not was_alone:
                alone()
            was_alone = is_alone and (was_alone or not is_news)

    def state(self) -> str:
        now = self.journal.record(self.run.run)
        assert now is not None, "a run stays in the journal"
        return now.state

    def is_run_by_somebody(self) -> bool:
        """Whether a coordinator is alive in this project."""
        holder = self.journal.holder()
        return holder is not None and is_alive(holder)

    def is_heard(self) -> bool:
        """Whether a coordinator works on this run and takes up what is asked of it.

        To be asked after a request was left: the coordinator then takes it up before it leaves the run, or has
        left before it and the next one takes it up.
        """
        began, at = self._last_change()
        holder = self.journal.holder()
        return began and holder is not None and is_alive(holder) and at >= holder.since

    def has_left(self) -> bool:
        """Whether the last coordinator has ended its work on this run; its process may still live."""
        began, at = self._last_change()
        holder = self.journal.holder()
        return holder is not None and not began and at >= holder.since

    def _last_change(self) -> tuple[bool, float]:
        """Whether a coordinator took this run up or left it, whichever came last; and when."""
        changes = [
            glimpse for glimpse in self.journal.glance(self.run.run) if glimpse.kind in _BEGINS | _LEAVES
        ]
        return (changes[-1].kind in _BEGINS, changes[-1].at) if changes else (False, -math.inf)

    def chosen(self) -> tuple[str, ...]:
        """The subplans that the run is for, with what they need; none: for the whole plan."""
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
        """How the plan is named on the command line; nothing if it need not be."""
        if self.run.file == InputSource(name=STDIN).shown:
            return [STDIN]
        file = Path(self.run.directory, Path(self.run.file).name)
        here = absolute(Path())
        name = str(file.relative_to(here) if file.is_relative_to(here) else file)
        return [] if name in PLAN_NAMES else [name]


@contextmanager
def open_book(
    directory: Path, run: str | None = None, *, environ: Mapping[str, str] = os.environ
) -> Generator[RecordedRun]:
    """The run of that id, or the last one; inside a step, its own subplan of its own run."""
    places = used_project(absolute(directory))
    journal = open_reader(places.journal)
    try:
        sight = find_sight(places, journal, run, environ)
        seen = SubplanJournal(journal, sight.subplan) if sight.subplan else journal
        yield RecordedRun(places, seen, _chosen(journal, sight.run), sight.subplan)
    finally:
        journal.close()


def _chosen(journal: JournalReader, run: str | None) -> RunRecord:
    found = journal.record(run)
    if found is not None:
        return found
    names = [one.run for one in journal.runs()]
    if run is None or not names:
        raise InputError("nothing has been run here yet; to run the plan, type: weft run")
    near = nearest(run, names)
    hint = f"did you mean {near}?" if near else f"the last one is {names[0]}"
    raise InputError(f"there is no run {run!r}; {hint}")
