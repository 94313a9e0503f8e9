"""Order sibling parts by the references between them.

A part comes after the parts it uses. If two parts refer to each other, there is an order between them only if one
direction has far more references. Circles that remain are broken at few references.
"""

from collections.abc import Iterable, Mapping, Sequence

from weft.decompose.sequence import sequence

_FAR_MORE = 3


class PartOrder:
    """A partial order of numbered parts, transitively closed."""

    def __init__(self, row: Sequence[int], references: Iterable[tuple[int, int]]) -> None:
        """`row` lists users before the parts they use; `references` are the pairs that the order follows."""
        self.used_first = row[::-1]
        direct: list[list[int]] = [[] for _ in row]
        for user, used in references:
            direct[user].append(used)
        self._before = bits_before(self.used_first, direct)

    def is_after(self, part: int, earlier: int) -> bool:
        return bool(self._before[part] >> earlier & 1)


def compute_order(parts: int, references: Mapping[tuple[int, int], int]) -> PartOrder:
    clear = {
        (user, used): number
        for (user, used), number in references.items()
        # With similar numbers in both directions, either order would be wrong for many files.
        if number >= _FAR_MORE * references.get((used, user), 0)
    }
    # References that point backwards in the sequence are dropped, which breaks all circles.
    row = sequence(parts, clear)
    position = {part: index for index, part in enumerate(row)}
    return PartOrder(row, ((user, used) for user, used in clear if position[user] < position[used]))


def bits_before(used_first: Iterable[int], direct: Sequence[Iterable[int]]) -> list[int]:
    """Returns for each number a bit set of all numbers that come before it."""
    before = [0] * len(direct)
    for number in used_first:
        for used in direct[number]:
            before[number] |= before[used] | 1 << used
    return before
