"""Which parts come first, and which may get in each other's way.

A part depends on another if its files refer to the other's. Where references go both ways there is an order only
if one way has far more of them. Where they go round in a circle all the same, few of them give way.
What has no order, though it is linked, is told as a risk; so are the references that gave way. What follows from
other dependencies is left out.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from weft.decompose.model import Signals
from weft.decompose.sequence import sequence

_PAIRS_SHOWN = 5
_FAR_MORE = 3
_REFERENCE = 10**9  # is shown before any number of commits
_FILE_PAIR = tuple[int, int]


class Ties(Struct, frozen=True, kw_only=True):
    """Signals by file."""

    uses: Mapping[int, Sequence[int]]
    together: Mapping[int, Sequence[tuple[int, int]]]
    """With a later file: its number and how often."""

    @classmethod
    def of(cls, signals: Signals) -> "Ties":
        uses, together = dict[int, list[int]](), dict[int, list[tuple[int, int]]]()
        for user, used in signals.uses:
            uses.setdefault(user, []).append(used)
        for first, second, times in signals.together:
            together.setdefault(first, []).append((second, times))
        return cls(uses=uses, together=together)


class Meeting(Struct, frozen=True, kw_only=True):
    """Two groups, by number, without an order."""

    first: int
    second: int
    circle: bool
    links: int
    files: tuple[_FILE_PAIR, ...]
    """Of the first and of the second; some of them."""


class Order(Struct, frozen=True, kw_only=True):
    depends_on: tuple[tuple[int, ...], ...]
    """For each group the numbers of those that come before it; there is no circle."""
    meetings: tuple[Meeting, ...]


def order_of(ties: Ties, groups: Sequence[Sequence[int]]) -> Order:
    group_of = {file: number for number, group in enumerate(groups) for file in group}
    uses, together = _uses(ties, group_of), _together(ties, group_of)
    reached, kept = _without_circles(len(groups), {pair: len(files) for pair, files in uses.items()})
    pairs: _Between = {}
    for (first, second), files in [*together.items(), *uses.items()]:
        if not reached.orders(first, second) or ((first, second) in uses and (first, second) not in kept):
            here = pairs.setdefault((min(first, second), max(first, second)), {})
            for (one, other), strength in files.items():
                pair = (one, other) if first < second else (other, one)
                here[pair] = here.get(pair, 0) + strength
    return Order(
        depends_on=tuple(map(reached.shortest, range(len(groups)))),
        meetings=tuple(
            _meeting(pair, files, circle=pair in uses or pair[::-1] in uses)
            for pair, files in sorted(pairs.items())
        ),
    )


_Between = dict[tuple[int, int], dict[_FILE_PAIR, int]]


def _uses(ties: Ties, group_of: Mapping[int, int]) -> _Between:
    found: _Between = {}
    for user, group in group_of.items():
        for used in ties.uses.get(user, ()):
            if (there := group_of.get(used, group)) != group:
                found.setdefault((group, there), {})[user, used] = _REFERENCE
    return found


def _together(ties: Ties, group_of: Mapping[int, int]) -> _Between:
    found: _Between = {}
    for file, group in group_of.items():
        for other, times in ties.together.get(file, ()):
            if (there := group_of.get(other, group)) != group:
                ordered = (file, other) if group < there else (other, file)
                found.setdefault((min(group, there), max(group, there)), {})[ordered] = times
    return found


def _without_circles(
    groups: int, references: Mapping[tuple[int, int], int]
) -> tuple["_Reached", set[tuple[int, int]]]:
    """The pairs that are kept, and whom each group depends on by them."""
    clear = {
        (user, used): number
        for (user, used), number in references.items()
        if number >= _FAR_MORE * references.get((used, user), 0)
    }
    row = sequence(groups, clear)
    place = {group: at for at, group in enumerate(row)}
    kept = {(user, used) for user, used in clear if place[user] < place[used]}
    return _Reached(row, kept), kept


class _Reached:
    """Whom each group depends on, through others, too: a bit for each."""

    def __init__(self, row: Sequence[int], kept: Iterable[tuple[int, int]]) -> None:
        self.direct: list[list[int]] = [[] for _ in row]
        for user, used in sorted(kept):
            self.direct[user].append(used)
        self._all = [0] * len(row)
        for group in reversed(row):
            self._all[group] = self._through(group)
            for used in self.direct[group]:
                self._all[group] |= 1 << used

    def _through(self, group: int) -> int:
        found = 0
        for used in self.direct[group]:
            found |= self._all[used]
        return found

    def shortest(self, group: int) -> tuple[int, ...]:
        """Whom it depends on, without what follows from others."""
        follows = self._through(group)
        return tuple(used for used in self.direct[group] if not follows >> used & 1)

    def orders(self, one: int, other: int) -> bool:
        return bool(self._all[one] >> other & 1 or self._all[other] >> one & 1)


def _meeting(pair: tuple[int, int], files: Mapping[_FILE_PAIR, int], *, circle: bool) -> Meeting:
    strongest = sorted(files, key=lambda names: (-files[names], names))
    return Meeting(
        first=pair[0],
        second=pair[1],
        circle=circle,
        links=len(files),
        files=tuple(strongest[:_PAIRS_SHOWN]),
    )
