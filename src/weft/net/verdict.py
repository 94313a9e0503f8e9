"""Answers of an analysis: proved, refuted by a trace, or unknown. Never a silent pass."""

from enum import StrEnum

from msgspec import Struct

from weft.ids import TransitionId


class Answer(StrEnum):
    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


class Verdict(Struct, frozen=True, kw_only=True):
    answer: Answer
    why: str
    """One sentence: the theorem or the states behind a proof, what a trace shows, what was tried."""
    trace: tuple[TransitionId, ...] = ()
    """For a refutation: the transitions, fired in this order from the initial marking, that show it."""

    def __bool__(self) -> bool:
        raise TypeError("a verdict has three values: compare its answer")
