"""What comes next in a conversation. Pure: all it knows is what was said.

The model is asked; it calls tools, and is told what came out, until it calls `done` or says something without
calling anything. So a conversation that was kept can go on wherever nothing is owed: behind what the user said,
behind results, or at its end, with another prompt.
"""

from typing import NamedTuple

from weft.agents.builtin.talk import Answer, Call, Results, Said, Talk, User

DONE = "done"
NOT_DONE = "It was not done, as the work was said to be done."
_CUT = "Your answer was cut off, as it was too long. Go on, in smaller steps."


class Ask(NamedTuple):
    """The model, with all that was said."""


class Use(NamedTuple):
    """Tools."""

    calls: tuple[Call, ...]


class End(NamedTuple):
    text: str = ""
    failed: str = ""
    """Why; empty if it did not."""


def next_move(talk: Talk, *, asked: int, most: int) -> Ask | Use | End:
    """`asked` is how often the model was asked, of the `most` times that it may be."""
    match talk[-1]:
        case Said(text, ()):
            return End(text) if text.strip() else End(failed="the model said nothing and called nothing")
        case Said(_, calls):
            return Use(calls)
        case Results():
            done = _done(talk)
            if done is not None:
                return End(str(done.arguments.get("text", "")))
        case User():
            pass
    if asked >= most:
        turns = "1 turn" if most == 1 else f"{most} turns"
        return End(failed=f"stopped after {turns}, as the model came to no end; `--max-turns` allows more")
    return Ask()


def _done(talk: Talk) -> Call | None:
    before = talk[-2] if len(talk) > 1 else None
    return _done_of(before.calls) if isinstance(before, Said) else None


def _done_of(calls: tuple[Call, ...]) -> Call | None:
    return next((call for call in calls if is_done(call)), None)


def is_done(call: Call) -> bool:
    return call.name == DONE and not call.wrong


def heard(talk: Talk, answer: Answer) -> Talk:
    """With what the model said."""
    said = answer.said
    if not answer.is_cut:
        return (*talk, said)
    if not said.calls:
        return (*talk, Said(said.text or "…"), User(_CUT))
    # Of a call that was cut off nobody knows what it would have been.
    *whole, last = said.calls
    return (*talk, Said(said.text, (*whole, Call(last.id, last.name, {}, _CUT))))


def told(talk: Talk, results: tuple[tuple[str, str], ...]) -> Talk:
    """With what came out of the tools."""
    return (*talk, Results(results))
