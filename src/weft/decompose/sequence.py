"""A sequence of groups in which few references point backwards.

The minimum is NP-hard to find; this is the well-known greedy heuristic of Eades, Lin and Smyth (1993). A group
that uses no other goes to the end of the sequence, and a group that no other uses to the beginning. If all
remaining groups are in circles, the group with the largest surplus of outgoing over incoming references comes
next at the beginning.
"""

from collections.abc import Mapping
from heapq import heapify, heappop, heappush


def sequence(groups: int, references: Mapping[tuple[int, int], int]) -> list[int]:
    """Returns the groups, users before used as far as possible. `references` counts them by pair of groups."""
    row = _Row(groups, references)
    for _ in range(groups):
        row.take_next()
    return row.first + row.last[::-1]


class _Row:
    """The sequence under construction, from both ends.

    The surplus of a group is its outgoing minus its incoming references among the remaining groups. The heap holds
    groups by surplus. A changed surplus is pushed as a new entry, and outdated entries are skipped when popped.
    """

    def __init__(self, groups: int, references: Mapping[tuple[int, int], int]) -> None:
        self.first = list[int]()
        self.last = list[int]()
        self._is_remaining = [True] * groups
        self._uses: list[dict[int, int]] = [{} for _ in range(groups)]
        self._users: list[dict[int, int]] = [{} for _ in range(groups)]
        self._surplus = [0] * groups
        for (user, used), number in references.items():
            self._uses[user][used] = self._users[used][user] = number
            self._surplus[user] += number
            self._surplus[used] -= number
        self._queue = [(-surplus, group) for group, surplus in enumerate(self._surplus)]
        heapify(self._queue)
        # Groups at an end of all chains break no reference, wherever they go, so they are taken first.
        self._ends = [group for group in range(groups) if not self._uses[group] or not self._users[group]]

    def take_next(self) -> None:
        group = self._next()
        self._is_remaining[group] = False
        # A group without uses goes to the end, all others to the beginning.
        (self.first if self._uses[group] else self.last).append(group)
        for used, number in self._uses[group].items():
            self._forget(self._users[used], group, used, number)
        for user, number in self._users[group].items():
            self._forget(self._uses[user], group, user, -number)

    def _next(self) -> int:
        while self._ends:
            group = self._ends.pop()
            if self._is_remaining[group]:
                return group
        surplus, group = heappop(self._queue)
        # Skip outdated entries: the group was taken, or its surplus has changed since.
        while not self._is_remaining[group] or self._surplus[group] != -surplus:
            surplus, group = heappop(self._queue)
        return group

    def _forget(self, links: dict[int, int], removed: int, group: int, change: int) -> None:
        del links[removed]
        self._surplus[group] += change
        heappush(self._queue, (-self._surplus[group], group))
        if not links:
            self._ends.append(group)
