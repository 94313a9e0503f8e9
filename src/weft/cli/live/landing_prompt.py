"""The question at the end of a run whether results that wait for agreement shall land."""

from collections.abc import Sequence

import click

from weft.app.control.holds import held
from weft.app.record.journal import open_book
from weft.app.run.merge import changed_files, merge
from weft.app.views.wording.words import NAMES, count
from weft.cli.live.observers import Observer
from weft.cli.output import note, note_lines
from weft.cli.text.merge import MergeObserver, held_lines
from weft.engine.messages.events import Recorded


def offer(observer: Observer) -> int:
    """Prints the summary of a run that waits for people, asks whether to land, and returns the exit code."""
    view, setup = observer.view, observer.setup
    paths = [view.outline.paths[row] for row in view.landings.to_agree()]
    # Only for the results that the summary names; each count is a call of git.
    changed = changed_files(setup.plan, setup.directory, paths[:NAMES])
    observer.ends("waiting", changed=changed, has_next=not paths)
    state = "waiting"
    if paths:
        on = f" on {view.landings.target}" if view.landings.target else ""
        if _agrees(f"Land {count(len(paths), 'result')}{on}?"):
            state = _land(observer, paths)
        if state != "completed":
            observer.show_next_commands()
    return observer.exit_code(state)


def _agrees(question: str) -> bool:
    try:
        return click.confirm(question, default=False, prompt_suffix=" ", err=True)
    except click.Abort:  # Ctrl-C, or standard input is closed
        note("")
        return False


class _Lander(MergeObserver):
    """Prints what lands, and applies the events to the view of the run's observer."""

    def __init__(self, observer: Observer) -> None:
        super().__init__(note)
        self._observer = observer

    def receive(self, events: Sequence[Recorded]) -> None:
        super().receive(events)
        for recorded in events:
            self._observer.view.apply(recorded.event, recorded.at)


def _land(observer: Observer, paths: Sequence[str]) -> str:
    """Lands the results and returns the state of the run afterwards."""
    lander = _Lander(observer)
    with open_book(observer.setup.directory, observer.setup.run) as recorded_run:
        still_held = merge(
            recorded_run, [work for work in held(recorded_run) if work.subplan in paths], lander
        )
        state = recorded_run.state()
    note_lines(held_lines(still_held))
    if lander.interrupted:
        return "stopped"
    # The merge leaves other work of the run undone, which does not mean that the run was stopped.
    observer.view.state = state if state in {"completed", "failed"} else "waiting"
    return observer.view.state
