"""The subplans of a plan as rows of a table.

Rows are in plan order, a group before its parts, so that everything below row *i* is the range `i + 1 … i +
sizes[i]`. Row 0 is the whole plan. Other modules keep further columns of their own.
"""

from collections.abc import Iterator

from msgspec import Struct, field

from weft.ids import SubplanPath

ROOT = 0


class Outline(Struct, kw_only=True):
    """The columns of the table. It grows by `add` and `close`."""

    paths: list[SubplanPath] = field(default_factory=list[SubplanPath])
    parents: list[int] = field(default_factory=list[int])
    """The group around each row; -1 for the whole plan."""
    sizes: list[int] = field(default_factory=list[int])
    """The number of rows of each subplan, itself included. It is 1 for a leaf and for an empty group."""
    leaves: list[bool] = field(default_factory=list[bool])
    depends_on: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])

    def add(self, path: SubplanPath, parent: int, *, leaf: bool) -> int:
        """Adds a row and returns its number. A group must be closed after its parts have been added."""
        self.paths.append(path)
        self.parents.append(parent)
        self.sizes.append(1)
        self.leaves.append(leaf)
        self.depends_on.append(())
        return len(self.paths) - 1

    def close(self, group: int) -> None:
        self.sizes[group] = len(self.paths) - group

    def is_leaf(self, row: int) -> bool:
        return self.leaves[row]

    def below(self, row: int) -> range:
        return range(row + 1, row + self.sizes[row])

    def children(self, group: int) -> Iterator[int]:
        child, end = group + 1, group + self.sizes[group]
        while child < end:
            yield child
            child += self.sizes[child]
