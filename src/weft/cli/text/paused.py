"""What people have paused in a run, as lines for people and as data for programs."""

from collections.abc import Mapping

from weft.engine.messages.facts import ControlState

_STATES = {ControlState.PAUSE: "paused", ControlState.FREEZE: "frozen", ControlState.STOP: "stopped"}


class PausedSubplans:
    def __init__(self, restraints: Mapping[str, str]) -> None:
        """What is wanted of each subplan that is not to continue; of the whole run if the path is empty."""
        self._restraints = {path: ControlState(wanted) for path, wanted in restraints.items()}

    @property
    def is_whole(self) -> bool:
        """Whether the whole run is paused."""
        return "" in self._restraints

    @property
    def subplans(self) -> list[str]:
        return [path for path in self._restraints if path]

    def lines(self) -> list[str]:
        """What is paused, and how to continue it."""
        if self.is_whole:
            state = _STATES[self._restraints[""]]
            return [f"the run is {state}, so nothing new starts; to continue it, type: weft resume"]
        return [
            f"{path} is {_STATES[wanted]}; to continue it, type: weft resume {path}"
            for path, wanted in self._restraints.items()
        ]

    def data(self) -> dict[str, object]:
        return {"paused": self.is_whole, "paused_subplans": self.subplans}
