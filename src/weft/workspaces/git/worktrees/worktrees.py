"""Worktrees of one repository: made, proven, listed and removed.

A worktree is registered under a lock: while `git worktree add` writes the few files of a registration, another git
that looks at all of them finds one half written, and gives up. Its files are checked out afterwards, many at once.

As long as a worktree is not whole it is locked, in git's own sense, and the reason given says so. Whatever a crash
left of such a one is removed when it is made again: nobody has worked there. What goes is first moved aside, so a
directory that is in its place is whole, and then wiped. Nothing else is removed unless it is clean and what it has
checked out has a name, or the caller says that nothing in it is wanted.

Several threads and processes may use this at once, if no two are about the same directory.
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
from weft.workspaces.git.base.lock_files import Pause
from weft.workspaces.git.base.locks import free, locks_explained
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.base.refs import tip
from weft.workspaces.git.base.status import status
from weft.workspaces.git.base.worktree_links import (
    MAKING,
    clone_of,
    git_dir_of,
    is_unfinished,
    operation_in,
    refuse_operation,
    require_registered,
    text_of,
)
from weft.workspaces.git.checkouts.registrations import ListedWorktree, Registrations
from weft.workspaces.git.checkouts.untracked_files import brought_into, is_in
from weft.workspaces.git.clones.clone import hand_out, make_clone
from weft.workspaces.safe_walk import wipe

_HEADS = "refs/heads/"
_SCRATCH = "weft-scratch"
"""In the git directory of a worktree that has no branch: what is in it is nobody's work."""
_OPENED = "weft-opened"
"""In the git directory of a worktree that a person asked for: it goes only by `weft clean`."""
_WORKERS = "checkout.workers=2"
"""Where a disk is slow to make files, two at a time are far quicker; elsewhere it makes no difference."""


class WorktreeRequest(Struct, frozen=True, kw_only=True):
    """How a worktree is to be."""

    branch: str | None
    commit: str
    sparse: Sequence[str]
    clone: Mapping[str, str] | None

    def is_at(self, found: ListedWorktree) -> bool:
        return found.branch == self.branch and found.head == self.commit


class Worktrees:
    def __init__(self, git: Git, common: Path, *, pause: Pause = time.sleep) -> None:
        """`git` is at the top of the user's checkout; `common` is what all worktrees of the repository share."""
        self._git = git
        self._common = common
        self._pause = pause
        self._registrations = Registrations(git, common, pause=pause)

    def listed(self) -> Sequence[ListedWorktree]:
        return self._registrations.listed()

    def find(self, directory: Path, branch: str) -> ListedWorktree | None:
        """What the repository knows of it; raises `WorkspaceError` if the branch is checked out elsewhere."""
        return self._look_for(directory.absolute(), branch)

    def entry_of(self, directory: Path) -> Path | None:
        """The git directory of a worktree, whatever has become of the worktree itself."""
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
        """A worktree on the branch, which is made if there is none, or without one. It may be there already.

        `clone`: its steps have a git directory of their own that knows these refs.
        """
        directory = directory.absolute()
        wanted = WorktreeRequest(branch=branch, commit=commit, sparse=sparse, clone=clone)
        with locks_explained():
            found = self._look_for(directory, branch)
            if branch is not None:
                self._require_branch(branch, commit)
            if self._is_made(directory, found, wanted):
                if wanted.clone is not None:
                    make_clone(self._git, git_dir_of(directory), self._common, wanted.clone)
                return
            self._registrations.add(directory, branch=branch, commit=commit)
            self._check_out(directory, wanted)

    def _look_for(self, directory: Path, branch: str | None) -> ListedWorktree | None:
        _wipe_aside(directory)
        place = directory.parent.resolve() / directory.name  # were it a link, that would not be followed
        if not self._registrations.may_know(place, branch):
            return None
        listed = self.listed()
        for one in listed:
            if branch is not None and one.branch == branch and one.path != place:
                raise _elsewhere(one, branch)
        return next((one for one in listed if one.path == place), None)

    def _require_branch(self, branch: str, commit: str) -> None:
        if tip(self._git, branch) == commit:
            return
        made = self._git.ask("update-ref", "--stdin", stdin=os.fsencode(f"create {branch} {commit}\n"))
        if made.exit_code == 0:
            return
        found = self._git.ask("rev-parse", "--quiet", "--verify", branch)
        if found.exit_code:
            error = GitError(("update-ref", branch), made.exit_code, made.said)
            raise WorkspaceError(f"the branch {_name(branch)} cannot be made: {made.said}") from error
        if found.text != commit:
            raise WorkspaceError(
                f"the branch {_name(branch)} is at {found.text[:12]} and not at {commit[:12]}, where it is to be; "
                f"if you want neither, type: git branch -m {_name(branch)} {_name(branch)}-{found.text[:7]}"
            )

    def _is_made(self, directory: Path, found: ListedWorktree | None, wanted: WorktreeRequest) -> bool:
        """If it is not, nothing is in its place any more."""
        if found is None:
            _refuse_unknown(directory)
            return False
        entry = self._registrations.entry_of(directory)
        if entry is not None:  # the git of a coordinator that died may still be at work there
            free(directory, entry, pause=self._pause)
        if found.locked != MAKING:
            if _is_empty(directory):
                _refuse_locked(found)
            elif self._is_usable(directory, found, wanted):
                return True
            if wanted.branch is not None:
                self._refuse_nameless(found)
        self._drop(directory)
        return False

    def _is_usable(self, directory: Path, found: ListedWorktree, wanted: WorktreeRequest) -> bool:
        """If it is not, nothing in it is wanted."""
        git_dir = git_dir_of(directory)
        require_registered(directory, git_dir, self._common)
        if wanted.branch is None and (git_dir / _SCRATCH).exists():
            return False
        self._refuse_dirt(directory, "be made anew")
        return wanted.is_at(found) and sparsely.is_chosen(git_dir, wanted.sparse)

    def _check_out(self, directory: Path, wanted: WorktreeRequest) -> None:
        git_dir = git_dir_of(directory)
        if wanted.branch is None:
            touch(git_dir / _SCRATCH)
        sparsely.choose(git_dir, wanted.sparse)
        if wanted.clone is not None:
            make_clone(self._git, git_dir, self._common, wanted.clone)
        git = self._git.at(directory)
        git.do("-c", _WORKERS, "read-tree", "--reset", "-u", "HEAD", env=sparsely.settings(git_dir))
        if wanted.clone is not None:
            hand_out(git, git_dir, wanted.branch or "refs/heads/none", pause=self._pause)
        (git_dir / "locked").unlink()

    # Proving

    def prove(self, directory: Path, branch: str) -> None:
        """Raises `WorkspaceError` if the directory is not the worktree that it should be."""
        git_dir = git_dir_of(directory)
        require_registered(directory, git_dir, self._common)
        if is_unfinished(git_dir):
            raise WorkspaceError(f"the worktree {directory} was not made to its end; run the plan again")
        refuse_operation(directory, git_dir)
        git = self._git.at(directory)
        answer = git.ask("rev-parse", "--show-toplevel", "--symbolic-full-name", "HEAD")
        if answer.text != f"{os.path.realpath(directory)}\n{branch}":
            raise _astray(directory, branch, answer, git_dir)
        if _is_bare_of_work(directory, git_dir) and _should_have_files(git):
            raise WorkspaceError(
                f"the worktree {directory} is empty, though its commit is not; "
                f"type: git -C {directory} reset --hard"
            )

    # Removing

    def is_clean(self, directory: Path) -> bool:
        """Whether all that is in it is in its commit, but for what is ignored or was brought."""
        return not self._dirt(directory)

    def remove(self, directory: Path, *, force: bool = False) -> None:
        """With `force`, whatever is in it: nothing of it is wanted."""
        directory = directory.absolute()
        with locks_explained():
            found = self._look_for(directory, None)
            if found is None:
                raise WorkspaceError(
                    f"{directory} is not registered as a worktree, so Weft does not remove it; look what is in it"
                )
            if not force and not _is_empty(directory):
                require_registered(directory, git_dir_of(directory), self._common)
                self._refuse_dirt(directory, "be removed")
                self._refuse_repositories(directory)
            if not force:
                self._refuse_nameless(found)
            self._drop(directory)

    def release(self, directory: Path, branch: str) -> bool:
        """Removes a worktree on the branch if all that is in it is in its commit; else it stays, as it is."""
        directory = directory.absolute()
        try:
            git_dir = git_dir_of(directory)
            require_registered(directory, git_dir, self._common)
            is_wanted = (git_dir / "locked").exists() or (git_dir / _OPENED).exists()
            is_at_rest = text_of(git_dir / "HEAD") == f"ref: {branch}" and not is_wanted
            if not is_at_rest or self._dirt(directory):
                return False
            self._refuse_repositories(directory)
        except WorkspaceError:
            return False
        directory.rename(_aside(directory))
        self._registrations.forget(git_dir)
        _wipe_aside(directory)
        return True

    def note_opened(self, directory: Path) -> None:
        """A person wants to have the worktree, so that Weft does not remove it by itself."""
        touch(git_dir_of(directory) / _OPENED)

    def is_opened(self, directory: Path) -> bool:
        return (git_dir_of(directory) / _OPENED).exists()

    def discard(self, directory: Path) -> None:
        """The same, with force; and whatever is left of a removal that was cut off, or nothing."""
        directory = directory.absolute()
        with locks_explained():
            if self._look_for(directory, None) is not None:
                self._drop(directory)

    def _drop(self, directory: Path) -> None:
        """Killed in the middle, it leaves a registration without a directory, or something to be wiped."""
        with suppress(FileNotFoundError):
            directory.rename(_aside(directory))
        entry = self._registrations.entry_of(directory)
        if entry is not None and clone_of(entry) is not None:
            with Tree(entry).folder() as folder:
                wipe(folder.descriptor, CLONE)  # git could not remove what a step has taken its own rights to
        self._registrations.remove(directory)
        _wipe_aside(directory)

    def _dirt(self, directory: Path) -> list[str]:
        git_dir = git_dir_of(directory)
        brought = brought_into(git_dir)
        with locks_explained():
            found = status(self._git.at(directory), git_dir)
        operation = operation_in(git_dir)
        dirt = [shown(one.path) for one in found.differences if not is_in(brought, one.path)]
        return dirt if operation is None else [*dirt, f"an unfinished `git {operation}`"]

    def _refuse_dirt(self, directory: Path, what: str) -> None:
        dirt = self._dirt(directory)
        if dirt:
            raise WorkspaceError(
                f"the worktree {directory} cannot {what}, for it holds what is in no commit: {listed(dirt)}; "
                f"commit it there or remove it; to see it, type: git -C {directory} status"
            )

    def _refuse_repositories(self, directory: Path) -> None:
        """Commits that were made in a submodule may be nowhere else."""
        entries = self._git.at(directory).fields("ls-files", "--stage", "-z")
        links = (entry.split("\t", 1)[1] for entry in entries if entry.startswith("160000 "))
        held = [link for link in links if (directory / link / ".git").exists()]
        if held:
            raise WorkspaceError(
                f"the worktree {directory} is not removed, for it holds other repositories: {listed(held)}; if "
                f"what is in them is elsewhere, too, type: git worktree remove --force {directory}"
            )

    def _refuse_nameless(self, found: ListedWorktree) -> None:
        """A commit that is checked out and that no ref leads to would be lost."""
        if found.branch is not None or not found.head.strip("0"):
            return
        if not self._git.line("for-each-ref", "--count=1", f"--contains={found.head}"):
            raise WorkspaceError(
                f"the worktree {found.path} has a commit checked out that is on no branch; to keep it, type: "
                f"git branch NAME {found.head[:12]}"
            )


# What is at a place


def _aside(directory: Path) -> Path:
    return directory.with_name(f"_old.{directory.name}")


def _wipe_aside(directory: Path) -> None:
    """What was to go, and is not gone yet."""
    aside = _aside(directory)
    if os.path.lexists(aside):
        folder = os.open(aside.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            wipe(folder, aside.name)
        finally:
            os.close(folder)


def _is_empty(directory: Path) -> bool:
    """Also if there is none."""
    try:
        return not any(directory.iterdir())
    except FileNotFoundError:
        return True
    except NotADirectoryError:
        return False


def _refuse_unknown(directory: Path) -> None:
    if directory.is_symlink() or not _is_empty(directory):
        raise WorkspaceError(
            f"{directory} is there, and is no worktree of this repository, so Weft does not touch it; save what "
            "you want of it, move it away, and try again"
        )


def _is_bare_of_work(directory: Path, git_dir: Path) -> bool:
    names = {os.fsencode(entry.name) for entry in directory.iterdir()} - {b".git"}
    return names <= {path.split(b"/", 1)[0] for path in brought_into(git_dir)}


def _should_have_files(git: Git) -> bool:
    """Whether there are files in its commit, and not all of them are left out on purpose."""
    known = git.fields("ls-files", "-t", "-z")
    left_out = bool(known) and all(entry.startswith("S ") for entry in known)
    return not left_out and bool(git.do("ls-tree", "HEAD"))


# What is wrong


def _name(ref: str) -> str:
    return ref.removeprefix(_HEADS)


def _elsewhere(other: ListedWorktree, branch: str) -> WorkspaceError:
    what = f"the branch {_name(branch)} is checked out in {other.path}, and cannot be in two worktrees"
    if other.prunable is not None:
        return WorkspaceError(f"{what}; that directory is gone: put it back, or type `git worktree prune`")
    return WorkspaceError(f"{what}; type: git -C {other.path} switch --detach")


def _refuse_locked(found: ListedWorktree) -> None:
    if found.locked is None:
        return
    reason = f" by somebody who says: {found.locked}" if found.locked else ""
    raise WorkspaceError(
        f"the worktree {found.path} is gone, but it was locked{reason}; put it back, or, if it may be made anew, "
        f"type: git worktree unlock {found.path}"
    )


def _astray(directory: Path, branch: str, answer: GitOutput, git_dir: Path) -> WorkspaceError:
    top, _, head = answer.text.rpartition("\n")
    name = _name(branch)
    if top != os.path.realpath(directory):
        return WorkspaceError(
            f"git takes {top or 'nothing'} for the root of {directory}: {answer.said or 'so it is set'}; "
            f"look for `core.worktree` in: git -C {directory} config --list --show-origin"
        )
    if answer.exit_code and text_of(git_dir / "HEAD") == f"ref: {branch}":
        last = (text_of(git_dir / "logs" / "HEAD") or "").rpartition("\n")[2].split(" ")
        again = last[1][:12] if len(last) > 1 else "COMMIT"
        return WorkspaceError(
            f"the branch {name} of the worktree {directory} is gone; "
            f"to have it back, type: git branch {name} {again}"
        )
    found = f"the branch {_name(head)}" if head.startswith(_HEADS) else "no branch"
    return WorkspaceError(
        f"the worktree {directory} has {found} checked out, and is to have {name}; "
        f"type: git -C {directory} switch {name}"
    )
