"""Which files each of the last commits changed, by the names that they have now.

A file that was moved as it was has kept its history; one that changed on the way counts as new. What a repository
begins with says nothing about any two files, nor does what a shallow clone begins with: both are left out, as are
merges and commits of very many files. The output of git is read as it comes, for it may be larger than memory; if
it is, its newest part has to do. Nothing is fetched: where a clone lacks what the history says, it is not known.
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
    *("-c", "protocol.allow=never", "log", f"--max-count={_COMMITS}", "--no-merges", "--min-parents=1"),
    *("--format=%x00", "--name-status", "-z", "--find-renames=100%"),
    *("--no-relative", "--no-show-signature", "HEAD", "--"),
)


class FileHistory(Struct, frozen=True, kw_only=True):
    commits: Sequence[Sequence[str]] = ()
    """The files of each, newest first."""
    fault: str = ""
    """Why it is not known, in git's words."""


def history_of(git: Git) -> FileHistory:
    try:
        if not git.says_yes("rev-parse", "--verify", "--quiet", "HEAD"):
            return FileHistory()
        with closing(git.pieces(*_LOG)) as pieces:
            return FileHistory(commits=list(changes(pieces)))
    except GitError as error:
        return FileHistory(fault=words(error))


def words(error: GitError) -> str:
    """What git said, on one line."""
    return " ".join(error.message.removeprefix("fatal: ").split()) or f"exit code {error.exit_code}"


def changes(log: Iterable[bytes]) -> Iterator[list[str]]:
    """From what `git log` writes, the newest commit first."""
    now = dict[str, str]()
    for commit in _commits(log):
        if commit.count(b"\0") >= 2 * FILES_OF_A_COMMIT and _MOVED not in commit:
            continue  # too many, and not worth taking apart
        files = list(_files(commit, now))
        if len(files) <= FILES_OF_A_COMMIT:
            yield files


def _commits(log: Iterable[bytes]) -> Iterator[bytes]:
    r"""Each begins with `\0\0\n`, which is in no name; what follows is told in fields that end with `\0`."""
    begun, left = b"", _BYTES
    for piece in log:
        *whole, begun = (begun + piece).split(_BEGIN)
        yield from _filled(whole)
        left -= len(piece)
        if left < 0:
            return
    yield from _filled([begun])


def _filled(commits: Iterable[bytes]) -> Iterator[bytes]:
    """Without what a commit of no files leaves: more zeros."""
    return filter(None, (commit.strip(b"\0") for commit in commits))


def _files(commit: bytes, now: dict[str, str]) -> Iterator[str]:
    """By their present names; `now` has those that older commits call otherwise."""
    fields = iter(os.fsdecode(commit).split("\0"))
    for state in fields:
        path = next(fields)
        if state != _MOVED.decode():
            yield now.get(path, path)
            continue
        new = next(fields)
        now[path] = now.get(new, new)
        yield now[path]
