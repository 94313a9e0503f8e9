"""Patterns of file names, as in `files:`, and whether two of them can match the same file.

A pattern is relative, with `/` between its segments. `*` matches any characters of a segment, `?` one character,
`[a-f]` one of these and `[!a-f]` one of the others; a segment `**` matches any number of segments, or none. A
pattern without wildcards matches a file, or a directory with everything below it; one that ends with `/` matches
only what is below.

Two patterns *cross* if some path matches both. Each is a small automaton with one state per position, and they
cross if both can reach their ends together: at `**` one automaton stays while the other moves. The same walk
compares two segments, with characters in place of segments and `*` in place of `**`.

Most patterns of a plan do not cross, and their literal ends show it: of the texts before their first wildcards,
one must start with the other, and likewise for the texts after their last wildcards. `crossings` sorts the
patterns by these beginnings and compares only the pairs for which both hold.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, islice
from typing import TypeVar

from msgspec import Struct

MOST_CHECKS = 100_000
"""`crossings` gives up after comparing this many pairs of patterns."""

_Item = TypeVar("_Item")
_Ranges = tuple[tuple[int, int], ...]
"""A set of characters, as ranges of code points."""

_DEEP = "**"
_ANY: _Ranges = ((1, ord("/") - 1), (ord("/") + 1, 0x10FFFF))
WILDCARD = re.compile(r"[*?\[]")
# The first character after `[` or `[!` is one of the class, even if it is `]`.
_TOKEN = re.compile(r"\*+|\?|\[(?P<not>!?+)(?P<chars>\][^\]]*|[^\]]+)\]|.", re.DOTALL)
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


# Validation


def glob_fault(text: str) -> str | None:
    """Returns a sentence about what is wrong with a pattern; None if it is valid."""
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


# Matching


@lru_cache(maxsize=1 << 16)
def _segments(pattern: str) -> tuple[str | None, ...]:
    """Returns the segments of a pattern; None stands for `**`."""
    whole = pattern
    if pattern.endswith("/"):
        whole = f"{pattern}*/**"
    elif not WILDCARD.search(pattern):
        # A path without wildcards may name a directory, and then means everything in it.
        whole = f"{pattern}/**"
    return tuple(None if segment == _DEEP else segment for segment in whole.split("/"))


@lru_cache(maxsize=1 << 16)
def _characters(segment: str) -> tuple[_Ranges | None, ...]:
    """Returns the characters that each position of a segment can match; None stands for `*`."""
    characters: list[_Ranges | None] = []
    for token in _TOKEN.finditer(segment):
        text = token[0]
        if text[0] == "*":
            characters.append(None)
        elif text == "?":
            characters.append(_ANY)
        elif token["chars"]:
            characters.append(_ranges(token["chars"], negated=bool(token["not"])))
        else:
            characters.append(((ord(text), ord(text)),))
    return tuple(characters)


def _ranges(chars: str, *, negated: bool) -> _Ranges:
    # A range is normalized, and `/` is removed: no class matches it.
    ranges = sorted((ord(low or single), ord(high or single)) for low, high, single in _RANGE.findall(chars))
    if not negated:
        return _common(tuple(ranges), _ANY)
    gaps: list[tuple[int, int]] = []
    first = 0
    for low, high in ranges:
        if first < low:
            gaps.append((first, low - 1))
        first = max(first, high + 1)
    return _common((*gaps, (first, 0x10FFFF)), _ANY)


def _common(left: _Ranges, right: _Ranges) -> _Ranges:
    both = ((max(a[0], b[0]), min(a[1], b[1])) for a in left for b in right)
    return tuple((low, high) for low, high in both if low <= high)


@lru_cache(maxsize=1 << 12)
def _expression(pattern: str) -> re.Pattern[str]:
    text = "".join(
        "(?:[^/]+/)*" if part is None else f"{_segment_expression(part)}/" for part in _segments(pattern)
    )
    return re.compile(text, re.DOTALL)


def _segment_expression(segment: str) -> str:
    def translate(token: re.Match[str]) -> str:
        text = token[0]
        if text[0] == "*":
            return "[^/]*"
        if text == "?":
            return "[^/]"
        if token["chars"]:
            chars = "".join(
                f"{re.escape(low)}-{re.escape(high)}" if low else re.escape(single)
                for low, high, single in _RANGE.findall(token["chars"])
            )
            return f"(?!/)[{'^' * bool(token['not'])}{chars}]"
        return re.escape(text)

    # The look-ahead keeps `*` from matching an empty segment.
    return "(?=[^/])" + _TOKEN.sub(translate, segment)


def matches(pattern: str, path: str) -> bool:
    """Returns whether a pattern matches a file. The path is relative, with `/`."""
    # Each part of the expression ends with a slash, so the path gets one as well.
    return _expression(pattern).fullmatch(f"{path}/") is not None


# Comparing two patterns


@lru_cache(maxsize=1 << 16)
def intersects(left: str, right: str) -> bool:
    """Returns whether some path matches both patterns."""
    # Equal patterns are common and need no automaton.
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
    """Returns whether two lists, in which None stands for any number of items, can be equal."""
    # The states that `right` can be in, for the part of `left` read so far.
    positions = _with_skips({0}, right)
    for item in left:
        if not positions:
            return False
        if item is None:
            # `**` can swallow any number of segments of the right side.
            positions = set(range(min(positions), len(right) + 1))
        else:
            positions = _with_skips(_advance(item, positions, right, fit), right)
    return len(right) in positions


def _advance(
    item: _Item, positions: set[int], right: Sequence[_Item | None], fit: Callable[[_Item, _Item], bool]
) -> set[int]:
    reached: set[int] = set()
    for position in positions:
        expected = right[position] if position < len(right) else item
        if expected is None:
            reached.add(position)
        elif position < len(right) and fit(item, expected):
            reached.add(position + 1)
    return reached


def _with_skips(positions: set[int], right: Sequence[_Item | None]) -> set[int]:
    """Adds to each position those that follow it if a `**` there matches nothing."""
    for start in tuple(positions):
        position = start
        while position < len(right) and right[position] is None:
            position += 1
            positions.add(position)
    return positions


# Comparing many patterns


class Crossings(Struct, frozen=True, kw_only=True):
    pairs: list[tuple[int, int]]
    """The numbers of two different patterns that cross, the smaller first."""
    complete: bool
    """False if the limit was reached, so that there may be more pairs."""


def crossings(patterns: Sequence[str], most: int = MOST_CHECKS) -> Crossings:
    """Returns which of these different patterns cross."""
    pairs: list[tuple[int, int]] = []
    for count, (left, right) in enumerate(_candidates(patterns)):
        # The number of candidates can be quadratic, so the search is limited.
        if count == most:
            return Crossings(pairs=pairs, complete=False)
        if intersects(patterns[left], patterns[right]):
            pairs.append((left, right) if left < right else (right, left))
    return Crossings(pairs=pairs, complete=True)


def coarser(pattern: str) -> str:
    """Returns a pattern that matches at least as much: everything below the directory where this one starts."""
    wildcard = WILDCARD.search(pattern)
    if wildcard is None:
        return pattern
    directory = pattern[: wildcard.start()].rpartition("/")[0]
    return f"{directory}/**" if directory else _DEEP


class _SameBeginning:
    """The patterns with the same literal beginning, indexed by their literal endings, stored reversed."""

    __slots__ = ("beginning", "by_ending", "endings")

    def __init__(self, beginning: str, by_ending: dict[str, list[int]]) -> None:
        self.beginning = beginning
        self.by_ending = by_ending
        self.endings = sorted(by_ending)

    def possible_matches(self, ending: str) -> Iterator[int]:
        """Yields the patterns with an ending that is a suffix of this one, or has this one as a suffix."""
        for length in range(len(ending)):
            yield from self.by_ending.get(ending[:length], ())
        for longer in islice(self.endings, bisect_left(self.endings, ending), None):
            if not longer.startswith(ending):
                return
            yield from self.by_ending[longer]


def _candidates(patterns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields all pairs that can cross, judged by their literal beginnings and endings."""
    ends = [_literal_ends(pattern) for pattern in patterns]
    prefixes: list[_SameBeginning] = []
    in_order = sorted(range(len(patterns)), key=lambda number: ends[number][0])
    for beginning, members in groupby(in_order, key=lambda number: ends[number][0]):
        # In sorted order, the beginnings that are prefixes of the current one form a stack.
        while prefixes and not beginning.startswith(prefixes[-1].beginning):
            prefixes.pop()
        by_ending: dict[str, list[int]] = {}
        for member in members:
            by_ending.setdefault(ends[member][1], []).append(member)
        own = _SameBeginning(beginning, by_ending)
        for ending, same_ending in by_ending.items():
            for member in same_ending:
                for prefix in prefixes:
                    yield from ((candidate, member) for candidate in prefix.possible_matches(ending))
                yield from (
                    (candidate, member) for candidate in own.possible_matches(ending) if candidate < member
                )
        prefixes.append(own)


def _literal_ends(pattern: str) -> tuple[str, str]:
    """Returns the text before the first wildcard, and reversed the text after the last one.

    Both are of the path with a slash on either side, so that `src/**` begins like `src/a` and like `src` itself,
    but not like `src2`.
    """
    wildcard = WILDCARD.search(pattern)
    if wildcard is None:
        return f"/{pattern.removesuffix('/')}/", ""
    beginning = f"/{pattern[: wildcard.start()]}"
    if pattern.endswith(("/", "*")):
        return beginning, ""
    last = max(pattern.rfind("*"), pattern.rfind("?"), pattern.rfind("]"))
    return beginning, f"{pattern[last + 1 :]}/"[::-1]
