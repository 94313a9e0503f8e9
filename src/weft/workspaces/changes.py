"""The changes of files that slices made, and their combination. Pure.

A slice starts with some files and leaves others. For each file that differs, its *change* is the version before
and the version after. A version is a content with its executable bit, the target of a link, or nothing.

Folding determines the resulting version of each file from a set of slices. The result does not depend on their
order:

- A slice that comes after another has seen the other's changes. Among all slices that changed a file, only those
  count that made a change which none of the others has seen.
- The same change by two slices that are independent of each other is one change: a slice that has seen it from one
  of them has seen it from both.
- If those that count leave the same version, that is the result; otherwise they are in conflict.

A file cannot be where another slice's files form a directory: that is a conflict as well. Files that a slice
received from the plan's directory are no changes, and changes take precedence over them.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice

from msgspec import Struct, field

from weft.ports.workspaces import ConflictError
from weft.workspaces.errors import shown

_MOST_FILES_SHOWN = 10


class VersionKind(StrEnum):
    """The kind of a file version."""

    FILE = "file"
    PROGRAM = "program"
    """A file that may be executed."""
    LINK = "link"


class FileVersion(Struct, frozen=True, kw_only=True, array_like=True):
    """A version of a file."""

    kind: VersionKind
    content: bytes
    """The digest of a file's content; the target of a link."""


class Change(Struct, frozen=True, kw_only=True, array_like=True):
    """The change of a file; None stands for no file."""

    before: FileVersion | None
    after: FileVersion | None
    """None if there is no such file."""


class SliceOrigin(Struct, frozen=True, kw_only=True):
    """The files that a slice started with."""

    preparation: str
    """A unique id of this creation of the workspace."""
    after: tuple[str, ...]
    files: dict[bytes, FileVersion]
    built_on: dict[str, str] = field(default_factory=dict[str, str])
    """For each slice that it comes after, the `preparation` of the record that it received."""


class SliceChanges(Struct, frozen=True, kw_only=True):
    """The changes that a slice made."""

    preparation: str
    after: tuple[str, ...]
    """The slices that it comes after, directly or indirectly; it has seen their work."""
    changes: dict[bytes, Change]
    left_out: tuple[bytes, ...] = ()
    """Entries that are neither files nor links."""


Folded = dict[bytes, FileVersion | None]
"""The resulting version of each file that was changed."""


def fold(records: Mapping[str, SliceChanges]) -> Folded:
    """Returns the combination of these changes. Raises `ConflictError`."""
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
    """Returns the slices that decide about the file: no other has seen their change of it.

    If each change was seen by another slice, these are all latest ones.
    """
    if len(writers) == 1:
        return writers
    latest = _latest(writers, records)
    if len({records[path].changes[file].after for path in latest}) == 1:
        return latest
    # Two slices may have made the same change independently. If a later slice saw it from one of them and then
    # changed the file again, its version supersedes both.
    made_by: dict[Change, set[str]] = {}
    for path in set(writers).difference(latest):  # one of the latest has seen each of these
        made_by.setdefault(records[path].changes[file], set()).add(path)
    unseen = [path for path in latest if _is_own(records[path], file, made_by)]
    return unseen or latest


def _is_own(record: SliceChanges, file: bytes, made_by: Mapping[Change, set[str]]) -> bool:
    """Returns whether no slice that this one has not seen made the same change before."""
    return made_by.get(record.changes[file], set[str]()).issubset(record.after)


def _latest(writers: Sequence[str], records: Mapping[str, SliceChanges]) -> list[str]:
    """Returns the writers that no other writer comes after."""
    superseded: set[str] = set()
    latest: list[str] = []
    for path in reversed(writers):  # later ones usually come after earlier ones, so few sets are needed
        if path not in superseded:
            latest.append(path)
            superseded.update(records[path].after)
    return [path for path in reversed(latest) if path not in superseded]


# Files and directories


def folders_of(files: Iterable[bytes]) -> set[bytes]:
    """Returns all folders that contain these files, directly or indirectly."""
    folders: set[bytes] = set()
    for file in files:
        folder = file
        while (end := folder.rfind(b"/")) > 0 and (folder := folder[:end]) not in folders:
            folders.add(folder)
    return folders


def _files_in_the_way(folded: Folded, deciding: Mapping[bytes, Sequence[str]]) -> dict[bytes, list[str]]:
    """Returns the paths that are a file for one slice and a directory for another."""
    present = [file for file, version in folded.items() if version is not None]
    writers_by_path = {file: [*deciding[file]] for file in folders_of(present).intersection(present)}
    if writers_by_path:
        for file in present:
            for folder in folders_of((file,)) & writers_by_path.keys():
                writers_by_path[folder].extend(deciding[file])
    return writers_by_path


def _conflict(conflicts: Mapping[bytes, Sequence[str]], order: Mapping[str, int]) -> ConflictError:
    files = {shown(file): sorted(set(conflicts[file]), key=order.__getitem__) for file in sorted(conflicts)}
    parts = [f"{file} ({', '.join(paths)})" for file, paths in islice(files.items(), _MOST_FILES_SHOWN)]
    if len(files) > len(parts):
        parts.append(f"and {len(files) - len(parts)} more")
    return ConflictError(
        f"subplans that do not depend on each other changed the same files in different ways: {'; '.join(parts)}. "
        "Let one of them depend on the other with `depends_on`, and run the plan again",
        tuple(files),
    )
