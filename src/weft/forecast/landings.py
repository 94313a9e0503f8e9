"""The landing queue in virtual time: results that wait while others are verified land together, in one batch."""


class LandingLine:
    """A queue with one server that takes all waiting results at once, up to a limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._start = 0.0
        self._end = 0.0
        self._count = 0

    def joins(self, now: float, seconds: float) -> float:
        """Returns the seconds until a result has landed that joins the queue now; `seconds` is for a batch.

        The batch takes as long as the verify of its first result: the others are verified with it.
        """
        is_open = self._start >= now and 0 < self._count < self._most
        if not is_open:
            self._start = max(now, self._end)
            self._end = self._start + seconds
            self._count = 0
        self._count += 1
        return self._end - now
