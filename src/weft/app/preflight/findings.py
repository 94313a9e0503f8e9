"""The findings of a preflight."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from weft.errors import InputError


class PreflightFinding(Struct, frozen=True, kw_only=True):
    """A problem of this machine or this repository that affects the plan."""

    kind: str
    """What it is about: repository, program, file, sandbox, notify, import."""
    message: str
    """What is wrong, and what to type; a sentence without its full stop."""
    refuses: bool
    """Whether a run cannot succeed and is refused; otherwise the finding is a warning."""

    def to_json(self) -> dict[str, object]:
        return {"kind": self.kind, "message": self.message, "refuses": self.refuses}


def refusal(kind: str, message: str) -> PreflightFinding:
    return PreflightFinding(kind=kind, message=message, refuses=True)


def warning(kind: str, message: str) -> PreflightFinding:
    return PreflightFinding(kind=kind, message=message, refuses=False)


class PreflightError(InputError):
    """A run would fail on this machine or in this repository; holds every reason."""

    def __init__(self, refusals: Sequence[str]) -> None:
        super().__init__("\n".join(refusals))
        self.refusals = tuple(refusals)

    def lines(self) -> Iterator[str]:
        """Yields one error line for each reason."""
        return (f"error: {refusal}" for refusal in self.refusals)
