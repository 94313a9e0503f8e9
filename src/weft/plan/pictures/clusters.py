"""The order in which text formats write a picture: a cluster, its nodes, its clusters, its end."""

from collections.abc import Iterator

from weft.plan.pictures.model import Cluster, Node, Picture


def nested(picture: Picture) -> Iterator[tuple[int, Cluster | Node | None]]:
    """Yields the depth of each line, with a cluster that opens, a node in it, or None where a cluster closes."""
    nodes = {node.id: node for node in picture.nodes}
    inside: dict[str, list[Cluster]] = {}
    for cluster in picture.clusters:
        inside.setdefault(cluster.parent, []).append(cluster)
    framed = {member for cluster in picture.clusters for member in cluster.members}
    yield from ((1, node) for node in picture.nodes if node.id not in framed)
    # A stack instead of recursion, because a plan may be deeper than the interpreter's limit.
    stack = [iter(inside.get("", ()))]
    while stack:
        current = next(stack[-1], None)
        if current is None:
            stack.pop()
            if stack:
                yield len(stack), None
            continue
        yield len(stack), current
        yield from ((len(stack) + 1, nodes[member]) for member in current.members)
        stack.append(iter(inside.get(current.id, ())))
