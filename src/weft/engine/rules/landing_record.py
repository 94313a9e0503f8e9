"""The record of the landing queue, rebuilt from the journal.

After a crash, the new queue reads from it what was verified, what was being verified, and what is not pushed.
"""

from weft.engine.messages.facts import Ended, Pushed, VerifyEnded, VerifyStarted
from weft.engine.rules.event_writer import EventWriter
from weft.engine.state.engine_state import EngineState

QueueFact = VerifyStarted | VerifyEnded | Pushed


class LandingRecord:
    """The verifies and pushes of the landing queue."""

    def __init__(self, state: EngineState, events: EventWriter) -> None:
        self._state = state
        self._to_land = frozenset(state.compiled.wiring.landings)
        self._events = events
        self.verified: list[VerifyEnded] = []
        self.verifying: VerifyStarted | None = None
        """The verify that is running."""
        self.unpushed = ""
        """The commit of the last landing that was not pushed; empty if all were."""

    def is_to_land(self, row: int) -> bool:
        """Returns whether the row has a landing of its own and is not on the target, even if it has failed."""
        state = self._state
        return row in self._to_land and (row not in state.landed or row in state.failures)

    def record(self, fact: QueueFact) -> None:
        """Records a verify or a push."""
        match fact:
            case VerifyStarted():
                self.verifying = fact
                self._events.verify_started(fact)
            case VerifyEnded():
                self.verifying = None
                self.verified.append(fact)
                self._events.verify_ended(fact)
            case Pushed():
                if not fact.message and fact.landing == self.unpushed:
                    self.unpushed = ""
                self._events.pushed(fact)

    def landed(self, fact: Ended) -> None:
        """Records a landing."""
        if fact.moves:
            self.unpushed = fact.moves[-1].after
