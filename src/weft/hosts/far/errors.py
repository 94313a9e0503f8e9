"""Problems of the far program that the coordinator reports."""


class FarProblemError(Exception):
    """An operation failed, for the reason in the message."""

    def __init__(self, message: str, *, kind: str) -> None:
        """`kind` is `machine`, `git`, `work`, `missing`, `stale` or `protocol`."""
        super().__init__(message)
        self.kind = kind
