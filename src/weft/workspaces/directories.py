"""`isolation: dir`: a directory for each slice, which starts with what the slices before it did.

Below one directory, the *root*, there are

- `store.model`    where the slice `store/model` works; also where a group's children come together
- `_plan`          where all of the plan comes together
- `_starts/…`      what a slice began with. It is written when the workspace is whole and removed before it is made
                   anew, so a workspace without one is not to be used
- `_records/…`     what a slice did: its changes since its start. Others start with these and never with its
                   directory, which may be changed or removed without harm
- `_objects/…`     the contents that records speak of
- `_watched/…`     how the files of a slice were before the steps that are watched there
- `_new.…`, `_old.…`  a directory that is being made, and one that is being removed

A directory is made aside and then put in its place, so what is in its place is whole. A record is written when all
contents that it speaks of are on the disk. Each step may be done again from its beginning: what it finds of an
earlier go it replaces. What is kept outlasts a power cut; a workspace in use outlasts the death of any process,
but not of the machine, if files of the last seconds are not on the disk yet.

Names of slices begin with a letter or digit, so none is one of those above. Agents may leave links anywhere below
the root; none is ever followed. The root itself is opened by its path.
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
from weft.workspaces.errors import ANEW, WorkspaceError, listed, shown
from weft.workspaces.fingerprints import Prints, Readers, prints_in
from weft.workspaces.no_history import NoHistory
from weft.workspaces.safe_walk import FOLDER_FLAGS, Cursor, wipe
from weft.workspaces.untracked_files import given, with_changes

_T = TypeVar("_T")
_PATH = re.compile(f"{ID_PATTERN}(/{ID_PATTERN})*")


class _Rooms(msgspec.Struct, frozen=True, kw_only=True):
    """The open directories of a root."""

    root: int
    starts: int
    records: int
    objects: int


class DirectoryWorkspaces(NoHistory):
    """Several threads may use one, if no two are about the same subplan, but for its steps."""

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
        with self._opened() as rooms:
            folded = _fold(rooms, request.after)
            remove(rooms.starts, name)
            files = self._make(rooms, name, folded, (request.copy, request.link))
            built_on = _built_on(rooms, request.after)
            start = SliceOrigin(
                preparation=os.urandom(16).hex(), after=request.after, files=files, built_on=built_on
            )
            save(rooms.starts, name, msgspec.msgpack.encode(start))
        return ()

    def continue_after(self, request: WorkspaceRequest, earlier: EarlierSlice) -> ContinuationResult:  # noqa: ARG002
        """What a step left here that was cut off stays: without a history nothing says what it is."""
        with self._opened() as rooms:
            start = _loaded(rooms.starts, _name(request.path), SliceOrigin)
            if start is None or start.after != request.after:
                return ContinuationResult(is_kept=False)
            is_same = start.built_on == _built_on(rooms, request.after)
            return ContinuationResult(is_kept=is_same and self.place(request.path).is_dir())

    def accept(self, path: str) -> None:
        name = _name(path)
        with self._opened() as rooms:
            start = self._start(rooms, path)
            changes = self._compared(rooms, path, start).changes
            files = {file: version for file, version in start.files.items() if file not in changes}
            files |= {file: change.after for file, change in changes.items() if change.after is not None}
            save(rooms.starts, name, msgspec.msgpack.encode(replace(start, files=files)))

    def prove(self, path: str) -> None:
        with self._opened() as rooms:
            os.close(_entered(rooms, path))

    # Steps that may only read

    def is_own(self, path: str) -> bool:  # noqa: ARG002 - all are
        return True

    def watch(self, watch: StepWatch) -> None:
        """Only readers: what else a step changes is seen when the slice is merged."""
        path = watch.work.path
        with self._reading(path) as (rooms, room, known):
            readers = known.parted(watch.beside, others_read=watch.reads)
            if watch.reads:
                before = _prints(rooms, path) if readers.are_none else readers.before
                readers = readers.joined(watch.job, before)
            _save_readers(room, path, readers, known)

    def unwatch(self, path: str, jobs: Collection[str]) -> None:
        with self._reading(path) as (_, room, known):
            _save_readers(room, path, known.parted(jobs), known)

    def restore(self, path: str, job: str) -> Breach | None:
        """Nothing can be undone here."""
        with self._reading(path) as (rooms, room, known):
            readers = known
            if job not in readers.changed:
                return None
            if not readers.changed[job]:
                readers = readers.answering(job, _prints(rooms, path))
                _save_readers(room, path, readers, known)
        files = readers.changed[job]
        said = f"it may only read, and changed {listed(files)}"
        why = "that is not undone, for with `isolation: dir` nobody knows what was there before"
        return Breach(message=f"{said}; {why}", files=files) if files else None

    @contextmanager
    def _reading(self, path: str) -> Generator[tuple[_Rooms, int, Readers]]:
        """The open directories, that of the notes, and what is noted; steps of a slice may overlap."""
        with self._at_steps[path], self._opened() as rooms, ExitStack() as stack:
            room = _room(rooms.root, "_watched", stack)
            yield rooms, room, _loaded(room, _name(path), Readers) or Readers()

    # Coming together

    def gather(self, request: MergeRequest) -> Sequence[RefMove]:
        with self._opened() as rooms:
            folded = _fold(rooms, request.slices)
            self._make(rooms, _name(request.path), folded, (request.copy, request.link))
        return ()

    def merge(self, request: MergeRequest) -> MergeResult:
        with self._opened() as rooms:
            if not request.is_group:
                self._keep(rooms, request.path, request.files)
            _fold(rooms, request.slices)
        return MergeResult()

    def left_out(self, path: str) -> tuple[str, ...]:
        """What a slice that was kept left that cannot be kept: fifos, sockets, devices."""
        with self._opened() as rooms:
            return tuple(shown(file) for file in _recorded(rooms, path).left_out)

    def _start(self, rooms: _Rooms, path: str) -> SliceOrigin:
        start = _loaded(rooms.starts, _name(path), SliceOrigin)
        if start is None:
            raise WorkspaceError(f"the workspace of {path!r} is not whole; {ANEW}")
        return start

    def _keep(self, rooms: _Rooms, path: str, files: Sequence[str] | None) -> None:
        """If this making of the workspace was kept before, that stays, whatever has been done there since."""
        name, start = _name(path), self._start(rooms, path)
        kept = _loaded(rooms.records, name, SliceChanges)
        if kept is not None and kept.preparation != start.preparation:
            kept = None
        record = kept or self._compared(rooms, path, start)
        if files is not None:
            _refuse_others(path, record.changes, files)
        if kept is None:
            save(rooms.records, name, msgspec.msgpack.encode(record))

    def _compared(self, rooms: _Rooms, path: str, start: SliceOrigin) -> SliceChanges:
        contents = Contents(rooms.objects, _name(path))
        with Cursor(_entered(rooms, path)) as cursor:
            changes, left_out = changes_since(start, cursor, contents)
        contents.sync()
        return SliceChanges(
            preparation=start.preparation, after=start.after, changes=changes, left_out=left_out
        )

    def _make(
        self, rooms: _Rooms, name: str, folded: Folded, globs: tuple[Sequence[str], Sequence[str]]
    ) -> dict[bytes, FileVersion]:
        """A directory with these files, in place of what is there."""
        parts = with_changes(given(self._plan_dir, *globs), folded)
        new, old = f"_new.{name}", f"_old.{name}"
        wipe(rooms.root, new)
        os.mkdir(new, dir_fd=rooms.root)
        top = os.open(new, FOLDER_FLAGS, dir_fd=rooms.root)
        made = build(top, parts, Contents(rooms.objects, name), self._plan_dir)
        wipe(rooms.root, old)
        with suppress(FileNotFoundError):
            os.rename(name, old, src_dir_fd=rooms.root, dst_dir_fd=rooms.root)
        os.rename(new, name, src_dir_fd=rooms.root, dst_dir_fd=rooms.root)
        wipe(rooms.root, old)
        return made

    @contextmanager
    def _opened(self) -> Generator[_Rooms]:
        with ExitStack() as stack:
            root = _open_root(self._root)
            stack.callback(os.close, root)
            names = ("starts", "records", "objects")
            rooms = {name: _room(root, f"_{name}", stack) for name in names}
            yield _Rooms(root=root, **rooms)


def _open_root(root: Path) -> int:
    try:
        with open_folder(root, make=True) as folder:
            return os.dup(folder.descriptor)
    except UnsafeFileError as error:
        raise WorkspaceError(f"{error}, but Weft's place for workspaces; remove it") from None


def _room(root: int, name: str, stack: ExitStack) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=root)
        os.fsync(root)
    try:
        room = os.open(name, FOLDER_FLAGS, dir_fd=root)
    except NotADirectoryError:
        raise WorkspaceError(
            f"{name} in Weft's directory for workspaces is no directory; remove it"
        ) from None
    stack.callback(os.close, room)
    return room


def _name(path: str) -> str:
    if path and not _PATH.fullmatch(path):
        raise WorkspaceError(f"{path!r} is not the path of a subplan, so it has no workspace")
    return file_name(path)


def _entered(rooms: _Rooms, path: str) -> int:
    try:
        return os.open(_name(path), FOLDER_FLAGS, dir_fd=rooms.root)
    except (FileNotFoundError, NotADirectoryError):
        raise WorkspaceError(f"the workspace of {path!r} is no directory any more; {ANEW}") from None


def _prints(rooms: _Rooms, path: str) -> Prints:
    with Cursor(_entered(rooms, path)) as cursor:
        return prints_in(cursor)


def _save_readers(room: int, path: str, readers: Readers, known: Readers) -> None:
    if readers != known:
        save(room, _name(path), msgspec.msgpack.encode(readers))


def _refuse_others(path: str, changed: Iterable[bytes], allowed: Sequence[str]) -> None:
    others = [file for file in changed if not any(matches(glob, os.fsdecode(file)) for glob in allowed)]
    if others:
        raise WorkspaceError(
            f"{path} changed files outside of its `files`, and `strict_files` forbids that: "
            f"{listed([shown(file) for file in sorted(others)])}"
        )


def _built_on(rooms: _Rooms, slices: Sequence[str]) -> dict[str, str]:
    return {path: _recorded(rooms, path).preparation for path in slices}


def _fold(rooms: _Rooms, slices: Sequence[str]) -> Folded:
    return fold({path: _recorded(rooms, path) for path in slices})


def _recorded(rooms: _Rooms, path: str) -> SliceChanges:
    record = _loaded(rooms.records, _name(path), SliceChanges)
    if record is None:
        raise WorkspaceError(f"nothing is recorded of what {path!r} did; {ANEW}")
    return record


def _loaded(room: int, name: str, kind: type[_T]) -> _T | None:
    data = load(room, name)
    try:
        return None if data is None else msgspec.msgpack.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise WorkspaceError(f"cannot read what is recorded of {name!r}: {error}; {ANEW}") from None
