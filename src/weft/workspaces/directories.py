"""`isolation: dir`: a directory for each slice, which starts with the changes of the slices before it.

Below one directory, the *root*, there are

- `store.model`    the workspace of the slice `store/model`, or the combined result of a group
- `_plan`          the combined result of the plan
- `_starts/…`      the files that a slice started with. It is written when the workspace is complete and removed
                   before the workspace is created again, so a workspace without one is incomplete
- `_records/…`     the changes of a slice since its start. Other slices start with these and never with its
                   directory, which may be changed or removed without harm
- `_objects/…`     the contents that records refer to
- `_watched/…`     the state of a slice's files before the steps that are watched there
- `_new.…`, `_old.…`  a directory that is being created, and one that is being removed

A directory is created under another name and then renamed, so a directory under its proper name is complete. A
record is written after all its contents are synced. Each operation can be repeated from its start and replaces the
remains of an earlier attempt. Records survive a power loss. A workspace in use survives the death of any process,
but a power loss may cost it the files of the last seconds.

Names of slices start with a letter or digit, so they never equal one of those above. Agents may leave links
anywhere below the root; Weft follows none of them. The root itself is opened by its path.
"""

import os
import re
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from weft.engine.messages.facts import EarlierSlice, RefMove
from weft.ids import file_name
from weft.plan.language.values import ID_PATTERN
from weft.plan.order.globs import matches
from weft.ports.workspaces import (
    Breach,
    ContinuationResult,
    MergeRequest,
    MergeResult,
    StepWatch,
    WorkspaceRequest,
)
from weft.safe_files import UnsafeFileError, open_folder
from weft.workspaces.build import build
from weft.workspaces.changes import FileVersion, Folded, SliceChanges, SliceOrigin, fold
from weft.workspaces.comparison import changes_since
from weft.workspaces.contents import Contents, load, remove, save
from weft.workspaces.errors import START_OVER, WorkspaceError, listed, shown
from weft.workspaces.fingerprints import Prints, Readers, prints_in
from weft.workspaces.no_history import NoHistory
from weft.workspaces.safe_walk import FOLDER_FLAGS, Cursor, wipe
from weft.workspaces.untracked_files import select_files, with_changes

_T = TypeVar("_T")
_PATH = re.compile(f"{ID_PATTERN}(/{ID_PATTERN})*")


class _Folders(msgspec.Struct, frozen=True, kw_only=True):
    """The open directories of a root."""

    root: int
    starts: int
    records: int
    objects: int


class DirectoryWorkspaces(NoHistory):
    """Workspaces as directories.

    Several threads may use one object, for different subplans; steps of one slice may overlap.
    """

    def __init__(self, root: Path, plan_dir: Path) -> None:
        self._root = root.absolute()
        self._plan_dir = plan_dir.absolute()
        self._at_steps: defaultdict[str, Lock] = defaultdict(Lock)

    def place(self, path: str) -> Path:
        return self._root / _name(path)

    def scratch(self, path: str) -> Path:
        return self.place(path)

    def prepare(self, request: WorkspaceRequest) -> Sequence[RefMove]:
        name = _name(request.path)
        with self._open_folders() as folders:
            folded = _fold(folders, request.after)
            # Without its start, a workspace counts as incomplete. The start is removed before the old directory
            # and written after the new one.
            remove(folders.starts, name)
            files = self._make(folders, name, folded, (request.copy, request.link))
            built_on = _built_on(folders, request.after)
            start = SliceOrigin(
                preparation=os.urandom(16).hex(), after=request.after, files=files, built_on=built_on
            )
            save(folders.starts, name, msgspec.msgpack.encode(start))
        return ()

    def continue_after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> ContinuationResult:  # noqa: ARG002
        """Keeps the work of an interrupted step: without a history it cannot be separated from other work."""
        with self._open_folders() as folders:
            start = _load(folders.starts, _name(request.path), SliceOrigin)
            if start is None or start.after != request.after:
                return ContinuationResult(is_kept=False)
            is_same = start.built_on == _built_on(folders, request.after)
            return ContinuationResult(is_kept=is_same and self.place(request.path).is_dir())

    def accept(self, path: str) -> None:
        name = _name(path)
        with self._open_folders() as folders:
            start = self._start(folders, path)
            changes = self._compare(folders, path, start).changes
            files = {file: version for file, version in start.files.items() if file not in changes}
            files |= {file: change.after for file, change in changes.items() if change.after is not None}
            save(folders.starts, name, msgspec.msgpack.encode(replace(start, files=files)))

    def prove(self, path: str) -> None:
        with self._open_folders() as folders:
            os.close(_enter(folders, path))

    # Steps that may only read

    def is_own(self, path: str) -> bool:  # noqa: ARG002 - all are
        return True

    def watch(self, watch: StepWatch) -> None:
        """Watches readers only; changes by other steps are found when the slice is merged."""
        path = watch.work.path
        with self._reading(path) as (folders, notes, stored):
            readers = stored.limited_to(watch.beside, others_read=watch.reads)
            if watch.reads:
                before = _prints(folders, path) if readers.are_none else readers.before
                readers = readers.with_job(watch.job, before)
            _save_readers(notes, path, readers, stored)

    def unwatch(self, path: str, jobs: Collection[str]) -> None:
        with self._reading(path) as (_, notes, stored):
            _save_readers(notes, path, stored.limited_to(jobs), stored)

    def restore(self, path: str, job: str) -> Breach | None:
        """Reports the breach of a reader. Its changes cannot be undone here."""
        with self._reading(path) as (folders, notes, stored):
            readers = stored
            if job not in readers.changed:
                return None
            if not readers.changed[job]:
                readers = readers.after_end(job, _prints(folders, path))
                _save_readers(notes, path, readers, stored)
        files = readers.changed[job]
        breach = f"it may only read, and changed {listed(files)}"
        why = "that is not undone, because `isolation: dir` keeps no earlier versions"
        return Breach(message=f"{breach}; {why}", files=files) if files else None

    @contextmanager
    def _reading(self, path: str) -> Generator[tuple[_Folders, int, Readers]]:
        """Yields the open directories, that of the notes, and the note of this slice."""
        with self._at_steps[path], self._open_folders() as folders, ExitStack() as stack:
            notes = _open_subfolder(folders.root, "_watched", stack)
            yield folders, notes, _load(notes, _name(path), Readers) or Readers()

    # Combined results

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        with self._open_folders() as folders:
            folded = _fold(folders, request.slices)
            self._make(folders, _name(request.path), folded, (request.copy, request.link))
        return ()

    def merge(self, request: MergeRequest) -> MergeResult:
        with self._open_folders() as folders:
            if not request.is_group:
                self._keep(folders, request.path, request.files)
            _fold(folders, request.slices)
        return MergeResult()

    def left_out(self, path: str) -> tuple[str, ...]:
        """Returns entries of a recorded slice that cannot be stored: fifos, sockets, devices."""
        with self._open_folders() as folders:
            return tuple(shown(file) for file in _read_record(folders, path).left_out)

    def _start(self, folders: _Folders, path: str) -> SliceOrigin:
        start = _load(folders.starts, _name(path), SliceOrigin)
        if start is None:
            raise WorkspaceError(f"the workspace of {path!r} is incomplete; {START_OVER}")
        return start

    def _keep(self, folders: _Folders, path: str, files: Sequence[str] | None) -> None:
        """Records the changes of a slice. An existing record of the same workspace creation stays."""
        name, start = _name(path), self._start(folders, path)
        existing = _load(folders.records, name, SliceChanges)
        # A record of an earlier creation belongs to other files; the id tells them apart, even if both have the
        # same name.
        if existing is not None and existing.preparation != start.preparation:
            existing = None
        record = existing or self._compare(folders, path, start)
        if files is not None:
            _refuse_others(path, record.changes, files)
        if existing is None:
            save(folders.records, name, msgspec.msgpack.encode(record))

    def _compare(self, folders: _Folders, path: str, start: SliceOrigin) -> SliceChanges:
        contents = Contents(folders.objects, _name(path))
        with Cursor(_enter(folders, path)) as cursor:
            changes, left_out = changes_since(start, cursor, contents)
        # The names of the contents become durable before the record that refers to them is written.
        contents.sync()
        return SliceChanges(
            preparation=start.preparation, after=start.after, changes=changes, left_out=left_out
        )

    def _make(
        self, folders: _Folders, name: str, folded: Folded, globs: tuple[Sequence[str], Sequence[str]]
    ) -> dict[bytes, FileVersion]:
        """Creates a directory with these files, in place of an existing one."""
        parts = with_changes(select_files(self._plan_dir, *globs), folded)
        new, old = f"_new.{name}", f"_old.{name}"
        wipe(folders.root, new)
        os.mkdir(new, dir_fd=folders.root)
        top = os.open(new, FOLDER_FLAGS, dir_fd=folders.root)
        versions = build(top, parts, Contents(folders.objects, name), self._plan_dir)
        # Two renames instead of a deletion: at no moment is there a half-filled directory under the proper
        # name.
        wipe(folders.root, old)
        with suppress(FileNotFoundError):
            os.rename(name, old, src_dir_fd=folders.root, dst_dir_fd=folders.root)
        os.rename(new, name, src_dir_fd=folders.root, dst_dir_fd=folders.root)
        wipe(folders.root, old)
        return versions

    @contextmanager
    def _open_folders(self) -> Generator[_Folders]:
        with ExitStack() as stack:
            root = _open_root(self._root)
            stack.callback(os.close, root)
            names = ("starts", "records", "objects")
            folders = {name: _open_subfolder(root, f"_{name}", stack) for name in names}
            yield _Folders(root=root, **folders)


def _open_root(root: Path) -> int:
    try:
        with open_folder(root, make=True) as folder:
            return os.dup(folder.descriptor)
    except UnsafeFileError as error:
        raise WorkspaceError(f"{error}, but Weft's place for workspaces; remove it") from None


def _open_subfolder(root: int, name: str, stack: ExitStack) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=root)
        os.fsync(root)
    try:
        folder = os.open(name, FOLDER_FLAGS, dir_fd=root)
    except NotADirectoryError:
        raise WorkspaceError(
            f"{name} in Weft's directory for workspaces is no directory; remove it"
        ) from None
    stack.callback(os.close, folder)
    return folder


def _name(path: str) -> str:
    if path and not _PATH.fullmatch(path):
        raise WorkspaceError(f"{path!r} is not the path of a subplan, so it has no workspace")
    return file_name(path)


def _enter(folders: _Folders, path: str) -> int:
    try:
        return os.open(_name(path), FOLDER_FLAGS, dir_fd=folders.root)
    except (FileNotFoundError, NotADirectoryError):
        raise WorkspaceError(f"the workspace of {path!r} is not a directory; {START_OVER}") from None


def _prints(folders: _Folders, path: str) -> Prints:
    with Cursor(_enter(folders, path)) as cursor:
        return prints_in(cursor)


def _save_readers(notes: int, path: str, readers: Readers, stored: Readers) -> None:
    if readers != stored:
        save(notes, _name(path), msgspec.msgpack.encode(readers))


def _refuse_others(path: str, changed: Iterable[bytes], allowed: Sequence[str]) -> None:
    others = [file for file in changed if not any(matches(glob, os.fsdecode(file)) for glob in allowed)]
    if others:
        raise WorkspaceError(
            f"{path} changed files outside of its `files`, and `strict_files` forbids that: "
            f"{listed([shown(file) for file in sorted(others)])}"
        )


def _built_on(folders: _Folders, slices: Sequence[str]) -> dict[str, str]:
    return {path: _read_record(folders, path).preparation for path in slices}


def _fold(folders: _Folders, slices: Sequence[str]) -> Folded:
    return fold({path: _read_record(folders, path) for path in slices})


def _read_record(folders: _Folders, path: str) -> SliceChanges:
    record = _load(folders.records, _name(path), SliceChanges)
    if record is None:
        raise WorkspaceError(f"there is no record of the work of {path!r}; {START_OVER}")
    return record


def _load(folder: int, name: str, kind: type[_T]) -> _T | None:
    data = load(folder, name)
    try:
        return None if data is None else msgspec.msgpack.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WorkspaceError(f"cannot read the record of {name!r}: {error}; {START_OVER}") from None
