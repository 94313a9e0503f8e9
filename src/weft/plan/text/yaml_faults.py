"""Explains why a text is not YAML, in terms of the text.

libyaml reports the rule of its grammar that failed: "did not find expected '-' indicator". The cause is mostly
one of a few mistakes: a tab, a line indented by one space too many, a colon inside a value, a quote or a bracket
that is not closed. Each function below recognizes one mistake by libyaml's report and the lines around it, and
says what to write instead. For the rest, libyaml's own message is used.
"""

import re
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # libyaml's line breaks
_TEMPLATE = re.compile(r"(?:[:-]|^)\s+(\{\{.*)$")
_LONGEST = 40


class Mark(Protocol):
    """A position in the text, counted from 0."""

    line: int
    column: int


class YamlError(Protocol):
    """An error of libyaml: where it was, what it was reading and since where."""

    @property
    def context(self) -> str | None: ...
    @property
    def context_mark(self) -> Mark | None: ...
    @property
    def problem(self) -> str | None: ...
    @property
    def problem_mark(self) -> Mark | None: ...


class Fault(Struct, frozen=True):
    """A position and a message."""

    line: int
    column: int
    message: str


class _Report(Struct, frozen=True, kw_only=True):
    """libyaml's report with the lines of the text; lines and columns are counted from 1."""

    lines: list[str]
    line: int
    column: int
    start_line: int
    """The line where the construct that libyaml was reading starts; 0 if unknown."""
    context: str
    problem: str

    def text(self, line: int) -> str:
        return self.lines[line - 1] if 0 < line <= len(self.lines) else ""

    @property
    def current_line(self) -> str:
        return self.text(self.line)

    def fault(self, message: str, *, line: int | None = None, column: int | None = None) -> Fault:
        return Fault(line or self.line, column or self.column, message)


def fault_of(text: str, error: YamlError) -> Fault:
    """Returns the fault behind libyaml's report."""
    lines = _LINE_BREAK.split(text)
    line, column = _place(error.problem_mark)
    last = len(lines)
    while last > 1 and not lines[last - 1].strip():
        last -= 1
    if line > last:  # libyaml reports the end of the file on the line after the last
        line, column = last, len(lines[last - 1].rstrip()) + 1
    report = _Report(
        lines=lines,
        line=line,
        column=column,
        start_line=_place(error.context_mark)[0] if error.context_mark is not None else 0,
        context=error.context or "",
        problem=error.problem or "",
    )
    # The most specific explanations come first.
    faults = (slip(report) for slip in _SLIPS)
    return next((fault for fault in faults if fault is not None), _as_reported(report))


def _place(mark: Mark | None) -> tuple[int, int]:
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)


def _as_reported(report: _Report) -> Fault:
    message = ", ".join(filter(None, (report.context, report.problem)))
    # libyaml notices late, so the start of the construct says more than the position of the error.
    start = f"; it starts in line {report.start_line}" if report.start_line not in {0, report.line} else ""
    return report.fault(f"{message}{start}")


# Slips


def _tab(report: _Report) -> Fault | None:
    indentation = report.current_line[: len(report.current_line) - len(report.current_line.lstrip())]
    if "\t" not in indentation:
        return None
    message = "a tab indents this line; YAML takes spaces only: replace each tab by spaces"
    return report.fault(message, column=indentation.index("\t") + 1)


def _template(report: _Report) -> Fault | None:
    """Recognizes `prompt: {{ x }}`, which starts a mapping in a mapping."""
    for line in {report.line, report.start_line}:
        match = _TEMPLATE.search(report.text(line))
        if match is not None:
            return report.fault(unquoted_template(match[1]), line=line, column=match.start(1) + 1)
    return None


def unquoted_template(value: str) -> str:
    return f"a value that begins with {{{{ needs quotes; write {_quoted(value)}"


def _first_character(report: _Report) -> Fault | None:
    if "cannot start any token" not in report.problem:
        return None
    value = report.current_line[report.column - 1 :].rstrip()
    return report.fault(f"a value cannot begin with {value[:1]!r}; write it in quotes: {_quoted(value)}")


def _colon(report: _Report) -> Fault | None:
    """Recognizes a second `: ` in a line, or a line indented below a key that already has a value."""
    if report.problem != "mapping values are not allowed in this context":
        return None
    before = report.current_line[: report.column - 1]
    if ": " not in before:
        return _indentation(report)
    key, _, value = report.current_line.strip().partition(": ")
    key = key.removeprefix("- ").strip()
    message = f"the value of {key!r} has a colon in it; write it in quotes, as in {key}: {_quoted(value)}"
    return report.fault(message)


def _block(report: _Report) -> Fault | None:
    if report.context in {"while parsing a block collection", "while parsing a block mapping"}:
        return _indentation(report)
    return None


def _indentation(report: _Report) -> Fault | None:
    """Recognizes a line that starts where no list or mapping around it has its entries."""
    indent = len(report.current_line) - len(report.current_line.lstrip(" "))
    is_dash = report.current_line.lstrip().startswith("- ")
    entries = _columns(report)
    entry = entries.get(indent)
    # The key has the column of the dashes above it: two spaces are missing.
    if entry is not None and entry.is_dash and not is_dash:
        message = f"an entry of the list of line {entry.line} begins with '- '"
        keys = f"indent this line by {_spaces(entry.keys)}"
        return report.fault(f"{message}; for a key of the entry above, {keys}", column=indent + 1)
    choices = [
        f"{column} (as in line {neighbour.line})"
        for column, neighbour in sorted(entries.items())
        if neighbour.is_dash == is_dash
    ]
    if (entry is not None and entry.is_dash == is_dash) or not choices:
        return None
    allowed = " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))
    message = f"this line is indented by {_spaces(indent)}; allowed here is {allowed}"
    return report.fault(message, column=indent + 1)


class _Entry(Struct, frozen=True):
    """The indentation of the entries of a list or mapping."""

    line: int
    is_dash: bool = False
    keys: int = 0
    """The indentation of the keys of an entry of a list."""


def _columns(report: _Report) -> dict[int, _Entry]:
    """Returns the lists and mappings around the line, by the indentation of their entries."""
    entries: dict[int, _Entry] = {}
    for number, line in enumerate(report.lines[: report.line - 1], start=1):
        text = line.lstrip(" ")
        if not text or text.startswith("#"):
            continue
        column = len(line) - len(text)
        # A line that is indented less closes everything that is indented more.
        entries = {indent: entry for indent, entry in entries.items() if indent < column}
        while text.startswith("- "):
            rest = text[1:].lstrip(" ")
            keys = column + len(text) - len(rest)
            entries[column] = _Entry(number, is_dash=True, keys=keys)
            column, text = keys, rest
        entries[column] = _Entry(number)
    return entries


def _spaces(count: int) -> str:
    return "1 space" if count == 1 else f"{count} spaces"


def _bracket(report: _Report) -> Fault | None:
    line = report.start_line
    match report.context.removeprefix("while parsing a "):
        case "flow sequence":
            opening = "["
        case "flow mapping":
            opening = "{"
        case "flow node":  # find the bracket that was opened last
            before = "\n".join([*report.lines[: report.line - 1], report.current_line[: report.column - 1]])
            opening = max("[{", key=before.rfind)
            line = before.count("\n", 0, before.rfind(opening)) + 1
        case _:
            return None
    message = f"the {opening} of line {line} is not closed, or a comma is missing"
    closing = {"[": "]", "{": "}"}[opening]
    return report.fault(f"{message}; add {closing}, or put a value that contains this character in quotes")


def _quote(report: _Report) -> Fault | None:
    if report.context != "while scanning a quoted scalar" or "end of stream" not in report.problem:
        return None
    return report.fault(
        f"the quote that opens in line {report.start_line} is not closed; add it where the text ends"
    )


def _escape(report: _Report) -> Fault | None:
    if "unknown escape character" not in report.problem:
        return None
    escape = report.current_line[report.column - 1 : report.column + 1]
    message = f"{escape} has no meaning within double quotes"
    return report.fault(f"{message}; write the text in single quotes, or each backslash twice")


def _missing_colon(report: _Report) -> Fault | None:
    if report.problem != "could not find expected ':'":
        return None
    text = report.text(report.start_line)
    column = len(text) - len(text.lstrip()) + 1
    message = (
        f"a colon is missing after {_short(text.strip())!r}; each key of a mapping is written as 'key: value'"
    )
    return report.fault(message, line=report.start_line, column=column)


_SLIPS: tuple[Callable[[_Report], Fault | None], ...] = (
    _tab,
    _template,
    _first_character,
    _colon,
    _missing_colon,
    _block,
    _bracket,
    _quote,
    _escape,
)


def _quoted(value: str) -> str:
    text = _short(value.strip()).replace("'", "''")
    return f"'{text}'"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
