"""Files that often change in the same commits, according to the history.

A change of one such file often needs a change of the other. Merges and commits that touch very many files say
nothing about this and are skipped. The data is the set of files of each commit rather than a count per pair,
because there would be about fifty times as many pairs.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, KeysView
from itertools import groupby, product

from msgspec import Struct

from weft.plan.order.globs import matches
from weft.workspaces.git.base.program import Git


class Pair(Struct, frozen=True):
    """Two files that changed together."""

    first: str
    second: str
    times: int
    """The number of commits that touched both."""


class CommonChanges:
    """The files that each commit touched, and the commits that touched each file."""

    def __init__(self, commits: Iterable[Iterable[str]]) -> None:
        self._commits: list[frozenset[str]] = []
        self._touched_by: dict[str, list[int]] = {}
        # One string object per file name: a file that a thousand commits touch would otherwise be stored a
        # thousand times.
        names: dict[str, str] = {}
        for number, files in enumerate(commits):
            touched = frozenset(names.setdefault(file, file) for file in files)
            self._commits.append(touched)
            for file in touched:
                self._touched_by.setdefault(file, []).append(number)

    @property
    def files(self) -> KeysView[str]:
        return self._touched_by.keys()

    def matching(self, globs: Collection[str]) -> frozenset[str]:
        """Returns the files that match one of these patterns."""
        return frozenset(file for file in self.files if any(matches(glob, file) for glob in globs))

    def pairs(self, first: Collection[str], second: Collection[str], *, least: int = 2) -> list[Pair]:
        """Returns pairs with a file of each collection that changed together `least` times, most frequent first.

        A file is never paired with itself. Two files that are in both collections form one pair.
        """
        ours, theirs = self.files & first, self.files & second
        numbers = {number for file in ours for number in self._touched_by[file]}
        times = Counter(
            pair
            for number in numbers
            for pair in product(ours & self._commits[number], theirs & self._commits[number])
            if _counts(pair, ours, theirs)
        )
        frequent = [Pair(*pair, count) for pair, count in times.items() if count >= least]
        return sorted(frequent, key=lambda pair: (-pair.times, pair.first, pair.second))


def _counts(pair: tuple[str, str], ours: set[str], theirs: set[str]) -> bool:
    """Returns whether this order of the two files is the one that is counted."""
    first, second = pair
    return first < second or (first > second and not (first in theirs and second in ours))


def changed_together(git: Git, ref: str, *, commits: int = 1000, most_files: int = 50) -> CommonChanges:
    """Reads the last `commits` commits that touched at most `most_files` files."""
    log = git.do(
        *("log", f"--max-count={commits}", "--no-merges", "--root", "--format=%x00", "--name-only", "-z"),
        *("--no-renames", "--no-relative", "--no-show-signature", "--end-of-options", ref, "--"),
    )
    return CommonChanges(files for files in files_of_commits(log) if len(files) <= most_files)


def files_of_commits(log: bytes) -> Iterator[list[str]]:
    r"""Yields the files of each commit in the output of `git log -z --name-only --format=%x00`.

    The output has `\0\0\n` for each commit, then its files, each with `\0`. Commits without files are skipped.
    """
    for is_nonempty, fields in groupby(log.split(b"\0"), key=bool):
        if is_nonempty:
            yield os.fsdecode(b"\0".join(fields)[1:]).split("\0")
