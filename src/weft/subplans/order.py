"""The priorities of the dispatcher: the longest remaining path of estimates from each row on."""

from weft.errors import SubplanTreeError
from weft.plan.order.points import Points
from weft.subplans.model import Policy
from weft.subplans.tree import ROOT, SubplanTree


def longest_paths(tree: SubplanTree) -> list[float]:
    """Returns for each row the longest chain of estimates from its start to the end of the run.

    Within a serial group all rows have the length of the group, so that the order of declaration decides.
    Raises `SubplanTreeError` if the dependencies form a cycle.
    """
    if not any(tree.depends_on) and Policy.SERIAL not in set(tree.policies):
        return _without_dependencies(tree)
    graph = Points(tree)
    order = graph.topological_order()
    if len(order) < graph.count:
        raise SubplanTreeError(_cycle(tree, graph))
    lengths = [0.0] * len(graph.later)
    for point in reversed(order):
        beyond = max([lengths[later] for later in graph.later[point]], default=0.0)
        # Each row has two points, its start (even) and its end (odd).
        lengths[point] = beyond + (tree.estimates[point // 2] if point % 2 == 0 else 0.0)
    rows = lengths[::2]
    for row in range(1, len(rows)):
        parent = tree.parents[row]
        if tree.policies[parent] is Policy.SERIAL:
            rows[row] = rows[parent]
        elif tree.policies[row] is Policy.SERIAL:  # one after the other: the group takes their sum
            rows[row] = lengths[2 * row + 1] + sum(tree.estimates[below] for below in tree.below(row))
    return rows


def _without_dependencies(tree: SubplanTree) -> list[float]:
    """Returns the lengths of a tree without dependencies: the work itself; for a group, its longest part."""
    rows = list(tree.estimates)
    for row in range(len(rows) - 1, ROOT, -1):
        parent = tree.parents[row]
        rows[parent] = max(rows[parent], rows[row])
    return rows


def _cycle(tree: SubplanTree, graph: Points) -> str:
    rows = graph.find_cycle() or []
    names = " → ".join(tree.paths[row] for row in (*rows, *rows[:1]))
    return f"the dependencies form a cycle, in which each waits for the one before it: {names}"
