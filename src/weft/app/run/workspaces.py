"""The workspaces of a run and, with git, its base commit and its target branch."""

import platform
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from weft.app.preflight.preflight import Preflight
from weft.app.project.places import Places
from weft.engine.messages.facts import RefMove, RunStarted
from weft.plan.model import Plan
from weft.plan.settings import BRANCHED
from weft.ports.machines import MachineCalls
from weft.ports.target import LandingTarget
from weft.ports.workspaces import WorkspaceCopies, Workspaces
from weft.workspaces.in_place import InPlaceWorkspaces
from weft.workspaces.per_subplan import MixedWorkspaces

if TYPE_CHECKING:
    from weft.workspaces.worktrees import WorktreeWorkspaces


def _project_name(common: Path) -> str:
    """Returns the name of a repository on other machines, which serve several projects."""
    place = f"{platform.node()}:{common}"
    return blake2b(place.encode(errors="surrogateescape"), digest_size=8).hexdigest()


def _nothing() -> Sequence[RefMove]:
    return ()


class RunWorkspaces(Struct, frozen=True, kw_only=True):
    workspaces: Workspaces
    landing_target: LandingTarget | None = None
    """The branch that results land on, as the landing queue sees it; None without worktrees."""
    target: str = ""
    """The branch that results land on; empty without worktrees."""
    base: str = ""
    copies: Callable[[MachineCalls, str], WorkspaceCopies] | None = None
    """Returns the copies of a run on other machines; None without worktrees."""
    landed: tuple[str, ...] = ()
    """The subplans that earlier runs have landed on the target."""
    notes: tuple[str, ...] = ()
    """Notes for the user, shown before anything starts."""
    discard_groups: Callable[[], Sequence[RefMove]] = _nothing
    """Sets the branches of earlier runs aside and returns the moves."""
    follow_base: Callable[[], Sequence[RefMove]] = _nothing
    """Does the same, but only if all of that work has landed."""


class WorkspaceFactory:
    """Creates the workspaces of a plan. It uses git only if the plan has worktrees or clones."""

    def __init__(self, plan: Plan, places: Places, folder: Path, environ: Mapping[str, str]) -> None:
        self._plan = plan
        self.places = places
        self.folder = folder
        self._environ = environ
        kinds = {scope.settings.isolation for scope in plan.scopes}
        rows = range(len(plan.subplans))
        # Only slices work in a workspace. A group that inherits `worktree` while all its slices say `none` needs
        # no git.
        leaves = {plan.scopes[row].settings.isolation for row in rows if plan.outline.is_leaf(row)}
        self._has_worktrees = not BRANCHED.isdisjoint(leaves)
        self._has_directories = kinds != {"none"}

    def new(
        self,
        checks: Preflight,
        landed: tuple[str, ...] = (),
        target: str = "",
        notes: tuple[str, ...] = (),
    ) -> RunWorkspaces:
        """Returns the workspaces of a new run, after runs that have `landed` these subplans on `target`.

        `checks` is the result of the preflight, which must not contain a refusal; `notes` come before its notes.
        """
        notes, state = (*notes, *checks.notes()), checks.state
        if state is None or state.repository is None or state.ends is None:
            return replace(self._without_git(), notes=notes)
        from weft.app.isolation import plan_repository  # noqa: PLC0415 - of no use without git

        repository, ends = state.repository, state.ends
        # The earlier runs may have landed on another branch; there is nothing of that on this target.
        landed = landed if target == ends.target else ()
        worktrees = plan_repository.worktrees_of(self._plan, self.places, repository, ends, landed)
        # A crash can leave locks, half-made worktrees and merges in progress. They must be gone before the first
        # step starts.
        recovered = worktrees.recovery.recover(self._plan.outline.paths)
        return RunWorkspaces(
            workspaces=self._mix(worktrees),
            landing_target=worktrees.target,
            target=ends.target,
            base=ends.base,
            landed=landed,
            notes=(*notes, *recovered),
            copies=self._copies_of(worktrees),
            discard_groups=worktrees.discard_groups,
            follow_base=worktrees.follow_base,
        )

    def resumed(self, started: RunStarted) -> RunWorkspaces:
        """Returns the workspaces of a run that is resumed."""
        if not self._has_worktrees:
            return self._without_git()
        from weft.app.isolation import plan_repository  # noqa: PLC0415 - of no use without git
        from weft.workspaces.git.base.repository import Ends  # noqa: PLC0415 - the same

        repository = plan_repository.repository_of(self._plan, self.folder, self._environ)
        # From the journal, not from the repository: the user may have checked out another branch since the run
        # started.
        ends = Ends(target=started.target, target_ref=f"refs/heads/{started.target}", base=started.base)
        worktrees = plan_repository.worktrees_of(self._plan, self.places, repository, ends, started.landed)
        recovered = worktrees.recovery.recover(self._plan.outline.paths)
        return RunWorkspaces(
            workspaces=self._mix(worktrees),
            landing_target=worktrees.target,
            target=ends.target,
            base=ends.base,
            copies=self._copies_of(worktrees),
            notes=tuple(recovered),
        )

    def _copies_of(self, worktrees: "WorktreeWorkspaces") -> Callable[[MachineCalls, str], WorkspaceCopies]:
        def copies(calls: MachineCalls, run: str) -> WorkspaceCopies:
            from weft.workspaces.git.copies.exchange import WorktreeCopies  # noqa: PLC0415 - seldom needed

            repository = worktrees.plan_repository
            return WorktreeCopies(
                repository,
                calls,
                run=run,
                project=_project_name(repository.repository.common),
                fetch={host.name: host.fetch for host in self._plan.hosts.values() if host.fetch},
                locks=worktrees.locks,
            )

        return copies

    def _without_git(self) -> RunWorkspaces:
        if not self._has_directories:
            return RunWorkspaces(workspaces=InPlaceWorkspaces(self.folder))
        from weft.workspaces.directories import DirectoryWorkspaces  # noqa: PLC0415 - of no use otherwise

        directories = DirectoryWorkspaces(self.places.work(self._plan.id), self.folder)
        return RunWorkspaces(workspaces=self._mix(directories))

    def _mix(self, own: Workspaces) -> Workspaces:
        paths, scopes = self._plan.outline.paths, self._plan.scopes
        shared = {paths[row] for row, scope in enumerate(scopes) if scope.settings.isolation == "none"}
        return MixedWorkspaces(own, InPlaceWorkspaces(self.folder), shared)
