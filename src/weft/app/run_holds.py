"""What a run holds until a person has helped, and how it is asked to try that again."""

import time
from collections.abc import Sequence

from msgspec import Struct, field

from weft.app.journals import Book
from weft.engine.run.events import Event
from weft.errors import InputError
from weft.plan.text.problems import suggestion

_OVER = frozenset({"completed", "failed", "abandoned"})


class Held(Struct, frozen=True, kw_only=True):
    subplan: str
    step: str
    """`@merge` or `@land`; `@workspace` or `@verify` if it has not got that far."""
    message: str
    files: tuple[str, ...] = ()
    conflict: bool = False


class Holds(Struct):
    """What is held, as the events tell it."""

    found: dict[tuple[str, str], Held] = field(default_factory=dict[tuple[str, str], Held])

    def hear(self, event: Event) -> None:
        key = (event.subplan, event.step)
        if event.kind == "step_started":
            self.found.pop(key, None)
        elif event.kind == "step_finished" and event.outcome == "held":
            data = event.data
            self.found[key] = Held(
                subplan=event.subplan,
                step=event.step,
                message=str(data.get("message", "")),
                files=tuple(data.get("files", ())),
                conflict=bool(data.get("conflict", False)),
            )


def held(book: Book) -> list[Held]:
    """In the order in which it came to that."""
    if book.run.state in _OVER:
        return []
    holds = Holds()
    for one in book.events():
        holds.hear(one.event)
    return list(holds.found.values())


def chosen(book: Book, names: Sequence[str]) -> list[Held]:
    """Of what is held, what is meant: by the path of a subplan, or of a group around it; all without a name."""
    found = held(book)
    if not names:
        return found
    wanted: dict[int, Held] = {}
    for name in names:
        inside = [number for number, one in enumerate(found) if f"{one.subplan}/".startswith(f"{name}/")]
        if not inside:
            raise InputError(_unknown(book, name, found))
        wanted.update((number, found[number]) for number in inside)
    return [wanted[number] for number in sorted(wanted)]


def _unknown(book: Book, name: str, found: Sequence[Held]) -> str:
    paths = [path for path in book.plan().outline.paths if path]
    if name not in paths:
        return f"there is no subplan {name!r}{suggestion(name, paths)}"
    others = ", ".join(dict.fromkeys(one.subplan for one in found)) or "nothing"
    return f"{name} is not held; what is held: {others}"


def ask(book: Book, wanted: Sequence[Held]) -> None:
    """Whoever runs the plan, or will, is asked to try them again."""
    for path in dict.fromkeys(one.subplan for one in wanted):
        book.journal.ask(book.run.run, "merge", subplan=path, step="", data={}, at=time.time())
