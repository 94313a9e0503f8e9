"""Files that changed together, as the history tells: who changes one of them will often want to change the other.

A commit that touches very many files, or merges, says nothing about that, and is left out. What is kept is which
files each commit touched, and not the counts of pairs, of which there would be some fifty times as many.
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, KeysView
from itertools import groupby, product

from msgspec import Struct

from weft.plan.order.globs import matches
from weft.workspaces.git.base.program import Git


class Pair(Struct, frozen=True):
    first: str
    second: str
    times: int
    """How many commits touched both."""


class CommonChanges:
    """Which files were touched by which commits; `commits` holds the files of each."""

    def __init__(self, commits: Iterable[Iterable[str]]) -> None:
        self._commits: list[frozenset[str]] = []
        self._touched_by: dict[str, list[int]] = {}
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
        """The files that are meant by one of these patterns."""
        return frozenset(file for file in self.files if any(matches(glob, file) for glob in globs))

    def pairs(self, first: Collection[str], second: Collection[str], *, least: int = 2) -> list[Pair]:
        """Two files, one of each collection, that changed together at least so often; most often first.

        A file is no pair with itself, and two files that are in both collections are one pair.
        """
        ours, theirs = self.files & first, self.files & second
        numbers = {number for file in ours for number in self._touched_by[file]}
        times = Counter(
            pair
            for number in numbers
            for pair in product(ours & self._commits[number], theirs & self._commits[number])
            if _counts(pair, ours, theirs)
        )
        found = [Pair(*pair, count) for pair, count in times.items() if count >= least]
        return sorted(found, key=lambda pair: (-pair.times, pair.first, pair.second))


def _counts(pair: tuple[str, str], ours: set[str], theirs: set[str]) -> bool:
    """Whether this is the one of the two orders of a pair that counts."""
    first, second = pair
    return first < second or (first > second and not (first in theirs and second in ours))


def changed_together(git: Git, ref: str, *, commits: int = 1000, most_files: int = 50) -> CommonChanges:
    """What the last so many commits tell that touched no more than so many files."""
    log = git.do(
        *("log", f"--max-count={commits}", "--no-merges", "--root", "--format=%x00", "--name-only", "-z"),
        *("--no-renames", "--no-relative", "--no-show-signature", "--end-of-options", ref, "--"),
    )
    return CommonChanges(files for files in files_of_commits(log) if len(files) <= most_files)


def files_of_commits(log: bytes) -> Iterator[list[str]]:
    r"""Of what `git log -z --name-only --format=%x00` writes: `\0\0\n` for a commit, then files, each with `\0`.

    A commit without files is left out.
    """
    for there, fields in groupby(log.split(b"\0"), key=bool):
        if there:
            yield os.fsdecode(b"\0".join(fields)[1:]).split("\0")
