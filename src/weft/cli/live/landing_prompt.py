"""At the end of a run, a person at a terminal is asked about what only waits to be agreed to, and it lands."""

from collections.abc import Sequence

import click

from weft.app.control.holds import held
from weft.app.record.journal import open_book
from weft.app.run.merge import changed_files, merge
from weft.cli.live.observers import Observer
from weft.cli.output import note, note_lines
from weft.cli.text.merge import MergeObserver, held_lines
from weft.cli.wording.words import NAMES, count
from weft.engine.messages.events import Recorded


def offer(audience: Observer) -> int:
    """The run waits for people. Has the last word about it; the number to exit with."""
    view, begun = audience.view, audience.begun
    paths = [view.outline.paths[row] for row in view.landings.to_agree()]
    changed = changed_files(begun.plan, begun.directory, paths[:NAMES])
    audience.ends("waiting", changed=changed, has_next=not paths)
    state = "waiting"
    if paths:
        on = f" on {view.landings.target}" if view.landings.target else ""
        if _agrees(f"Land {count(len(paths), 'result')}{on}?"):
            state = _land(audience, paths)
        if state != "completed":
            audience.says_next()
    return audience.exit_code(state)


def _agrees(question: str) -> bool:
    try:
        return click.confirm(question, default=False, prompt_suffix=" ", err=True)
    except click.Abort:  # Ctrl-C, or nobody is there
        note("")
        return False


class _Lander(MergeObserver):
    """Says what lands, and has the audience know it."""

    def __init__(self, audience: Observer) -> None:
        super().__init__(note)
        self._audience = audience

    def hears(self, events: Sequence[Recorded]) -> None:
        super().hears(events)
        for one in events:
            self._audience.view.apply(one.event, one.at)


def _land(audience: Observer, paths: Sequence[str]) -> str:
    """The state of the run then."""
    lander = _Lander(audience)
    with open_book(audience.begun.directory, audience.begun.run) as book:
        left = merge(book, [one for one in held(book) if one.subplan in paths], lander)
        state = book.state()
    note_lines(held_lines(left))
    if lander.interrupted:
        return "stopped"
    # What was not to be done here is not stopped for that.
    audience.view.state = state if state in {"completed", "failed"} else "waiting"
    return audience.view.state
