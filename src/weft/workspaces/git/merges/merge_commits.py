"""Merge commits made in memory, and the reasons that keep a subplan from being merged.

The branch of a group and the target receive work by the same merge. A merge that was made for the one is reused
for the other where both parents are the same, so that the history shows it once.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from weft.plan.order.globs import matches
from weft.ports.workspaces import HeldError
from weft.workspaces.errors import WorkspaceError, listed, shown
from weft.workspaces.git.base.conflicts import Conflict, explain
from weft.workspaces.git.base.merge_tree import Ancestry, try_merge
from weft.workspaces.git.base.worktree_links import git_dir_of, is_unfinished
from weft.workspaces.git.checkouts.branch_checkouts import checkout_of
from weft.workspaces.git.plan_repository import PlanRepository
from weft.workspaces.git.worktrees.unsaved_work import unsaved
from weft.workspaces.git.worktrees.worktrees import Worktrees


class MergeInput(Struct, frozen=True, kw_only=True):
    """What is merged, and under which rules."""

    path: str
    """The subplan."""
    subject: str
    into: str
    """The receiving branch, as people name it."""
    take_branch: tuple[str, ...] = ()
    """Globs of files that resolve to the subplan's version in a conflict."""
    files: tuple[str, ...] | None = None
    """Globs of the only files that the subplan may have changed; None allows all."""
    sparse: tuple[str, ...] = ()
    """The directories that a worktree of the subplan holds; none means all."""


class MergeCommit(Struct, frozen=True):
    """A merge commit and its tree."""

    tree: str
    commit: str


class MergeCommits:
    """Creates merge commits, with a cache."""

    def __init__(self, plan_repository: PlanRepository, worktrees: Worktrees) -> None:
        self._repository = plan_repository
        self._names = plan_repository.names
        self._git = plan_repository.git
        self._worktrees = worktrees
        self._cache: dict[tuple[str, ...], MergeCommit] = {}
        """By subplan, subject and the two parents."""
        self._trees: dict[tuple[str, ...], str] = {}
        """Trees of merges that have no commit yet, by the same."""

    def make(
        self, merge: MergeInput, ours: str, theirs: str, ancestry: Ancestry | None = None
    ) -> MergeCommit:
        """Returns the merge of `theirs` into `ours`. Raises `HeldError` for a conflict."""
        key = _key(merge, ours, theirs)
        if key not in self._cache:
            tree = self._trees.pop(key, "") or self._merge_trees(merge, ours, theirs, ancestry)
            commit = self._repository.commit(tree, (ours, theirs), merge.subject, merge.path)
            self._cache[key] = MergeCommit(tree, commit)
        return self._cache[key]

    def tree(self, merge: MergeInput, ours: str, theirs: str) -> str:
        """Returns the tree of the same merge, which `make` then uses."""
        key = _key(merge, ours, theirs)
        if key in self._cache:
            return self._cache[key].tree
        tree = self._merge_trees(merge, ours, theirs, None)
        self._trees[key] = tree
        return tree

    def _merge_trees(self, merge: MergeInput, ours: str, theirs: str, ancestry: Ancestry | None) -> str:
        trial = try_merge(self._git, ours, theirs, take=merge.take_branch, ancestry=ancestry)
        if merge.files is not None:
            self._refuse_files(merge.path, merge.files, (ours, trial.tree))
        if trial.conflicts:
            raise self._conflict(merge, theirs, trial.conflicts)
        return trial.tree

    # Reasons against a merge

    def refuse_unsaved(self, path: str) -> None:
        """Raises `HeldError` for uncommitted changes, which a person may want in the merge."""
        worktree = self._repository.worktree(path)
        if not worktree.is_dir() or not any(worktree.iterdir()):
            return
        try:
            if is_unfinished(git_dir_of(worktree)):
                return  # the worktree was never complete, so it holds no work
            self._worktrees.prove(worktree, self._names.head(path))
            files = [shown(file) for file in unsaved(self._git.at(worktree)).paths]
        except WorkspaceError as error:
            raise HeldError(f"{path} cannot be merged: {error}; then type: weft merge {path}") from error
        if files:
            git_command = shlex.join(("git", "-C", str(worktree)))
            commit = f"{git_command} add --all && {git_command} commit -m 'finish {path}'"
            raise HeldError(
                f"{worktree} has changes that are not committed: {listed(files)}; commit them there ({commit}), "
                f"then type: weft merge {path}",
                files,
            )

    def _refuse_files(self, path: str, allowed: Sequence[str], merge: tuple[str, str]) -> None:
        """Counts only files that the slice itself changed: its branch may hold the work of others."""
        # Two comparisons, because neither is enough: the branch may have received allowed changes of others
        # since its start, and the merge shows those of all. Only a file that is in both is the slice's own.
        own = self._changed_files(self._names.start(path), self._names.head(path))
        others = [file for file in own if not any(matches(glob, file) for glob in allowed)]
        if others:
            brought = set(self._changed_files(*merge))
            others = [file for file in others if file in brought]
        if others:
            raise WorkspaceError(
                f"{path} changed files outside of its `files`, and `strict_files` forbids that: {listed(others)}"
            )

    def _changed_files(self, older: str, newer: str) -> list[str]:
        return self._git.fields("diff-tree", "-r", "-z", "--name-only", "--no-renames", older, newer)

    def _conflict(self, merge: MergeInput, theirs: str, conflicts: Sequence[Conflict]) -> HeldError:
        path = merge.path
        text = explain(
            self._git,
            conflicts,
            subplan=path,
            branch=self._names.branch(path),
            into=merge.into,
            worktree=self._where_to_settle(merge, theirs),
            command=f"weft merge {path}",
        )
        return HeldError(text, [conflict.path for conflict in conflicts], conflict=True)

    def _where_to_settle(self, merge: MergeInput, commit: str) -> Path:
        """Returns a worktree on the subplan's branch; creates one for a group."""
        head, worktree = self._names.head(merge.path), self._repository.worktree(merge.path)
        checkout = checkout_of(self._git, head)
        # The person may have the branch checked out elsewhere; git allows it in one place only.
        if checkout is not None and checkout != worktree.parent.resolve() / worktree.name:
            return checkout
        self._worktrees.make(worktree, branch=head, commit=commit, sparse=merge.sparse)
        return worktree


def _key(merge: MergeInput, ours: str, theirs: str) -> tuple[str, ...]:
    return (merge.path, merge.subject, ours, theirs)
