"""Check the order in a tree of parts, by the rules of execution and not by the way the order was computed.

A part starts when its group has started and its dependencies have ended; a group ends when all of its parts
have. A walk over these points in time yields the leaves that have ended before each leaf starts.
"""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from weft.decompose.model import Part, Signals


def find_order_violations(whole: Part, signals: Signals) -> Iterator[str]:
    """Yields a sentence for each violation; each starts with the part."""
    tree = _Tree(whole)
    # Unknown names would make the walk fail.
    if faults := [*tree.find_unknown_dependencies()]:
        yield from faults
        return
    try:
        tree.compute_ended_leaves()
    except CycleError:
        yield "everything: parts depend on each other in a circle"
        return
    for user, used in signals.uses:
        yield from tree.find_unordered(signals.paths[user], signals.paths[used], is_reference=True)
    for first, second, _times in signals.together:
        yield from tree.find_unordered(signals.paths[first], signals.paths[second], is_reference=False)


_Point = tuple[str, str]
"""The path of a part, and `begins` or `ends`."""


class _Tree:
    def __init__(self, whole: Part) -> None:
        self._parts = dict(_by_path("", whole))
        self._leaf_of = {
            file: path for path, part in self._parts.items() if not part.parts for file in part.files
        }
        leaves = [path for path, part in self._parts.items() if not part.parts]
        self._bits = {path: 1 << number for number, path in enumerate(leaves)}
        self._ended_at: dict[_Point, int] = {}
        """A bit set of the leaves that have certainly ended at each point."""

    def find_unknown_dependencies(self) -> Iterator[str]:
        for path, part in self._parts.items():
            for name in part.depends_on:
                dependency = _resolve_dependency(path, name)
                if (
                    dependency not in self._parts
                    or _contains(path, dependency)
                    or _contains(dependency, path)
                ):
                    yield f"everything{path}: it depends on {name}, which is no part beside it or elsewhere"

    def compute_ended_leaves(self) -> None:
        """Fills `_ended_at`; raises `CycleError` if the parts cannot all end."""
        before: dict[_Point, set[_Point]] = {}
        for path, part in self._parts.items():
            starts_after = before[path, "begins"] = {
                (_resolve_dependency(path, name), "ends") for name in part.depends_on
            }
            if path:
                starts_after.add((_parent_path(path), "begins"))
            before[path, "ends"] = {
                (path, "begins"),
                *((f"{path}/{child.id}", "ends") for child in part.parts),
            }
        # A point is visited after all points before it, so one pass is enough; with bit sets it is fast even
        # for thousands of leaves.
        for moment in TopologicalSorter(before).static_order():
            ended_leaves = 0
            for earlier in before[moment]:
                ended_leaves |= self._ended_at[earlier]
            path, point = moment
            self._ended_at[moment] = ended_leaves | (self._bits.get(path, 0) if point == "ends" else 0)

    def find_unordered(self, first_file: str, second_file: str, *, is_reference: bool) -> Iterator[str]:
        first, second = self._leaf_of[first_file], self._leaf_of[second_file]
        # A reference needs the used file first. Files that merely changed together may come in either order.
        is_ordered = first == second or self._waits(first, second)
        if is_ordered or (not is_reference and self._waits(second, first)):
            return
        around, *ids = _diverging_ids(first, second)
        risks = (risk for risk in self._parts[around].risks if {risk.first, risk.second} == {*ids})
        if not any(risk.circle or not is_reference for risk in risks):
            yield f"everything{around}: {' and '.join(ids)} are linked, and have no order and no risk"

    def _waits(self, leaf: str, earlier: str) -> bool:
        return bool(self._ended_at[leaf, "begins"] & self._bits[earlier])


def _diverging_ids(first_path: str, second_path: str) -> tuple[str, str, str]:
    """Returns the path of the deepest common group, and the ids of the two children that contain the paths."""
    around = ""
    for first_id, second_id in zip(first_path.split("/")[1:], second_path.split("/")[1:], strict=False):
        if first_id != second_id:
            return around, first_id, second_id
        around += f"/{first_id}"
    raise AssertionError("one leaf is not in another")


def _by_path(path: str, part: Part) -> Iterator[tuple[str, Part]]:
    yield path, part
    for child in part.parts:
        yield from _by_path(f"{path}/{child.id}", child)


def _parent_path(path: str) -> str:
    return path.rpartition("/")[0]


def _resolve_dependency(path: str, name: str) -> str:
    """Returns the path of the part that a name in `depends_on` means."""
    return name if name.startswith("/") else f"{_parent_path(path)}/{name}"


def _contains(outer: str, inner: str) -> bool:
    return f"{inner}/".startswith(f"{outer}/")
