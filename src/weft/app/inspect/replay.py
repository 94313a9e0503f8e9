"""A run, derived once more from its journal: the facts go into a new engine, and all that follows is compared."""

from collections.abc import Iterator

import msgspec
from msgspec import Struct, structs

from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.engine.engine import Engine
from weft.engine.messages.events import Event, Recorded
from weft.engine.messages.facts import AnyFact
from weft.engine.messages.failures import REJECTED
from weft.errors import WeftError
from weft.garbage import without_gc
from weft.plan.compile.compile import compile_plan

Plain = dict[str, object]


class ReplayDifference(Struct, frozen=True, kw_only=True):
    seq: int
    """The event at which the journal and the engine part; if the journal lacks one, the last before it."""
    recorded: Plain | None = None
    derived: Plain | None = None
    refusal: str = ""
    """What the engine says of a fact that it cannot have heard at this point."""


class ReplayResult(Struct, frozen=True, kw_only=True):
    run: str
    facts: int
    events: int
    state: str
    """Of the run, as far as it was derived."""
    counts: dict[str, int]
    """Subplans by state."""
    difference: ReplayDifference | None = None


class _Replay:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.facts = self.events = 0
        self._expected: Iterator[Event] = iter(())
        self._last = 0

    def take(self, one: Recorded) -> ReplayDifference | None:
        recorded = _plain(one.event)
        if one.event.fact is not None:
            missing = self.rest()
            if missing is not None:
                return missing
            refusal = self._hear(one.event.fact)
            if refusal:
                return ReplayDifference(seq=one.seq, recorded=recorded, refusal=refusal)
        event = next(self._expected, None)
        derived = None if event is None else _plain(_as_written(event, one.event))
        if derived != recorded:
            return ReplayDifference(seq=one.seq, recorded=recorded, derived=derived)
        self.events += 1
        self._last = one.seq
        return None

    def rest(self) -> ReplayDifference | None:
        """An event that should have come by now."""
        event = next(self._expected, None)
        return None if event is None else ReplayDifference(seq=self._last, derived=_plain(event))

    def _hear(self, fact: AnyFact) -> str:
        try:
            self.engine.apply(fact)
        except WeftError as error:
            return str(error)
        events, _ = self.engine.take_messages()
        self._expected = iter(events)
        self.facts += 1
        return ""


def replay(book: RecordedRun) -> ReplayResult:
    """Nothing is run. A run that is under way is replayed as far as it has got."""
    book.require_sight([""], "the whole run, which is what can be replayed")
    with without_gc():
        one = _Replay(Engine(compile_plan(plan_of(book))))
    found = next((found for event in book.events() if (found := one.take(event)) is not None), None)
    return ReplayResult(
        run=book.run.run,
        facts=one.facts,
        events=one.events,
        state=one.engine.state,
        counts={str(state): count for state, count in one.engine.tracker.counts().items()},
        difference=found or one.rest(),
    )


def _as_written(derived: Event, recorded: Event) -> Event:
    """The derived event, as an older version wrote it, where that version had fewer words for the same thing."""
    if derived.outcome == REJECTED and recorded.outcome in {"done", "failed"}:
        return structs.replace(derived, outcome=recorded.outcome, data=recorded.data)
    return derived


def _plain(event: Event) -> Plain:
    """As it is in the journal."""
    found: Plain = msgspec.json.decode(msgspec.json.encode(event))
    return found
