"""What two sides of a merge did differently, and how a person is told of it and of the way out.

The text is bounded whatever the conflict is: a few files in full, with the first lines that clash, some more by
name, and the number of the rest.
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
"""Of one side, for one file."""
MOST_COMMITS = 3
"""Of one side, for one file."""

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
    path: str
    """Where the sides have it."""
    kind: str
    """As git calls it: `content`, `add/add`, `binary`, `modify/delete`, `rename/delete`, `file/directory`, …"""
    base: TreeVersion | None = None
    """What both began with."""
    ours: TreeVersion | None = None
    """What the side has that something is brought to; None: nothing, as with `theirs`."""
    theirs: TreeVersion | None = None
    """What the side has that is brought in. Of a file that both have renamed, git tells what it has merged."""
    merged: str = ""
    """What names the file in the tree of the trial, with its marks, to git; empty if it is not there."""


class _Side(Struct, frozen=True):
    name: str
    commits: Mapping[str, Sequence[str]]
    """What its commits are about, for each file."""


def explain(  # noqa: PLR0913 - all that a person is told
    git: Git,
    conflicts: Sequence[Conflict],
    *,
    subplan: str,
    branch: str,
    into: str,
    worktree: Path,
    command: str,
) -> str:
    """What is in conflict, who did it, and what to type.

    The branch `branch` was to be brought to the branch `into`; it is checked out in `worktree`, and `command` asks
    for the merge again.
    """
    count = len(conflicts)
    files = "1 file" if count == 1 else f"{count} files"
    return "\n".join((
        f"{subplan} cannot be merged into {into}: {files} in conflict. Nothing has moved.",
        *_told(git, conflicts, branch=branch, into=into),
        "To settle it, merge the other way round, in the worktree of the subplan:",
        f"  git -C {_quoted(worktree)} merge {shlex.quote(into)}",
        "  (mend the files that git names, and `git add` them)",
        f"  git -C {_quoted(worktree)} commit",
        f"  {command}",
    ))  # fmt: skip


def _told(git: Git, conflicts: Sequence[Conflict], *, branch: str, into: str) -> Iterator[str]:
    in_full = conflicts[:MOST_IN_FULL]
    paths = [conflict.path for conflict in in_full]
    sides = (_side(git, into, branch, paths), _side(git, branch, into, paths))
    texts = _texts(git, [conflict.merged for conflict in in_full])
    for conflict in in_full:
        yield f"{_name(conflict.path)} ({conflict.kind})"
        yield f"  {_deed(sides[0], conflict, conflict.ours)}"
        yield f"  {_deed(sides[1], conflict, conflict.theirs)}"
        hunk = _hunk(texts.get(conflict.merged, ""), into, branch)
        yield from (f"    {_cut(line)}" for line in hunk)
    named = conflicts[MOST_IN_FULL:MOST_NAMED]
    yield from (f"{_name(conflict.path)} ({conflict.kind})" for conflict in named)
    more = len(conflicts) - MOST_NAMED
    if more > 0:
        yield f"… and {more} more"


# Who did it


def _side(git: Git, name: str, other: str, paths: Sequence[str]) -> _Side:
    """What a side did to these files since the other left it."""
    since = f"{_commit(git, other)}..{_commit(git, name)}"
    log = git.do(
        "--literal-pathspecs", "log", "-z", f"--max-count={_MOST_COMMITS_READ}", "--name-only", "--no-renames",
        "--no-show-signature",        _LOG, since, "--", *paths,
    )  # fmt: skip
    commits: dict[str, list[str]] = {}
    for entry in os.fsdecode(log).split("\1")[1:]:
        commit, subject, subplans, files = entry.split("\2", 3)
        by = f" [{subplans}]" if subplans else ""
        for file in files.strip("\n\0").split("\0"):
            commits.setdefault(file, []).append(f"{commit} {subject}{by}")
    return _Side(name, commits)


def _commit(git: Git, branch: str) -> str:
    """A tag of the same name is not meant."""
    return tip(git, f"refs/heads/{branch}") or branch


def _deed(side: _Side, conflict: Conflict, version: TreeVersion | None) -> str:
    known = side.commits.get(conflict.path, ())
    by = [_cut(_name(commit)) for commit in known[:MOST_COMMITS]]
    if len(known) > MOST_COMMITS:
        by.append(f"and {len(known) - MOST_COMMITS} more")
    return f"{side.name} {_verb(conflict, version)}" + (f": {'; '.join(by)}" if by else "")


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


# What clashes


def _texts(git: Git, names: Iterable[str]) -> dict[str, str]:
    """The files that git calls so, as far as they are text and not too large."""
    asked = [name for name in names if name]
    sized = _batch(git, "--batch-check=%(objecttype) %(objectsize)", asked).split(b"\n")
    small = [name for name, line in zip(asked, sized, strict=False) if _is_small(line)]
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
    """The first lines that clash, with the names of the sides at their ends."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if _OPENS.match(line)), None)
    if first is None:
        return []
    last = next((number for number in range(first, len(lines)) if _CLOSES.match(lines[number])), len(lines))
    return [f"<<<<<<< {into}", *_abridged(lines[first + 1 : last]), f">>>>>>> {branch}"]


def _abridged(lines: Sequence[str]) -> Iterator[str]:
    """The beginnings of what each side has, and maybe of what both began with."""
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


def _quoted(place: Path) -> str:
    return shlex.quote(_name(str(place)))
