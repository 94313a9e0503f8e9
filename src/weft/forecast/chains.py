"""The chain of dependencies that ends last: the slices that a run waits for."""

from collections.abc import Iterator, Mapping, Sequence

from weft.plan.order.outline import ROOT, Outline


class Chains:
    """Finds the last chain of a run from the times at which its slices ended."""

    def __init__(self, outline: Outline, after: Sequence[tuple[int, ...]]) -> None:
        self._outline = outline
        self._after = after
        self._before: dict[int, tuple[int, ...]] = {}

    def last(self, ends: Mapping[int, float]) -> tuple[str, ...]:
        """Returns a chain of paths: the slice that ended last, its dependency that ended last, and so on."""
        chain: list[int] = []
        candidates: Sequence[int] = list(ends)
        while candidates:
            # Of those that end at the same time, the first in the plan.
            row = max(candidates, key=lambda each: (ends[each], -each))
            chain.append(row)
            candidates = [each for each in self._dependencies(row) if each in ends]
        return tuple(str(self._outline.paths[row]) for row in reversed(chain))

    def _dependencies(self, row: int) -> tuple[int, ...]:
        """Returns the slices that must end before a slice starts, without those that these wait for in turn."""
        if row not in self._before:
            outline, leaves = self._outline, dict[int, None]()
            inner = row
            while inner != ROOT:
                for dependency in (*outline.depends_on[inner], *(self._after[inner] if self._after else ())):
                    leaves |= dict.fromkeys(self._leaves(dependency))
                inner = outline.parents[inner]
            self._before[row] = tuple(leaves)
        return self._before[row]

    def _leaves(self, row: int) -> Iterator[int]:
        if self._outline.is_leaf(row):
            yield row
        else:
            for child in self._outline.children(row):
                yield from self._leaves(child)
