"""The subplans of a plan as rows: who is in whom, who waits for whom, which settings hold where."""

from collections.abc import Sequence
from itertools import islice

from msgspec import Struct, field

from weft.ids import SubplanPath
from weft.plan.language.reader import Reader
from weft.plan.language.records import Values
from weft.plan.language.tables import SUBPLAN
from weft.plan.loading import build
from weft.plan.loading.steps_check import hint, listed, place
from weft.plan.model import Subplan
from weft.plan.order.outline import ROOT, Outline
from weft.plan.order.points import circle
from weft.plan.pipelines.nesting import circle_in_words
from weft.plan.settings import Layer, Scope
from weft.plan.text.document import Items, Node

MOST_CIRCLES = 20
"""So many are told; to find the next one takes a look at the whole plan."""
MOST_SIMILAR = 1_000
"""Among so many names a similar one is looked for."""


class Rows(Struct):
    outline: Outline = field(default_factory=Outline)
    subplans: list[Subplan] = field(default_factory=list[Subplan])
    scopes: list[Scope] = field(default_factory=list[Scope])
    unread: set[int] = field(default_factory=set[int])
    """Groups of which not every part could be read."""


def read_rows(root: Subplan, scope: Scope, values: Values, reader: Reader) -> Rows:
    """All rows; what is wrong with ids and dependencies is told to the reader."""
    rows = Rows()
    rows.outline.add(SubplanPath(""), -1, leaf=False)
    rows.subplans.append(root)
    rows.scopes.append(scope)
    _add(rows, ROOT, values, reader)
    _References(rows, reader).resolve()
    _break_circles(rows, reader)
    return rows


def _add(rows: Rows, parent: int, group: Values, reader: Reader) -> None:
    """How deep subplans can be in each other is bounded by the depth of the document."""
    around = rows.outline.paths[parent]
    taken: dict[str, int] = {}
    parts = build.several(group, "subplans", SUBPLAN, reader.document)
    written = group.table.get("subplans")
    if written is not None and not (isinstance(written, Items) and len(parts) == len(written.nodes)):
        rows.unread.add(parent)
    for values in parts:
        subplan = build.subplan(values, reader.document)
        _check(subplan, taken, reader)
        taken.setdefault(subplan.id, subplan.source.line)
        path = SubplanPath(f"{around}/{subplan.id}" if around else subplan.id)
        row = rows.outline.add(path, parent, leaf="subplans" not in values.table.entries)
        rows.subplans.append(subplan)
        scope = rows.scopes[parent]
        if subplan.settings:
            scope = scope.within(Layer(f"subplan {path}", subplan.settings, reader.document, subplan.source))
        rows.scopes.append(scope)
        _add(rows, row, values, reader)
    rows.outline.close(parent)


def _check(subplan: Subplan, taken: dict[str, int], reader: Reader) -> None:
    if subplan.id and subplan.id in taken:
        first = taken[subplan.id]
        node = subplan.source.get("id") or subplan.source
        reader.wrong(node, f"two subplans here have the id {subplan.id!r}; the first is in line {first}")
    if subplan.prompt is not None and "subplans" in subplan.source.entries:
        said = "the prompt of a group reaches no agent; put it into its slices, or into the plan's goal"
        reader.warn(subplan.source.key("prompt"), said)


class _References:
    """Finds the rows that `depends_on` names."""

    def __init__(self, rows: Rows, reader: Reader) -> None:
        self.rows = rows
        self.outline = rows.outline
        self.reader = reader
        self.numbers: dict[str, int] = {}
        self.by_id: dict[str, int] = {}
        for row in range(1, len(self.outline.paths)):
            self.numbers.setdefault(self.outline.paths[row], row)
            self.by_id.setdefault(rows.subplans[row].id, row)

    def resolve(self) -> None:
        for row, subplan in enumerate(self.rows.subplans):
            if subplan.depends_on:
                nodes = listed(subplan.source, "depends_on")
                found = [self.find(row, *one) for one in zip(subplan.depends_on, nodes, strict=False)]
                self.outline.depends_on[row] = tuple(dict.fromkeys(other for other in found if other))

    def find(self, row: int, name: str, node: Node) -> int | None:
        paths = self.outline.paths
        around = paths[self.outline.parents[row]]
        path = name[1:] if name.startswith("/") else f"{around}/{name}" if around else name
        found = self.numbers.get(path)
        if found is None:
            self.missing(row, name, node)
        elif found == row:
            self.reader.wrong(node, f"{path!r} depends on itself")
        elif row in self.outline.below(found):
            self.reader.wrong(node, f"{paths[row]!r} depends on {path!r}, which contains it")
        elif found in self.outline.below(row):
            self.reader.wrong(node, f"{paths[row]!r} depends on {path!r}, which is a part of it")
        else:
            return found
        return None

    def missing(self, row: int, name: str, node: Node) -> None:
        """Told only where all could be read: else it may be one of those that could not."""
        group = self.outline.parents[row]
        if name.startswith("/"):
            group = self.numbers.get(name[1:].rpartition("/")[0], ROOT)
        if "" not in self.by_id and group not in self.rows.unread:
            self.reader.wrong(node, f"depends_on names {name!r}, which does not exist{self.hint(row, name)}")

    def hint(self, row: int, name: str) -> str:
        paths = self.outline.paths
        elsewhere = self.by_id.get(name)
        if elsewhere is not None:
            return f" beside it; did you mean {'/' + paths[elsewhere]!r}?"
        if name.startswith("/"):
            return hint(self.reader, name, [f"/{path}" for path in paths[1:MOST_SIMILAR]])
        siblings = islice(self.outline.children(self.outline.parents[row]), MOST_SIMILAR)
        return hint(self.reader, name, [self.rows.subplans[one].id for one in siblings if one != row])


def _break_circles(rows: Rows, reader: Reader) -> None:
    """Tells of circles, and takes them out, so that the rest can be checked."""
    outline = rows.outline
    for _ in range(MOST_CIRCLES):
        stuck = circle(outline)
        if stuck is None:
            return
        _tell_circle(rows, stuck, reader)
        for row in stuck:
            outline.depends_on[row] = ()
    outline.depends_on = [()] * len(outline.paths)


def _tell_circle(rows: Rows, stuck: Sequence[int], reader: Reader) -> None:
    paths = [rows.outline.paths[row] or "the plan" for row in stuck]
    waiting = next(row for row in stuck if rows.outline.depends_on[row])
    said = "the dependencies go round in a circle, each waits for the one before"
    reader.wrong(place(rows.subplans[waiting].source, "depends_on"), f"{said}: {circle_in_words(paths)}")
