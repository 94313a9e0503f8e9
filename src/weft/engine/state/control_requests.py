"""The requests of people to pause, freeze, stop or resume subplans.

A request for a subplan applies to everything in it. The latest request counts.
"""

from collections.abc import Iterator

from weft.engine.messages.facts import ControlState


class ControlRequests:
    """The requests in force, by path; the path of the whole run is empty."""

    def __init__(self) -> None:
        # A request for a group removes those inside it, so an entry is always newer than the entries around it.
        self._by_path: dict[str, ControlState] = {}

    def __bool__(self) -> bool:
        return bool(self._by_path)

    def says(self, path: str, requested: ControlState) -> None:
        """Records a request, which replaces earlier requests for anything inside the subplan."""
        inside = f"{path}/" if path else ""
        self._by_path = {
            subplan: state for subplan, state in self._by_path.items() if not subplan.startswith(inside)
        }
        if path or requested is not ControlState.GO:
            self._by_path[path] = requested

    def forget_stops(self) -> None:
        """Drops all stops: a person who restarts the run wants it to continue."""
        self._by_path = {
            path: state for path, state in self._by_path.items() if state is not ControlState.STOP
        }

    def restraints(self) -> dict[str, ControlState]:
        """Returns the subplans that are paused, frozen or stopped, by path."""
        return {path: state for path, state in self._by_path.items() if state is not ControlState.GO}

    def holds(self, path: str, requested: ControlState) -> bool:
        """Returns whether this state is requested for the subplan and for everything in it."""
        inside = f"{path}/" if path else ""
        states = (state for subplan, state in self._by_path.items() if subplan.startswith(inside))
        return self.of(path) is requested and all(state is requested for state in states)

    def of(self, path: str) -> ControlState:
        """Returns the state requested for a subplan, or for the nearest group around it that has a request."""
        return next(
            (self._by_path[group] for group in _around(path) if group in self._by_path), ControlState.GO
        )


def _around(path: str) -> Iterator[str]:
    """Yields the path, those of the groups around it, and the empty path of the run."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
