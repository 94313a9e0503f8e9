"""What the landing queue has done in a run, as the journal tells it.

A queue that takes over after a crash reads from this record what has passed, what is being verified, and what is
not pushed.
"""

from weft.engine.messages.facts import Ended, Pushed, VerifyEnded, VerifyStarted
from weft.engine.rules.event_writer import EventWriter
from weft.engine.state.engine_state import EngineState

QueueFact = VerifyStarted | VerifyEnded | Pushed


class LandingRecord:
    def __init__(self, state: EngineState, events: EventWriter) -> None:
        self._state = state
        self._to_land = frozenset(state.compiled.wiring.landings)
        self._events = events
        self.verified: list[VerifyEnded] = []
        self.verifying: VerifyStarted | None = None
        """The verify that has started and not ended."""
        self.unpushed = ""
        """The commit of the last landing that was not pushed; empty if all were."""

    def is_to_land(self, row: int) -> bool:
        """Whether the result of this row is to reach the target and has not, also if it never will: it failed."""
        state = self._state
        return row in self._to_land and (row not in state.landed or row in state.failures)

    def hears(self, fact: QueueFact) -> None:
        match fact:
            case VerifyStarted():
                self.verifying = fact
            case VerifyEnded():
                self.verifying = None
                self.verified.append(fact)
            case Pushed():
                if not fact.message and fact.landing == self.unpushed:
                    self.unpushed = ""
        self._events.queue(fact)

    def landed(self, fact: Ended) -> None:
        """A result has landed."""
        if fact.moves:
            self.unpushed = fact.moves[-1].after
