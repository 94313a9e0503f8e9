"""The exact rank of a large sparse integer matrix, such as the incidence matrix of a net.

Gaussian elimination in Python's integers, so nothing is rounded and no unlucky prime exists. It is fast because of
the choice of pivots, after Markowitz: the shortest row comes first, on the column that the fewest other rows
use, and on an entry ±1 if there is one. Most transitions of a plan move one token from one place to another;
such a row costs almost nothing to eliminate. A join of ten thousand places is a row of ten thousand entries:
other rows change it in place, and it becomes a pivot only when all shorter rows are gone. An entry other than ±1
needs no fraction: the other row is multiplied, and divided by its content.
"""

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from math import gcd

from weft.net.plain import PlainNet


def incidence(net: PlainNet) -> list[dict[int, int]]:
    """Returns for each transition its change of each place; unchanged places are omitted."""
    rows: list[dict[int, int]] = []
    for inputs, outputs in zip(net.inputs, net.outputs, strict=True):
        row = dict(outputs)
        for place, weight in inputs:
            change = row.get(place, 0) - weight
            if change:
                row[place] = change
            else:
                del row[place]
        rows.append(row)
    return rows


def rank(rows: Iterable[Mapping[int, int]]) -> int:
    """Returns the rank over the rationals of the matrix with these rows, given as column to entry."""
    elimination = _Elimination(rows)
    while elimination.step():
        pass
    return elimination.rank


class _Elimination:
    __slots__ = ("_columns", "_queue", "_rows", "rank")

    def __init__(self, rows: Iterable[Mapping[int, int]]) -> None:
        self.rank = 0
        self._rows = [{column: entry for column, entry in row.items() if entry} for row in rows]
        self._columns: dict[int, set[int]] = {}
        for number, row in enumerate(self._rows):
            for column in row:
                self._columns.setdefault(column, set()).add(number)
        # Keys are length · rows + number, so that the heap holds plain integers. A row that has changed
        # is entered again; an entry with an outdated length is dropped when it is popped.
        size = len(self._rows)
        self._queue = [len(row) * size + number for number, row in enumerate(self._rows) if row]
        heapify(self._queue)

    def step(self) -> bool:
        """Uses the best row as a pivot; returns False if no row is left."""
        while self._queue:
            length, number = divmod(heappop(self._queue), len(self._rows))
            if len(self._rows[number]) == length:
                self._pivot(number)
                return True
        return False

    def _pivot(self, number: int) -> None:
        self.rank += 1
        row, columns = self._rows[number], self._columns
        self._rows[number] = {}
        for column in row:
            columns[column].discard(number)
        pivot = self._pivot_column(row)
        entry = row.pop(pivot)
        for row_number in columns.pop(pivot):
            # A pivot of ±1 clears the column without multiplication of the other row.
            if entry in {1, -1}:
                factor = -entry * self._rows[row_number].pop(pivot)
            else:
                factor = self._scale(row_number, pivot, entry)
            self._add(row_number, row, factor)
            if entry not in {1, -1}:
                self._divide_by_content(self._rows[row_number])

    def _pivot_column(self, row: Mapping[int, int]) -> int:
        columns = self._columns
        best_column, fewest = -1, -1
        for column, entry in row.items():
            uses = len(columns[column])
            if entry not in {1, -1}:
                uses += len(self._rows)  # after every ±1
            if fewest < 0 or uses < fewest:
                best_column, fewest = column, uses
        return best_column

    def _scale(self, number: int, pivot: int, entry: int) -> int:
        """Multiplies a row so that an integer multiple of the pivot row clears its entry; returns the multiple."""
        row = self._rows[number]
        own = row.pop(pivot)
        common = gcd(own, entry)
        multiplier = entry // common
        for column in row:
            row[column] *= multiplier
        return -own // common

    def _add(self, number: int, addend: Mapping[int, int], factor: int) -> None:
        row, columns = self._rows[number], self._columns
        for column, entry in addend.items():
            old = row.get(column, 0)
            new = old + factor * entry
            if not old:
                row[column] = new
                columns[column].add(number)
            elif new:
                row[column] = new
            else:
                del row[column]
                columns[column].discard(number)
        if row:
            heappush(self._queue, len(row) * len(self._rows) + number)

    @staticmethod
    def _divide_by_content(row: dict[int, int]) -> None:
        # Without this, the entries would grow exponentially.
        content = gcd(*row.values())
        if content > 1:
            for column in row:
                row[column] //= content
