"""A row of groups in which few references point backwards.

Which are the fewest is a hard question; this is the well-known greedy answer (Eades, Lin and Smyth 1993). Who uses
nobody goes to the end of the row, and whom nobody uses to its beginning. If all that are left go round in circles,
the next at the beginning is the one that uses others most more than others use it.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush


def sequence(groups: int, references: Mapping[tuple[int, int], int]) -> list[int]:
    """Who uses others comes before them, as far as possible; with how many references from one to the other."""
    row = _Row(groups, references)
    for _ in range(groups):
        row.take_next()
    return row.first + row.last[::-1]


class _Row:
    """`surplus`: how much more a group uses others than they use it, among those that are left.

    Groups wait by it, the largest first. Who has a new one waits anew; one that is no longer true is passed over.
    """

    def __init__(self, groups: int, references: Mapping[tuple[int, int], int]) -> None:
        self.first = list[int]()
        self.last = list[int]()
        self._left = [True] * groups
        self._uses: list[dict[int, int]] = [{} for _ in range(groups)]
        self._users: list[dict[int, int]] = [{} for _ in range(groups)]
        self._surplus = [0] * groups
        for (user, used), number in references.items():
            self._uses[user][used] = self._users[used][user] = number
            self._surplus[user] += number
            self._surplus[used] -= number
        self._waiting = [(-surplus, group) for group, surplus in enumerate(self._surplus)]
        heapify(self._waiting)
        self._ends = [group for group in range(groups) if not self._uses[group] or not self._users[group]]

    def take_next(self) -> None:
        group = self._next()
        self._left[group] = False
        (self.first if self._uses[group] else self.last).append(group)
        for used, number in self._uses[group].items():
            self._forget(self._users[used], group, used, number)
        for user, number in self._users[group].items():
            self._forget(self._uses[user], group, user, -number)

    def _next(self) -> int:
        while self._ends:
            group = self._ends.pop()
            if self._left[group]:
                return group
        surplus, group = heappop(self._waiting)
        while not self._left[group] or self._surplus[group] != -surplus:
            surplus, group = heappop(self._waiting)
        return group

    def _forget(self, links: dict[int, int], gone: int, group: int, more: int) -> None:
        del links[gone]
        self._surplus[group] += more
        heappush(self._waiting, (-self._surplus[group], group))
        if not links:
            self._ends.append(group)
