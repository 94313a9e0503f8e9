"""Notes and faults of a conversion: what it could not carry over, and what is wrong with the input.

A note is about something that was understood and has no counterpart; the plan is written anyway. A fault is about
something that is meaningless in the other system, too (a dependency on nothing, a cycle); then there is no plan,
because any would be a guess. Faults are collected, so that the user sees all of them at once. Where the input has
parts of its own (the milestones of gsd), each part has its own ledger of faults.
"""

from dataclasses import dataclass

from weft.plan.text.document import Document, Node, Table, problem_at, read_document
from weft.plan.text.problems import PlanError, Position, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something in the input that the plan lacks or expresses differently."""

    file: str
    line: int
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertedPlan:
    """The result of a conversion."""

    text: str
    """The plan, as YAML."""
    notes: tuple[Note, ...]
    """By file and line."""


class ConvertError(PlanError):
    """The input is invalid; lists everything that is wrong with it."""


class ConversionNotes:
    """Collects notes and faults."""

    def __init__(self) -> None:
        self._notes: list[Note] = []
        self._faults: list[Problem] = []

    def note(self, file: str, line: int, what: str, why: str) -> None:
        self._notes.append(Note(file=file, line=line, what=what, why=why))

    def fault(self, problem: Problem) -> None:
        # A place of the input can be read for several purposes; the user needs the fault once.
        if problem not in self._faults:
            self._faults.append(problem)

    def part(self) -> "ConversionNotes":
        """Returns a ledger for one part of the input, which shares the notes but has its own faults."""
        part = ConversionNotes()
        # Notes are for the user in any case; only faults decide whether a part is left out.
        part._notes = self._notes
        return part

    def faults(self) -> tuple[Problem, ...]:
        return tuple(self._faults)

    def notes(self) -> tuple[Note, ...]:
        """Returns each note once, by file and line."""
        return tuple(sorted(dict.fromkeys(self._notes), key=lambda note: (note.file, note.line)))

    def error(self) -> ConvertError:
        """Returns an error with all faults so far, by file, line and column."""
        return ConvertError(
            sorted(self._faults, key=lambda fault: (fault.at.file, fault.at.line, fault.at.column))
        )

    def settle(self) -> None:
        """Raises the faults, if there are any."""
        if self._faults:
            raise self.error()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionSource:
    """One input file, and the ledger for what is found in it."""

    file: str
    text: str
    ledger: ConversionNotes

    def note(self, line: int, what: str, why: str) -> None:
        self.ledger.note(self.file, line, what, why)

    def fault(self, line: int, message: str, *, column: int = 1) -> None:
        self.ledger.fault(problem_at(self.text, Position(self.file, line, column), message))

    def fault_at(self, node: Node, message: str) -> None:
        self.fault(node.line, message, column=node.column)

    def table(self) -> Table:
        """Returns the mapping that is the whole file; anything else ends the conversion."""
        root = self._document().root
        if isinstance(root, Table):
            return root
        self.fault_at(root, "the file holds no keys; a mapping is needed")
        raise self.ledger.error()

    def _document(self) -> Document:
        try:
            document = read_document(self.text, self.file)
        except PlanError as error:
            # Text that is no YAML has no parts to convert, so this ends at once and is not collected.
            raise ConvertError(error.problems) from None
        for problem in document.problems:
            self.ledger.fault(problem)
        return document
