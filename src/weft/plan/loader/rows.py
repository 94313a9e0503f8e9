"""Reads the subplans of a plan as rows: the tree, its dependencies and the settings of each row."""

from collections.abc import Sequence
from itertools import islice

from msgspec import Struct, field

from weft.ids import SubplanPath
from weft.plan.language.reader import Reader
from weft.plan.language.records import Values
from weft.plan.language.tables import SUBPLAN
from weft.plan.loader import build
from weft.plan.loader.steps_check import hint, nodes_of, place
from weft.plan.model import Subplan
from weft.plan.order.outline import ROOT, Outline
from weft.plan.order.points import find_cycle
from weft.plan.pipelines.hierarchy import cycle_in_words
from weft.plan.settings import Layer, Scope
from weft.plan.text.document import Items, Node

MOST_CYCLES = 20
"""The most cycles that are reported; finding each one takes a pass over the whole plan."""
MOST_SIMILAR = 1_000
"""A similar name is searched for among at most this many."""


class Rows(Struct):
    """Three lists with one entry for each subplan, in plan order."""

    outline: Outline = field(default_factory=Outline)
    subplans: list[Subplan] = field(default_factory=list[Subplan])
    scopes: list[Scope] = field(default_factory=list[Scope])
    unread: set[int] = field(default_factory=set[int])
    """Groups with children that could not be read."""


def read_rows(root: Subplan, scope: Scope, values: Values, reader: Reader) -> Rows:
    """Returns all rows, and reports errors in ids and dependencies to the reader."""
    rows = Rows()
    rows.outline.add(SubplanPath(""), -1, leaf=False)
    rows.subplans.append(root)
    rows.scopes.append(scope)
    _add(rows, ROOT, values, reader)
    _References(rows, reader).resolve()
    _break_cycles(rows, reader)
    return rows


def _add(rows: Rows, parent: int, group: Values, reader: Reader) -> None:
    """Adds the subplans of a group, and theirs. The depth of the document bounds the recursion."""
    parent_path = rows.outline.paths[parent]
    lines_by_id: dict[str, int] = {}
    parts = build.read_records(group, "subplans", SUBPLAN, reader.document)
    node = group.table.get("subplans")
    if node is not None and not (isinstance(node, Items) and len(parts) == len(node.nodes)):
        # A dependency that seems unknown may be one of the subplans that could not be read.
        rows.unread.add(parent)
    for values in parts:
        subplan = build.subplan(values, reader.document)
        _check(subplan, lines_by_id, reader)
        lines_by_id.setdefault(subplan.id, subplan.source.line)
        path = SubplanPath(f"{parent_path}/{subplan.id}" if parent_path else subplan.id)
        row = rows.outline.add(path, parent, leaf="subplans" not in values.table.entries)
        rows.subplans.append(subplan)
        # Most slices set nothing and share the scope of their group.
        scope = rows.scopes[parent]
        if subplan.settings:
            scope = scope.within(Layer(f"subplan {path}", subplan.settings, reader.document, subplan.source))
        rows.scopes.append(scope)
        _add(rows, row, values, reader)
    rows.outline.close(parent)


def _check(subplan: Subplan, lines_by_id: dict[str, int], reader: Reader) -> None:
    if subplan.id and subplan.id in lines_by_id:
        first = lines_by_id[subplan.id]
        node = subplan.source.get("id") or subplan.source
        reader.wrong(node, f"duplicate subplan id {subplan.id!r}; the first is in line {first}")
    if subplan.prompt is not None and "subplans" in subplan.source.entries:
        message = "no agent sees the prompt of a group; move it to its slices or to the plan's goal"
        reader.warn(subplan.source.key("prompt"), message)


class _References:
    """Resolves the names in `depends_on` to rows."""

    def __init__(self, rows: Rows, reader: Reader) -> None:
        self.rows = rows
        self.outline = rows.outline
        self.reader = reader
        self.row_by_path: dict[str, int] = {}
        self.row_by_id: dict[str, int] = {}
        for row in range(1, len(self.outline.paths)):
            # Of two subplans with one path, which is reported elsewhere, the first is meant.
            self.row_by_path.setdefault(self.outline.paths[row], row)
            self.row_by_id.setdefault(rows.subplans[row].id, row)

    def resolve(self) -> None:
        for row, subplan in enumerate(self.rows.subplans):
            if subplan.depends_on:
                nodes = nodes_of(subplan.source, "depends_on")
                rows = [self.find(row, *named) for named in zip(subplan.depends_on, nodes, strict=False)]
                self.outline.depends_on[row] = tuple(dict.fromkeys(filter(None, rows)))

    def find(self, row: int, name: str, node: Node) -> int | None:
        """Returns the row that a dependency names; None if the name is wrong, which is reported."""
        paths = self.outline.paths
        parent_path = paths[self.outline.parents[row]]
        path = name[1:] if name.startswith("/") else f"{parent_path}/{name}" if parent_path else name
        target = self.row_by_path.get(path)
        if target is None:
            self.report_unknown(row, name, node)
        elif target == row:
            self.reader.wrong(node, f"{path!r} depends on itself")
        elif row in self.outline.below(target):
            self.reader.wrong(node, f"{paths[row]!r} depends on {path!r}, which contains it")
        elif target in self.outline.below(row):
            self.reader.wrong(node, f"{paths[row]!r} depends on {path!r}, which is a part of it")
        else:
            return target
        return None

    def report_unknown(self, row: int, name: str, node: Node) -> None:
        """Reports an unknown name, unless it may be one of the subplans that could not be read."""
        group = self.outline.parents[row]
        if name.startswith("/"):
            group = self.row_by_path.get(name[1:].rpartition("/")[0], ROOT)
        if "" not in self.row_by_id and group not in self.rows.unread:
            self.reader.wrong(node, f"depends_on names {name!r}, which does not exist{self.hint(row, name)}")

    def hint(self, row: int, name: str) -> str:
        """Returns the end of the message: the name that was probably meant."""
        paths = self.outline.paths
        elsewhere = self.row_by_id.get(name)
        if elsewhere is not None:
            return f" beside it; did you mean {'/' + paths[elsewhere]!r}?"
        if name.startswith("/"):
            return hint(self.reader, name, [f"/{path}" for path in paths[1:MOST_SIMILAR]])
        siblings = islice(self.outline.children(self.outline.parents[row]), MOST_SIMILAR)
        return hint(
            self.reader, name, [self.rows.subplans[sibling].id for sibling in siblings if sibling != row]
        )


def _break_cycles(rows: Rows, reader: Reader) -> None:
    """Reports the cycles among the dependencies and removes them, so that the rest can be checked."""
    outline = rows.outline
    for _ in range(MOST_CYCLES):
        cycle = find_cycle(outline)
        if cycle is None:
            return
        _report_cycle(rows, cycle, reader)
        # All dependencies of the cycle go at once; removing only one could leave another cycle through the same
        # rows.
        for row in cycle:
            outline.depends_on[row] = ()
    # After that many cycles the rest of the order is not worth checking.
    outline.depends_on = [()] * len(outline.paths)


def _report_cycle(rows: Rows, cycle: Sequence[int], reader: Reader) -> None:
    paths = [rows.outline.paths[row] or "the plan" for row in cycle]
    dependent = next(row for row in cycle if rows.outline.depends_on[row])
    message = "the dependencies form a cycle, in which each waits for the one before it"
    reader.wrong(place(rows.subplans[dependent].source, "depends_on"), f"{message}: {cycle_in_words(paths)}")
