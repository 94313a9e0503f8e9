"""Builds pictures of a plan: its tree, and its dependencies."""

from collections.abc import Iterator, Sequence

from weft.plan.pictures.model import Cluster, Edge, EdgeKind, Node, NodeKind, Picture, PictureRow


def tree_picture(rows: Sequence[PictureRow], *, title: str = "") -> Picture:
    """Returns the tree, with the plan at the left and its parts to the right."""
    return Picture(
        title=title,
        nodes=tuple(_node(number, row, title) for number, row in enumerate(rows)),
        edges=tuple(
            Edge(source=f"n{row.parent}", target=f"n{number}", kind=EdgeKind.CONTAINS)
            for number, row in enumerate(rows[1:], 1)
        ),
    )


def dependency_picture(rows: Sequence[PictureRow], *, title: str = "") -> Picture:
    """Returns the slices in the frames of their groups, with lines from each dependency to its dependents."""
    group_rows = {row.parent for row in rows} - {-1}
    ids = [f"g{number}" if number in group_rows else f"n{number}" for number in range(len(rows))]
    members: dict[int, list[str]] = {group: [] for group in group_rows}
    for number, row in enumerate(rows[1:], 1):
        if number not in group_rows:
            members[row.parent].append(ids[number])
    return Picture(
        title=title,
        nodes=tuple(
            _node(number, row, title)
            for number, row in enumerate(rows)
            if number and number not in group_rows
        ),
        edges=tuple(_dependencies(rows, ids)),
        clusters=tuple(
            Cluster(
                id=ids[number],
                label=" · ".join(filter(None, (_name(row.path), _title(row), row.note))),
                hint=_hint(row),
                parent=ids[row.parent] if row.parent else "",
                members=tuple(members[number]),
            )
            for number, row in enumerate(rows)
            if number and number in group_rows
        ),
    )


def _dependencies(rows: Sequence[PictureRow], ids: Sequence[str]) -> Iterator[Edge]:
    for number, row in enumerate(rows):
        for earlier in row.depends_on:
            yield Edge(source=ids[earlier], target=ids[number], kind=EdgeKind.DEPENDS)
        for earlier in row.after:
            if earlier not in row.depends_on:
                yield Edge(source=ids[earlier], target=ids[number], kind=EdgeKind.AFTER)


def _node(number: int, row: PictureRow, plan: str) -> Node:
    label, title = (_name(row.path), _title(row)) if number else (plan or row.title or "plan", "")
    if row.folded and title:  # the number of slices matters more than the title
        label, note = f"{label} · {row.note}", title
    else:
        note = " · ".join(filter(None, (title, row.note)))
    return Node(id=f"n{number}", label=label, note=note, hint=_hint(row), kind=_kind(number, row))


def _kind(number: int, row: PictureRow) -> NodeKind:
    if not number:
        return NodeKind.PLAN
    if row.folded:
        return NodeKind.FOLDED
    return NodeKind.SLICE if row.is_leaf else NodeKind.GROUP


def _name(path: str) -> str:
    """Returns the last id of the path. A run of siblings counts as one id."""
    return path.rpartition("/")[2]


def _title(row: PictureRow) -> str:
    """Returns the title, unless it only repeats the id."""
    return "" if row.title == _name(row.path) else row.title


def _hint(row: PictureRow) -> str:
    return "\n".join(filter(None, (row.path, _title(row), row.note)))
