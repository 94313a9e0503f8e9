"""What people want of the parts of a run. What is said of a subplan holds for all in it; the last word counts."""

from collections.abc import Iterator

from weft.engine.messages.facts import ControlState


class ControlRequests:
    def __init__(self) -> None:
        self._words: dict[str, ControlState] = {}
        """Of a subplan that has one, it came after those about what it is in."""

    def __bool__(self) -> bool:
        return bool(self._words)

    def says(self, path: str, wanted: ControlState) -> None:
        """The path is empty for the whole run. What was said before of anything in it does not count any more."""
        inside = f"{path}/" if path else ""
        self._words = {one: word for one, word in self._words.items() if not one.startswith(inside)}
        if path or wanted is not ControlState.GO:
            self._words[path] = wanted

    def forget_stops(self) -> None:
        """Whoever starts the run again wants it to go on."""
        self._words = {path: word for path, word in self._words.items() if word is not ControlState.STOP}

    def restraints(self) -> dict[str, ControlState]:
        """What people have paused, frozen or stopped, by path; the path of the whole run is empty."""
        return {path: word for path, word in self._words.items() if word is not ControlState.GO}

    def holds(self, path: str, wanted: ControlState) -> bool:
        """Whether this is wanted of the subplan and of all that is in it."""
        inside = f"{path}/" if path else ""
        words = (word for subplan, word in self._words.items() if subplan.startswith(inside))
        return self.of(path) is wanted and all(word is wanted for word in words)

    def of(self, path: str) -> ControlState:
        return next((self._words[one] for one in _around(path) if one in self._words), ControlState.GO)


def _around(path: str) -> Iterator[str]:
    """The subplan, the groups around it, and the whole."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
