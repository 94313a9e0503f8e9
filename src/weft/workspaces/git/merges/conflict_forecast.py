"""Forecasts of conflicts: branches of running slices are merged in memory, in pairs.

Most pairs need no merge: two branches that changed different files do not conflict. A pair is merged if both
changed the same file, if one has a file where the other has a directory, or if one removed files from a directory
to which the other added some: git may then treat the directory as renamed and ask where the new files belong. The
result for a pair is cached until one of the two branches moves.

The objects of these merges go to a temporary directory that is deleted afterwards, so the repository stays
unchanged.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, takewhile
from threading import Lock

from msgspec import Struct

from weft.workspaces.git.base.program import Git, GitError
from weft.workspaces.git.base.repository import version_in

_COMPARE = ("diff-tree", "--stdin", "-r", "-z", "--name-status", "--no-renames", "--always")
_MERGE = (
    # The objects are deleted at once, so compressing them is wasted time.
    "-c", "core.looseCompression=0",
    "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
)  # fmt: skip
_MEMORY = "/dev/shm"  # noqa: S108 - a directory of our own is made in it
"""A directory in memory, because these objects are many, small and short-lived."""
_SEVERAL_AT_ONCE = (2, 39)
"""The first git that makes several merges in one process."""
_CONFLICT = "0"
"""git's status for a conflict, among several merges, in place of an exit code."""

_Pair = tuple[str, str]
_Files = tuple[str, ...] | None
"""The files in conflict; None if the merge is clean."""


class ForecastConflict(Struct, frozen=True, kw_only=True):
    """Two branches that could not be merged as they are now."""

    one: str
    other: str
    files: tuple[str, ...]


class _Changes(Struct, frozen=True, kw_only=True):
    """The changes of a branch since its start."""

    ends: _Pair
    """The start and the tip."""
    files: frozenset[str]
    folders: frozenset[str]
    """All folders that contain the files, directly or indirectly."""
    grown: frozenset[str]
    """Folders to which files were added."""
    shrunk: frozenset[str]
    """Folders from which files were removed."""

    def touches(self, others: "_Changes") -> bool:
        return (
            not self.files.isdisjoint(others.files)
            or not self.files.isdisjoint(others.folders)
            or not self.folders.isdisjoint(others.files)
            or bool(self.disputed(others))
        )

    def disputed(self, others: "_Changes") -> frozenset[str]:
        """Returns the folders that one branch may have renamed while the other added to them."""
        return self.grown & others.shrunk | self.shrunk & others.grown


class ConflictForecast:
    """Forecasts conflicts; each query examines all branches that moved since the last one, in two processes.

    `git` is at the top of a checkout. Several threads may use this.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._ends: dict[str, _Pair] = {}
        """The start and the tip of each branch."""
        self._state = Lock()
        """Held briefly to access `_ends`."""
        self._changes: dict[str, _Changes] = {}
        self._merges: dict[_Pair, tuple[tuple[_Pair, _Pair], _Files]] = {}
        """By two names, the smaller first: the ends that were merged, and the result."""
        self._examining = Lock()
        """Held to access `_changes` and `_merges`, also while git runs."""

    def moved(self, name: str, start: str, tip: str) -> None:
        """Reports that a branch that started at `start` is at `tip` now."""
        with self._state:
            self._ends[name] = (start, tip)

    def gone(self, name: str) -> None:
        """Reports that work on a branch has ended."""
        with self._state:
            self._ends.pop(name, None)

    def conflicts(self, name: str) -> list[ForecastConflict]:
        """Returns the conflicts of this branch with others, sorted by their names."""
        with self._examining:
            # A copy: `moved` and `gone` are called from the threads of other slices and must not wait for git.
            with self._state:
                ends = dict(self._ends)
            if ends.keys() <= {name}:
                return []  # there is no other
            self._examine(ends)
            self._merge()
            results = sorted((other, files) for other, files in self._results(name) if files is not None)
        return [ForecastConflict(one=name, other=other, files=files) for other, files in results]

    def _examine(self, ends: Mapping[str, _Pair]) -> None:
        old = {name: changes for name, changes in self._changes.items() if changes.ends == ends.get(name)}
        new = [name for name in ends if name not in old]
        changes = _changes(self._git, [ends[name] for name in new])
        self._changes = old | dict(zip(new, changes, strict=True))

    def _merge(self) -> None:
        ends = {
            (first, second): (self._changes[first].ends, self._changes[second].ends)
            for first, second in combinations(sorted(self._changes), 2)
        }
        self._merges = {pair: merge for pair, merge in self._merges.items() if merge[0] == ends.get(pair)}
        new = [pair for pair in ends if pair not in self._merges]
        near = [pair for pair in new if self._changes[pair[0]].touches(self._changes[pair[1]])]
        merged = self._merge_pairs([(ends[pair][0][1], ends[pair][1][1]) for pair in near])
        results = dict(zip(near, merged, strict=True))
        # Pairs that need no merge are stored as clean, too, so that they are not compared again.
        for pair in new:
            self._merges[pair] = (ends[pair], self._original_names(pair, results.get(pair)))

    def _results(self, name: str) -> Iterator[tuple[str, _Files]]:
        for (first, second), (_, files) in self._merges.items():
            if name in {first, second}:
                yield (second if first == name else first), files

    def _original_names(self, pair: _Pair, files: _Files) -> _Files:
        """Returns the files under the names that the branches use.

        git adds the name of a commit to files that it sets aside. If the conflict is about a folder rather than a
        file, the folders are returned.
        """
        first, second = (self._changes[name] for name in pair)
        if files is None:
            return None
        if not files:
            return tuple(sorted(first.disputed(second)))
        aside = re.compile(rf"~({first.ends[1]}|{second.ends[1]})(_\d+)?$")
        return tuple(dict.fromkeys(aside.sub("", file) for file in files))

    def _merge_pairs(self, pairs: Sequence[_Pair]) -> list[_Files]:
        """Returns the results of merges of these commits."""
        if not pairs:
            return []
        try:
            return self._merged_in(_MEMORY, pairs)
        except (OSError, GitError):  # there is no such directory, or it is full
            return self._merged_in(None, pairs)

    def _merged_in(self, place: str | None, pairs: Sequence[_Pair]) -> list[_Files]:
        with tempfile.TemporaryDirectory(prefix="weft-", dir=place) as folder:
            env = {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": self._objects}
            if self._version >= _SEVERAL_AT_ONCE:
                return _several(self._git, pairs, env)
            return [_single(self._git, pair, env) for pair in pairs]

    @cached_property
    def _objects(self) -> str:
        """The repository's object directory, quoted for git's colon-separated list."""
        place = self._git.line("rev-parse", "--path-format=absolute", "--git-path", "objects")
        escaped = place.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    @cached_property
    def _version(self) -> tuple[int, int]:
        return version_in(self._git.line("version")) or (0, 0)


# The changes of a branch


def _changes(git: Git, ends: Sequence[_Pair]) -> list[_Changes]:
    if not ends:
        return []
    # With two commits on a line, git takes the second one for the parent of the first.
    lines = "".join(f"{tip} {start}\n" for start, tip in ends)
    answer = git.do(*_COMPARE, stdin=lines.encode())
    differences = list(_differences(os.fsdecode(answer).split("\0")))
    if len(differences) != len(ends):  # git silently skips unknown commits
        raise GitError(_COMPARE, 0, f"one of these commits is missing: {lines.replace(chr(10), ' ')}")
    return [_summary(pair, statuses) for pair, statuses in zip(ends, differences, strict=True)]


def _differences(fields: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yields a status letter by file for each commit. The input has the commit id, then letters and files."""
    statuses: dict[str, str] | None = None
    rest = iter(fields)
    for field in rest:
        if len(field) == 1:
            assert statuses is not None
            statuses[next(rest)] = field
        else:
            if statuses is not None:
                yield statuses
            statuses = {}


def _summary(ends: _Pair, statuses: Mapping[str, str]) -> _Changes:
    return _Changes(
        ends=ends,
        files=frozenset(statuses),
        folders=_around(statuses),
        grown=_folders_with(statuses, "A"),
        shrunk=_folders_with(statuses, "D"),
    )


def _folders_with(statuses: Mapping[str, str], letter: str) -> frozenset[str]:
    """Returns the folders that contain files with this status, without the topmost."""
    return frozenset(path.rpartition("/")[0] for path, status in statuses.items() if status == letter) - {""}


def _around(paths: Iterable[str]) -> frozenset[str]:
    """Returns all folders that contain these paths, directly or indirectly, without the topmost."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(folders)


# Merges


def _several(git: Git, pairs: Sequence[_Pair], env: Mapping[str, str]) -> list[_Files]:
    requests = "".join(f"{ours} {theirs}\n" for ours, theirs in pairs)
    answer = os.fsdecode(git.do(*_MERGE, "--stdin", stdin=requests.encode(), env=env))
    return list(_results(iter(answer.split("\0")), len(pairs)))


def _results(fields: Iterator[str], count: int) -> Iterator[_Files]:
    """Yields the result of each merge from its status, tree, files in conflict and an empty field."""
    for _ in range(count):
        result = next(fields)
        next(fields)
        files = tuple(takewhile(bool, fields))
        yield files if result == _CONFLICT else None


def _single(git: Git, pair: _Pair, env: Mapping[str, str]) -> _Files:
    answer = git.ask(*_MERGE, *pair, env=env)
    if answer.exit_code not in {0, 1} or not answer.out:
        raise GitError((*_MERGE, *pair), answer.exit_code, answer.message)
    files = os.fsdecode(answer.out).split("\0")[1:]
    return tuple(file for file in files if file) if answer.exit_code else None
