"""The only entrance for foreign work into the repository.

A stranger is a git directory that something other than Weft can write: the clone of a step. git never runs there.
Weft reads the objects itself, and git checks them in a *quarantine*: a git directory of Weft with a fixed
configuration, without the user's settings, that borrows the objects of the repository. Objects that pass are moved
into the repository; only then may a ref lead to them.

The admission can be repeated after a crash at any time. The next one removes the quarantine of a dead process.
"""

import fcntl
import os
import re
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from typing import BinaryIO

from msgspec import Struct

from weft.safe_files import Tree
from weft.safe_files import open_file as open_kept
from weft.search_path import search_path
from weft.workspaces.clone_files import UntrustedError, names_in, open_file, remove_file
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.clones.loose_objects import IntakeLimits, LooseObjects, is_oid, write_pack
from weft.workspaces.safe_walk import wipe

_PACK = re.compile(r"pack-[0-9a-f]{40}(?:[0-9a-f]{24})?\.pack")
_OF_PACK = (".idx", ".rev", ".bitmap", ".mtimes", ".keep", ".promisor")
_FEW = 100
"""Fewer objects are stored one by one, as git does: many small packs would slow git down."""
_LOCK = "lock"
_INCOMING = ("weft", "incoming")
_SHA1 = 40
_CONFIG = (
    "[core]\n\trepositoryformatversion = {version}\n\tbare = true\n\thooksPath = /dev/null\n"
    "\tfsmonitor = false\n"
)
_FORMAT = "[extensions]\n\tobjectFormat = sha256\n"


class ForeignError(WorkspaceError):
    """Foreign work fails the checks."""


class WantedCommits(Struct, frozen=True, kw_only=True):
    """The commits to admit."""

    commits: tuple[str, ...]
    """These commits and everything they lead to enter, or nothing does."""
    known: tuple[str, ...] = ()
    """Commits that the repository has completely."""


_LIMITS = IntakeLimits()


def admit(common: Path, stranger: Path, wanted: WantedCommits, *, limits: IntakeLimits = _LIMITS) -> int:
    """Admits commits of a stranger's git directory into the repository; returns the number of new objects.

    Raises `ForeignError` with nothing changed.
    """
    for oid in (*wanted.commits, *wanted.known):
        if not is_oid(oid):
            raise ForeignError(f"{oid!r} is not the name of a commit")
    try:
        return _admit(common, Tree(stranger), wanted, limits)
    except UntrustedError as error:
        raise ForeignError(str(error)) from error


def _admit(common: Path, tree: Tree, wanted: WantedCommits, limits: IntakeLimits) -> int:
    loose = LooseObjects(tree, limits)
    packs = sorted(name for name in names_in(tree, "objects/pack") if _PACK.fullmatch(name))
    # Weft does not read packs itself, and a packed object may lead to any loose one, so all of them are taken.
    oids = loose.all() if packs else loose.reachable(wanted.commits)
    with _quarantine(common, wanted, limits) as quarantine:
        for name in packs:
            quarantine.receive_pack(tree, name)
        kinds = quarantine.receive(loose, oids) if oids else {}
        # `--strict` above has proved that what the new objects refer to is there; this proves that it is whole.
        # After a crash a repository may have a tree without all of its blobs.
        quarantine.require_whole(wanted)
        quarantine.require_commits([oid for oid in wanted.commits if kinds.get(oid) != b"commit"])
        # Nothing has entered the repository up to here. From here on objects appear in it, but no ref leads to
        # them until the caller moves one, so a crash only leaves objects for git to prune.
        quarantine.release(common / "objects")
    # Only an economy: the next admission need not read them again. Failures do not matter.
    _drop(tree, oids, packs)
    return len(oids) + len(packs)


def _drop(tree: Tree, oids: Iterable[str], packs: Iterable[str]) -> None:
    """Removes admitted objects from the stranger, which finds them in the repository that it borrows from."""
    for oid in oids:
        with suppress(OSError, UntrustedError):
            remove_file(tree, f"objects/{oid[:2]}/{oid[2:]}")
    for name in packs:
        for ending in (*_OF_PACK, ".pack"):
            with suppress(OSError, UntrustedError):
                remove_file(tree, f"objects/pack/{name.removesuffix('.pack')}{ending}")


class _Quarantine(Struct, frozen=True, kw_only=True):
    """A git directory in which foreign objects are checked."""

    place: Path
    limits: IntakeLimits

    def receive(self, loose: LooseObjects, oids: Sequence[str]) -> dict[str, bytes]:
        """Takes in loose objects; returns the kind of each by its id."""
        with tempfile.TemporaryFile(dir=self.place) as pack:
            kinds = write_pack(loose, oids, pack, self.limits)
            self._unpack(pack, few=len(oids) < _FEW)
        return kinds

    def receive_pack(self, tree: Tree, name: str) -> None:
        with (
            tempfile.TemporaryFile(dir=self.place) as pack,
            open_file(tree, f"objects/pack/{name}", most=self.limits.bytes_of_all) as source,
        ):
            if source is None:
                raise ForeignError(f"the pack {name} disappeared while it was read")
            _copy(source, pack)
            self._unpack(pack, few=False)

    def _unpack(self, pack: BinaryIO, *, few: bool) -> None:
        pack.flush()
        pack.seek(0)
        command = ("unpack-objects", "-q", "--strict") if few else ("index-pack", "--strict", "--stdin")
        most = f"--max-input-size={self.limits.bytes_of_all}"
        self._do((*command, most), pack)

    def require_whole(self, wanted: WantedCommits) -> None:
        """Raises `ForeignError` unless the commits are commits and everything they lead to is present."""
        lines = [*(f"{oid}^{{commit}}" for oid in wanted.commits), *(f"^{oid}" for oid in wanted.known)]
        with tempfile.TemporaryFile() as revisions:
            revisions.write("\n".join((*lines, "")).encode())
            revisions.seek(0)
            self._do(("rev-list", "--objects", "--quiet", "--stdin"), revisions)

    def require_commits(self, oids: Sequence[str]) -> None:
        """Raises `ForeignError` for an object that is no commit, such as a tag that leads to one."""
        if not oids:
            return
        with tempfile.TemporaryFile() as ids, tempfile.TemporaryFile() as answer:
            ids.write("".join(f"{oid}\n" for oid in oids).encode())
            ids.seek(0)
            self._do(("cat-file", "--batch-check=%(objecttype)"), ids, answer)
            answer.seek(0)
            for oid, kind in zip(oids, answer.read().split(b"\n"), strict=False):
                if kind != b"commit":
                    raise ForeignError(f"{oid} is not a commit, but a {kind.decode()}")

    def _do(
        self, command: Sequence[str], stdin: BinaryIO, stdout: BinaryIO | int = subprocess.DEVNULL
    ) -> None:
        with tempfile.TemporaryFile() as stderr_file:
            process = subprocess.Popen(  # noqa: S603 - an argv of our own
                ("git", *command),  # noqa: S607 - the git that the user has
                cwd=self.place,
                env=_environment(self.place),
                stdin=stdin,
                stdout=stdout,
                stderr=stderr_file,
                start_new_session=True,
            )
            try:
                code = process.wait(self.limits.seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, SIGKILL)
                process.wait()
                raise ForeignError(f"`git {command[0]}` took longer than {self.limits.seconds:g} s") from None
            stderr_file.seek(0)
            # The message can quote names and contents that the step chose, so only its beginning is shown.
            reason = " ".join(stderr_file.read(4000).decode(errors="replace").split())
        if code:
            raise ForeignError(f"`git {command[0]}` refuses it: {reason or f'exit code {code}'}")

    def release(self, objects: Path) -> None:
        """Moves the objects into the repository."""
        own = self.place / "objects"
        for folder in sorted(own.iterdir()):
            if folder.name == "info":
                continue
            target = objects / folder.name
            if not target.is_dir():
                target.mkdir(exist_ok=True)
                target.chmod(objects.stat().st_mode & 0o7777)  # of a repository that several users share
            # The index of a pack comes last: git ignores a pack without one, so it never sees an incomplete pack.
            for file in sorted(folder.iterdir(), key=lambda file: file.suffix == ".idx"):
                # The repository's own file is never replaced: a stranger's object of the same id has the same
                # content.
                if not (target / file.name).exists():
                    file.rename(target / file.name)


def _copy(source: int, target: BinaryIO) -> None:
    """Copies as much as the file holds now: a step may still be writing to it."""
    remaining = os.fstat(source).st_size
    while remaining > 0 and (piece := os.read(source, min(remaining, 1 << 20))):
        target.write(piece)
        remaining -= len(piece)


def _environment(place: Path) -> dict[str, str]:
    """Returns an environment without anything of the user's except the search path."""
    return {
        "PATH": search_path(os.environ),
        "HOME": str(place),
        "LC_ALL": "C",
        "GIT_DIR": str(place),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        # A replace ref of the repository would let git check another object than the one that enters.
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


@contextmanager
def _quarantine(common: Path, wanted: WantedCommits, limits: IntakeLimits) -> Generator[_Quarantine]:
    incoming = common.joinpath(*_INCOMING)
    incoming.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        with _open_lock(incoming) as around:
            # This lock keeps `_clear` away from a quarantine between its creation and its locking.
            fcntl.flock(around, fcntl.LOCK_EX)
            _clear(incoming)
            place = Path(tempfile.mkdtemp(prefix="q", dir=incoming))
            lock = stack.enter_context(_open_lock(place))
            fcntl.flock(lock, fcntl.LOCK_EX)
        stack.callback(_wipe, place)
        _fill(place, common, is_long=any(len(oid) != _SHA1 for oid in wanted.commits))
        yield _Quarantine(place=place, limits=limits)


def _open_lock(folder: Path) -> BinaryIO:
    return os.fdopen(open_kept(folder / _LOCK, os.O_RDWR | os.O_CREAT), "rb")


def _fill(place: Path, common: Path, *, is_long: bool) -> None:
    for folder in ("refs", "objects/info", "objects/pack"):
        (place / folder).mkdir(parents=True)
    (place / "HEAD").write_text("ref: refs/heads/none\n")
    (place / "config").write_text(_CONFIG.format(version=int(is_long)) + (_FORMAT if is_long else ""))
    (place / "objects" / "info" / "alternates").write_text(f"{alternate(common / 'objects')}\n")


def alternate(objects: Path) -> str:
    """Returns an object directory as a line of git's list of alternates."""
    text = os.fspath(objects)
    if "\n" in text:
        raise ForeignError(f"the path of the repository contains a line break: {text!r}; move it elsewhere")
    return text


def _clear(incoming: Path) -> None:
    """Removes the quarantines of dead processes."""
    for place in incoming.iterdir():
        with suppress(OSError), os.fdopen(open_kept(place / _LOCK), "rb") as lock:
            # A live quarantine is locked by its process, and this raises BlockingIOError, which is suppressed.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _wipe(place)


def _wipe(place: Path) -> None:
    with Tree(place.parent).folder() as folder:
        wipe(folder.descriptor, place.name)
