"""Derives a run again from its journal: feeds the facts into a new engine and compares the events."""

from collections.abc import Iterator

from msgspec import Struct

from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import to_plain
from weft.engine.messages.events import AnyEvent, Recorded, StepEnd
from weft.engine.messages.facts import AnyFact
from weft.errors import WeftError
from weft.garbage import without_gc
from weft.plan.compile.compile import compile_plan

Plain = dict[str, object]


class ReplayDifference(Struct, frozen=True, kw_only=True):
    """The first difference between the journal and the engine."""

    seq: int
    """The event where the journal and the engine differ; if the journal lacks an event, the last one before it."""
    recorded: Plain | None = None
    derived: Plain | None = None
    refusal: str = ""
    """The engine's error about a fact that is impossible at this point."""


class ReplayResult(Struct, frozen=True, kw_only=True):
    """The result of a replay."""

    run: str
    facts: int
    events: int
    state: str
    """The state of the run, as far as it was derived."""
    counts: dict[str, int]
    """Subplans by state."""
    difference: ReplayDifference | None = None


class _Replay:
    """An engine that is fed with the facts of a journal."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.facts = self.events = 0
        self._expected: Iterator[AnyEvent] = iter(())
        self._last = 0

    def take(self, recorded: Recorded) -> ReplayDifference | None:
        """Compares a recorded event with the next derived one, after applying its fact."""
        plain = to_plain(recorded.event, recorded.data)
        if recorded.event.fact is not None:
            # A new fact starts a new batch: everything that the engine derived from the last one must have been
            # recorded before.
            missing = self.rest()
            if missing is not None:
                return missing
            refusal = self._apply(recorded.event.fact)
            if refusal:
                return ReplayDifference(seq=recorded.seq, recorded=plain, refusal=refusal)
        event = next(self._expected, None)
        derived = None if event is None else _as_written(to_plain(event), plain)
        if derived != plain:
            return ReplayDifference(seq=recorded.seq, recorded=plain, derived=derived)
        self.events += 1
        self._last = recorded.seq
        return None

    def rest(self) -> ReplayDifference | None:
        """Returns the difference if a derived event is missing from the journal."""
        event = next(self._expected, None)
        return None if event is None else ReplayDifference(seq=self._last, derived=to_plain(event))

    def _apply(self, fact: AnyFact) -> str:
        """Applies the fact, and returns the engine's error, or an empty text."""
        try:
            self.engine.apply(fact)
        except WeftError as error:
            return str(error)
        events, _ = self.engine.take_messages()
        self._expected = iter(events)
        self.facts += 1
        return ""


def replay(recorded_run: RecordedRun) -> ReplayResult:
    """Replays the run. Nothing is executed. A run that is under way is replayed up to its last event."""
    recorded_run.require_sight([""], "the whole run, which is what can be replayed")
    with without_gc():
        replayed = _Replay(Engine(compile_plan(plan_of(recorded_run))))
    differences = (replayed.take(recorded) for recorded in recorded_run.events())
    difference = next((difference for difference in differences if difference is not None), None)
    return ReplayResult(
        run=recorded_run.run.run,
        facts=replayed.facts,
        events=replayed.events,
        state=replayed.engine.state,
        counts={str(state): count for state, count in replayed.engine.tracker.counts().items()},
        difference=difference or replayed.rest(),
    )


def _as_written(derived: Plain, recorded: Plain) -> Plain:
    """Returns the derived event in the form of an older version, which had fewer outcomes."""
    # Journals stay readable, so a replay must accept what an older version wrote for the same decision.
    if derived.get("outcome") == StepEnd.REJECTED and recorded.get("outcome") in {"done", "failed"}:
        return derived | {name: recorded[name] for name in ("outcome", "data") if name in recorded}
    return derived
