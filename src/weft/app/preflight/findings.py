"""What a preflight finds."""

from msgspec import Struct


class Finding(Struct, frozen=True, kw_only=True):
    """Something about this machine or this repository that the plan depends on."""

    kind: str
    """What it is about: repository, program, file, sandbox, notify, import."""
    message: str
    """What is wrong, and what to type; a sentence without its full stop."""
    refuses: bool
    """Whether a run cannot succeed, and is refused; else it is a warning."""

    def to_json(self) -> dict[str, object]:
        return {"kind": self.kind, "message": self.message, "refuses": self.refuses}


def refusal(kind: str, message: str) -> Finding:
    return Finding(kind=kind, message=message, refuses=True)


def warning(kind: str, message: str) -> Finding:
    return Finding(kind=kind, message=message, refuses=False)
