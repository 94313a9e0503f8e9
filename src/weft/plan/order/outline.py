"""The subplans of a plan as rows of a table.

Rows stand in plan order, a group before what is in it, so that what is below row *i* is the range
`i + 1 … i + sizes[i]`. Row 0 is the whole. What more is known of a subplan stands in further columns, which are
their owners' business.
"""

from collections.abc import Iterator

from msgspec import Struct, field

from weft.ids import SubplanPath

ROOT = 0


class Outline(Struct, kw_only=True):
    """Columns of the table; it grows by `add` and `close`."""

    paths: list[SubplanPath] = field(default_factory=list[SubplanPath])
    parents: list[int] = field(default_factory=list[int])
    """The group around each row; -1 for the whole."""
    sizes: list[int] = field(default_factory=list[int])
    """How many rows a subplan takes, itself included; a leaf takes 1, and so does an empty group."""
    leaves: list[bool] = field(default_factory=list[bool])
    depends_on: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])

    def add(self, path: SubplanPath, parent: int, *, leaf: bool) -> int:
        """The number of the new row. A group is to be closed when all that is in it has been added."""
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
