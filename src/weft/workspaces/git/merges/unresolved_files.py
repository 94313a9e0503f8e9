"""The files of a conflict that are not resolved, by comparison of the original contents with the present ones.

A file with conflict markers is resolved when none of these markers is left. The markers are the lines that neither
side has; similar lines of the file itself may stay. In other conflicts (one side removed the file, or it is
binary) the content shows nothing, so the agent must have acted: it changed the file, or ran `git add` or `git rm`.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from weft.workspaces.git.base.program import Git
from weft.workspaces.git.merges.conflict_note import ConflictNote, ConflictSide

Versions = Mapping[bytes, tuple[str, str]]
"""The mode and the id at each path."""


def unsettled(git: Git, opened: ConflictNote, tree: str, unmerged: AbstractSet[bytes]) -> list[bytes]:
    """Returns the unresolved paths; `tree` has the present contents, `unmerged` the conflicts in the index."""
    original, current = (versions_at(git, each_tree, opened.places) for each_tree in (opened.tree, tree))
    marks = _marks(git, opened, original)
    texts = _blobs(git, [current[place][1] for place in marks if place in current])
    return [
        place
        for place in opened.places
        if (
            _has_marks(texts, current.get(place), marks[place])
            if place in marks
            else place in original and place in unmerged and current.get(place) == original[place]
        )
    ]


def unmerged_in(git: Git) -> frozenset[bytes]:
    entries = git.do("ls-files", "--unmerged", "-z").split(b"\0")
    return frozenset(entry.split(b"\t", 1)[1] for entry in entries if entry)


def versions_at(git: Git, tree: str, places: Sequence[bytes]) -> Versions:
    names = (os.fsdecode(place) for place in places)
    listed = git.do("--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", *names)
    entries = (entry.split(b"\t", 1) for entry in listed.split(b"\0") if entry)
    fields = ((head.decode().split(" "), place) for head, place in entries)
    return {place: (mode, oid) for (mode, _, oid), place in fields}


def _marks(git: Git, opened: ConflictNote, original: Versions) -> dict[bytes, set[bytes]]:
    """Returns the marker lines of each file that differs from all of its versions."""
    sides: dict[bytes, list[ConflictSide]] = {}
    for side in opened.sides:
        sides.setdefault(side.place, []).append(side)
    merged = {
        place: [side.oid for side in several]
        for place, several in sides.items()
        if place in original and original[place][1] not in {side.oid for side in several}
    }
    blobs = _blobs(git, [oid for place, oids in merged.items() for oid in (original[place][1], *oids)])
    # Markers are computed, not matched: a line such as `=======` may belong to the file itself, a heading in a
    # text for example. Whatever the merged file has and no version of it has is a marker.
    marks_by_place = {
        place: _lines(blobs[original[place][1]]).difference({b""}, *(_lines(blobs[oid]) for oid in oids))
        for place, oids in merged.items()
    }
    return {place: marks for place, marks in marks_by_place.items() if marks}


def _has_marks(
    texts: Mapping[str, bytes], current: tuple[str, str] | None, marks: AbstractSet[bytes]
) -> bool:
    return current is not None and not marks.isdisjoint(_lines(texts[current[1]]))


def _lines(text: bytes) -> set[bytes]:
    # An agent's editor may have converted the line ends.
    return {line.rstrip(b"\r") for line in text.split(b"\n")}


def _blobs(git: Git, oids: Iterable[str]) -> dict[str, bytes]:
    """Returns the contents of these objects; empty for one that is no file."""
    ids = list(dict.fromkeys(oids))
    rest = git.do("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in ids).encode()) if ids else b""
    contents: dict[str, bytes] = {}
    for oid in ids:
        head, _, rest = rest.partition(b"\n")
        _, kind, *size = head.split(b" ")
        length = int(size[0]) if size else -1
        contents[oid] = rest[:length] if kind == b"blob" else b""
        rest = rest[length + 1 :]
    return contents
