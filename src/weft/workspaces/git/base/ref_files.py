"""Single refs, read from git's own files, without a process and without reading any other ref.

`git for-each-ref` reads every loose ref of a directory even to answer for one, which dominates the running time
with thousands of slices. A ref is a small file or a line of `packed-refs`. Everything less simple is left to git:
symbolic refs, links, damaged files, and repositories that store refs in another way.
"""

import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from weft.safe_files import read_file

_OBJECT = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\n")
_HEAD = re.compile(rb"ref: (refs/heads/[\w./+@-]+)\n")
"""HEAD of a checkout with a branch that has a simple name."""
_OWN = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""Refs that each worktree has for itself."""
_PAIR = 2
_MOST = 200
"""Bytes of a loose ref that are read; an object id has at most 65 with its newline."""


class UnusualRefError(Exception):
    """Only git can resolve this ref."""


def read_refs(common: Path, refs: Iterable[str]) -> dict[str, str]:
    """Returns the objects of these refs, without refs that do not exist. Raises `UnusualRefError`."""
    if (common / "reftable").exists():
        raise UnusualRefError
    tips: dict[str, str] = {}
    for ref in refs:
        if not ref.startswith("refs/") or ref.startswith(_OWN):
            raise UnusualRefError
        # `git pack-refs` writes the line first and removes the file last, so a reader without a file finds the
        # line.
        oid = _loose(common / ref) or _read_packed(common).refs.get(ref)
        if oid is not None:
            tips[ref] = oid
    return tips


def read_head(common: Path, git_dir: Path) -> str:
    """Returns the ref of the branch that is checked out, which may not exist yet.

    Raises `UnusualRefError`, also if no branch is checked out.
    """
    match = _HEAD.fullmatch(_content(git_dir / "HEAD") or b"")
    if match is None or (common / "reftable").exists():
        raise UnusualRefError
    return match[1].decode()


def may_have_refs_below(common: Path, folder: str) -> bool:
    """Returns whether there may be refs in this folder."""
    if (common / "reftable").exists() or (common / folder).exists():
        return True
    try:
        names = _read_packed(common).names
    except UnusualRefError:
        return True
    place = bisect_left(names, f"{folder}/")
    return place < len(names) and names[place].startswith(f"{folder}/")


def _loose(file: Path) -> str | None:
    content = _content(file)
    if content is None:
        return None
    match = _OBJECT.fullmatch(content)
    if match is None:
        raise UnusualRefError
    return match[1].decode()


def _content(file: Path) -> bytes | None:
    try:
        # A step without a sandbox can replace a ref by a link or a pipe: NOFOLLOW refuses the first, NONBLOCK
        # keeps the second from blocking for ever.
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # a link, or no permission
        raise UnusualRefError from error
    try:
        return os.read(handle, _MOST)
    except IsADirectoryError:  # empty after the removal of a ref, or with other refs in it
        return None
    finally:
        os.close(handle)


class _Packed(Struct, frozen=True):
    """The contents of `packed-refs`."""

    refs: Mapping[str, str]
    names: Sequence[str]
    """The names, sorted."""


_NONE = _Packed({}, ())


def _read_packed(common: Path) -> _Packed:
    file = common / "packed-refs"
    try:
        stat = file.lstat()
    except FileNotFoundError:
        return _NONE
    # git replaces the file by a rename, so a new state has a new inode; times and size catch edits in place.
    return _parse_packed(file, (stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size))


_MOST_PACKED = 1 << 32
"""The most bytes of a `packed-refs` file; even one with millions of refs is smaller."""


@lru_cache(maxsize=4)
def _parse_packed(file: Path, _state: tuple[int, ...]) -> _Packed:
    """Returns the parsed file, cached for each state of the file."""
    lines = read_file(file, most=_MOST_PACKED).splitlines()
    pairs = [line.split(b" ", 1) for line in lines if line[:1] not in {b"#", b"^"}]
    if not all(len(pair) == _PAIR and _OBJECT.fullmatch(pair[0] + b"\n") for pair in pairs):
        raise UnusualRefError  # git says what is wrong with it
    refs = {os.fsdecode(ref): oid.decode() for oid, ref in pairs}
    return _Packed(refs, sorted(refs))
