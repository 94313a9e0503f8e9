"""Single refs, read from git's own files: without a process, and without a look at any other ref.

`git for-each-ref` reads each loose ref of a directory, also to answer for a single ref; with thousands of slices
that takes longer than all the rest. A ref is a small file, or a line of `packed-refs`. What is not as plain is
left to git: a symbolic ref, a link, a damaged file, a repository that keeps its refs elsewhere.
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
_OWN = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
"""What each worktree has for itself."""
_PAIR = 2
_MOST = 200
"""Bytes of a loose ref that are read; an object has 65 at most."""


class UnusualRefError(Exception):
    """Only git can tell where a ref leads."""


def read_refs(common: Path, refs: Iterable[str]) -> dict[str, str]:
    """The objects that these refs lead to; a ref that does not exist is left out.

    Raises `UnusualRefError`.
    """
    if (common / "reftable").exists():
        raise UnusualRefError
    tips: dict[str, str] = {}
    for ref in refs:
        if not ref.startswith("refs/") or ref.startswith(_OWN):
            raise UnusualRefError
        # Who packs a ref removes its file last, so whoever finds no file finds the line.
        oid = _loose(common / ref) or _packed(common).refs.get(ref)
        if oid is not None:
            tips[ref] = oid
    return tips


def may_have_refs_below(common: Path, folder: str) -> bool:
    """Whether it cannot be ruled out that there are refs whose names begin with that of the folder."""
    if (common / "reftable").exists() or (common / folder).exists():
        return True
    try:
        names = _packed(common).names
    except UnusualRefError:
        return True
    place = bisect_left(names, f"{folder}/")
    return place < len(names) and names[place].startswith(f"{folder}/")


def _loose(file: Path) -> str | None:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # a link, or no permission
        raise UnusualRefError from error
    try:
        content = os.read(handle, _MOST)
    except IsADirectoryError:  # an empty one that a removed ref has left, or that of other refs
        return None
    finally:
        os.close(handle)
    match = _OBJECT.fullmatch(content)
    if match is None:
        raise UnusualRefError
    return match[1].decode()


class _Packed(Struct, frozen=True):
    refs: Mapping[str, str]
    names: Sequence[str]
    """The same, sorted."""


_NONE = _Packed({}, ())


def _packed(common: Path) -> _Packed:
    file = common / "packed-refs"
    try:
        seen = file.lstat()
    except FileNotFoundError:
        return _NONE
    return _parsed(file, (seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size))


_MOST_PACKED = 1 << 32
"""Bytes of a file of packed refs; a repository of millions has fewer."""


@lru_cache(maxsize=4)
def _parsed(file: Path, _state: tuple[int, ...]) -> _Packed:
    """Read once for each state of the file."""
    lines = read_file(file, most=_MOST_PACKED).splitlines()
    pairs = [line.split(b" ", 1) for line in lines if line[:1] not in {b"#", b"^"}]
    if not all(len(pair) == _PAIR and _OBJECT.fullmatch(pair[0] + b"\n") for pair in pairs):
        raise UnusualRefError  # git says what is wrong with it
    refs = {os.fsdecode(ref): oid.decode() for oid, ref in pairs}
    return _Packed(refs, sorted(refs))
