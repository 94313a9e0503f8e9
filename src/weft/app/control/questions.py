"""What a run asks people, and how they answer.

An answer is a request in the journal. The coordinator takes it up within a moment; if there is none now, the next
one does. Until then the question is still open, but it has its answer, and a second one is refused.
"""

import time

from msgspec import Struct, structs

from weft.app.record.journal import RecordedRun
from weft.engine.messages.run_status import FINISHED
from weft.errors import InputError
from weft.plan.text.problems import suggestion

_ENDS = frozenset({"completed", "failed"})


class OpenQuestion(Struct, frozen=True):
    subplan: str
    step: str
    text: str
    answer: str = ""
    """`yes` or `no` if somebody has given it, and the run has not taken it up yet."""

    @property
    def name(self) -> str:
        return f"{self.subplan}:{self.step}"


def open_questions(book: RecordedRun) -> list[OpenQuestion]:
    """What the run waits for people to say, in the order in which it was asked."""
    if book.run.state in FINISHED:
        return []
    found: dict[tuple[str, str], OpenQuestion] = {}
    for one in book.events():
        event = one.event
        key = (event.subplan, event.step)
        match event.kind:
            case "ask":
                found[key] = OpenQuestion(event.subplan, event.step, str(event.data.get("question", "")))
            case "answered" | "step_cancelled":
                found.pop(key, None)
            case "subplan_state" if event.outcome in _ENDS:
                found = {key: asked for key, asked in found.items() if asked.subplan != event.subplan}
            case _:
                pass
    for request in book.journal.requests(book.run.run):
        key = (request.subplan, request.step)
        if key in found and not found[key].answer:  # of two answers at the same moment the first counts
            said = "yes" if request.data.get("accepted") else "no"
            found[key] = structs.replace(found[key], answer=said)
    return list(found.values())


def answer(book: RecordedRun, name: str, *, accepted: bool, text: str) -> OpenQuestion:
    """Leaves an answer for the coordinator, or for the next one if there is none now."""
    found = _named(book, name)
    if found.answer:
        raise InputError(
            f"{found.name} has been answered already: {found.answer}; the run has not taken it up yet"
        )
    data: dict[str, object] = {"accepted": accepted, "text": text}
    book.journal.ask(
        book.run.run, "answer", subplan=found.subplan, step=found.step, data=data, at=time.time()
    )
    return found


def _named(book: RecordedRun, name: str) -> OpenQuestion:
    """The question of a step, `release:sure`, or the only one of a subplan, `release`."""
    questions = open_questions(book)
    if not questions:
        raise InputError(f"run {book.run.run} asks nothing now; to see what it does, type: weft events")
    subplan, _, step = name.partition(":")
    fitting = [one for one in questions if one.subplan == subplan and step in {"", one.step}]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(one.name for one in fitting)
        raise InputError(f"{name} asks several things; say which: {names}")
    names_known = [one.name for one in questions]
    raise InputError(f"nothing of the name {name!r} is asked{suggestion(name, names_known)}")
