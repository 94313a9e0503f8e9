"""Who looks at a run: a person at a terminal, a person who reads lines, a program that reads JSON.

Whoever has gone, as when a pipe is closed or a terminal, misses the rest; the run goes on all the same.
"""

import json
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from math import inf
from typing import TextIO

from weft.app.record.output_files import last_line
from weft.app.run.session import LEFT, RunSetup
from weft.app.views.event_json import event_json
from weft.app.views.run_view import RunView
from weft.cli.live.screen import Screen
from weft.cli.output import forget_broken_outputs, note, note_lines, write_text
from weft.cli.text.landing import NOTHING
from weft.cli.text.run_lines import lines_of
from weft.cli.text.run_summary import next_lines, summary_lines
from weft.cli.wording.cells import Style
from weft.cli.wording.words import few
from weft.engine.messages.events import Recorded
from weft.engine.states import FailureReason
from weft.engine.states import SubplanExecutionState as State
from weft.runtime.jobs import output_prefix

_STOPPING = {
    1: "stopping: what runs is ended gracefully; Ctrl-C again ends it at once",
    2: "stopping at once; Ctrl-C again leaves without waiting",
    3: "leaving; what is still being ended ends by itself",
}

EXITS = {"completed": 0, "failed": 1, "waiting": 4, "stopped": 130, "left": 130}
EXIT_BUDGET = 3

Clock = Callable[[], float]


class Observer:
    """What all have in common: they know how far the run is, and have the last word."""

    def __init__(self, *, plan: str | None = None, clock: Clock = time.time) -> None:
        """`plan` is as it was named on the command line."""
        self._plan = "" if plan is None else shlex.quote(plan)
        self._clock = clock
        self._begun: RunSetup | None = None
        self._view: RunView | None = None
        self._history: Iterable[Recorded] | None = None
        """What has happened before, until it is in the view."""
        self._is_gone = False

    def on_stage(self) -> AbstractContextManager[object]:
        """While the run is shown."""
        return nullcontext()

    # What it hears

    def begins(self, begun: RunSetup) -> None:
        self._begun = begun
        self._view = RunView(begun.plan)
        self._history = begun.history
        if not begun.resumed:
            self._catch_up()
        if begun.settles:
            self._say([_settles(begun)])
        elif begun.resumed:
            self._say([f"run {begun.run} goes on"])
        elif begun.given_up and begun.given_up_for != begun.chosen:
            was_for = _purpose(begun.given_up_for)
            self._say([f"run {begun.given_up} was for {was_for}, and unfinished; a new run begins"])
        elif begun.given_up and begun.changed:
            self._say(
                [f"the plan has changed since run {begun.given_up}, which was unfinished; a new run begins"]
            )
        elif begun.given_up:
            self._say([f"run {begun.given_up} was unfinished, and is given up; a new run begins"])
        if not begun.done_by:
            self._notes(begun.notes)

    def _notes(self, notes: Sequence[str]) -> None:
        """What a person should know before anything starts."""
        self._say([f"note: {one}" for one in notes])

    def hears(self, events: Sequence[Recorded]) -> None:
        if events:
            self._catch_up(before=events[0].seq)
        for one in events:
            self.view.apply(one.event, one.at)
            self._say(self._lines(one, self.view))

    def _catch_up(self, *, before: float = inf) -> None:
        """Brings the view to what had happened before the event of this number.

        A long history takes seconds. So it is read when the first new event is in the journal and work is under
        way, and not before.
        """
        history, self._history = self._history or (), None
        assert self._view is not None, "a run begins before anything happens in it"
        for recorded in history:
            if recorded.seq >= before:
                return
            self._view.apply(recorded.event, recorded.at)

    def notes(self, lines: Sequence[str]) -> None:
        """What a person should know, and is no event."""
        self._notes(lines)

    def looks(self) -> None:
        """Nothing to see."""

    def stops(self, times: int) -> None:
        self._say([_STOPPING[min(times, 3)]])

    # What it knows in the end

    @property
    def begun(self) -> RunSetup:
        assert self._begun is not None
        return self._begun

    @property
    def view(self) -> RunView:
        if self._history is not None:
            self._catch_up()
        assert self._view is not None
        return self._view

    def ends(self, state: str, *, changed: Mapping[str, int] = NOTHING, has_next: bool = True) -> None:
        """The last word, or the last but what to type."""
        if state != LEFT:  # then all has been said
            self.view.state = state
            self._write(partial(note_lines, self._summary(changed, has_next=has_next)))
        if self._is_gone:
            forget_broken_outputs()

    def _summary(self, changed: Mapping[str, int], *, has_next: bool) -> list[str]:
        if self.begun.done_by:
            return _nothing_to_do(self.begun)
        result = self.begun.result
        results = str(result) if result is not None and result.is_dir() else ""
        return summary_lines(
            self.view, self._clock(), results=results, plan=self._typed(), changed=changed, has_next=has_next
        )

    def says_next(self) -> None:
        """What to type."""
        self._write(partial(note_lines, next_lines(self.view, self._typed())))

    def _typed(self) -> str:
        """What to say after `weft run` to mean the same run."""
        return " ".join(filter(None, (self._plan, *map(shlex.quote, self.begun.chosen))))

    def exit_code(self, state: str) -> int:
        """What failed counts more than what waits."""
        has_failed = state == "failed" or (state == "waiting" and self.view.counts[State.FAILED] > 0)
        if has_failed:
            return EXIT_BUDGET if any(row.reason == FailureReason.BUDGET for row in self.view.rows) else 1
        return EXITS[state]

    # How it speaks

    def _lines(self, one: Recorded, view: RunView) -> Sequence[str]:  # noqa: ARG002 - most have something to say
        """About one thing that has happened."""
        return ()

    def _say(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._write(partial(note, line))

    def _write(self, write: Callable[[], None]) -> None:
        if self._is_gone:
            return
        try:
            write()
        except OSError:
            self._is_gone = True


def _settles(begun: RunSetup) -> str:
    steps = few(begun.settles)
    is_in, has = ("is", "that step has") if len(begun.settles) == 1 else ("are", "these steps have")
    return (
        f"run {begun.run} is unfinished, and {steps} {is_in} in progress; a new run replaces it when {has} ended; "
        "to end it now, type: weft stop"
    )


def _purpose(chosen: Sequence[str]) -> str:
    return f"{few(chosen)} only" if chosen else "the whole plan"


def _nothing_to_do(begun: RunSetup) -> list[str]:
    subplans = len(begun.plan.subplans) - 1
    all_were = f"all {subplans:,} subplans were" if subplans > 1 else "the one subplan was"
    if begun.chosen:
        all_were = f"{few(begun.chosen)} {'was' if len(begun.chosen) == 1 else 'were'}"
    message = f"nothing to do: {all_were} completed by run {begun.done_by}; --fresh repeats everything"
    return [message] if begun.result is None else [message, f"results: {begun.result}"]


class LineObserver(Observer):
    """Reads a line for each thing that happens, or only for what needs somebody."""

    def __init__(self, *, quiet: bool, plan: str | None = None, clock: Clock = time.time) -> None:
        super().__init__(plan=plan, clock=clock)
        self._quiet = quiet

    def _notes(self, notes: Sequence[str]) -> None:
        if not self._quiet:
            super()._notes(notes)

    def _lines(self, one: Recorded, view: RunView) -> Sequence[str]:
        return lines_of(one.event, one.at, view, quiet=self._quiet)


class JsonObserver(Observer):
    """Reads each event as a line of JSON."""

    def hears(self, events: Sequence[Recorded]) -> None:
        super().hears(events)
        text = "".join(f"{json.dumps(event_json(one))}\n" for one in events)
        self._write(partial(write_text, text))


class Watcher(Observer):
    """Looks at a picture of the run that is kept up to date."""

    def __init__(
        self, stream: TextIO, style: Style, *, plan: str | None = None, clock: Clock = time.time
    ) -> None:
        super().__init__(plan=plan, clock=clock)
        self._screen = Screen(stream, style)

    def on_stage(self) -> AbstractContextManager[object]:
        return self._screen

    def looks(self) -> None:
        if self._history is not None or self._view is None:
            return  # nothing has happened yet that could be shown
        logs = self.begun.places.logs(self.begun.run)
        for path, step in self._view.under_way():
            which = (step.attempt, step.firing, step.execution)
            self._view.note_output(path, step.step, last_line(output_prefix(logs, path, step.step, which)))
        self._screen.show(self._view, self._clock())

    def _lines(self, one: Recorded, view: RunView) -> Sequence[str]:
        return lines_of(one.event, one.at, view) if one.event.kind == "recovered" else ()

    def _say(self, lines: Sequence[str]) -> None:
        if lines:
            self._screen.say(lines)
