"""Records of the git processes that Weft starts and that can take lock files.

A killed git leaves its lock files, and a lock file does not name its process. Weft therefore keeps a *record* of
each git it starts that can take a lock, from before its start until its end: a file in `weft/children` of the
repository. The record is locked (flock) through a descriptor that git and its child processes inherit. The kernel
releases that lock when the last of these processes has ended, so a record that can be locked belongs to a git that
was killed. No process ids are compared, so a reused id cannot be mistaken for the old process.

A lock file counts as left by a killed git of Weft if three things hold: that git command takes such locks, the
lock file is not older than the record, and no living process can have created it since. Living processes are the
other gits of Weft and every git that works there and was alive when the lock file was written. In doubt, the file
stays.
"""

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from weft.safe_files import open_file, read_file
from weft.workspaces.git.base.lock_files import Checkouts, Pause, holders_of, identity_of

_FOLDER = ("weft", "children")
_SWEEP_LOCK = "sweeping"
_RECORD = ".child"
_WAITS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between checks of a lock that a living git may own."""
_USAGE = 129
"""The highest exit code that git itself uses."""
TIMED_OUT = 124
"""The exit code of a git that was killed because it took too long, as of timeout(1)."""
_PATIENCE = 30
"""Seconds to wait for a git that has outlived its coordinator."""
_HOUR = 3600.0
_OWN_NOTE = "weft-"
"""The prefix of files that Weft itself keeps in a directory of git."""

READERS = frozenset(
    (
        *("cat-file", "check-attr", "check-ignore", "check-ref-format", "commit-tree", "diff-tree", "fsck"),
        *("for-each-ref", "grep", "hash-object", "log", "ls-files", "ls-tree", "merge-base", "merge-tree"),
        *("rev-list", "rev-parse", "show", "show-ref", "status", "var", "version", "config", "mktree"),
        *("diff", "diff-files", "diff-index", "remote", "name-rev"),
    )
)
"""Commands that take no lock when Weft runs them, because it turns optional locks off."""
_INDEX_ONLY = frozenset(("read-tree", "update-index", "write-tree", "checkout-index"))
_REMOTE = frozenset(("fetch", "push"))


class Child(Struct, frozen=True, kw_only=True):
    """A recorded git process."""

    command: str
    """The command of git, as `update-ref`."""
    git_dir: str
    """The git directory of the checkout in which it runs."""

    def takes(self, lock: Path, common: Path) -> bool:
        """Returns whether this git command can take the lock."""
        if self.command in _INDEX_ONLY:
            return lock == Path(self.git_dir, "index.lock")
        if self.command in _REMOTE:
            # fetch and push write remote-tracking refs, and files beside them in the shared directory:
            # FETCH_HEAD, shallow, packed-refs.
            remote = common / "refs" / "remotes"
            return lock.is_relative_to(remote) or (lock.parent == common and lock.name != "index.lock")
        # The narrower this is, the fewer locks of the user's own git are ever candidates for removal.
        if self.command == "update-ref" and lock.name == "index.lock":
            return False
        return lock.parent in {common, Path(self.git_dir)} or lock.is_relative_to(common / "refs")


class ChildRecord(Struct):
    """The record of a git that is about to start."""

    descriptors: tuple[int, ...] = ()
    """The descriptors that git inherits."""
    file: Path | None = None
    is_kept: bool = False
    """Whether git was killed, so that it may have left locks."""

    def judge(self, exit_code: int) -> None:
        """Keeps the record if git was killed.

        A wrapper around git reports a signal as a shell does: by an exit code above 128. git itself uses only 128
        and 129.
        """
        self.is_kept = exit_code < 0 or exit_code > _USAGE or exit_code == TIMED_OUT

    def close(self) -> None:
        # The file goes before its lock does. In the other order, a sweep could see an unlocked record and take the
        # git for killed.
        if self.file is not None and not self.is_kept:
            self.file.unlink(missing_ok=True)
        for descriptor in self.descriptors:
            os.close(descriptor)


def can_lock(arguments: Sequence[str]) -> bool:
    """Returns whether Weft's git can take a lock with these arguments."""
    command = _command(arguments)
    only_asks = {"worktree": "list", "symbolic-ref": "--quiet"}.get(command)
    return command not in READERS and (only_asks is None or only_asks not in arguments)


def _command(arguments: Sequence[str]) -> str:
    words = iter(arguments)
    for word in words:
        if word in {"-c", "-C"}:
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


@contextmanager
def recorded(common: Path, git_dir: Path, arguments: Sequence[str]) -> Generator[ChildRecord]:
    """Yields the record of a git. The record stays if Weft dies before git ends, or if git is killed."""
    try:
        # The record must exist before git does: if Weft were killed between the start of git and the creation
        # of the record, nothing would show that the lock is ours.
        record = _create_record(common, Child(command=_command(arguments), git_dir=str(git_dir)))
    except OSError:  # in a repository that Weft cannot write to, git takes no lock either
        record = ChildRecord()
    try:
        yield record
    finally:
        record.close()


def _create_record(common: Path, child: Child) -> ChildRecord:
    folder = common.joinpath(*_FOLDER)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # mkstemp gives a name without the suffix, and the rename at the end makes the record visible, complete and
    # locked, in one step.
    descriptor, name = tempfile.mkstemp(dir=folder)
    # Weft ignores files without the suffix, so each record is already locked when another process first sees it.
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    # The name of a directory may be no UTF-8, which only the json of Python writes, with an escape.
    os.write(descriptor, json.dumps(msgspec.to_builtins(child)).encode())
    return ChildRecord((descriptor,), Path(name).rename(f"{name}{_RECORD}"))


# Lock files of killed gits


class LeftoverLocks:
    """The lock files that killed gits of Weft have left in a repository."""

    def __init__(self, common: Path, *, pause: Pause = time.sleep) -> None:
        self._common = common
        self._folder = common.joinpath(*_FOLDER)
        self._pause = pause

    def locks(self) -> list[Path]:
        """Returns the lock files that no living process can own, without changing anything."""
        # `weft doctor` only looks. The flocks of killed records are released at once, so that a sweep of
        # another process is not held up.
        killed, living = self._records()
        self._release(killed)
        candidates = {lock for record in killed for lock in self._candidates(record)}
        return sorted(lock for lock in candidates if not self._is_in_doubt(lock, killed, living))

    def await_child(self, git_dir: Path, command: str) -> bool:
        """Waits until no git of Weft runs this command in the checkout; returns False if the wait times out."""
        for wait in (*_WAITS, *(1.0 for _ in range(_PATIENCE))):
            killed, living = self._records()
            self._release(killed)
            if not any(record.child == Child(command=command, git_dir=str(git_dir)) for record in living):
                return True
            self._pause(wait)
        return False

    def remove(self) -> None:
        """Removes these lock files and the records of gits that left none; waits briefly for doubtful ones."""
        if not any(self._folder.glob(f"*{_RECORD}")):
            return
        # Only one process sweeps at a time. Two sweeps could both judge a lock stale; the slower one would then
        # remove the lock that a new git has created at the same path since.
        with os.fdopen(open_file(self._folder / _SWEEP_LOCK, os.O_RDWR | os.O_CREAT), "rb") as lock_file:
            fcntl.flock(lock_file, fcntl.LOCK_EX)
            for wait in _WAITS:
                if self._sweep():
                    return
                self._pause(wait)
            self._sweep()

    def _sweep(self) -> bool:
        """Removes what is certainly left over; returns whether no doubtful lock remains."""
        killed, living = self._records()
        has_doubts = False
        for record in killed:
            in_doubt = False
            for lock in self._candidates(record):
                if self._is_in_doubt(lock, killed, living):
                    in_doubt = True
                else:
                    self._remove(lock)
            # The record is the evidence against its locks, so it stays as long as one of them is in doubt; a
            # later sweep judges again.
            if not in_doubt:
                record.file.unlink(missing_ok=True)
            has_doubts = has_doubts or in_doubt
        self._release(killed)
        self._forget_unfinished()
        return not has_doubts

    def _forget_unfinished(self) -> None:
        """Removes records that were not completed. No git was started for them."""
        for file in self._folder.glob("tmp*[!.]"):
            with suppress(FileNotFoundError):
                if file.suffix != _RECORD and time.time() - file.stat().st_mtime > _HOUR:
                    file.unlink()

    def _records(self) -> tuple[list["_RecordFile"], list["_RecordFile"]]:
        """Returns the records of killed gits, now locked by this process, and those of living gits."""
        killed: list[_RecordFile] = []
        living: list[_RecordFile] = []
        for file in sorted(self._folder.glob(f"*{_RECORD}")):
            with suppress(FileNotFoundError):
                descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                record = _RecordFile(
                    file, self._read(descriptor), os.fstat(descriptor).st_mtime_ns, descriptor
                )
                # git inherits the locked descriptor, so the lock lasts until both git and its Weft are gone. No
                # pid is compared, so none can be reused.
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    os.close(descriptor)
                    living.append(record)
                else:
                    killed.append(record)
        return killed, living

    def _read(self, descriptor: int) -> Child:
        try:
            return msgspec.convert(json.loads(os.pread(descriptor, 1 << 16, 0)), Child)
        except (ValueError, msgspec.DecodeError):  # a power loss has cut it off
            return Child(command="", git_dir=str(self._common))

    def _release(self, records: Sequence["_RecordFile"]) -> None:
        for record in records:
            os.close(record.descriptor)

    def _candidates(self, record: "_RecordFile") -> Iterator[Path]:
        """Yields the lock files that this git command takes and that are not older than its record."""
        git_dir = Path(record.child.git_dir)
        for folder in {self._common, git_dir}:
            for lock in (*folder.glob("*.lock"), folder / "packed-refs.new"):
                if not lock.name.startswith(_OWN_NOTE) and self._is_later(record, lock):
                    yield lock
        for lock in (self._common / "refs").rglob("*.lock"):
            if self._is_later(record, lock):
                yield lock

    def _is_later(self, record: "_RecordFile", lock: Path) -> bool:
        identity = identity_of(lock)
        is_later = identity is not None and identity[3] >= record.started
        return is_later and not lock.is_dir() and record.child.takes(lock, self._common)

    def _is_in_doubt(
        self, lock: Path, killed: Sequence["_RecordFile"], living: Sequence["_RecordFile"]
    ) -> bool:
        """Returns whether a living process can have created the lock."""
        if any(self._is_later(record, lock) for record in living):
            return True
        owner = next((record for record in killed if lock.parent == Path(record.child.git_dir)), None)
        # index.lock and HEAD.lock of a checkout are only taken by gits in that checkout. Every other lock
        # belongs to files that all checkouts share, so a git in any of them may own it.
        is_shared = owner is None or lock.name not in {"index.lock", "HEAD.lock"}
        checkouts = self._checkouts()
        checkout = None if is_shared or owner is None else checkout_at(Path(owner.child.git_dir))
        return any(holders_of(lock, checkouts, checkout))

    def _checkouts(self) -> Checkouts:
        git_dirs = (self._common, *self._common.glob("worktrees/*"))
        roots = {place for git_dir in git_dirs if (place := checkout_at(git_dir)) is not None}
        return Checkouts(common=self._common, roots=frozenset((*roots, self._common)))

    def _remove(self, lock: Path) -> None:
        """Removes this very file. If another process has replaced it meanwhile, puts the new one back."""
        # A rename cannot be made conditional on what is renamed, so the check follows it: if the file that was
        # moved is not the one that was judged, a living git has just created it, and a hard link puts it back
        # under its name. The link fails if yet another git has the lock by then, which is fine as well.
        identity = identity_of(lock)
        aside = self._folder / f"{lock.name}.{os.getpid()}"
        with suppress(FileNotFoundError):
            lock.rename(aside)
            if identity_of(aside) != identity:
                with suppress(FileExistsError):
                    lock.hardlink_to(aside)
            aside.unlink()


class _RecordFile(Struct, frozen=True):
    """A record as read from its file."""

    file: Path
    child: Child
    started: int
    """The start time by the clock of the file system, in ns."""
    descriptor: int


def checkout_at(git_dir: Path) -> Path | None:
    """Returns the root of the checkout that a git directory belongs to."""
    if git_dir.name == ".git":
        return git_dir.parent.resolve()
    try:
        link = os.fsdecode(read_file(git_dir / "gitdir", most=1 << 20)).rstrip("\n")
    except OSError:
        return None
    return (git_dir / link).parent.resolve()
