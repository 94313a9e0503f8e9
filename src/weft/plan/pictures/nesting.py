"""A picture as text formats write it: each cluster opened, its nodes, the clusters in it, closed."""

from collections.abc import Iterator

from weft.plan.pictures.model import Cluster, Node, Picture


def nested(picture: Picture) -> Iterator[tuple[int, Cluster | Node | None]]:
    """With the depth of each line: a cluster that opens, a node in it, and None where a cluster closes."""
    nodes = {node.id: node for node in picture.nodes}
    inside: dict[str, list[Cluster]] = {}
    for cluster in picture.clusters:
        inside.setdefault(cluster.parent, []).append(cluster)
    framed = {member for cluster in picture.clusters for member in cluster.members}
    yield from ((1, node) for node in picture.nodes if node.id not in framed)
    # A stack instead of recursion: a plan may be deeper than the interpreter's.
    stack = [iter(inside.get("", ()))]
    while stack:
        opened = next(stack[-1], None)
        if opened is None:
            stack.pop()
            if stack:
                yield len(stack), None
            continue
        yield len(stack), opened
        yield from ((len(stack) + 1, nodes[member]) for member in opened.members)
        stack.append(iter(inside.get(opened.id, ())))
