"""Subplans that are paused in a run, as lines for people and as JSON."""

from collections.abc import Mapping

from weft.engine.messages.facts import ControlState

_STATES = {ControlState.PAUSE: "paused", ControlState.FREEZE: "frozen", ControlState.STOP: "stopped"}


class PausedSubplans:
    """The paused subplans of a run."""

    def __init__(self, restraints: Mapping[str, str]) -> None:
        """`restraints` has the requested state of each paused subplan; the empty path is the whole run."""
        self._restraints = {path: ControlState(state) for path, state in restraints.items()}

    @property
    def is_whole(self) -> bool:
        """Whether the whole run is paused."""
        return "" in self._restraints

    @property
    def subplans(self) -> list[str]:
        return [path for path in self._restraints if path]

    def lines(self) -> list[str]:
        """Returns lines that say what is paused and how to continue it."""
        if self.is_whole:
            state = _STATES[self._restraints[""]]
            return [f"the run is {state}, so nothing new starts; to resume it, type: weft resume"]
        return [
            f"{path} is {_STATES[requested]}; to resume it, type: weft resume {path}"
            for path, requested in self._restraints.items()
        ]

    def data(self) -> dict[str, object]:
        return {"paused": self.is_whole, "paused_subplans": self.subplans}
