"""Reading nodes as values. Problems are collected and reported together."""

from collections import Counter
from typing import Any, Final, Protocol

from weft.plan.text.document import Document, Items, Node, Scalar, Table, line_of, width_of
from weft.plan.text.problems import MOST_PROBLEMS, Problem, Severity

BAD: Final = object()
"""The result of reading an invalid value; the reader has the reason."""

Schema = dict[str, Any]


class Reader:
    """Collects the problems of a document while it is read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        # The parser's own complaints, such as a duplicate key, count towards the same limit.
        self.problems: list[Problem] = list(document.problems)
        self.unsaid = document.unsaid
        """The number of problems beyond the most that are kept."""
        self._counts = Counter(problem.severity for problem in self.problems)

    @property
    def full(self) -> bool:
        """Whether one more error would only be counted, so that its message need not be computed."""
        return self._counts[Severity.ERROR] >= MOST_PROBLEMS

    def wrong(self, node: Node, message: str, severity: Severity = Severity.ERROR) -> None:
        """Adds a problem at this node."""
        # Errors and warnings are counted separately, so that warnings never displace an error.
        if self._counts[severity] >= MOST_PROBLEMS:
            self.unsaid += 1
            return
        self._counts[severity] += 1
        # The excerpt is cut now, while the text is at hand.
        at = self.document.position(node)
        excerpt = line_of(self.document.text, at.line)
        self.problems.append(
            Problem(at=at, message=message, severity=severity, excerpt=excerpt, width=width_of(node))
        )

    def warn(self, node: Node, message: str) -> None:
        self.wrong(node, message, Severity.WARNING)

    @property
    def failed(self) -> bool:
        return self._counts[Severity.ERROR] > 0


def describe(node: Node) -> str:
    """Returns a description of the value, for the middle of a sentence."""
    match node:
        case Scalar():
            kind = node.kind()
            if kind == "nothing":
                return "empty"
            text = _cut(node.text)
            return repr(text) if kind == "text" else f"{text} ({kind})"
        case Items():
            return "a list"
        case Table():
            return "a mapping"


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


class Kind(Protocol):
    """A kind of value: how it is read, described and written as JSON Schema."""

    @property
    def words(self) -> str:
        """What is allowed, as the object of a sentence: "a whole number from 1 to 32"."""
        ...

    def read(self, node: Node, reader: Reader, name: str) -> Any: ...  # noqa: ANN401 - as the kind says

    def schema(self) -> Schema: ...


def mismatch(kind: Kind, node: Node, reader: Reader, name: str, hint: str = "") -> object:
    """Reports a value that is not of this kind, and returns `BAD`."""
    reader.wrong(node, f"{name} is {describe(node)}; it must be {kind.words}{hint}")
    return BAD
