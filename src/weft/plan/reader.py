"""Reading nodes to values: what is found wrong is collected, and told all at once."""

from typing import Any, Final, Protocol

from weft.plan.document import Document, Items, Node, Scalar, Table, problem_at
from weft.plan.problems import Problem, Severity

BAD: Final = object()
"""What is read from a value that is wrong; the reader knows why."""

MOST_PROBLEMS = 100
"""More than anybody reads, and each costs a look through the text."""

Schema = dict[str, Any]


class Reader:
    """What is found wrong while a document is read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = list(document.problems)
        self.unsaid = 0
        """Problems beyond the most that are told."""

    def wrong(self, node: Node, message: str, severity: Severity = Severity.ERROR) -> None:
        if len(self.problems) >= MOST_PROBLEMS:
            self.unsaid += 1
            return
        width = (
            len(node.text.partition("\n")[0]) + 2 * (node.style in {"'", '"'})
            if isinstance(node, Scalar)
            else 1
        )
        at = self.document.position(node)
        found = problem_at(self.document.text, at, message, width=width)
        self.problems.append(
            Problem(at=at, message=message, severity=severity, excerpt=found.excerpt, width=width)
        )

    def warn(self, node: Node, message: str) -> None:
        self.wrong(node, message, Severity.WARNING)

    @property
    def failed(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)


def found(node: Node) -> str:
    """The value, for the middle of a sentence."""
    match node:
        case Scalar():
            kind = node.kind()
            if kind == "nothing":
                return "empty"
            return repr(_cut(node.text)) if kind == "text" else f"{node.text} ({kind})"
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
