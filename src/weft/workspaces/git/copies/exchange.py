"""The exchange between the worktree of a slice and its copy on another machine.

The worktree here is the workspace: everything that Weft does with it works as if the step had run here. Before a
step on another machine, `send` brings the copy there to the state of the worktree; after the step, `fetch` brings
the worktree to the state of the copy. Both exchange two commits: the *head* of the branch, and a *state* with all
files that git does not ignore, which is the head itself if nothing is uncommitted. Only what the other side does
not have travels, as a pack.

What comes back is foreign work. It enters by the one entrance, `git/clones/foreign`, before any ref or file
changes.

A note in the git directory of the worktree has the last exchange. It is written last, so a crash repeats the
exchange.
"""

import secrets
import tarfile
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import RefMove
from weft.ids import file_name
from weft.ports.machines import FarError, MachineCalls, Reply
from weft.ports.workspaces import PlacedSlice
from weft.safe_files import read_file, replace_file
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.commit_object import SigningFailure
from weft.workspaces.git.base.locks import explain_lock_errors
from weft.workspaces.git.base.refs import is_ancestor, tip, tips_of, tree_of
from weft.workspaces.git.base.sparse import settings
from weft.workspaces.git.base.worktree_links import git_dir_of, text_of
from weft.workspaces.git.checkouts.commits import keep_logged, stage
from weft.workspaces.git.checkouts.untracked_files import copied_into
from weft.workspaces.git.clones.foreign import ForeignError, WantedCommits, admit
from weft.workspaces.git.plan_repository import PlanRepository
from weft.workspaces.git.worktrees.reset import WorktreeSnapshot, snapshot_worktree

_NOTE = "weft-exchanged"
_LARGEST_NOTE = 1 << 16
_SHA1 = 40


class LastExchange(Struct, frozen=True, kw_only=True):
    """The last exchange."""

    host: str
    token: str
    head: str
    state: str


class CopyState(Struct, frozen=True, kw_only=True):
    """The state of a copy, as the far program reports it."""

    ref: str
    """The branch that is checked out, as a full ref; empty for a commit without a branch."""
    head: str
    state: str
    operation: str
    """The unfinished operation of git there, such as a merge; empty if there is none."""
    undone: tuple[str, ...]
    """Commits that the step has made and taken back."""
    place: str


class WorktreeCopies:
    """The copies of a plan's worktrees on other machines."""

    def __init__(
        self,
        plan_repository: PlanRepository,
        calls: MachineCalls,
        *,
        run: str,
        project: str,
        fetch: Mapping[str, str],
        locks: Mapping[str, Lock],
    ) -> None:
        """`project` names the repository on all machines; `fetch` has the URL for each host that has one.

        `locks` has a lock for each slice, which everything holds that works with its worktree.
        """
        self._repository = plan_repository
        self._git = plan_repository.git
        self._names = plan_repository.names
        self._calls = calls
        self._run = run
        self._project = project
        self._fetch = fetch
        self._locks = locks

    # From here to there

    def send(self, placed: PlacedSlice) -> bool:
        """Brings the copy to the state of the worktree; returns whether the set-up there is complete."""
        with self._locks[placed.path]:
            return self._send(placed)

    def _send(self, placed: PlacedSlice) -> bool:
        worktree, git_dir = self._worktree(placed.path)
        snapshot = snapshot_worktree(
            self._git.at(worktree), git_dir, fallback_head=self._repository.head(placed.path)
        )
        head, state = snapshot.head, self._state_of(placed.path, snapshot)
        note = _read_note(git_dir)
        exchanged = [note.head, note.state] if note is not None and note.token == placed.token else []
        arguments = {
            "ref": self._names.head(placed.path),
            "head": head,
            "state": state,
            "sparse": _sparse_lines(git_dir),
            "exclude": text_of(self._repository.repository.common / "info" / "exclude") or "",
            "identity": self._identity(),
        }
        reply = self._put(placed, arguments, exchanged)
        if reply.get("stale"):
            self._keep_stale(placed, reply["stale"])
        if reply["fresh"]:
            self._send_copied_files(placed, worktree, git_dir)
        after = LastExchange(host=placed.host, token=placed.token, head=head, state=state)
        if after != note:
            _write_note(git_dir, after)
        return bool(reply["ready"])

    def _put(
        self, placed: PlacedSlice, arguments: Mapping[str, object], known: Sequence[str]
    ) -> Mapping[str, Any]:
        commits = list(dict.fromkeys((str(arguments["head"]), str(arguments["state"]))))
        # Usually the machine has the last exchange, so one call does everything.
        if known:
            reply = self._call(placed, "work.put", arguments, self._pack(commits, known))
            if not reply.data.get("missing"):
                return reply.data
        have = self._call(placed, "work.have", {"fetch": self._fetch.get(placed.host)}).data["commits"]
        reply = self._call(placed, "work.put", arguments, self._pack(commits, self._existing(have)))
        if reply.data.get("missing"):
            raise FarError(f"{placed.host} has not received the commits of {placed.path}")
        return reply.data

    def _pack(self, commits: Sequence[str], known: Sequence[str]) -> bytes:
        """Returns a pack of what the commits lead to and the known ones do not; empty if that is nothing."""
        if set(commits) <= set(known):
            return b""
        revisions = [*commits, *(f"^{commit}" for commit in known)]
        command = ("pack-objects", "--revs", "--thin", "--stdout", "-q", "--delta-base-offset")
        return self._git.do(*command, stdin="".join(f"{line}\n" for line in revisions).encode())

    def _existing(self, commits: Sequence[str]) -> list[str]:
        """Returns those of the commits that are here, too."""
        if not commits:
            return []
        lines = "".join(f"{commit}\n" for commit in commits).encode()
        listing = self._git.do("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=lines).decode()
        return [line.split()[0] for line in listing.splitlines() if line.endswith(" commit")]

    def _state_of(self, path: str, snapshot: WorktreeSnapshot) -> str:
        if snapshot.tree == tree_of(self._git, snapshot.head):
            return snapshot.head
        # With the date of its parent, the commit is the same after a crash.
        date = self._git.line(
            "show", "--no-patch", "--no-show-signature", "--format=%ct +0000", snapshot.head
        )
        subject, parents = f"{path}: what is not committed", (snapshot.head,)
        return self._repository.commit(snapshot.tree, parents, subject, path, date, sign=SigningFailure.NEVER)

    def _identity(self) -> dict[str, str]:
        """Returns the author of the commits that agents make there."""
        defaults = {"name": "Weft", "email": "weft@localhost"}
        return {key: self._git.settings.value(f"user.{key}") or default for key, default in defaults.items()}

    def _send_copied_files(self, placed: PlacedSlice, worktree: Path, git_dir: Path) -> None:
        paths = sorted(path.decode(errors="surrogateescape") for path in copied_into(git_dir))
        present = [
            path for path in paths if (worktree / path).is_file() and not (worktree / path).is_symlink()
        ]
        if not present:
            return
        with tempfile.NamedTemporaryFile(suffix=".tar") as file:
            with tarfile.open(fileobj=file, mode="w") as archive:
                for path in present:
                    archive.add(worktree / path, arcname=path, recursive=False)
            file.flush()
            self._call(placed, "work.files", {}, Path(file.name))

    def accept(self, placed: PlacedSlice) -> None:
        """Records that the set-up there is complete; its untracked files are no work of the slice."""
        self._call(placed, "work.accept", {})

    # From there to here

    def fetch(self, placed: PlacedSlice) -> None:
        """Brings the worktree to the state of the copy. Raises `WorkspaceError` with nothing changed here."""
        with self._locks[placed.path]:
            self._fetch_state(placed)

    def _fetch_state(self, placed: PlacedSlice) -> None:
        worktree, git_dir = self._worktree(placed.path)
        note = _read_note(git_dir)
        if note is None or (note.host, note.token) != (placed.host, placed.token):
            raise WorkspaceError(f"the workspace of {placed.path} has never been sent to {placed.host}")
        reply = self._call(placed, "work.take", {"have": [note.head, note.state]})
        copy_state = msgspec.convert(dict(reply.data), CopyState)
        if (copy_state.head, copy_state.state, copy_state.ref) != (
            note.head,
            note.state,
            self._names.head(placed.path),
        ):
            self._admit(placed, reply, copy_state, known=(note.head, note.state))
            self._follow(placed, worktree, git_dir, note, copy_state)
            _write_note(git_dir, replace(note, head=copy_state.head or note.head, state=copy_state.state))
        if copy_state.operation:
            raise WorkspaceError(
                f"a `git {copy_state.operation}` is unfinished in {copy_state.place} on {placed.host}; its files "
                f"are in {worktree}; to start the slice again, type: weft retry {placed.path}"
            )

    def _admit(
        self, placed: PlacedSlice, reply: Reply, copy_state: CopyState, *, known: tuple[str, ...]
    ) -> None:
        commits = dict.fromkeys((copy_state.head, copy_state.state, *copy_state.undone))
        new = tuple(commit for commit in commits if commit and commit not in known)
        if not new:
            return
        try:
            with _stranger(self._repository.repository.common, reply.payload) as stranger:
                admit(self._repository.repository.common, stranger, WantedCommits(commits=new, known=known))
        except ForeignError as error:
            raise WorkspaceError(
                f"the work of {placed.path} on {placed.host} cannot enter the repository: {error}; nothing has "
                f"moved; to start the slice again, type: weft retry {placed.path}"
            ) from error

    def _follow(
        self, placed: PlacedSlice, worktree: Path, git_dir: Path, note: LastExchange, copy_state: CopyState
    ) -> None:
        path, git = placed.path, self._git.at(worktree)
        branch = self._names.head(path)
        current = tip(self._git, branch) or ""
        snapshot = snapshot_worktree(git, git_dir, fallback_head=current)
        undone = list(copy_state.undone)
        if snapshot.tree != tree_of(self._git, note.state):
            undone.append(self._state_of(path, snapshot))  # a person has changed files here meanwhile
        after = current
        if copy_state.ref == branch and copy_state.head != note.head:
            if current == note.head or is_ancestor(self._git, current, copy_state.head):
                after = copy_state.head
            elif not is_ancestor(self._git, copy_state.head, current):
                # The branch has moved here as well, by the record of a step beside this one or by a person. The
                # files of the commits are in the state, which is recorded next.
                undone.append(copy_state.head)
        keep_logged(self._git, git_dir, path, self._names, seen=undone, head=after)
        self._repository.move([RefMove(ref=branch, before=current, after=after)], f"{path} was fetched")
        with explain_lock_errors():
            # `read-tree -u` removes only files that the index knows.
            stage(git, git_dir, snapshot.status, {})
            git.do("read-tree", "--reset", "-u", copy_state.state, env=settings(git_dir))
            if copy_state.ref != branch and copy_state.head:
                git.do(
                    "update-ref", "--no-deref", "-m", f"weft: {path} left its branch", "HEAD", copy_state.head
                )
            elif snapshot.status.branch != branch:
                git.do("symbolic-ref", "HEAD", branch)
            git.do("read-tree", "--reset", "HEAD", env=settings(git_dir))

    # Work of attempts that count as lost

    def keep_stale_work(self, host: str, machine: str, tokens: Mapping[str, str]) -> None:
        """Keeps the work in copies of other placements than these, as refs, and removes the copies."""
        reply = self._calls.call(host, "", "work.list", {"run": self._run}, machine=machine)
        for copy in reply.data["workspaces"]:
            path = str(copy["path"])
            if tokens.get(path) != copy["token"]:
                placed = PlacedSlice(path=path, host=host, token=str(copy["token"]))
                with self._locks[path]:
                    self._keep_stale(placed, copy, machine)

    def _keep_stale(self, placed: PlacedSlice, stale: Mapping[str, str], machine: str = "") -> None:
        where = {"name": stale["name"], "token": stale["token"]}
        start = tip(self._git, self._names.start(placed.path))
        base = () if start is None else (start,)
        reply = self._call(placed, "work.take", {**where, "have": list(base)}, machine=machine)
        copy_state = msgspec.convert(dict(reply.data), CopyState)
        self._admit(placed, reply, copy_state, known=base)
        self._keep(placed.path, [copy_state.state, copy_state.head, *copy_state.undone])
        self._call(placed, "work.remove", where, machine=machine)

    def _keep(self, path: str, commits: Sequence[str]) -> None:
        """Keeps what no branch of the slice leads to. Its worktree may be gone, as it has ended."""
        refs = tips_of(self._git, self._names.head(path), self._names.start(path), self._names.tip(path))
        branches = [
            *refs.values(),
            tip(self._git, self._repository.ends.target_ref) or self._repository.ends.base,
        ]
        for commit in dict.fromkeys(filter(None, commits)):
            has_it = any(is_ancestor(self._git, commit, branch) for branch in branches)
            has_files = any(tree_of(self._git, commit) == tree_of(self._git, branch) for branch in branches)
            if not has_it and not has_files:
                self._repository.move(self._repository.kept(path, commit), f"{path} was lost")

    def remove(self, placed: PlacedSlice) -> None:
        """Removes the copy of a slice that has ended."""
        self._call(placed, "work.remove", {})

    # Helpers

    def _worktree(self, path: str) -> tuple[Path, Path]:
        worktree = self._repository.worktree(path)
        return worktree, git_dir_of(worktree)

    def _call(
        self,
        placed: PlacedSlice,
        operation: str,
        arguments: Mapping[str, object],
        payload: Path | bytes = b"",
        *,
        machine: str = "",
    ) -> Reply:
        identity = {
            "project": self._project,
            "format": "sha1" if len(self._repository.ends.base) == _SHA1 else "sha256",
            "run": self._run,
            "path": placed.path,
            "name": file_name(placed.path),
            "token": placed.token,
        }
        details = identity | dict(arguments)
        return self._calls.call(placed.host, placed.path, operation, details, payload, machine=machine)


@contextmanager
def _stranger(common: Path, pack: bytes | Path) -> Generator[Path]:
    """Yields a git directory that contains only the pack, in the form in which foreign work is admitted."""
    (common / "weft").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="arrived-", dir=common / "weft") as place:
        folder = Path(place) / "objects" / "pack"
        folder.mkdir(parents=True)
        target = folder / f"pack-{secrets.token_hex(20)}.pack"
        if isinstance(pack, Path):
            pack.rename(target)
        elif pack:
            target.write_bytes(pack)
        yield Path(place)


def _sparse_lines(git_dir: Path) -> list[str]:
    try:
        return read_file(git_dir / "info" / "sparse-checkout", most=1 << 26).decode().splitlines()
    except FileNotFoundError:
        return []


def _read_note(git_dir: Path) -> LastExchange | None:
    try:
        return msgspec.json.decode(read_file(git_dir / _NOTE, most=_LARGEST_NOTE), type=LastExchange)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _write_note(git_dir: Path, note: LastExchange) -> None:
    replace_file(git_dir / _NOTE, msgspec.json.encode(note))
