"""Completing or reverting an interrupted fast-forward of a checkout.

git writes the files of a checkout first, then its index, then the ref. A git that is killed in between leaves some
files in their new state, one half written and the others untouched, and neither the index nor the ref shows which.
Before Weft starts a fast-forward, it therefore writes a *note* with the old and new commits. As long as the note
exists, each of these files is classified by its content alone: as before, as after, cut off (missing, or a prefix
of the new content), or foreign (changed by a person). Weft then completes the fast-forward. If a person has
changed one of the files meanwhile, Weft reverts git's part of the others instead. Files of a person stay as they
are.
"""

import os
from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import Path

import msgspec
from msgspec import Struct

from weft.safe_files import read_file, remove_file, replace_file
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import tip
from weft.workspaces.git.checkouts.commits import index_aside

_NOTE = "weft-forward"
_LARGEST = 64 << 20
_NOTHING = "000000"
_REPOSITORY = "160000"


class Forward(Struct, frozen=True, kw_only=True):
    """A fast-forward of a checkout."""

    ref: str
    before: str
    after: str
    reason: str
    kept: tuple[bytes, ...] = ()
    """Files that a person had staged in their new state; git leaves them alone, whatever their content."""


class Version(Struct, frozen=True):
    """A file in a commit."""

    mode: str
    oid: str

    @property
    def is_there(self) -> bool:
        return self.mode != _NOTHING


class FileVersions(Struct, frozen=True):
    """The versions of a file in two commits."""

    path: str
    before: Version
    after: Version


class FileState(Enum):
    """What is in the place of a file."""

    BEFORE = "before"
    AFTER = "after"
    CUT_OFF = "cut off"
    FOREIGN = "foreign"


class Settlement(Enum):
    """The result of settling an interrupted fast-forward."""

    UNTOUCHED = "untouched"
    """git had written nothing."""
    FORWARD = "forward"
    """Files and index are as in the new commit."""
    BACK = "back"
    """git's changes are reverted."""


def note_of(git_dir: Path) -> Forward | None:
    """Returns the fast-forward that is under way or was interrupted in a checkout."""
    try:
        return msgspec.json.decode(read_file(git_dir / _NOTE, most=_LARGEST), type=Forward)
    except (FileNotFoundError, msgspec.DecodeError):  # git starts only after the note is complete
        return None


def write_note(git_dir: Path, forward: Forward) -> None:
    replace_file(git_dir / _NOTE, msgspec.json.encode(forward))


def remove_note(git_dir: Path) -> None:
    remove_file(git_dir / _NOTE)


def changes_of(git: Git, before: str, after: str) -> list[FileVersions]:
    """Returns the files that differ between two commits."""
    fields = git.fields("diff-tree", "-r", "-z", "--no-renames", before, after)
    heads = (field.removeprefix(":").split(" ") for field in fields[::2])
    return [
        FileVersions(path, Version(old, old_oid), Version(new, new_oid))
        for (old, new, old_oid, new_oid, _), path in zip(heads, fields[1::2], strict=True)
    ]


def is_untouched(git: Git, git_dir: Path, forward: Forward) -> bool:
    """Returns whether git has written no file of the fast-forward."""
    states = _classify(git, git_dir, forward)
    return not {FileState.AFTER, FileState.CUT_OFF}.intersection(states.values())


def settle(git: Git, git_dir: Path, forward: Forward) -> Settlement:
    """Completes git's work on files and index, or reverts it if a person has changed one of the files.

    `git` is in the checkout, on the branch, which does not move here.
    """
    has_moved = tip(git, forward.ref) == forward.after
    state_by_change = _classify(git, git_dir, forward)
    states = frozenset(state_by_change.values())
    # Every file is as before or a person's: git has not begun to write.
    if not has_moved and states.isdisjoint({FileState.AFTER, FileState.CUT_OFF}):
        return Settlement.UNTOUCHED
    # Once the ref has moved, the work has landed and is never reverted. Before that, a file that a person has
    # changed meanwhile decides: the fast-forward would have been refused, so it is taken back.
    backwards = not has_moved and FileState.FOREIGN in states
    right = FileState.BEFORE if backwards else FileState.AFTER
    ours = {change: state for change, state in state_by_change.items() if state is not FileState.FOREIGN}
    versions = {change: change.before if backwards else change.after for change in ours}
    # All of git's files are staged in their final version, even those that are right on disk already: the index
    # of the killed git may be from before.
    _put(git, versions, [change for change, state in ours.items() if state is not right])
    return Settlement.BACK if backwards else Settlement.FORWARD


def _classify(git: Git, git_dir: Path, forward: Forward) -> dict[FileVersions, FileState]:
    untouched = {*forward.kept, *_left_out(git)}
    changes = [
        change
        for change in changes_of(git, forward.before, forward.after)
        if os.fsencode(change.path) not in untouched
        and _REPOSITORY not in {change.before.mode, change.after.mode}
    ]
    # Two comparisons for all files together, each of a few processes, instead of some for each file.
    as_before = _matching(git, git_dir, {change.path: change.before for change in changes})
    as_after = _matching(git, git_dir, {change.path: change.after for change in changes})
    paths = frozenset(change.path for change in changes)
    return {
        change: FileState.FOREIGN
        if _is_in_the_way(git.directory, change.path, paths)
        else _state(git, change, as_before, as_after)
        for change in changes
    }


def _is_in_the_way(top: Path, path: str, paths: Collection[str]) -> bool:
    """Returns whether an untracked file is at the path, above it or below it."""
    above = (str(folder) for folder in Path(path).parents[:-1])
    if any(_is_file(top / folder) and folder not in paths for folder in above):
        return True
    place = top / path
    if not place.is_dir() or place.is_symlink():
        return False
    below = (file for file in place.rglob("*") if _is_file(file))
    return any(str(file.relative_to(top)) not in paths for file in below)


def _left_out(git: Git) -> list[bytes]:
    """Returns the files that a sparse checkout leaves out."""
    if git.ask("config", "--type=bool", "--get", "core.sparseCheckout").text != "true":
        return []
    entries = git.do("ls-files", "-t", "-z").split(b"\0")
    return [entry[2:] for entry in entries if entry.startswith(b"S ")]


def _state(git: Git, change: FileVersions, as_before: frozenset[str], as_after: frozenset[str]) -> FileState:
    if change.path in as_after:
        return FileState.AFTER
    if change.path in as_before:
        return FileState.BEFORE
    return FileState.CUT_OFF if _is_cut_off(git, change) else FileState.FOREIGN


def _matching(git: Git, git_dir: Path, versions: Mapping[str, Version]) -> frozenset[str]:
    """Returns the files that are as in these versions. git compares them, because filters may convert them."""
    present = {path: version for path, version in versions.items() if version.is_there}
    absent = frozenset(
        path for path in versions.keys() - present.keys() if not _is_file(git.directory / path)
    )
    if not present:
        return absent
    # A separate index, because the person's own may hold staged work, or the lock of the killed git.
    with index_aside(git_dir) as env:
        # Only the files in question are in this index, without stat data, so git compares contents.
        git.do("read-tree", "--empty", env=env)
        _stage(git, present, env)
        git.ask("update-index", "-q", "--refresh", env=env)  # a failure only means that a file differs
        names = git.do("diff-files", "-z", "--name-only", env=env).split(b"\0")
        differing = frozenset(os.fsdecode(name) for name in names)
    return absent | (present.keys() - differing)


def _stage(git: Git, versions: Mapping[str, Version], env: Mapping[str, str]) -> None:
    lines = (f"{version.mode} {version.oid}\t{path}" for path, version in versions.items())
    git.do("update-index", "-z", "--index-info", stdin=os.fsencode("\0".join((*lines, ""))), env=env)


def _is_file(place: Path) -> bool:
    """Returns whether a file or link is there. A directory does not count: it may hold other new files."""
    return os.path.lexists(place) and (place.is_symlink() or not place.is_dir())


def _is_cut_off(git: Git, change: FileVersions) -> bool:
    """Returns whether git has removed the file to rewrite it and has not finished."""
    place = git.directory / change.path
    # git unlinks a file before it writes the new one, so a missing file of the old commit counts as git's
    # doing.
    if not _is_file(place):
        return change.before.is_there
    if not change.after.is_there or place.is_symlink() or not place.is_file():
        return False
    # git writes a file from its beginning, so an interrupted one is a proper prefix of the new content.
    content = git.do("cat-file", "--filters", f"--path={change.path}", change.after.oid)
    return place.stat().st_size < len(content) and content.startswith(place.read_bytes())


def _put(git: Git, versions: Mapping[FileVersions, Version], wrong: Collection[FileVersions]) -> None:
    """Writes these versions to the index, and those of `wrong` to the checkout."""
    if not versions:
        return
    _stage(git, {change.path: version for change, version in versions.items()}, {})
    # Removals first: a file may become a directory, and the reverse.
    for change in wrong:
        if not versions[change].is_there:
            _remove(git.directory, change.path)
    written = [change.path for change in wrong if versions[change].is_there]
    if written:
        paths = os.fsencode("\0".join((*written, "")))
        git.do("checkout-index", "--force", "--index", "--quiet", "-z", "--stdin", stdin=paths)
    git.ask("update-index", "-q", "--refresh")


def _remove(top: Path, path: str) -> None:
    """Removes a file and the directories that are empty without it."""
    place = top / path
    if _is_file(place):
        place.unlink()
    for folder in place.relative_to(top).parents[:-1]:
        try:
            (top / folder).rmdir()
        except OSError:
            return
