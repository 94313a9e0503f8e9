"""Reading nodes to values: what is found wrong is collected, and told all at once."""

from collections import Counter
from typing import Any, Final, Protocol

from weft.plan.text.document import Document, Items, Node, Scalar, Table, line_of, width_of
from weft.plan.text.problems import MOST_PROBLEMS, Problem, Severity

BAD: Final = object()
"""What is read from a value that is wrong; the reader knows why."""

Schema = dict[str, Any]


class Reader:
    """What is found wrong while a document is read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = list(document.problems)
        self.unsaid = document.unsaid
        """Problems beyond the most that are told."""
        self._told = Counter(problem.severity for problem in self.problems)

    @property
    def full(self) -> bool:
        """Whether one more error would only be counted; a costly message need not be made then."""
        return self._told[Severity.ERROR] >= MOST_PROBLEMS

    def wrong(self, node: Node, message: str, severity: Severity = Severity.ERROR) -> None:
        # Counted apart, so that warnings never take an error's place.
        if self._told[severity] >= MOST_PROBLEMS:
            self.unsaid += 1
            return
        self._told[severity] += 1
        at = self.document.position(node)
        excerpt = line_of(self.document.text, at.line)
        self.problems.append(
            Problem(at=at, message=message, severity=severity, excerpt=excerpt, width=width_of(node))
        )

    def warn(self, node: Node, message: str) -> None:
        self.wrong(node, message, Severity.WARNING)

    @property
    def failed(self) -> bool:
        return self._told[Severity.ERROR] > 0


def found(node: Node) -> str:
    """The value, for the middle of a sentence."""
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
    @property
    def words(self) -> str:
        """What is allowed, as the object of a sentence: "a whole number from 1 to 32"."""
        ...

    def read(self, node: Node, reader: Reader, name: str) -> Any: ...  # noqa: ANN401 - as the kind says

    def schema(self) -> Schema: ...


def mismatch(kind: Kind, node: Node, reader: Reader, name: str, hint: str = "") -> object:
    reader.wrong(node, f"{name} is {found(node)}; allowed is {kind.words}{hint}")
    return BAD
