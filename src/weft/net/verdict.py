"""Answers of an analysis: proved, refuted by a trace, or unknown. Never a silent pass."""

from enum import StrEnum

from msgspec import Struct

from weft.ids import TransitionId


class Answer(StrEnum):
    """The three possible answers."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class Verdict(Struct, frozen=True, kw_only=True):
    """An answer with its justification."""

    answer: Answer
    why: str
    """One sentence: the theorem or the states behind a proof, the fault that a trace shows, the methods tried."""
    trace: tuple[TransitionId, ...] = ()
    """For a refutation: the transitions, fired in this order from the initial marking, that show it."""

    def __bool__(self) -> bool:
        raise TypeError("a verdict has three values: compare its answer")
