"""The exchange between the clones of slices and the repository.

Before Weft looks at a workspace, it *takes in* the commits of the clone: they enter the repository, and the
slice's branch moves to them, as if the step had worked in the worktree itself. Afterwards it *hands out*: it
brings the clone to the state of the worktree. Both can be repeated at any time. While a step runs, only its branch
is followed, by `early_commits`. For each slice, only one thread may call this at a time.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from msgspec.structs import replace

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import CLONE
from weft.safe_files import Tree
from weft.workspaces.clone_files import UntrustedError, remove_file
from weft.workspaces.errors import WorkspaceError
from weft.workspaces.git.base.lock_files import Pause
from weft.workspaces.git.base.locks import explain_lock_errors, remove_stale_locks
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import is_ancestor, move, tips_of
from weft.workspaces.git.base.sparse import settings
from weft.workspaces.git.base.worktree_links import clone_of, git_dir_of
from weft.workspaces.git.checkouts.commits import keep_logged
from weft.workspaces.git.clones.clone import (
    CloneState,
    ExchangeNote,
    hand_out,
    logged,
    make_clone,
    point_git_file,
    read_exchange,
    read_state,
    write_exchange,
)
from weft.workspaces.git.clones.early_commits import EarlyCommits
from weft.workspaces.git.clones.foreign import ForeignError, WantedCommits, admit
from weft.workspaces.git.clones.loose_objects import IntakeLimits
from weft.workspaces.git.plan_repository import PlanRepository, changes
from weft.workspaces.git.worktrees.worktrees import Worktrees

_MOST_LOGGED = 1000
"""The most undone commits of a step that are kept."""


class Clones:
    """The clones of a plan's slices."""

    def __init__(
        self,
        plan_repository: PlanRepository,
        worktrees: Worktrees,
        *,
        limits: IntakeLimits = IntakeLimits(),  # noqa: B008 - it never changes
        pause: Pause = time.sleep,
    ) -> None:
        self._repository = plan_repository
        self._git = plan_repository.git
        self._names = plan_repository.names
        self._worktrees = worktrees
        self._limits = limits
        self._pause = pause
        self._early = EarlyCommits(plan_repository, self._place)

    @contextmanager
    def synchronized(self, path: str) -> Generator[None]:
        """Takes in before, and hands out after, the block that looks at the workspace or changes it."""
        self.take_in(path)
        yield
        self.hand_out(path)

    def ensure_clone(self, path: str) -> None:
        """Creates a clone for the steps of a slice that should have one, unless it exists."""
        if path not in self._repository.clones:
            return
        worktree = self._repository.worktree(path)
        git_dir = git_dir_of(worktree)
        self._early.reset_failures(path)
        make_clone(self._git, git_dir, self._repository.repository.common, self._repository.shared_refs)
        self.hand_out(path)
        if path in self._repository.opened:
            point_git_file(worktree, git_dir, to_clone=True)

    def take_early(self, path: str, lock: Lock) -> None:
        """Admits commits of a running step into the repository, if that is possible now."""
        if path not in self._repository.clones or not lock.acquire(blocking=False):
            return  # another thread works on this workspace and will take in everything
        try:
            self._early.take(path)
        finally:
            lock.release()

    def close(self, path: str) -> None:
        """Lets people find the worktree, on the repository's branch, after the last step has ended."""
        if path not in self._repository.opened:
            return
        worktree = self._repository.worktree(path)
        git_dir = self._place(path)
        if git_dir is not None and worktree.is_dir():
            point_git_file(worktree, git_dir, to_clone=False)

    def take_or_drop(self, path: str) -> None:
        """Takes in the commits of the clone, or removes the clone if they cannot enter the repository.

        A slice can then be retried in either case.
        """
        try:
            self.take_in(path)
        except WorkspaceError:
            self._drop(path)

    def _drop(self, path: str) -> None:
        self.close(path)
        git_dir = self._place(path)
        if git_dir is not None:
            remove_file(Tree(git_dir), CLONE)

    def hand_out(self, path: str) -> None:
        """Brings the clone to the state of the worktree."""
        worktree = self._repository.worktree(path)
        git_dir = self._place(path)
        if git_dir is not None and worktree.is_dir():
            with _explain_errors(path):
                hand_out(self._git.at(worktree), git_dir, self._names.head(path), pause=self._pause)

    def take_in(self, path: str) -> None:
        """Raises `WorkspaceError`, with nothing moved, if the clone's commits cannot enter the repository."""
        worktree = self._repository.worktree(path)
        git_dir = self._place(path)
        if git_dir is None:
            return
        clone = git_dir / CLONE / "git"
        with _explain_errors(path):
            exchange = read_exchange(git_dir)
            state = read_state(clone, self._names.head(path))
            # Without a note the clone was created but never handed out, so no step has worked in it.
            if exchange.state is None or (state == exchange.state and not exchange.entered):
                return
            self._admit(path, git_dir, clone, state)
        self._follow(path, worktree, git_dir, state, exchange)
        # Last: a crash before this line repeats the whole exchange, which finds the objects and the ref in
        # place.
        write_exchange(git_dir, replace(exchange, state=state, entered=()))

    def _place(self, path: str) -> Path | None:
        """Returns the registration of a slice with a clone, even if its directory is gone."""
        worktree = self._repository.worktree(path)
        git_dir = None
        try:
            git_dir = git_dir_of(worktree)
        except WorkspaceError:
            if path in self._repository.clones and not worktree.is_dir():
                git_dir = self._worktrees.entry_of(worktree)
        return None if git_dir is None or clone_of(git_dir) is None else git_dir

    def _admit(self, path: str, git_dir: Path, place: Path, state: CloneState) -> None:
        names, exchange = self._names, read_exchange(git_dir)
        refs = tips_of(self._git, names.head(path), names.start(path), names.tip(path))
        complete = dict.fromkeys((*refs.values(), *exchange.entered))
        heads = [oid for oid in dict.fromkeys((state.head, state.branch)) if oid]
        before = exchange.state or state
        # Commits that the step made and took back (by amend, rebase or reset) are admitted as well and kept
        # under refs/weft/kept, as they are for worktrees.
        undone = [
            oid
            for oid in dict.fromkeys((*logged(place, after=before.log_size), *exchange.entered))
            if oid not in heads and (oid not in complete or oid in exchange.entered)
        ][-_MOST_LOGGED:]
        self._enter(
            place,
            [oid for oid in heads if oid not in complete],
            [oid for oid in undone if oid not in complete],
            known=tuple(complete),
        )
        if undone:
            keep_logged(self._git, git_dir, path, names, seen=undone, head=state.branch)

    def _enter(
        self, place: Path, heads: Sequence[str], undone: Sequence[str], *, known: tuple[str, ...]
    ) -> None:
        """Admits all these commits together; if that fails, the heads, and then as many others as possible."""

        def enter(*commits: str) -> None:
            if commits:
                request = WantedCommits(commits=commits, known=known)
                admit(self._repository.repository.common, place, request, limits=self._limits)

        try:
            # All at once is the common case, and its cost in processes does not depend on their number.
            enter(*heads, *undone)
        except ForeignError:
            if not undone:
                raise
            enter(*heads)
            for oid in undone:
                with suppress(ForeignError):  # the step itself has deleted some of its objects
                    enter(oid)

    def _follow(
        self, path: str, worktree: Path, git_dir: Path, state: CloneState, exchange: ExchangeNote
    ) -> None:
        """Moves the worktree's branch and index to the clone's state; its files are in that state already."""
        branch = self._names.head(path)
        self._advance(path, branch, state, exchange)
        if not worktree.is_dir():
            return
        git = self._git.at(worktree)
        remove_stale_locks(worktree, git_dir, pause=self._pause)
        with explain_lock_errors():
            if state.ref != branch and state.head:
                # The step has left its branch. Other branch names of the clone mean nothing in the repository.
                git.do("update-ref", "--no-deref", "-m", f"weft: {path} left its branch", "HEAD", state.head)
            elif state.ref == branch:
                self._reattach(git, branch)
            if exchange.state is None or exchange.entered or state.head != exchange.state.head:
                git.do("read-tree", "--reset", "HEAD", env=settings(git_dir))

    @staticmethod
    def _reattach(git: Git, branch: str) -> None:
        if git.ask("symbolic-ref", "--quiet", "HEAD").text != branch:
            git.do("symbolic-ref", "HEAD", branch)

    def _advance(self, path: str, branch: str, state: CloneState, exchange: ExchangeNote) -> None:
        current = tips_of(self._git, branch).get(branch, "")
        after = state.branch
        previous = "" if exchange.state is None else exchange.state.branch
        if not after or after == current or (after == previous and current not in exchange.entered):
            return
        # A person moved the branch in the repository while the step moved it in the clone. If one contains the
        # other, the newer one wins; otherwise the commits of both must be kept.
        if current not in {"", previous, *exchange.entered} and not is_ancestor(self._git, current, after):
            if is_ancestor(self._git, after, current):
                return
            kept = RefMove(ref=self._names.kept(path, after), before="", after=after)
            self._repository.move(changes([kept]), f"{path} left it behind")
            raise WorkspaceError(
                f"the branch {self._names.branch(path)} was moved both in the repository and in the clone of "
                f"{path}; the commits of the clone are kept as {kept.ref}; to start the slice again, "
                f"type: weft retry {path}"
            )
        if not move(
            self._git, [RefMove(ref=branch, before=current, after=after)], reason=f"weft: {path} committed"
        ):
            raise WorkspaceError(
                f"the branch {self._names.branch(path)} was moved while its clone was read; try again"
            )


@contextmanager
def _explain_errors(path: str) -> Generator[None]:
    try:
        yield
    except (ForeignError, UntrustedError) as error:
        raise WorkspaceError(
            f"the commits of {path} in its clone cannot be fetched into the repository: {error}; nothing has "
            f"moved; to start the slice again, type: weft retry {path}"
        ) from error
