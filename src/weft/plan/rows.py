"""The subplans of a plan as rows: who is in whom, who waits for whom, which settings hold where."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from weft.ids import SubplanPath
from weft.plan import build
from weft.plan.document import Node
from weft.plan.globs import glob_fault
from weft.plan.model import Subplan
from weft.plan.order import circle
from weft.plan.outline import ROOT, Outline
from weft.plan.problems import suggestion
from weft.plan.reader import Reader
from weft.plan.records import Values
from weft.plan.settings import Layer, Scope
from weft.plan.steps_check import listed


@dataclass(slots=True)
class Rows:
    outline: Outline = field(default_factory=Outline)
    subplans: list[Subplan] = field(default_factory=list[Subplan])
    scopes: list[Scope] = field(default_factory=list[Scope])


def read_rows(root: Subplan, scope: Scope, given: Iterable[Values], reader: Reader) -> Rows:
    """All rows; what is wrong with ids and dependencies is told to the reader."""
    rows = Rows()
    rows.outline.add(SubplanPath(""), -1, leaf=False)
    rows.subplans.append(root)
    rows.scopes.append(scope)
    _add(rows, ROOT, given, reader)
    _resolve(rows, reader)
    return rows


def _add(rows: Rows, parent: int, given: Iterable[Values], reader: Reader) -> None:
    """How deep subplans can be in each other is bounded by the depth of the document."""
    around = rows.outline.paths[parent]
    taken: dict[str, int] = {}
    for values in given:
        subplan = build.subplan(values, reader.document)
        _check(subplan, taken, reader)
        taken.setdefault(subplan.id, subplan.source.line)
        inner = values.get("subplans")
        path = SubplanPath(f"{around}/{subplan.id}" if around else subplan.id)
        row = rows.outline.add(path, parent, leaf="subplans" not in values.table.entries)
        rows.subplans.append(subplan)
        scope = rows.scopes[parent]
        if subplan.settings:
            scope = scope.within(Layer(f"subplan {path}", subplan.settings, reader.document, subplan.source))
        rows.scopes.append(scope)
        if inner:
            _add(rows, row, inner, reader)
    rows.outline.close(parent)


def _check(subplan: Subplan, taken: dict[str, int], reader: Reader) -> None:
    if subplan.id and subplan.id in taken:
        first = taken[subplan.id]
        node = subplan.source.get("id") or subplan.source
        reader.wrong(node, f"two subplans here have the id {subplan.id!r}; the first is in line {first}")
    if subplan.prompt is not None and "subplans" in subplan.source.entries:
        said = "the prompt of a group reaches no agent; put it into its slices, or into the plan's goal"
        reader.warn(subplan.source.key("prompt"), said)
    for key, globs in (("files", subplan.files), *_glob_settings(subplan)):
        for node, glob in zip(listed(subplan.source, key), globs, strict=False):
            fault = glob_fault(glob)
            if fault is not None:
                reader.wrong(node, f"{key} holds {glob!r}: {fault}")


def _glob_settings(subplan: Subplan) -> Iterable[tuple[str, tuple[str, ...]]]:
    for key in ("copy", "link"):
        if key in subplan.settings:
            yield key, subplan.settings[key]


def _resolve(rows: Rows, reader: Reader) -> None:
    outline = rows.outline
    numbers: dict[str, int] = {}
    for row, path in enumerate(outline.paths):
        numbers.setdefault(path, row)
    for row, subplan in enumerate(rows.subplans):
        if subplan.depends_on:
            nodes = listed(subplan.source, "depends_on")
            found = (
                _find(outline, numbers, row, name, node, reader)
                for name, node in zip(subplan.depends_on, nodes, strict=False)
            )
            outline.depends_on[row] = tuple(dict.fromkeys(other for other in found if other is not None))
    stuck = circle(outline)
    if stuck is not None:
        _tell_circle(rows, stuck, reader)
        outline.depends_on = [()] * len(outline.paths)  # so that the rest can be checked


def _find(
    outline: Outline, numbers: dict[str, int], row: int, name: str, node: Node, reader: Reader
) -> int | None:
    around = outline.paths[outline.parents[row]]
    path = name[1:] if name.startswith("/") else f"{around}/{name}" if around else name
    found = numbers.get(path)
    if found is None:
        reader.wrong(node, f"depends_on names {name!r}, which does not exist{_hint(outline, row, name)}")
    elif found == row:
        reader.wrong(node, f"{outline.paths[row]!r} depends on itself")
    elif row in outline.below(found):
        reader.wrong(node, f"{outline.paths[row]!r} depends on {path!r}, which contains it")
    elif found in outline.below(row):
        reader.wrong(node, f"{outline.paths[row]!r} depends on {path!r}, which is a part of it")
    else:
        return found
    return None


def _hint(outline: Outline, row: int, name: str) -> str:
    siblings = [outline.paths[child].rpartition("/")[2] for child in outline.children(outline.parents[row])]
    elsewhere = [f"/{path}" for path in outline.paths if path.rpartition("/")[2] == name.rpartition("/")[2]]
    if elsewhere and "/" not in name:
        return f" beside it; did you mean {elsewhere[0]!r}?"
    known = [f"/{path}" for path in outline.paths[1:]] if name.startswith("/") else siblings
    return suggestion(name, known)


def _tell_circle(rows: Rows, stuck: list[int], reader: Reader) -> None:
    paths = [rows.outline.paths[row] or "the plan" for row in (*stuck, stuck[0])]
    first = rows.subplans[stuck[0]].source
    said = "the dependencies go round in a circle, each waits for the one before"
    reader.wrong(first.get("depends_on") or first, f"{said}: {' → '.join(paths)}")
