"""Pictures of a plan: its tree, and what depends on what."""

from collections.abc import Iterator, Sequence

from weft.plan.pictures.model import Cluster, Edge, EdgeKind, Node, NodeKind, Picture, Row


def tree_picture(rows: Sequence[Row], *, title: str = "") -> Picture:
    """The plan at the left, what is in it to the right of it."""
    return Picture(
        title=title,
        nodes=tuple(_node(number, row, title) for number, row in enumerate(rows)),
        edges=tuple(
            Edge(source=f"n{row.parent}", target=f"n{number}", kind=EdgeKind.CONTAINS)
            for number, row in enumerate(rows[1:], 1)
        ),
    )


def dependency_picture(rows: Sequence[Row], *, title: str = "") -> Picture:
    """The slices in the frames of their groups; a line leads from what comes first to what needs it."""
    holding = {row.parent for row in rows} - {-1}
    ids = [f"g{number}" if number in holding else f"n{number}" for number in range(len(rows))]
    members: dict[int, list[str]] = {group: [] for group in holding}
    for number, row in enumerate(rows[1:], 1):
        if number not in holding:
            members[row.parent].append(ids[number])
    return Picture(
        title=title,
        nodes=tuple(
            _node(number, row, title) for number, row in enumerate(rows) if number and number not in holding
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
            if number and number in holding
        ),
    )


def _dependencies(rows: Sequence[Row], ids: Sequence[str]) -> Iterator[Edge]:
    for number, row in enumerate(rows):
        for other in row.depends_on:
            yield Edge(source=ids[other], target=ids[number], kind=EdgeKind.DEPENDS)
        for other in row.after:
            if other not in row.depends_on:
                yield Edge(source=ids[other], target=ids[number], kind=EdgeKind.AFTER)


def _node(number: int, row: Row, plan: str) -> Node:
    label, title = (_name(row.path), _title(row)) if number else (plan or row.title or "plan", "")
    if row.folded and title:  # how many they are matters more than what they are called
        label, note = f"{label} · {row.note}", title
    else:
        note = " · ".join(filter(None, (title, row.note)))
    return Node(id=f"n{number}", label=label, note=note, hint=_hint(row), kind=_kind(number, row))


def _kind(number: int, row: Row) -> NodeKind:
    if not number:
        return NodeKind.PLAN
    if row.folded:
        return NodeKind.FOLDED
    return NodeKind.SLICE if row.is_leaf else NodeKind.GROUP


def _name(path: str) -> str:
    """The last id of the path. A run of siblings is one id, too."""
    return path.rpartition("/")[2]


def _title(row: Row) -> str:
    """A title that only says the id again says nothing."""
    return "" if row.title == _name(row.path) else row.title


def _hint(row: Row) -> str:
    return "\n".join(filter(None, (row.path, _title(row), row.note)))
