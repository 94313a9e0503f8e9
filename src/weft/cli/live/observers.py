"""Observers of a run: lines for people, and JSON for programs; `watcher` has the one for a terminal.

When the reader goes away, for instance because a pipe or a terminal is closed, the observer stops writing. The run
continues.
"""

import json
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from math import inf

from weft.app.run.session import LEFT, RunSetup
from weft.app.views.change_count import ChangeCount
from weft.app.views.event_json import event_json
from weft.app.views.run_view import RunView
from weft.app.views.wording.words import few
from weft.cli.live.slice_table import slice_table, table_rows
from weft.cli.output import forget_broken_outputs, note, note_lines, write_text
from weft.cli.terminal import text_width
from weft.cli.terminal_style import style_of
from weft.cli.text.landing import NOTHING
from weft.cli.text.run_lines import lines_of
from weft.cli.text.run_summary import next_lines, summary_lines
from weft.engine.messages.events import Recorded
from weft.engine.states import FailureReason
from weft.engine.states import SubplanExecutionState as State

_STOPPING = {
    1: "stopping: running steps are ended gracefully; Ctrl-C again ends them at once",
    2: "stopping at once; Ctrl-C again leaves without waiting",
    3: "leaving; the supervisor ends the remaining steps",
}

EXITS = {"completed": 0, "failed": 1, "waiting": 4, "stopped": 130, "left": 130, "abandoned": 1}
EXIT_BUDGET = 3

Clock = Callable[[], float]


def exit_code_of(view: RunView, state: str) -> int:
    """Returns the exit code of a run in that state; failures take precedence over waiting."""
    has_failed = state == "failed" or (state == "waiting" and view.counts[State.FAILED] > 0)
    if has_failed:
        return EXIT_BUDGET if any(row.reason == FailureReason.BUDGET for row in view.rows) else 1
    return EXITS[state]


class Observer:
    """The base class of observers: keeps the view of the run and prints the summary."""

    def __init__(self, *, plan: str | None = None, clock: Clock = time.time) -> None:
        """`plan` is as it was named on the command line."""
        self._plan = "" if plan is None else shlex.quote(plan)
        self._clock = clock
        self._setup: RunSetup | None = None
        self._view: RunView | None = None
        self._history: Iterable[Recorded] | None = None
        """Events of an earlier coordinator that the view has not applied yet."""
        self._is_gone = False

    def display(self) -> AbstractContextManager[object]:
        """Returns the context in which the run is shown."""
        return nullcontext()

    # Called during the run

    def start(self, setup: RunSetup) -> None:
        """Starts a view of the run, and prints how it relates to an earlier run."""
        self._setup = setup
        self._view = RunView(setup.plan)
        self._history = setup.history
        # The history of a resumed run may be long, and is read later; here it only exists if there is nothing to
        # do.
        if not setup.resumed:
            self._catch_up()
        if setup.settles:
            self._say([_settles(setup)])
        elif setup.resumed:
            self._say([f"run {setup.run} resumes"])
        elif setup.given_up and setup.given_up_for != setup.chosen:
            was_for = _purpose(setup.given_up_for)
            self._say([f"run {setup.given_up} was for {was_for}, and unfinished; a new run starts"])
        elif setup.given_up and setup.changed:
            self._say(
                [f"the plan has changed since run {setup.given_up}, which was unfinished; a new run starts"]
            )
        elif setup.given_up:
            self._say([f"run {setup.given_up} was unfinished, and is abandoned; a new run starts"])
        if not setup.done_by:
            self._notes(setup.notes)

    def _notes(self, notes: Sequence[str]) -> None:
        """Prints notes that the user should see before any step starts."""
        self._say([f"note: {line}" for line in notes])

    def receive(self, events: Sequence[Recorded]) -> None:
        """Applies new events to the view and prints their lines."""
        if events:
            self._catch_up(before=events[0].seq)
        for recorded in events:
            self.view.apply(recorded.event, recorded.at)
            self._say(self._lines(recorded, self.view))

    def _catch_up(self, *, before: float = inf) -> None:
        """Applies the events of the history up to the event number `before`.

        A long history takes seconds to read. It is read only when the first new event is in the journal, so that
        work is already under way.
        """
        history, self._history = self._history or (), None
        assert self._view is not None, "a run starts before its first event"
        for recorded in history:
            if recorded.seq >= before:
                return
            self._view.apply(recorded.event, recorded.at)

    def notes(self, lines: Sequence[str]) -> None:
        """Prints notes that are not events."""
        self._notes(lines)

    def refresh(self) -> None:
        """Draws the run, if this observer draws."""

    def show_stop(self, times: int) -> None:
        self._say([_STOPPING[min(times, 3)]])

    # Called after the run

    @property
    def setup(self) -> RunSetup:
        assert self._setup is not None
        return self._setup

    @property
    def view(self) -> RunView:
        if self._history is not None:
            self._catch_up()
        assert self._view is not None
        return self._view

    def ends(self, state: str, *, changed: Mapping[str, int] = NOTHING, has_next: bool = True) -> None:
        """Prints the summary, with or without the commands to type next."""
        if state != LEFT:  # the user left early and has been told what continues
            self.view.state = state
            self._write(partial(note_lines, self._summary(changed, has_next=has_next)))
        if self._is_gone:
            forget_broken_outputs()

    def _summary(self, changed: Mapping[str, int], *, has_next: bool) -> list[str]:
        if self.setup.done_by:
            return _nothing_to_do(self.setup)
        result = self.setup.result
        results = str(result) if result is not None and result.is_dir() else ""
        return summary_lines(
            self.view,
            self._clock(),
            results=results,
            plan=self._typed(),
            changed=changed,
            table=self._table(),
            has_next=has_next,
        )

    def _table(self) -> list[str]:
        view, setup = self.view, self.setup
        paths = [view.outline.paths[row] for row in table_rows(view)]
        changes: Mapping[str, ChangeCount] = {}
        if paths:  # without a table, git is not loaded
            from weft.app.inspect.change_counts import count_changes

            changes = count_changes(setup.plan, setup.directory, paths)
        stream = sys.stderr
        return slice_table(view, self._clock(), changes, width=text_width(stream), style=style_of(stream))

    def show_next_commands(self) -> None:
        """Prints the commands to type next."""
        self._write(partial(note_lines, next_lines(self.view, self._typed())))

    def _typed(self) -> str:
        """Returns the words after `weft run` that name the same run."""
        return " ".join(filter(None, (self._plan, *map(shlex.quote, self.setup.chosen))))

    def exit_code(self, state: str) -> int:
        return exit_code_of(self.view, state)

    # Output

    def _lines(self, recorded: Recorded, view: RunView) -> Sequence[str]:  # noqa: ARG002 - most have something to say
        """Returns the lines to print for one event."""
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
            # A closed terminal or pipe must not end a run that costs money.
            self._is_gone = True


def _settles(setup: RunSetup) -> str:
    steps = few(setup.settles)
    is_in, has = ("is", "that step has") if len(setup.settles) == 1 else ("are", "these steps have")
    return (
        f"run {setup.run} is unfinished, and {steps} {is_in} in progress; a new run replaces it when {has} ended; "
        "to end it now, type: weft stop"
    )


def _purpose(chosen: Sequence[str]) -> str:
    return f"{few(chosen)} only" if chosen else "the whole plan"


def _nothing_to_do(setup: RunSetup) -> list[str]:
    subplans = len(setup.plan.subplans) - 1
    all_were = f"all {subplans:,} subplans were" if subplans > 1 else "the one subplan was"
    if setup.chosen:
        all_were = f"{few(setup.chosen)} {'was' if len(setup.chosen) == 1 else 'were'}"
    message = f"nothing to do: {all_were} completed by run {setup.done_by}; --fresh repeats everything"
    return [message] if setup.result is None else [message, f"results: {setup.result}"]


class LineObserver(Observer):
    """Prints a line for each event, or with `quiet` only for those that need a person."""

    def __init__(self, *, quiet: bool, plan: str | None = None, clock: Clock = time.time) -> None:
        super().__init__(plan=plan, clock=clock)
        self._quiet = quiet

    def _notes(self, notes: Sequence[str]) -> None:
        if not self._quiet:
            super()._notes(notes)

    def _lines(self, recorded: Recorded, view: RunView) -> Sequence[str]:
        return lines_of(recorded.event, recorded.at, view, quiet=self._quiet)


class JsonObserver(Observer):
    """Prints each event as a line of JSON."""

    def receive(self, events: Sequence[Recorded]) -> None:
        super().receive(events)
        text = "".join(f"{json.dumps(event_json(recorded))}\n" for recorded in events)
        self._write(partial(write_text, text))
