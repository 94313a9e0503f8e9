"""YAML text as nodes that know their position.

The nodes are built from the events of libyaml's parser, with an explicit stack: there is no recursion, positions
cost nothing extra, and the limits apply while the text is read, not afterwards. This has two advantages over
PyYAML's own loaders. A scalar keeps its text, so that its reader decides what it may be (`max_parallel: "4"` is
text, `id: 007` is not). An alias is the same node again, so that a file of aliases to aliases costs nothing until
it is walked; the length of that walk is computed when the alias is read.

A plain scalar means what YAML 1.2's core schema says, as in editors: `yes`, `on` and `1:30` are text.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NoReturn, Protocol

import yaml
from msgspec import Struct
from yaml._yaml import CParser  # `yaml.cyaml` exports it without a type
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from weft.plan.text.problems import MOST_PROBLEMS, PlanError, Position, Problem
from weft.plan.text.surrogates import join_surrogates

_NUMBER = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), "nothing"),
    **dict.fromkeys(("true", "True", "TRUE", "false", "False", "FALSE"), "a boolean"),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "a number"),
    **dict.fromkeys(
        (sign + word for sign in ("", "-", "+") for word in (".inf", ".Inf", ".INF")), "a number"
    ),
}
_NOT_TEXT_MAY_START_WITH = frozenset("~nNtTfF.-+0123456789")
_LINE_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # libyaml's line breaks
MERGE_KEY = "<<"
_STANDARD_TAG = "tag:yaml.org,2002:"


class DocumentLimits(Struct, frozen=True, kw_only=True):
    """Limits on a file."""

    size: int = 10_000_000
    """The most characters."""
    depth: int = 64
    """The deepest nesting of lists and mappings; an alias counts with what it repeats."""
    aliased: int = 100_000
    """The most nodes that aliases repeat, in total."""


LIMITS = DocumentLimits()


class Scalar:
    """A single value, as text."""

    __slots__ = ("column", "line", "style", "text")

    def __init__(self, text: str, line: int, column: int, style: str) -> None:
        self.text = text
        self.line = line
        self.column = column
        self.style = style
        """How it was written: a quote, `|` or `>`; empty for a plain scalar."""

    @property
    def plain(self) -> bool:
        return not self.style

    def kind(self) -> str:
        """Returns what the value is, in a word that fits into a sentence."""
        text = self.text
        if self.style or (text and text[0] not in _NOT_TEXT_MAY_START_WITH):
            return "text"
        if text in _WORDS:
            return _WORDS[text]
        return "a number" if _NUMBER.fullmatch(text) else "text"


class Items:
    """A list."""

    __slots__ = ("column", "line", "nodes")

    def __init__(self, line: int, column: int) -> None:
        self.nodes: list[Node] = []
        self.line = line
        self.column = column


class Table:
    """A mapping: each key as written, with its node and the node of its value."""

    __slots__ = ("column", "entries", "line", "pending")

    def __init__(self, line: int, column: int) -> None:
        self.entries: dict[str, tuple[Scalar, Node]] = {}
        self.line = line
        self.column = column
        self.pending: Scalar | None = None
        """The key that waits for its value, while the table is built."""

    def get(self, key: str) -> "Node | None":
        entry = self.entries.get(key)
        return None if entry is None else entry[1]

    def key(self, key: str) -> "Scalar | Table":
        """Returns the node of the key; the table itself if it lacks the key."""
        entry = self.entries.get(key)
        return self if entry is None else entry[0]


Node = Scalar | Items | Table


class Document(Struct, frozen=True, kw_only=True):
    """A file as a tree of nodes."""

    file: str
    text: str
    root: Node
    problems: tuple[Problem, ...]
    """Problems that did not prevent reading the rest: duplicate keys, tags."""
    unsaid: int = 0
    """The number of further problems."""

    def position(self, node: Node) -> Position:
        return Position(self.file, node.line, node.column)


def read_document(text: str, file: str, *, limits: DocumentLimits = LIMITS) -> Document:
    """Returns the document in the text; raises `PlanError` if it cannot be read to its end."""
    text = text.removeprefix("\ufeff")
    builder = _Builder(text, file, limits)
    if len(text) > limits.size:
        builder.fail(1, 1, f"the file has {len(text):,} characters; the limit is {limits.size:,}")
    root = builder.build()
    return Document(file=file, text=text, root=root, problems=tuple(builder.problems), unsaid=builder.unsaid)


def problem_at(text: str, at: Position, message: str, *, width: int = 1) -> Problem:
    """Returns a problem with the line it is about."""
    return Problem(at=at, message=message, excerpt=line_of(text, at.line), width=width)


def line_of(text: str, number: int) -> str:
    """Returns a line by its number from 1, without splitting the text, which may be large."""
    start = 0
    if number > 1:
        before = next(islice(_LINE_BREAK.finditer(text), number - 2, None), None)
        if before is None:
            return ""
        start = before.end()
    end = _LINE_BREAK.search(text, start)
    return text[start : end.start() if end else len(text)]


def width_of(node: "Node") -> int:
    """Returns how many characters of its first line a node takes, if known; otherwise 1."""
    if not isinstance(node, Scalar) or node.style in {"|", ">"}:
        return 1
    quotes = 2 if node.style else 0
    return len(node.text.partition("\n")[0]) + quotes


class _Mark(Protocol):
    line: int
    column: int


class _NodeEvent(Protocol):
    """An event of the parser. The parser's own type stubs make every attribute optional."""

    start_mark: _Mark
    anchor: str | None
    tag: str | None


class _ScalarEvent(_NodeEvent, Protocol):
    value: str
    style: str | None


class _AliasEvent(Protocol):
    start_mark: _Mark
    anchor: str


class _Builder:
    def __init__(self, text: str, file: str, limits: DocumentLimits) -> None:
        self.text = text
        self.file = file
        self.limits = limits
        self.problems: list[Problem] = []
        self.documents = Items(1, 1)
        self.parent: Items | Table = self.documents
        self.stack: list[Items | Table] = []
        self.anchors: dict[str, Node] = {}
        self.measured: dict[Node, tuple[int, int]] = {}
        self.aliased = 0
        self.unsaid = 0

    def build(self) -> Node:
        handlers: dict[type[Event], Callable[[Any], None]] = {
            ScalarEvent: self.scalar,
            MappingStartEvent: self.table,
            SequenceStartEvent: self.items,
            MappingEndEvent: self.end,
            SequenceEndEvent: self.end,
            AliasEvent: self.alias,
            DocumentStartEvent: self.document,
        }
        for event in self.events():
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
        if not self.documents.nodes:
            self.fail(1, 1, "the file is empty")
        return self.documents.nodes[0]

    def events(self) -> Iterator[Event]:
        event: Event | None = None
        try:
            parser = CParser(join_surrogates(self.text))
            while (event := parser.get_event()) is not None:
                yield event
        except yaml.reader.ReaderError as error:
            # libyaml reports the position in bytes.
            position = len(self.text.encode()[: error.position].decode(errors="ignore"))
            self.fail(*_line_and_column(self.text, position), f"this is not YAML: {error.reason}")
        except UnicodeEncodeError as error:
            self.fail(*_line_and_column(self.text, error.start), "this is not text: a lone surrogate")
        except yaml.MarkedYAMLError as error:
            from weft.plan.text.yaml_faults import fault_of  # noqa: PLC0415 - only for mistakes

            fault = fault_of(self.text, error)
            self.fail(fault.line, fault.column, f"this is not YAML: {fault.message}")
        except UnicodeDecodeError:
            # A tag whose %-escapes are not UTF-8; only the position of the event before it is known.
            mark = event.end_mark if event else None
            self.fail(*_line_and_column_of(mark), "this is not YAML: a tag that is not UTF-8")

    # Events, the most frequent first.

    def scalar(self, event: _ScalarEvent) -> None:
        mark = event.start_mark
        node = Scalar(event.value, mark.line + 1, mark.column + 1, event.style or "")
        self.anchor(event, node)
        self.add(node)

    def table(self, event: _NodeEvent) -> None:
        self.begin(event, Table(event.start_mark.line + 1, event.start_mark.column + 1))

    def items(self, event: _NodeEvent) -> None:
        self.begin(event, Items(event.start_mark.line + 1, event.start_mark.column + 1))

    def begin(self, event: _NodeEvent, node: Items | Table) -> None:
        self.anchor(event, node)
        self.add(node)
        self.stack.append(self.parent)
        self.parent = node
        if len(self.stack) > self.limits.depth:
            self.fail(node.line, node.column, f"more than {self.limits.depth} levels within each other")

    def end(self, _event: Event) -> None:
        table = self.parent
        if isinstance(table, Table) and MERGE_KEY in table.entries and table.entries[MERGE_KEY][0].plain:
            self.merge(table)
        self.parent = self.stack.pop()

    def alias(self, event: _AliasEvent) -> None:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        node = self.anchors.get(event.anchor)
        if node is None:
            self.fail(line, column, f"the alias *{event.anchor} has no anchor &{event.anchor} before it")
        # Such an alias would make the tree infinite.
        if node in self.stack or node is self.parent:
            self.fail(line, column, f"the alias *{event.anchor} is inside the value that it repeats")
        if not isinstance(node, Scalar) and isinstance(self.parent, Table) and self.parent.pending is None:
            self.fail(line, column, "a key must be a single value, not a list or a mapping")
        # Ten levels of ten aliases each would be ten billion nodes for a walk.
        nodes, levels = self.measure(node)
        self.aliased += nodes
        if self.aliased > self.limits.aliased:
            self.fail(line, column, f"aliases repeat more than {self.limits.aliased:,} values")
        if len(self.stack) + levels > self.limits.depth:
            self.fail(line, column, f"more than {self.limits.depth} levels within each other")
        self.add(node)

    def document(self, event: _NodeEvent) -> None:
        if self.documents.nodes:
            line, column = event.start_mark.line + 1, event.start_mark.column + 1
            self.fail(line, column, "a second document starts here; a file can have only one")

    # Parts of events.

    def anchor(self, event: _NodeEvent, node: Node) -> None:
        if event.anchor is not None:
            self.anchors[event.anchor] = node  # which may replace an earlier one of the same name
        if event.tag is not None:
            tag = event.tag
            tag = f"!!{tag.removeprefix(_STANDARD_TAG)}" if tag.startswith(_STANDARD_TAG) else tag
            self.report(node, f"the tag {tag!r} has no meaning here; write the value without it")

    def add(self, node: Node) -> None:
        parent = self.parent
        if isinstance(parent, Items):
            parent.nodes.append(node)
            return
        key = parent.pending
        if key is None:
            if not isinstance(node, Scalar):
                self.fail(node.line, node.column, self.bad_key(node))
            parent.pending = node
            return
        parent.pending = None
        entry = (key, node)
        # The first entry counts and the second is only reported; YAML libraries keep the last, silently.
        first = parent.entries.setdefault(key.text, entry)
        if first is not entry:
            where = f"line {first[0].line}"
            self.report(key, f"duplicate key {key.text!r}; the first is in {where}")

    def bad_key(self, node: Items | Table) -> str:
        line = line_of(self.text, node.line)
        template = line[node.column - 2 :]
        # `key: {{ x }}` is a mapping as a key to YAML, which no message of libyaml explains.
        if isinstance(node, Table) and template.startswith("{{"):
            from weft.plan.text.yaml_faults import unquoted_template  # noqa: PLC0415 - only for mistakes

            return unquoted_template(template)
        return "a key must be a single value, not a list or a mapping"

    def merge(self, table: Table) -> None:
        """Applies `<<: *base`: adds the keys that the table lacks."""
        key, value = table.entries.pop(MERGE_KEY)
        for base in value.nodes if isinstance(value, Items) else [value]:
            if not isinstance(base, Table):
                self.report(key, "<< takes over the keys of a mapping, or of a list of mappings")
                return
            for name, entry in base.entries.items():
                table.entries.setdefault(name, entry)

    def measure(self, node: Node) -> tuple[int, int]:
        """Returns how many nodes a walk through this node visits, and how deep it goes.

        Aliases count as often as they occur. The recursion is bounded by the limit on depth, which includes
        aliases.
        """
        size = self.measured.get(node)
        if size is None:
            match node:
                case Scalar():
                    size = (1, 0)
                case Items():
                    size = _sum(1, map(self.measure, node.nodes))
                case Table():
                    inner = (self.measure(value) for _, value in node.entries.values())
                    size = _sum(1 + len(node.entries), inner)
            self.measured[node] = size
        return size

    def report(self, node: Node, message: str) -> None:
        if len(self.problems) >= MOST_PROBLEMS:
            self.unsaid += 1
            return
        at = Position(self.file, node.line, node.column)
        self.problems.append(problem_at(self.text, at, message, width=width_of(node)))

    def fail(self, line: int, column: int, message: str) -> NoReturn:
        """Raises the problem, together with those found before."""
        raise PlanError([*self.problems, problem_at(self.text, Position(self.file, line, column), message)])


def _sum(own: int, inner: Iterable[tuple[int, int]]) -> tuple[int, int]:
    nodes, levels = own, 0
    for inner_nodes, inner_levels in inner:
        nodes += inner_nodes
        levels = max(levels, inner_levels)
    return nodes, levels + 1


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    line, start = 1, 0
    for line_break in _LINE_BREAK.finditer(text, 0, position):
        line, start = line + 1, line_break.end()
    return line, position - start + 1


def _line_and_column_of(mark: _Mark | None) -> tuple[int, int]:
    return (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
