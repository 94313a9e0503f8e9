"""The target: the branch on which results land.

Results reach the target as a *chain*: merge commits built in memory on the tip of the target, one for each entry.
A chain is verified at its end and then moves the target by one compare-and-swap, so the target never holds a tree
in between. Nothing here runs a verify; the landing queue decides which chain may land.

Every operation may be repeated after a crash: the history of the target shows what has landed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from weft.engine.messages.facts import RefMove
from weft.ports.workspaces import HeldError, WorkspaceRequest


class LandingEntry(Struct, frozen=True, kw_only=True):
    """A subplan with a result that is ready to land."""

    path: str
    subject: str
    """The subject of its merge commit."""
    take_branch: tuple[str, ...] = ()
    """Globs of files that resolve to the subplan's version in a conflict."""
    files: tuple[str, ...] | None = None
    """Globs of the only files that it may have changed; None allows all."""
    within: str = ""
    """For completed parts of a subplan that lands as a whole later: the path of that subplan; else empty."""
    checks_worktree: bool = False
    """Whether a person may have worked in its worktree: uncommitted changes there then hold the entry."""


class ChainLink(Struct, frozen=True, kw_only=True):
    """An entry in a chain."""

    path: str
    head: str
    """The tip of the subplan's branch."""
    before: str
    """The commit that the entry is merged onto."""
    commit: str
    """The merge commit."""


class Chain(Struct, frozen=True, kw_only=True):
    """Entries merged onto the target, in memory."""

    base: str
    """The tip of the target."""
    commit: str
    """The end of the chain; the base if the chain has no links."""
    tree: str
    """The tree at the end of the chain."""
    links: tuple[ChainLink, ...] = ()
    landed: Mapping[str, tuple[RefMove, ...]] = {}
    """Entries that are on the target already, with the move that brought them; no move if they had no work."""
    held: Mapping[str, HeldError] = {}
    """Entries that cannot be part of the chain, with the reason."""
    deferred: tuple[str, ...] = ()
    """Entries in conflict with an earlier link, which need not land."""
    built_on: Mapping[str, tuple[str, ...]] = {}
    """For each link, the other links that its branch contains."""
    parts: Mapping[str, tuple[str, ...]] = {}
    """For each entry of completed parts, the subplans with work on its branch."""
    together: Mapping[str, tuple[str, ...]] = {}
    """For each link in a unit of several: all links of the unit. They hold each other's work, and land together or
    not at all."""


class ScratchFiles(Struct, frozen=True, kw_only=True):
    """Untracked files that a scratch worktree needs, as globs below the plan's directory."""

    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()


class PushError(Exception):
    """A push or a fetch failed; the message holds git's words."""

    def __init__(self, message: str, *, command: str = "") -> None:
        """`command` pushes the target later, if that is all there is to do."""
        super().__init__(message)
        self.command = command


class RemoteMovedError(PushError):
    """The remote branch holds commits that the target lacks; the message ends with the commands to type."""


def waits_for(path: str, others: Sequence[str]) -> HeldError:
    """Returns the reason that holds an entry until the others, which it is built on, have landed."""
    return HeldError(
        f"{path} is built on the work of {' and '.join(others)}, which has not landed; "
        f"to land all of it, type: weft merge {' '.join((*others, path))}",
        waits_for=others,
    )


class LandingTarget(Protocol):
    """The target branch of a run, with its scratch worktree and its remote."""

    @property
    def name(self) -> str:
        """The short name of the target."""
        ...

    @property
    def scratch(self) -> Path:
        """The plan's directory in the scratch worktree, which need not exist."""
        ...

    def branch(self, path: str) -> str:
        """Returns the short name of a subplan's branch."""
        ...

    def build(
        self, entries: Sequence[LandingEntry], *, is_to_land: Callable[[str], bool], onto: str | None = None
    ) -> Chain:
        """Merges the entries, in this order, onto the tip of the target, or onto the commit `onto`.

        `is_to_land` returns, for the path of a subplan, whether its result is to land and has not: an entry that
        would bring along the work of such a subplan is held. Nothing moves.
        """
        ...

    def rebuild(self, request: WorkspaceRequest, *, releases: bool) -> str:
        """Moves the branch of a slice to its own work without that of the subplans in `request.without`.

        A branch that is checked out does not move. With `releases` a workspace that is only left over is removed.
        Returns the name under which the old commits are kept; empty if the work does not apply without the others.
        Nothing has moved then.
        """
        ...

    def check_out(self, commit: str, files: ScratchFiles) -> None:
        """Creates the scratch worktree with this commit."""
        ...

    def advance(self, chain: Chain) -> bool:
        """Moves the target from the base of the chain to its end; returns False if the target has moved meanwhile.

        Raises `HeldError` if the target is checked out and local changes are in the way; nothing has moved then.
        """
        ...

    def touched(self, chain: Chain, files: Sequence[str]) -> Sequence[str]:
        """Returns the links that change one of these files."""
        ...

    def discard(self) -> None:
        """Removes the scratch worktree."""
        ...

    def passed_trees(self, paths: Mapping[str, bool]) -> Mapping[str, Collection[str]]:
        """Returns for each subplan the trees on which its own verify has passed.

        The value for a path is whether its steps end with the verify, so that the tree they left counts.
        """
        ...

    def push(self, remote: str) -> str:
        """Pushes the tip of the target, never by force, and returns it. `true` stands for the target's upstream.

        Raises `RemoteMovedError` if the remote branch is ahead, and `PushError` for any other failure.
        """
        ...

    def hang_up(self) -> None:
        """Aborts the current contact with a remote, and every later one: they raise `PushError`."""
        ...

    def fetch(self, remote: str) -> str:
        """Fetches the remote branch and returns its commit. Raises `PushError` if the fetch fails."""
        ...

    def merge_fetched(self, remote: str, commit: str) -> Chain | None:
        """Merges the commit of the remote branch into the target, in memory; None if the target contains it.

        Raises `HeldError` if the two are in conflict.
        """
        ...
