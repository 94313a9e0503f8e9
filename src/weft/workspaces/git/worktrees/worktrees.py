"""The worktrees of one repository: created, checked, listed and removed.

A worktree is registered under a lock. While `git worktree add` writes the files of a registration, another git
that lists all registrations can read a half-written one and fail. The files of a worktree are checked out after
its registration, for many worktrees in parallel.

An incomplete worktree is locked, in git's own sense. The next creation removes it, because no step has worked in
it. A directory is renamed before it is deleted, so it is complete as long as it has its proper name. Other
worktrees are removed only if they are clean and a ref leads to their commit, or with `force`.
"""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from weft.ports.workspaces import CLONE
from weft.safe_files import Tree, touch
from weft.workspaces.errors import WorkspaceError, listed, shown
from weft.workspaces.git.base import sparse as sparsely
from weft.workspaces.git.base.index_file import may_have_submodules
from weft.workspaces.git.base.lock_files import Pause
from weft.workspaces.git.base.locks import explain_lock_errors, remove_stale_locks
from weft.workspaces.git.base.program import Git, GitError
from weft.workspaces.git.base.refs import tip, tips_of
from weft.workspaces.git.base.status import status
from weft.workspaces.git.base.worktree_links import (
    MAKING,
    clone_of,
    git_dir_of,
    is_plainly_on,
    is_unfinished,
    operation_in,
    refuse_operation,
    require_registered,
    text_of,
)
from weft.workspaces.git.checkouts.registrations import ListedWorktree, Registrations
from weft.workspaces.git.checkouts.untracked_files import copied_into, is_in
from weft.workspaces.git.clones.clone import hand_out, make_clone
from weft.workspaces.git.worktrees.refusals import (
    branch_name,
    checked_out_elsewhere,
    is_empty,
    refuse_locked,
    refuse_unknown,
    wrong_branch_error,
)
from weft.workspaces.safe_walk import wipe

_SCRATCH = "weft-scratch"
"""A file in the git directory of a worktree without a branch. No step works in such a worktree."""
_OPENED = "weft-opened"
"""A file in the git directory of a worktree that a person asked for. Only `weft clean` removes that worktree."""
_WORKERS = ("-c", "checkout.workers=2", "-c", "checkout.thresholdForParallelism=500")
"""Two parallel checkout workers are much faster on disks that create files slowly, and no slower on others.

For few files their start costs more than they save.
"""


class WorktreeRequest(Struct, frozen=True, kw_only=True):
    """The desired state of a worktree."""

    branch: str | None
    commit: str
    sparse: Sequence[str]
    clone: Mapping[str, str] | None

    def is_at(self, worktree: ListedWorktree) -> bool:
        return worktree.branch == self.branch and worktree.head == self.commit


class Worktrees:
    def __init__(self, git: Git, common: Path, *, pause: Pause = time.sleep) -> None:
        """`git` runs at the top of the user's checkout; `common` is the git directory that all worktrees share."""
        self._git = git
        self._common = common
        self._pause = pause
        self._registrations = Registrations(git, common, pause=pause)

    def listed(self) -> Sequence[ListedWorktree]:
        return self._registrations.listed()

    def find(self, directory: Path, branch: str) -> ListedWorktree | None:
        """Returns git's entry for the worktree. Raises `WorkspaceError` if the branch is checked out elsewhere."""
        return self._find_entry(directory.absolute(), branch)

    def entry_of(self, directory: Path) -> Path | None:
        """Returns the git directory of a worktree, even if the worktree itself is missing or damaged."""
        return self._registrations.entry_of(directory)

    def git_dir(self, directory: Path) -> Path:
        return git_dir_of(directory)

    # Making

    def make(
        self,
        directory: Path,
        *,
        branch: str | None,
        commit: str,
        sparse: Sequence[str] = (),
        clone: Mapping[str, str] | None = None,
    ) -> None:
        """Creates a worktree on the branch, or a detached one if `branch` is None, unless it exists already.

        Creates the branch as well if needed. With `clone`, the steps get a git directory of their own that has
        these refs.
        """
        directory = directory.absolute()
        request = WorktreeRequest(branch=branch, commit=commit, sparse=sparse, clone=clone)
        with explain_lock_errors():
            worktree = self._find_entry(directory, branch)
            if branch is not None:
                self._require_branch(branch, commit)
            if self._is_made(directory, worktree, request):
                if request.clone is not None:
                    make_clone(self._git, git_dir_of(directory), self._common, request.clone)
                return
            # From `add` on the worktree is locked with the reason MAKING; the end of `_check_out` removes the
            # lock. A crash between the two leaves a worktree that the next call recognises as incomplete.
            self._registrations.add(directory, branch=branch, commit=commit)
            self._check_out(directory, request)

    def _find_entry(self, directory: Path, branch: str | None) -> ListedWorktree | None:
        # A removal that was cut off left the directory under its other name. It must go before a new directory
        # can be renamed to that name.
        _wipe_aside(directory)
        path = directory.parent.resolve() / directory.name  # the last name may be a link, which is an error
        if not self._registrations.may_know(path, branch):
            return None
        listed = self.listed()
        for worktree in listed:
            if branch is not None and worktree.branch == branch and worktree.path != path:
                raise checked_out_elsewhere(worktree, branch)
        return next((worktree for worktree in listed if worktree.path == path), None)

    def _require_branch(self, branch: str, commit: str) -> None:
        if tip(self._git, branch) == commit:
            return
        # `create` fails if the branch exists, at whatever commit: a branch of the user's with this name is
        # never moved.
        creation = self._git.ask("update-ref", "--stdin", stdin=os.fsencode(f"create {branch} {commit}\n"))
        if creation.exit_code == 0:
            return
        current, name = self._git.ask("rev-parse", "--quiet", "--verify", branch), branch_name(branch)
        if current.exit_code:
            error = GitError(("update-ref", branch), creation.exit_code, creation.message)
            raise WorkspaceError(f"the branch {name} cannot be created: {creation.message}") from error
        if current.text != commit:
            raise WorkspaceError(
                f"the branch {name} is at {current.text[:12]} and not at {commit[:12]}; to keep neither, "
                f"rename it by typing: git branch -m {name} {name}-{current.text[:7]}"
            )

    def _is_made(self, directory: Path, worktree: ListedWorktree | None, request: WorktreeRequest) -> bool:
        """Returns whether the requested worktree exists. If it does not, removes whatever is in its place."""
        if worktree is None:
            refuse_unknown(directory)
            return False
        entry = self._registrations.entry_of(directory)
        if entry is not None:  # a git process of a dead coordinator may still be running there
            remove_stale_locks(directory, entry, pause=self._pause)
        # A worktree with Weft's own lock was never complete, so it holds no work and may go without a check.
        if worktree.locked != MAKING:
            if is_empty(directory):
                refuse_locked(worktree)
            elif self._is_usable(directory, worktree, request):
                return True
            if request.branch is not None:
                self._refuse_nameless(worktree)
        self._drop(directory)
        return False

    def _is_usable(self, directory: Path, worktree: ListedWorktree, request: WorktreeRequest) -> bool:
        """Returns whether the worktree matches the request; refuses uncommitted work."""
        git_dir = git_dir_of(directory)
        require_registered(directory, git_dir, self._common)
        if request.branch is None and (git_dir / _SCRATCH).exists():
            return False
        self._refuse_dirt(directory, "be created again")
        return request.is_at(worktree) and sparsely.is_chosen(git_dir, request.sparse)

    def _check_out(self, directory: Path, request: WorktreeRequest) -> None:
        git_dir = git_dir_of(directory)
        if request.branch is None:
            touch(git_dir / _SCRATCH)
        sparsely.choose(git_dir, request.sparse)
        if request.clone is not None:
            make_clone(self._git, git_dir, self._common, request.clone)
        git = self._git.at(directory)
        # read-tree instead of `git checkout`: it runs no post-checkout hook, and can be repeated on a
        # half-written tree.
        git.do(*_WORKERS, "read-tree", "--reset", "-u", "HEAD", env=sparsely.settings(git_dir))
        if request.clone is not None:
            hand_out(git, git_dir, request.branch or "refs/heads/none", pause=self._pause)
        (git_dir / "locked").unlink()  # the worktree is complete now; see the module docstring

    # Proving

    def prove(self, directory: Path, branch: str) -> None:
        """Raises `WorkspaceError` if the directory is not the worktree that it should be."""
        git_dir = git_dir_of(directory)
        require_registered(directory, git_dir, self._common)
        if is_unfinished(git_dir):
            raise WorkspaceError(f"the worktree {directory} was not created completely; run the plan again")
        refuse_operation(directory, git_dir)
        git = self._git.at(directory)
        # This runs before every step. Usually git's files answer both questions: which checkout git sees, and
        # which branch. A step may have set core.worktree for this worktree, for example; git has to be asked
        # then.
        if not is_plainly_on(git_dir, self._common, branch) or tips_of(git, branch).keys() != {branch}:
            answer = git.ask("rev-parse", "--show-toplevel", "--symbolic-full-name", "HEAD")
            if answer.text != f"{os.path.realpath(directory)}\n{branch}":
                raise wrong_branch_error(directory, branch, answer, git_dir)
        if _is_bare_of_work(directory, git_dir) and _should_have_files(git):
            remedy = f"type: git -C {directory} reset --hard"
            raise WorkspaceError(f"the worktree {directory} is empty, though its commit is not; {remedy}")

    # Removing

    def is_clean(self, directory: Path) -> bool:
        """Returns whether the worktree has no uncommitted work, apart from ignored and copied-in files."""
        return not self._dirt(directory)

    def remove(self, directory: Path, *, force: bool = False) -> None:
        """Removes the worktree. With `force`, also removes uncommitted work and commits without a ref."""
        directory = directory.absolute()
        with explain_lock_errors():
            worktree = self._find_entry(directory, None)
            if worktree is None:
                raise WorkspaceError(
                    f"{directory} is not registered as a worktree, so Weft does not remove it; check its content"
                )
            if not force and not is_empty(directory):
                require_registered(directory, git_dir_of(directory), self._common)
                self._refuse_dirt(directory, "be removed")
                self._refuse_repositories(directory)
            # A detached HEAD may be the only thing that leads to a commit.
            if not force:
                self._refuse_nameless(worktree)
            self._drop(directory)

    def release(self, directory: Path, branch: str) -> bool:
        """Removes the worktree if it is clean, on the branch and not opened by a person; returns if it did."""
        directory = directory.absolute()
        try:
            git_dir = git_dir_of(directory)
            require_registered(directory, git_dir, self._common)
            is_in_use = (git_dir / "locked").exists() or (git_dir / _OPENED).exists()
            is_at_rest = text_of(git_dir / "HEAD") == f"ref: {branch}" and not is_in_use
            if not is_at_rest or self._dirt(directory):
                return False
            self._refuse_repositories(directory)
        except WorkspaceError:
            return False
        # The rename takes the directory away at once and as a whole. Deleting thousands of files takes a while,
        # and a crash in the middle would leave a worktree that looks complete but is not.
        directory.rename(_aside(directory))
        self._registrations.forget(git_dir)
        _wipe_aside(directory)
        return True

    def finish_release(self, directory: Path) -> bool:
        """Completes the release of a worktree that a crash has interrupted; returns whether there was one."""
        directory = directory.absolute()
        # A directory that is missing without that trace was removed by a person, and is reported as lost.
        if directory.is_dir() or not _aside(directory).is_dir():
            return False
        entry = self._registrations.entry_of(directory)
        if entry is not None:
            self._registrations.forget(entry)
        _wipe_aside(directory)
        return True

    def note_opened(self, directory: Path) -> None:
        """Records that a person uses the worktree, so that Weft does not remove it on its own."""
        touch(git_dir_of(directory) / _OPENED)

    def is_opened(self, directory: Path) -> bool:
        return (git_dir_of(directory) / _OPENED).exists()

    def discard(self, directory: Path) -> None:
        """Removes the worktree with its contents, or the rest of an interrupted removal. It need not exist."""
        directory = directory.absolute()
        with explain_lock_errors():
            if self._find_entry(directory, None) is not None:
                self._drop(directory)

    def _drop(self, directory: Path) -> None:
        """Removes a worktree. A crash leaves a registration without a directory, or a renamed directory."""
        with suppress(FileNotFoundError):
            directory.rename(_aside(directory))
        entry = self._registrations.entry_of(directory)
        if entry is not None and clone_of(entry) is not None:
            with Tree(entry).folder() as folder:
                wipe(folder.descriptor, CLONE)  # git would fail where a step removed its own permissions
        self._registrations.remove(directory)
        _wipe_aside(directory)

    def _dirt(self, directory: Path) -> list[str]:
        git_dir = git_dir_of(directory)
        copied_in = copied_into(git_dir)
        with explain_lock_errors():
            differences = status(self._git.at(directory), git_dir).differences
        operation = operation_in(git_dir)
        paths = (difference.path for difference in differences)
        dirt = [shown(path) for path in paths if not is_in(copied_in, path)]
        return dirt if operation is None else [*dirt, f"an unfinished `git {operation}`"]

    def _refuse_dirt(self, directory: Path, action: str) -> None:
        dirt = self._dirt(directory)
        if dirt:
            raise WorkspaceError(
                f"the worktree {directory} cannot {action}, because it has uncommitted changes: {listed(dirt)}; "
                f"commit it there or remove it; to see it, type: git -C {directory} status"
            )

    def _refuse_repositories(self, directory: Path) -> None:
        """Raises `WorkspaceError` if the worktree holds submodules: their commits may exist nowhere else."""
        if not may_have_submodules(git_dir_of(directory) / "index"):
            return
        entries = self._git.at(directory).fields("ls-files", "--stage", "-z")
        links = (entry.split("\t", 1)[1] for entry in entries if entry.startswith("160000 "))
        repositories = [link for link in links if (directory / link / ".git").exists()]
        if repositories:
            raise WorkspaceError(
                f"the worktree {directory} is not removed, because it contains other repositories: "
                f"{listed(repositories)}; if they exist elsewhere, type: git worktree remove --force {directory}"
            )

    def _refuse_nameless(self, worktree: ListedWorktree) -> None:
        """Raises `WorkspaceError` if no ref leads to the detached commit, because a removal would lose it."""
        if worktree.branch is not None or not worktree.head.strip("0"):
            return
        if not self._git.line("for-each-ref", "--count=1", f"--contains={worktree.head}"):
            raise WorkspaceError(
                f"the worktree {worktree.path} has a commit checked out that is on no branch; to keep it, type: "
                f"git branch NAME {worktree.head[:12]}"
            )


# What is at a place


def _aside(directory: Path) -> Path:
    return directory.with_name(f"_old.{directory.name}")


def _wipe_aside(directory: Path) -> None:
    """Deletes a directory that an interrupted removal has renamed."""
    aside = _aside(directory)
    if os.path.lexists(aside):
        folder = os.open(aside.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            wipe(folder, aside.name)
        finally:
            os.close(folder)


def _is_bare_of_work(directory: Path, git_dir: Path) -> bool:
    names = {os.fsencode(entry.name) for entry in directory.iterdir()} - {b".git"}
    return names <= {path.split(b"/", 1)[0] for path in copied_into(git_dir)}


def _should_have_files(git: Git) -> bool:
    """Returns whether the commit has files and the sparse checkout includes at least one of them."""
    entries = git.fields("ls-files", "-t", "-z")
    are_all_excluded = bool(entries) and all(entry.startswith("S ") for entry in entries)
    return not are_all_excluded and bool(git.do("ls-tree", "HEAD"))
