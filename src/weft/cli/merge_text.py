"""What `weft merge` says: what was merged, and what is held and why."""

from collections.abc import Iterator, Sequence

from msgspec import to_builtins

from weft.app.journals import Book
from weft.app.run_holds import Held
from weft.app.run_stage import Begun
from weft.engine.run.events import Event, Recorded

_DOES = {"@merge": "merged", "@land": "landed"}
_ENDS = frozenset({"done", "failed", "timeout", "conflict", "held", "lost", "infra", "cancelled", "stopped"})


class Teller:
    """Hears what becomes of what was asked for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.merged: list[str] = []
        self.failed = False
        self.is_over = False

    def begins(self, begun: Begun) -> None:
        """There is nothing to say before anything has happened."""

    def hears(self, events: Sequence[Recorded]) -> None:
        for one in events:
            self.hear(one.event)

    def hear(self, event: Event) -> None:
        if event.kind == "run_finished" and event.outcome == "completed":
            self.is_over = True
        if event.kind != "step_finished" or event.step not in _DOES:
            return
        if event.outcome == "done":
            self.merged.append(event.subplan)
            self.lines.append(f"{event.subplan}: {_DOES[event.step]}{_where(event)}")
        elif event.outcome not in {"held", "lost", "infra", "stopped"}:
            self.failed = True
            self.lines.append(f"{event.subplan}: {event.data.get('message') or event.outcome}")
            self.lines += [f"  | {line}" for line in str(event.data.get("tail", "")).splitlines()]

    def looks(self) -> None:
        """It does not take long."""

    def stops(self, times: int) -> None:
        """What is under way ends by itself."""


def _where(event: Event) -> str:
    moves = event.data.get("moves", ())
    if not moves:
        return ""
    last = moves[-1]
    return f" into {last['ref'].removeprefix('refs/heads/')} ({last['after'][:10]})"


def follow(book: Book, after: int, wanted: Sequence[Held], teller: Teller) -> None:
    """Until whoever runs the plan has tried all of it."""
    waiting = {(one.subplan, one.step) for one in wanted}
    for one in book.events(after=after, follow=True):
        teller.hear(one.event)
        if one.event.kind == "step_finished" and one.event.outcome in _ENDS:
            waiting.discard((one.event.subplan, one.event.step))
        if not waiting:
            return


def held_lines(held: Sequence[Held]) -> Iterator[str]:
    for one in held:
        first, *more = one.message.splitlines() or [""]
        yield first if first.startswith(one.subplan) else f"{one.subplan}: {first}"
        yield from (f"  {line}".rstrip() for line in more)


def held_data(held: Sequence[Held]) -> list[object]:
    return [to_builtins(one) for one in held]
