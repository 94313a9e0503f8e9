"""The places of results on their way to the target: queued, verified together with others, landed or held.

A result is *queued* while its `@land` is under way, and *verified* while a verify of the landing queue that names
it is under way. Its `@land` ends with the result landed or held.
"""

from collections.abc import Sequence

VERIFY_FAILED = "held: verify failed"
QUEUED = "queued to land"
_SHORT = 7
"""Digits of a commit."""


def landed_place(commit: str) -> str:
    """Returns the place of a landed result, as `landed bd7e5b6`."""
    return f"landed {commit[:_SHORT]}".rstrip()


class LandingPlaces:
    def __init__(self) -> None:
        self._queued: set[str] = set()
        self._ends: dict[str, str] = {}
        self._verified: Sequence[str] = ()

    def queue(self, path: str) -> None:
        """Records that the `@land` of this subplan has started."""
        self._queued.add(path)

    def leave(self, path: str) -> None:
        """Records that the `@land` of this subplan has ended."""
        self._queued.discard(path)

    def verify(self, entries: Sequence[str]) -> None:
        """Records that a verify of these entries has started; without entries, that it has ended."""
        self._verified = entries

    def end(self, path: str, place: str) -> None:
        """Records the place after the last `@land`; empty if there is nothing to show."""
        self._ends[path] = place

    def is_queued(self, path: str) -> bool:
        return path in self._queued

    def of(self, path: str) -> str:
        """Returns the place as views show it; empty if the result has not reached the queue."""
        if path not in self._queued:
            return self._ends.get(path, "")
        if path not in self._verified:
            return QUEUED
        others = len(self._verified) - 1
        return f"verifying with {others:,} other{'s' * (others != 1)}" if others else "verifying"
