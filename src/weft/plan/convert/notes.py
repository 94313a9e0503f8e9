"""What a conversion says: what it could not carry over, and what is wrong with its input.

A note is about something that was understood and has no counterpart; the plan is written all the same. A fault is
about something that has no meaning in the old system either (a dependency on nothing, a cycle); then there is no
plan, because any would be a guess. Faults are collected, too, so that a person sees all of them at once. Where the
input has parts of its own (the milestones of gsd), each part has a ledger of its faults.
"""

from dataclasses import dataclass

from weft.plan.text.document import Document, Node, Table, problem_at, read_document
from weft.plan.text.problems import PlanError, Position, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something in the input that the plan does not say, or says differently."""

    file: str
    line: int
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    text: str
    """The plan, as YAML."""
    notes: tuple[Note, ...]
    """By file and line."""


class ConvertError(PlanError):
    """The input is not what it should be; says everything that is wrong with it."""


class Ledger:
    """Notes and faults, as they are found."""

    def __init__(self) -> None:
        self._notes: list[Note] = []
        self._faults: list[Problem] = []

    def note(self, file: str, line: int, what: str, why: str) -> None:
        self._notes.append(Note(file=file, line=line, what=what, why=why))

    def fault(self, problem: Problem) -> None:
        if problem not in self._faults:
            self._faults.append(problem)

    def part(self) -> "Ledger":
        """A ledger for one part of the input: it shares the notes, and keeps its faults to itself."""
        part = Ledger()
        part._notes = self._notes
        return part

    def faults(self) -> tuple[Problem, ...]:
        return tuple(self._faults)

    def notes(self) -> tuple[Note, ...]:
        """Each note once, by file and line."""
        return tuple(sorted(dict.fromkeys(self._notes), key=lambda note: (note.file, note.line)))

    def error(self) -> ConvertError:
        """All faults found so far, by file, line and column."""
        return ConvertError(
            sorted(self._faults, key=lambda each: (each.at.file, each.at.line, each.at.column))
        )

    def settle(self) -> None:
        """Raises the faults, if there are any."""
        if self._faults:
            raise self.error()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One input file, and where to say what is found in it."""

    file: str
    text: str
    ledger: Ledger

    def note(self, line: int, what: str, why: str) -> None:
        self.ledger.note(self.file, line, what, why)

    def fault(self, line: int, said: str, *, column: int = 1) -> None:
        self.ledger.fault(problem_at(self.text, Position(self.file, line, column), said))

    def fault_at(self, node: Node, said: str) -> None:
        self.fault(node.line, said, column=node.column)

    def table(self) -> Table:
        """The YAML mapping that is the whole file; anything else ends the conversion."""
        root = self._document().root
        if isinstance(root, Table):
            return root
        self.fault_at(root, "the file holds no keys; a mapping is needed")
        raise self.ledger.error()

    def _document(self) -> Document:
        try:
            document = read_document(self.text, self.file)
        except PlanError as error:
            raise ConvertError(error.problems) from None
        for problem in document.problems:
            self.ledger.fault(problem)
        return document
