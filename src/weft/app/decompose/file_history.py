"""The files that each of the last commits changed, by their present names.

A file that was moved without a change keeps its history; one that also changed counts as new. Left out are the
first commit of a repository or of a shallow clone, which relates no two files to each other, merges, and commits
of very many files. The output of git is read as a stream, because it may be larger than memory; only its newest
part is used then. Nothing is fetched: if a partial clone lacks objects, the history is unknown.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

from msgspec import Struct

from weft.decompose.references.signals import FILES_OF_A_COMMIT
from weft.workspaces.git.base.program import Git, GitError

_COMMITS = 5000
_BYTES = 256 * 1024 * 1024
_BEGIN = b"\0\0\n"
_MOVED = b"R100"
_LOG = (
    # Without a protocol a partial clone cannot fetch missing objects in the middle of `git log`, which could take
    # hours.
    *("-c", "protocol.allow=never", "log", f"--max-count={_COMMITS}", "--no-merges", "--min-parents=1"),
    *("--format=%x00", "--name-status", "-z", "--find-renames=100%"),
    *("--no-relative", "--no-show-signature", "HEAD", "--"),
)


class FileHistory(Struct, frozen=True, kw_only=True):
    commits: Sequence[Sequence[str]] = ()
    """The files of each commit, newest first."""
    fault: str = ""
    """Git's message if the history could not be read."""


def history_of(git: Git) -> FileHistory:
    try:
        if not git.says_yes("rev-parse", "--verify", "--quiet", "HEAD"):
            return FileHistory()
        with closing(git.pieces(*_LOG)) as pieces:
            return FileHistory(commits=list(changes(pieces)))
    except GitError as error:
        return FileHistory(fault=words(error))


def words(error: GitError) -> str:
    """Returns git's message on one line."""
    return " ".join(error.message.removeprefix("fatal: ").split()) or f"exit code {error.exit_code}"


def changes(log: Iterable[bytes]) -> Iterator[list[str]]:
    """Yields the changed files of each commit in the output of `git log`, newest first."""
    now = dict[str, str]()
    for commit in _commits(log):
        # Counting zeros is far quicker than splitting the fields. A commit with moves is read in any case, for its
        # new names.
        if commit.count(b"\0") >= 2 * FILES_OF_A_COMMIT and _MOVED not in commit:
            continue  # so many files say nothing about two of them
        files = list(_files(commit, now))
        if len(files) <= FILES_OF_A_COMMIT:
            yield files


def _commits(log: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yields the commits. Each starts with `\0\0\n`, which no name contains; its fields end with `\0`."""
    rest, remaining = b"", _BYTES
    for piece in log:
        *whole, rest = (rest + piece).split(_BEGIN)
        yield from _without_empty(whole)
        remaining -= len(piece)
        if remaining < 0:
            return
    yield from _without_empty([rest])


def _without_empty(commits: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the commits with files. A commit without files leaves only further zeros."""
    return filter(None, (commit.strip(b"\0") for commit in commits))


def _files(commit: bytes, now: dict[str, str]) -> Iterator[str]:
    """Yields the files by their present names; `now` maps names in older commits to present ones."""
    fields = iter(os.fsdecode(commit).split("\0"))
    for state in fields:
        path = next(fields)
        if state != _MOVED.decode():
            yield now.get(path, path)
            continue
        new = next(fields)
        # The log goes backwards in time, so the new name may itself have been renamed later.
        now[path] = now.get(new, new)
        yield now[path]
