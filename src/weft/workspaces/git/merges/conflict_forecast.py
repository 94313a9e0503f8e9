"""Conflicts that are coming: branches on which work goes on are merged in memory, two at a time.

Most pairs need no merge: two branches that have changed different files go together. A pair is looked at if both
changed the same file, or one has a file where the other has a directory, or one took files out of a directory to
which the other added some: then git may hold that the directory was renamed, and ask where the new files belong.
What came of a pair is remembered until one of the two has moved.

What git makes of these merges is put in a temporary directory and goes with it: the repository stays as it is.
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
    "-c", "core.looseCompression=0",
    "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
)  # fmt: skip
_MEMORY = "/dev/shm"  # noqa: S108 - a directory of our own is made in it
"""Where files are never written to a disk: what git makes here is many, small, and not wanted."""
_SEVERAL_AT_ONCE = (2, 39)
"""The first git that makes several merges in one process."""
_CONFLICT = "0"
"""What git says of a merge among several, in place of an exit code."""

_Pair = tuple[str, str]
_Files = tuple[str, ...] | None
"""Those in conflict; None if the merge is clean."""


class ForecastConflict(Struct, frozen=True, kw_only=True):
    """Two branches that could not be merged as they are now."""

    one: str
    other: str
    files: tuple[str, ...]


class _Changes(Struct, frozen=True, kw_only=True):
    """What a branch did since it began."""

    ends: _Pair
    """Where it began, and where it is."""
    files: frozenset[str]
    folders: frozenset[str]
    """Those that the files are in, near and far."""
    grown: frozenset[str]
    """Folders to which files were added."""
    shrunk: frozenset[str]
    """Folders out of which files were taken."""

    def touches(self, other: "_Changes") -> bool:
        return (
            not self.files.isdisjoint(other.files)
            or not self.files.isdisjoint(other.folders)
            or not self.folders.isdisjoint(other.files)
            or bool(self.disputed(other))
        )

    def disputed(self, other: "_Changes") -> frozenset[str]:
        """Folders that one may have renamed while the other added to them."""
        return self.grown & other.shrunk | self.shrunk & other.grown


class ConflictForecast:
    """What is new since the last question is looked at together, by two processes.

    `git` is at the top of a checkout. Several threads may use this.
    """

    def __init__(self, git: Git) -> None:
        self._git = git
        self._ends: dict[str, _Pair] = {}
        """Where each branch began, and where it is."""
        self._state = Lock()
        """Held for a moment by whoever uses these ends."""
        self._changes: dict[str, _Changes] = {}
        self._known: dict[_Pair, tuple[tuple[_Pair, _Pair], _Files]] = {}
        """For two names, the smaller first, the ends that were looked at, and what comes of a merge."""
        self._looking = Lock()
        """Held by whoever uses what is known of the branches, also while git works."""

    def moved(self, name: str, start: str, tip: str) -> None:
        """A branch that began at the commit `start` is at the commit `tip` now."""
        with self._state:
            self._ends[name] = (start, tip)

    def gone(self, name: str) -> None:
        """Work on a branch has ended."""
        with self._state:
            self._ends.pop(name, None)

    def conflicts(self, name: str) -> list[ForecastConflict]:
        """The branches with which this one would be in conflict now, in the order of their names."""
        with self._looking:
            with self._state:
                ends = dict(self._ends)
            self._look(ends)
            self._merge()
            found = sorted((other, files) for other, files in self._results(name) if files is not None)
        return [ForecastConflict(one=name, other=other, files=files) for other, files in found]

    def _look(self, ends: Mapping[str, _Pair]) -> None:
        old = {name: changes for name, changes in self._changes.items() if changes.ends == ends.get(name)}
        new = [name for name in ends if name not in old]
        changes = _changes(self._git, [ends[name] for name in new])
        self._changes = old | dict(zip(new, changes, strict=True))

    def _merge(self) -> None:
        ends = {
            (one, other): (self._changes[one].ends, self._changes[other].ends)
            for one, other in combinations(sorted(self._changes), 2)
        }
        self._known = {pair: known for pair, known in self._known.items() if known[0] == ends.get(pair)}
        new = [pair for pair in ends if pair not in self._known]
        near = [pair for pair in new if self._changes[pair[0]].touches(self._changes[pair[1]])]
        merged = self._merged([(ends[pair][0][1], ends[pair][1][1]) for pair in near])
        results = dict(zip(near, merged, strict=True))
        for pair in new:
            self._known[pair] = (ends[pair], self._named(pair, results.get(pair)))

    def _results(self, name: str) -> Iterator[tuple[str, _Files]]:
        for (one, other), (_, files) in self._known.items():
            if name in {one, other}:
                yield (other if one == name else one), files

    def _named(self, pair: _Pair, files: _Files) -> _Files:
        """As the branches call them: what git sets aside has the name of a commit added.

        If it is about no file, but about what became of a folder, then the folders.
        """
        one, other = (self._changes[name] for name in pair)
        if files is None:
            return None
        if not files:
            return tuple(sorted(one.disputed(other)))
        aside = re.compile(rf"~({one.ends[1]}|{other.ends[1]})(_\d+)?$")
        return tuple(dict.fromkeys(aside.sub("", file) for file in files))

    def _merged(self, pairs: Sequence[_Pair]) -> list[_Files]:
        """What comes of merges of commits."""
        if not pairs:
            return []
        try:
            return self._merged_in(_MEMORY, pairs)
        except (OSError, GitError):  # there is no such place, or too little room in it
            return self._merged_in(None, pairs)

    def _merged_in(self, place: str | None, pairs: Sequence[_Pair]) -> list[_Files]:
        with tempfile.TemporaryDirectory(prefix="weft-", dir=place) as folder:
            env = {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": self._objects}
            if self._version >= _SEVERAL_AT_ONCE:
                return _several(self._git, pairs, env)
            return [_single(self._git, pair, env) for pair in pairs]

    @cached_property
    def _objects(self) -> str:
        """Where the repository keeps its objects, as git wants to have it in a list with colons."""
        place = self._git.line("rev-parse", "--path-format=absolute", "--git-path", "objects")
        escaped = place.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'

    @cached_property
    def _version(self) -> tuple[int, int]:
        return version_in(self._git.line("version")) or (0, 0)


# What a branch changed


def _changes(git: Git, ends: Sequence[_Pair]) -> list[_Changes]:
    if not ends:
        return []
    # Told so, git takes the second commit for the parent of the first.
    lines = "".join(f"{tip} {start}\n" for start, tip in ends)
    answer = git.do(*_COMPARE, stdin=lines.encode())
    differences = list(_differences(os.fsdecode(answer).split("\0")))
    if len(differences) != len(ends):  # about a commit that it does not know, git says nothing
        raise GitError(_COMPARE, 0, f"one of these commits is missing: {lines.replace(chr(10), ' ')}")
    return [_summary(pair, statuses) for pair, statuses in zip(ends, differences, strict=True)]


def _differences(fields: Sequence[str]) -> Iterator[dict[str, str]]:
    """For each commit its id, and then, by turns, a letter and a file; here the letters by files."""
    found: dict[str, str] | None = None
    rest = iter(fields)
    for field in rest:
        if len(field) == 1:
            assert found is not None
            found[next(rest)] = field
        else:
            if found is not None:
                yield found
            found = {}


def _summary(ends: _Pair, statuses: Mapping[str, str]) -> _Changes:
    return _Changes(
        ends=ends,
        files=frozenset(statuses),
        folders=_around(statuses),
        grown=_folders_with(statuses, "A"),
        shrunk=_folders_with(statuses, "D"),
    )


def _folders_with(statuses: Mapping[str, str], wanted: str) -> frozenset[str]:
    """Those that such files are in, but for the topmost."""
    return frozenset(path.rpartition("/")[0] for path, status in statuses.items() if status == wanted) - {""}


def _around(paths: Iterable[str]) -> frozenset[str]:
    """The folders that these are in, near and far, but for the topmost."""
    found: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(found)


# Merges


def _several(git: Git, pairs: Sequence[_Pair], env: Mapping[str, str]) -> list[_Files]:
    wishes = "".join(f"{one} {other}\n" for one, other in pairs)
    answer = os.fsdecode(git.do(*_MERGE, "--stdin", stdin=wishes.encode(), env=env))
    return list(_results(iter(answer.split("\0")), len(pairs)))


def _results(fields: Iterator[str], count: int) -> Iterator[_Files]:
    """Of each merge: whether it is clean, the tree, the files in conflict, and an empty field."""
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
