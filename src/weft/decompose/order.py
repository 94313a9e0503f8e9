"""Which of several parts comes first, by how many references lead from one to the other.

Who uses another one comes after it. Where references go both ways there is an order only if one way has far more
of them. Where they go round in a circle all the same, few of them give way.
"""

from collections.abc import Iterable, Mapping, Sequence

from weft.decompose.sequence import sequence

_FAR_MORE = 3


class Order:
    """Which parts, by number, come after which others, through others, too."""

    def __init__(self, row: Sequence[int], kept: Iterable[tuple[int, int]]) -> None:
        """`row`: who uses others stands before them; `kept`: the references that count, user and used."""
        self.used_first = row[::-1]
        direct: list[list[int]] = [[] for _ in row]
        for user, used in kept:
            direct[user].append(used)
        self._before = bits_before(self.used_first, direct)

    def is_after(self, one: int, other: int) -> bool:
        return bool(self._before[one] >> other & 1)


def order_of(parts: int, references: Mapping[tuple[int, int], int]) -> Order:
    clear = {
        (user, used): number
        for (user, used), number in references.items()
        if number >= _FAR_MORE * references.get((used, user), 0)
    }
    row = sequence(parts, clear)
    place = {part: at for at, part in enumerate(row)}
    return Order(row, ((user, used) for user, used in clear if place[user] < place[used]))


def bits_before(used_first: Iterable[int], direct: Sequence[Iterable[int]]) -> list[int]:
    """For each number all that come before it, a bit for each."""
    before = [0] * len(direct)
    for one in used_first:
        for used in direct[one]:
            before[one] |= before[used] | 1 << used
    return before
