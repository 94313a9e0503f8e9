"""The conflicts of a merge, and the message that explains them and how to resolve them.

The length of the message is bounded: a few files in full with their first conflicting lines, some more by name,
and the number of the remaining ones.
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.workspaces.errors import shown
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import tip

MOST_IN_FULL = 5
MOST_NAMED = 20
MOST_LINES = 10
"""Per side and file."""
MOST_COMMITS = 3
"""Per side and file."""

_WIDTH = 160
_MOST_COMMITS_READ = 500
_LARGEST_READ = 1_000_000
_MOST_PARTS = 3
_LINK = "160000"
_LOG = "--format=%x01%h%x02%s%x02%(trailers:key=Weft-Subplan,valueonly,separator=%x20)%x02"
_OPENS = re.compile(r"<{7,} ")
_PARTS = re.compile(r"={7,}$|\|{7,} ")
_CLOSES = re.compile(r">{7,} ")


class TreeVersion(Struct, frozen=True):
    """A file, a symbolic link or the commit of a submodule, as a tree holds it."""

    mode: str
    oid: str


class Conflict(Struct, frozen=True, kw_only=True):
    """A path that git could not merge."""

    path: str
    """The path in the branches, not the name under which git sets a version aside."""
    kind: str
    """Git's word for it: `content`, `add/add`, `binary`, `modify/delete`, `rename/delete`, `file/directory`, …"""
    base: TreeVersion | None = None
    """The version in the common ancestor."""
    ours: TreeVersion | None = None
    """The version of the branch that is merged into; None if it has none."""
    theirs: TreeVersion | None = None
    """The version of the branch that is merged. For a file that both renamed, git reports its merged version."""
    merged: str = ""
    """The name, as `TREE:PATH`, of the file with conflict markers; empty if the tree does not have it."""


class _Side(Struct, frozen=True):
    name: str
    commits: Mapping[str, Sequence[str]]
    """The descriptions of its commits, by file."""


def explain(  # noqa: PLR0913 - everything that the message mentions
    git: Git,
    conflicts: Sequence[Conflict],
    *,
    subplan: str,
    branch: str,
    into: str,
    worktree: Path,
    command: str,
) -> str:
    """Returns a message with the conflicts, the commits behind them, and the commands that resolve them.

    `branch` was to be merged into `into`. It is checked out in `worktree`, and `command` requests the merge again.
    """
    count = len(conflicts)
    files = "1 file" if count == 1 else f"{count} files"
    return "\n".join((
        f"{subplan} cannot be merged into {into}: {files} in conflict. Nothing has moved.",
        *_describe_conflicts(git, conflicts, branch=branch, into=into),
        "To settle it, merge the other way round, in the worktree of the subplan:",
        f"  git -C {_quote(worktree)} merge {shlex.quote(into)}",
        "  (fix the files that git names, and `git add` them)",
        f"  git -C {_quote(worktree)} commit",
        f"  {command}",
    ))  # fmt: skip


def _describe_conflicts(git: Git, conflicts: Sequence[Conflict], *, branch: str, into: str) -> Iterator[str]:
    in_full = conflicts[:MOST_IN_FULL]
    paths = [conflict.path for conflict in in_full]
    sides = (_side(git, into, branch, paths), _side(git, branch, into, paths))
    texts = _texts(git, [conflict.merged for conflict in in_full])
    for conflict in in_full:
        yield f"{_name(conflict.path)} ({conflict.kind})"
        yield f"  {_describe_side(sides[0], conflict, conflict.ours)}"
        yield f"  {_describe_side(sides[1], conflict, conflict.theirs)}"
        hunk = _hunk(texts.get(conflict.merged, ""), into, branch)
        yield from (f"    {_cut(line)}" for line in hunk)
    named = conflicts[MOST_IN_FULL:MOST_NAMED]
    yield from (f"{_name(conflict.path)} ({conflict.kind})" for conflict in named)
    more = len(conflicts) - MOST_NAMED
    if more > 0:
        yield f"… and {more} more"


# The commits of each side


def _side(git: Git, name: str, other_branch: str, paths: Sequence[str]) -> _Side:
    """Returns the commits that a side has made to these files since the other side branched off."""
    since = f"{_commit(git, other_branch)}..{_commit(git, name)}"
    # `--literal-pathspecs`, because a file name may look like a glob or start with `:`.
    log = git.do(
        "--literal-pathspecs", "log", "-z", f"--max-count={_MOST_COMMITS_READ}", "--name-only", "--no-renames",
        "--no-show-signature", _LOG, since, "--", *paths,
    )  # fmt: skip
    commits: dict[str, list[str]] = {}
    for entry in os.fsdecode(log).split("\1")[1:]:
        commit, subject, subplans, files = entry.split("\2", 3)
        origin = f" [{subplans}]" if subplans else ""
        for file in files.strip("\n\0").split("\0"):
            commits.setdefault(file, []).append(f"{commit} {subject}{origin}")
    return _Side(name, commits)


def _commit(git: Git, branch: str) -> str:
    """Returns the commit of a branch, even if there is a tag of the same name."""
    return tip(git, f"refs/heads/{branch}") or branch


def _describe_side(side: _Side, conflict: Conflict, version: TreeVersion | None) -> str:
    commits = side.commits.get(conflict.path, ())
    shown_commits = [_cut(_name(commit)) for commit in commits[:MOST_COMMITS]]
    if len(commits) > MOST_COMMITS:
        shown_commits.append(f"and {len(commits) - MOST_COMMITS} more")
    return f"{side.name} {_verb(conflict, version)}" + (
        f": {'; '.join(shown_commits)}" if shown_commits else ""
    )


def _verb(conflict: Conflict, version: TreeVersion | None) -> str:
    base = conflict.base
    if version is None and base is None:
        return "has a directory there" if conflict.kind == "file/directory" else "has no such file"
    if version is None:
        return "removed it"
    if base is None:
        return "added it"
    if base.oid == version.oid:
        return "left its content" if base.mode == version.mode else "changed its mode"
    return f"moved it to {version.oid[:12]}" if version.mode == _LINK else "changed it"


# Conflicting lines


def _texts(git: Git, names: Iterable[str]) -> dict[str, str]:
    """Returns the contents of these objects, without binary and very large files."""
    requested = [name for name in names if name]
    # Sizes first: `--batch` would read and send an object of any size, and a message shows only a few lines of
    # it.
    sizes = _batch(git, "--batch-check=%(objecttype) %(objectsize)", requested).split(b"\n")
    small = [name for name, line in zip(requested, sizes, strict=False) if _is_small(line)]
    rest = _batch(git, "--batch=%(objectsize)", small)
    texts: dict[str, str] = {}
    for name in small:
        size, _, rest = rest.partition(b"\n")
        data, rest = rest[: int(size)], rest[int(size) + 1 :]
        if b"\0" not in data:
            texts[name] = data.decode(errors="replace")
    return texts


def _batch(git: Git, option: str, names: Sequence[str]) -> bytes:
    return git.do("cat-file", option, "-z", stdin=b"".join(os.fsencode(name) + b"\0" for name in names))


def _is_small(line: bytes) -> bool:
    kind, _, size = line.partition(b" ")
    return kind == b"blob" and int(size) <= _LARGEST_READ


def _hunk(text: str, into: str, branch: str) -> list[str]:
    """Returns the first conflicting lines, with the names of the branches at both ends."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if _OPENS.match(line)), None)
    if first is None:
        return []
    last = next((number for number in range(first, len(lines)) if _CLOSES.match(lines[number])), len(lines))
    return [f"<<<<<<< {into}", *_abridge(lines[first + 1 : last]), f">>>>>>> {branch}"]


def _abridge(lines: Sequence[str]) -> Iterator[str]:
    """Yields the first lines of each side and, if present, of the common ancestor."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if _PARTS.match(line) and len(parts) < _MOST_PARTS:
            parts.append([])
        parts[-1].append(line)
    for part in parts:
        yield from part[: MOST_LINES + 1]
        if len(part) > MOST_LINES + 1:
            yield f"… and {len(part) - MOST_LINES - 1} lines more"


# Text for people


def _cut(line: str) -> str:
    plain = "".join(char if char.isprintable() or char == "\t" else "�" for char in line)
    return plain if len(plain) <= _WIDTH else f"{plain[:_WIDTH]}…"


def _name(path: str) -> str:
    return shown(os.fsencode(path))


def _quote(place: Path) -> str:
    return shlex.quote(_name(str(place)))
