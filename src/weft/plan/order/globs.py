"""Patterns of file names, as in `files:`, and whether two of them can mean the same file.

A pattern is relative, with `/` between its segments. `*` is any characters of a segment, `?` is one, `[a-f]` one
of these and `[!a-f]` one of the others; a segment `**` is any number of segments, also none. What has no wildcard
is a file or a directory, with all that is below it; what ends with `/` is all that is below.

Two patterns *cross* if some path matches both. Both are small automata, one state for each position, and they
cross if the two together can walk to their ends: at `**` one stays while the other goes on. The same walk decides
about two segments, with characters in place of segments and `*` in place of `**`.

Most patterns of a plan do not cross, and one look tells: what is written before the first wildcard of one must
begin with what is written before the first wildcard of the other, and likewise at the ends. `crossings` sorts
the patterns by their beginnings and compares only those for which both hold.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import TypeVar

from msgspec import Struct

MOST_CHECKS = 100_000
"""So many pairs of patterns `crossings` compares before it gives up."""

_Item = TypeVar("_Item")
_Ranges = tuple[tuple[int, int], ...]
"""Characters, as ranges of their numbers."""

_DEEP = "**"
_ANY: _Ranges = ((1, ord("/") - 1), (ord("/") + 1, 0x10FFFF))
WILDCARD = re.compile(r"[*?\[]")
# The first character after `[` or `[!` is one of the class, even if it is `]`.
_TOKEN = re.compile(r"\*+|\?|\[(?P<not>!?+)(?P<chars>\][^\]]*|[^\]]+)\]|.", re.DOTALL)
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


# What is no pattern


def glob_fault(text: str) -> str | None:
    """What is wrong with a pattern, in a sentence; None if nothing is."""
    if not text:
        return "the pattern is empty; `**` means all files"
    if "\0" in text:
        return f"the pattern {text!r} has a NUL character in it, which no file name has"
    if "\\" in text:
        return (
            f"the pattern {text!r} has a backslash in it; `/` separates directories, and `[*]` is a plain `*`"
        )
    if text.startswith("/"):
        return f"the pattern {text!r} is absolute; it must be relative to the top of the repository"
    return next(
        (fault for segment in text.removesuffix("/").split("/") if (fault := _segment_fault(text, segment))),
        None,
    )


def _segment_fault(text: str, segment: str) -> str | None:
    if segment == "..":
        return f"the pattern {text!r} leads upwards with `..`; it must stay in the repository"
    if segment in {"", "."}:
        return f"the pattern {text!r} has the segment {segment!r}, which no file matches; leave it out"
    for token in _TOKEN.finditer(segment) if "[" in segment else ():
        if token[0] == "[":
            return f"the pattern {text!r} has a `[` without its `]`; `[[]` is a plain `[`"
        for low, high, _ in _RANGE.findall(token["chars"] or ""):
            if low > high:
                return f"the pattern {text!r} has the range {low}-{high}, which is the wrong way round"
    return None


# What a pattern means


@lru_cache(maxsize=1 << 16)
def _segments(pattern: str) -> tuple[str | None, ...]:
    """The segments; None is `**`."""
    whole = pattern
    if pattern.endswith("/"):
        whole = f"{pattern}*/**"
    elif not WILDCARD.search(pattern):
        whole = f"{pattern}/**"
    return tuple(None if segment == _DEEP else segment for segment in whole.split("/"))


@lru_cache(maxsize=1 << 16)
def _characters(segment: str) -> tuple[_Ranges | None, ...]:
    """What each character of a segment may be; None is `*`."""
    found: list[_Ranges | None] = []
    for token in _TOKEN.finditer(segment):
        text = token[0]
        if text[0] == "*":
            found.append(None)
        elif text == "?":
            found.append(_ANY)
        elif token["chars"]:
            found.append(_ranges(token["chars"], negated=bool(token["not"])))
        else:
            found.append(((ord(text), ord(text)),))
    return tuple(found)


def _ranges(chars: str, *, negated: bool) -> _Ranges:
    ranges = sorted((ord(low or one), ord(high or one)) for low, high, one in _RANGE.findall(chars))
    if not negated:
        return _common(tuple(ranges), _ANY)
    others: list[tuple[int, int]] = []
    first = 0
    for low, high in ranges:
        if first < low:
            others.append((first, low - 1))
        first = max(first, high + 1)
    return _common((*others, (first, 0x10FFFF)), _ANY)


def _common(left: _Ranges, right: _Ranges) -> _Ranges:
    both = ((max(a[0], b[0]), min(a[1], b[1])) for a in left for b in right)
    return tuple((low, high) for low, high in both if low <= high)


@lru_cache(maxsize=1 << 12)
def _expression(pattern: str) -> re.Pattern[str]:
    text = "".join("(?:[^/]+/)*" if part is None else f"{_plain(part)}/" for part in _segments(pattern))
    return re.compile(text, re.DOTALL)


def _plain(segment: str) -> str:
    def translated(token: re.Match[str]) -> str:
        text = token[0]
        if text[0] == "*":
            return "[^/]*"
        if text == "?":
            return "[^/]"
        if token["chars"]:
            chars = "".join(
                f"{re.escape(low)}-{re.escape(high)}" if low else re.escape(one)
                for low, high, one in _RANGE.findall(token["chars"])
            )
            return f"(?!/)[{'^' * bool(token['not'])}{chars}]"
        return re.escape(text)

    return "(?=[^/])" + _TOKEN.sub(translated, segment)


def matches(pattern: str, path: str) -> bool:
    """Whether a file is meant; its path is relative, with `/`."""
    return _expression(pattern).fullmatch(f"{path}/") is not None


# Two patterns


@lru_cache(maxsize=1 << 16)
def intersects(left: str, right: str) -> bool:
    """Whether some path matches both patterns."""
    return left == right or _meet(_segments(left), _segments(right), _segments_meet)


@lru_cache(maxsize=1 << 16)
def _segments_meet(left: str, right: str) -> bool:
    if left == right or "*" in {left, right}:
        return True
    if not WILDCARD.search(left) and not WILDCARD.search(right):
        return False
    return _meet(_characters(left), _characters(right), _characters_meet)


def _characters_meet(left: _Ranges, right: _Ranges) -> bool:
    return any(a[0] <= b[1] and b[0] <= a[1] for a in left for b in right)


def _meet(
    left: Sequence[_Item | None], right: Sequence[_Item | None], fit: Callable[[_Item, _Item], bool]
) -> bool:
    """Whether two lists, in which None stands for any number of items, can be the same list."""
    here = _with_skips({0}, right)  # how far `right` can be when `left` is where the loop is
    for item in left:
        if not here:
            return False
        if item is None:
            here = set(range(min(here), len(right) + 1))
        else:
            here = _with_skips(_passed(item, here, right, fit), right)
    return len(right) in here


def _passed(
    item: _Item, here: set[int], right: Sequence[_Item | None], fit: Callable[[_Item, _Item], bool]
) -> set[int]:
    passed: set[int] = set()
    for place in here:
        other = right[place] if place < len(right) else item
        if other is None:
            passed.add(place)
        elif place < len(right) and fit(item, other):
            passed.add(place + 1)
    return passed


def _with_skips(here: set[int], right: Sequence[_Item | None]) -> set[int]:
    """As well as each place, those that follow it when what may be nothing is nothing."""
    for start in tuple(here):
        place = start
        while place < len(right) and right[place] is None:
            place += 1
            here.add(place)
    return here


# Many patterns


class Crossings(Struct, frozen=True, kw_only=True):
    pairs: list[tuple[int, int]]
    """The numbers of two different patterns that some path matches both, the smaller first."""
    complete: bool
    """False if the limit was reached: then there may be more pairs."""


def crossings(patterns: Sequence[str], most: int = MOST_CHECKS) -> Crossings:
    """Which of these different patterns cross."""
    found: list[tuple[int, int]] = []
    for count, (one, other) in enumerate(_candidates(patterns)):
        if count == most:
            return Crossings(pairs=found, complete=False)
        if intersects(patterns[one], patterns[other]):
            found.append((one, other) if one < other else (other, one))
    return Crossings(pairs=found, complete=True)


def coarser(pattern: str) -> str:
    """A pattern for all that this one means and more: everything below the directory it starts with."""
    wildcard = WILDCARD.search(pattern)
    if wildcard is None:
        return pattern
    directory = pattern[: wildcard.start()].rpartition("/")[0]
    return f"{directory}/**" if directory else _DEEP


class _Shelf:
    """The patterns that have the same beginning, by their endings, which are kept backwards."""

    __slots__ = ("beginning", "by_ending", "endings")

    def __init__(self, beginning: str, by_ending: dict[str, list[int]]) -> None:
        self.beginning = beginning
        self.by_ending = by_ending
        self.endings = sorted(by_ending)

    def fitting(self, ending: str) -> Iterator[int]:
        """Those whose ending is an end of this one, and those of whose ending this one is an end."""
        for length in range(len(ending)):
            yield from self.by_ending.get(ending[:length], ())
        for longer in islice(self.endings, bisect_left(self.endings, ending), None):
            if not longer.startswith(ending):
                return
            yield from self.by_ending[longer]


def _candidates(patterns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """All pairs that their beginnings and endings do not keep apart, and with them all that cross."""
    ends = [_literal_ends(pattern) for pattern in patterns]
    shelves: list[_Shelf] = []
    in_order = sorted(range(len(patterns)), key=lambda number: ends[number][0])
    for beginning, members in groupby(in_order, key=lambda number: ends[number][0]):
        while shelves and not beginning.startswith(shelves[-1].beginning):
            shelves.pop()
        by_ending: dict[str, list[int]] = {}
        for member in members:
            by_ending.setdefault(ends[member][1], []).append(member)
        own = _Shelf(beginning, by_ending)
        for ending, alike in by_ending.items():
            for member in alike:
                for shelf in shelves:
                    yield from ((other, member) for other in shelf.fitting(ending))
                yield from ((other, member) for other in own.fitting(ending) if other < member)
        shelves.append(own)


def _literal_ends(pattern: str) -> tuple[str, str]:
    """What is before the first wildcard, and backwards what is after the last, of a path within slashes.

    With a slash on both sides `src/**` begins like `src/a` and like `src` itself, but not like `src2`.
    """
    wildcard = WILDCARD.search(pattern)
    if wildcard is None:
        return f"/{pattern.removesuffix('/')}/", ""
    beginning = f"/{pattern[: wildcard.start()]}"
    if pattern.endswith(("/", "*")):
        return beginning, ""
    last = max(pattern.rfind("*"), pattern.rfind("?"), pattern.rfind("]"))
    return beginning, f"{pattern[last + 1 :]}/"[::-1]
