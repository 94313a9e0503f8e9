"""What slices did, as changes of files, and how the changes of several come together. Pure.

A slice starts with some files and leaves others; for each file that is different, its *change* is the version
before and the version after. A version is a content with its executable bit, the target of a link, or nothing.

To fold is to say which version of each file results from a set of slices. It does not depend on their order:

- Who comes after another has seen what that one did. So of all that changed a file only those count whose change
  no other of them has seen.
- The same change, made by two of whom none comes after the other, is one change: who has seen it from one of them
  has seen it from the other, too.
- If those that count leave the same version, that is the result; else they are in conflict.

A file cannot be where another slice's files make a directory: that is a conflict as well. What a slice was given
from the plan's directory is no change, and gives way to changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice

from msgspec import Struct, field

from weft.ports.workspaces import ConflictError
from weft.workspaces.errors import shown

_MOST_FILES_TOLD = 10


class VersionKind(StrEnum):
    FILE = "file"
    PROGRAM = "program"
    """A file that may be executed."""
    LINK = "link"


class FileVersion(Struct, frozen=True, kw_only=True, array_like=True):
    kind: VersionKind
    content: bytes
    """The digest of a file's content; the target of a link."""


class Change(Struct, frozen=True, kw_only=True, array_like=True):
    before: FileVersion | None
    after: FileVersion | None
    """None: no such file."""


class SliceOrigin(Struct, frozen=True, kw_only=True):
    """What a slice began with."""

    preparation: str
    """Names this making of the workspace, and no other."""
    after: tuple[str, ...]
    files: dict[bytes, FileVersion]
    built_on: dict[str, str] = field(default_factory=dict[str, str])
    """For each slice that it comes after, the making of the workspace whose record it was given."""


class SliceChanges(Struct, frozen=True, kw_only=True):
    """What a slice did."""

    preparation: str
    after: tuple[str, ...]
    """The slices whose work it has seen, near and far."""
    changes: dict[bytes, Change]
    left_out: tuple[bytes, ...] = ()
    """What it left that is neither a file nor a link."""


Folded = dict[bytes, FileVersion | None]
"""What became of each file that was changed."""


def fold(records: Mapping[str, SliceChanges]) -> Folded:
    """Raises ConflictError."""
    writers: dict[bytes, list[str]] = {}
    for path, record in records.items():
        for file in record.changes:
            writers.setdefault(file, []).append(path)
    deciding = {file: _deciding(file, by, records) for file, by in writers.items()}
    folded: Folded = {file: records[by[0]].changes[file].after for file, by in deciding.items()}
    conflicts: dict[bytes, Sequence[str]] = {
        file: by
        for file, by in deciding.items()
        if any(records[path].changes[file].after != folded[file] for path in by)
    }
    conflicts |= _files_in_the_way(folded, deciding)
    if conflicts:
        raise _conflict(conflicts, {path: number for number, path in enumerate(records)})
    return folded


def _deciding(file: bytes, writers: Sequence[str], records: Mapping[str, SliceChanges]) -> Sequence[str]:
    """Those whose change of the file no other has seen; all the latest, if these have seen each other's."""
    if len(writers) == 1:
        return writers
    latest = _latest(writers, records)
    if len({records[path].changes[file].after for path in latest}) == 1:
        return latest
    made_by: dict[Change, set[str]] = {}
    for path in set(writers).difference(latest):  # each has been seen by one of the latest
        made_by.setdefault(records[path].changes[file], set()).add(path)
    unseen = [path for path in latest if _is_own(records[path], file, made_by)]
    return unseen or latest


def _is_own(record: SliceChanges, file: bytes, made_by: Mapping[Change, set[str]]) -> bool:
    """Whether the change was not made before by a slice that this one does not come after."""
    return made_by.get(record.changes[file], set[str]()).issubset(record.after)


def _latest(writers: Sequence[str], records: Mapping[str, SliceChanges]) -> list[str]:
    """Those that no other of them comes after."""
    seen: set[str] = set()
    latest: list[str] = []
    for path in reversed(writers):  # mostly later ones come after earlier ones, so few sets are made
        if path not in seen:
            latest.append(path)
            seen.update(records[path].after)
    return [path for path in reversed(latest) if path not in seen]


# Files and directories


def folders_of(files: Iterable[bytes]) -> set[bytes]:
    found: set[bytes] = set()
    for file in files:
        folder = file
        while (end := folder.rfind(b"/")) > 0 and (folder := folder[:end]) not in found:
            found.add(folder)
    return found


def _files_in_the_way(folded: Folded, deciding: Mapping[bytes, Sequence[str]]) -> dict[bytes, list[str]]:
    """What is a file by one slice and a directory by another."""
    present = [file for file, version in folded.items() if version is not None]
    found = {file: [*deciding[file]] for file in folders_of(present).intersection(present)}
    if found:
        for file in present:
            for folder in folders_of((file,)) & found.keys():
                found[folder].extend(deciding[file])
    return found


def _conflict(conflicts: Mapping[bytes, Sequence[str]], order: Mapping[str, int]) -> ConflictError:
    files = {shown(file): sorted(set(conflicts[file]), key=order.__getitem__) for file in sorted(conflicts)}
    told = [f"{file} ({', '.join(paths)})" for file, paths in islice(files.items(), _MOST_FILES_TOLD)]
    if len(files) > len(told):
        told.append(f"and {len(files) - len(told)} more")
    return ConflictError(
        f"subplans that do not depend on each other changed the same files in different ways: {'; '.join(told)}. "
        "Let one of them depend on the other with `depends_on`, and have it done again",
        tuple(files),
    )
