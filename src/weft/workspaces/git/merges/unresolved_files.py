"""Which files of a conflict are not settled, by what was put into the worktree and what is there now.

A file into which git put marks is settled when none of these marks is left. The marks are the lines that no side
has: what else is in the file may look like them, and may stay. In other conflicts (one side removed the file, or
it is no text) the content tells nothing, so there somebody has to have said so: the file was changed, or `git add`
or `git rm` was told of it.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from weft.workspaces.git.base.program import Git
from weft.workspaces.git.merges.conflict_note import ConflictNote, ConflictSide

Found = Mapping[bytes, tuple[str, str]]
"""The mode and the id of what is at a place."""


def unsettled(git: Git, opened: ConflictNote, tree: str, unmerged: AbstractSet[bytes]) -> list[bytes]:
    """`tree` is of what is there now, `unmerged` what the index still has several versions of."""
    put, now = (versions_at(git, one, opened.places) for one in (opened.tree, tree))
    marks = _marks(git, opened, put)
    texts = _blobs(git, [now[place][1] for place in marks if place in now])
    return [
        place
        for place in opened.places
        if (
            _has(texts, now.get(place), marks[place])
            if place in marks
            else place in put and place in unmerged and now.get(place) == put[place]
        )
    ]


def unmerged_in(git: Git) -> frozenset[bytes]:
    entries = git.do("ls-files", "--unmerged", "-z").split(b"\0")
    return frozenset(entry.split(b"\t", 1)[1] for entry in entries if entry)


def versions_at(git: Git, tree: str, places: Sequence[bytes]) -> Found:
    names = (os.fsdecode(place) for place in places)
    listed = git.do("--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", *names)
    entries = (entry.split(b"\t", 1) for entry in listed.split(b"\0") if entry)
    fields = ((head.decode().split(" "), place) for head, place in entries)
    return {place: (mode, oid) for (mode, _, oid), place in fields}


def _marks(git: Git, opened: ConflictNote, put: Found) -> dict[bytes, set[bytes]]:
    """Of the files into which something was put that is none of their versions."""
    sides: dict[bytes, list[ConflictSide]] = {}
    for side in opened.sides:
        sides.setdefault(side.place, []).append(side)
    merged = {
        place: [side.oid for side in several]
        for place, several in sides.items()
        if place in put and put[place][1] not in {side.oid for side in several}
    }
    blobs = _blobs(git, [oid for place, oids in merged.items() for oid in (put[place][1], *oids)])
    found = {
        place: _lines(blobs[put[place][1]]).difference({b""}, *(_lines(blobs[oid]) for oid in oids))
        for place, oids in merged.items()
    }
    return {place: marks for place, marks in found.items() if marks}


def _has(texts: Mapping[str, bytes], now: tuple[str, str] | None, marks: AbstractSet[bytes]) -> bool:
    return now is not None and not marks.isdisjoint(_lines(texts[now[1]]))


def _lines(text: bytes) -> set[bytes]:
    return {line.rstrip(b"\r") for line in text.split(b"\n")}


def _blobs(git: Git, oids: Iterable[str]) -> dict[str, bytes]:
    """What these objects hold; nothing, of what is no file."""
    asked = list(dict.fromkeys(oids))
    rest = (
        git.do("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in asked).encode()) if asked else b""
    )
    found: dict[str, bytes] = {}
    for oid in asked:
        head, _, rest = rest.partition(b"\n")
        _, kind, *size = head.split(b" ")
        length = int(size[0]) if size else -1
        found[oid] = rest[:length] if kind == b"blob" else b""
        rest = rest[length + 1 :]
    return found
