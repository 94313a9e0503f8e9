"""What holds of the order in every tree of parts, seen as whoever runs it sees it, and not as it was found.

A part begins when the one around it has begun and what it depends on has ended; a group has ended when all of its
parts have. So what has ended before a leaf begins is told by a walk along that.
"""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from weft.decompose.model import Part, Signals


def wrong_order(whole: Part, signals: Signals) -> Iterator[str]:
    """A sentence for everything that does not hold; each begins with a part."""
    tree = _Tree(whole)
    if faults := [*tree.unknown()]:
        yield from faults
        return
    try:
        tree.play()
    except CycleError:
        yield "everything: parts depend on each other in a circle"
        return
    for user, used in signals.uses:
        yield from tree.unordered(signals.paths[user], signals.paths[used], is_reference=True)
    for one, other, _times in signals.together:
        yield from tree.unordered(signals.paths[one], signals.paths[other], is_reference=False)


_Moment = tuple[str, str]
"""When the part of that path begins, or ends."""


class _Tree:
    def __init__(self, whole: Part) -> None:
        self._parts = dict(_by_path("", whole))
        self._leaf_of = {
            file: path for path, part in self._parts.items() if not part.parts for file in part.files
        }
        leaves = [path for path, part in self._parts.items() if not part.parts]
        self._bits = {path: 1 << number for number, path in enumerate(leaves)}
        self._ended: dict[_Moment, int] = {}
        """Which leaves have, in any case."""

    def unknown(self) -> Iterator[str]:
        for path, part in self._parts.items():
            for name in part.depends_on:
                other = _path_of(path, name)
                if other not in self._parts or _is_around(path, other) or _is_around(other, path):
                    yield f"everything{path}: it depends on {name}, which is no part beside it or elsewhere"

    def play(self) -> None:
        """Raises `CycleError` if not all can end."""
        before: dict[_Moment, set[_Moment]] = {}
        for path, part in self._parts.items():
            begins = before[path, "begins"] = {(_path_of(path, name), "ends") for name in part.depends_on}
            if path:
                begins.add((_around(path), "begins"))
            before[path, "ends"] = {(path, "begins"), *((f"{path}/{one.id}", "ends") for one in part.parts)}
        for moment in TopologicalSorter(before).static_order():
            ended = 0
            for earlier in before[moment]:
                ended |= self._ended[earlier]
            path, what = moment
            self._ended[moment] = ended | (self._bits.get(path, 0) if what == "ends" else 0)

    def unordered(self, one: str, other: str, *, is_reference: bool) -> Iterator[str]:
        first, second = self._leaf_of[one], self._leaf_of[other]
        is_fine = first == second or self._waits(first, second)
        if is_fine or (not is_reference and self._waits(second, first)):
            return
        around, *names = _parting(first, second)
        risks = (risk for risk in self._parts[around].risks if {risk.first, risk.second} == {*names})
        if not any(risk.circle or not is_reference for risk in risks):
            yield f"everything{around}: {' and '.join(names)} are linked, and have no order and no risk"

    def _waits(self, one: str, other: str) -> bool:
        return bool(self._ended[one, "begins"] & self._bits[other])


def _parting(one: str, other: str) -> tuple[str, str, str]:
    """The part around both that is nearest, and the ids below it."""
    around = ""
    for first, second in zip(one.split("/")[1:], other.split("/")[1:], strict=False):
        if first != second:
            return around, first, second
        around += f"/{first}"
    raise AssertionError("one leaf is not in another")


def _by_path(path: str, part: Part) -> Iterator[tuple[str, Part]]:
    yield path, part
    for one in part.parts:
        yield from _by_path(f"{path}/{one.id}", one)


def _around(path: str) -> str:
    return path.rpartition("/")[0]


def _path_of(path: str, name: str) -> str:
    """What a part means by the name."""
    return name if name.startswith("/") else f"{_around(path)}/{name}"


def _is_around(one: str, other: str) -> bool:
    return f"{other}/".startswith(f"{one}/")
