"""The differences between the commit of a worktree, its index and its files."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from weft.workspaces.git.base.index import is_damaged, rebuild_index
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.sparse import settings

# Changes within submodules are ignored: to find them, git would follow the configuration of the submodule, which a
# step may have written. Nothing is lost, because a worktree with submodules is never removed.
_COMMAND = (
    *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignored=no"),
    *("--no-renames", "--no-ahead-behind", "--ignore-submodules=dirty"),
)
_NOTHING = "000000"
_REPOSITORY = "160000"
_FIELDS = {b"1": 8, b"u": 10}
"""The number of fields before the path."""


class FileDifference(Struct, frozen=True):
    """A path that differs."""

    path: bytes
    """Relative to the root of the worktree."""
    staged: bool = False
    """Whether index and commit differ."""
    changed: bool = True
    """Whether file and index differ."""
    gone: bool = False
    """Whether the file does not exist."""
    is_new: bool = True
    """Whether it is not in the commit."""
    is_repository: bool = False
    """Whether a directory with a repository of its own appeared there."""


class Status(Struct, frozen=True, kw_only=True):
    """The state of a worktree."""

    head: str
    """The commit; empty if the branch is gone."""
    branch: str | None
    """The full ref; None if HEAD is detached."""
    differences: tuple[FileDifference, ...]


def status(git: Git, git_dir: Path) -> Status:
    """Returns the status of a worktree of Weft; rebuilds an index that git cannot read."""
    # git works with some damaged indexes without a complaint, and its status would then be wrong.
    if is_damaged(git_dir):
        rebuild_index(git, git_dir)
    return parse_status(git.do(*_COMMAND, env=settings(git_dir)))


def parse_status(output: bytes) -> Status:
    """Parses the output of `git status --porcelain=v2 --branch -z`."""
    fields = [field for field in output.split(b"\0") if field]
    head, branch = (os.fsdecode(field.split(b" ", 2)[2]) for field in fields[:2])
    return Status(
        head="" if head == "(initial)" else head,
        branch=None if branch == "(detached)" else f"refs/heads/{branch}",
        differences=tuple(_differences(fields)),
    )


def _differences(fields: list[bytes]) -> Iterator[FileDifference]:
    for field in fields:
        kind, rest = field[:1], field[2:]
        if kind == b"?":
            yield FileDifference(rest.rstrip(b"/"), is_repository=rest.endswith(b"/"))
        elif kind in _FIELDS:
            *columns, path = field.split(b" ", _FIELDS[kind])
            yield _difference([part.decode() for part in columns], path)


def _difference(columns: list[str], path: bytes) -> FileDifference:
    if columns[0] == "u":  # a conflict; the modes are those of the base, of ours, of theirs, and of the file
        return FileDifference(path, staged=True, gone=columns[6] == _NOTHING, is_new=False)
    index, file = columns[1][0], columns[1][1]
    before, staged, now = columns[3:6]
    return FileDifference(
        path,
        staged=index != ".",
        changed=file != ".",
        gone=file == "D" or (file == "." and now == _NOTHING),
        is_new=before == _NOTHING,
        # A submodule that the commit had already is no new repository, whatever has happened to it.
        is_repository=_REPOSITORY in {staged, now} and before != _REPOSITORY,
    )
