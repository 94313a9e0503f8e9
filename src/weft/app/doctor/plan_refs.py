"""The branches and worktrees of plans, read with a few calls of git.

For each plan, its last run with worktrees determines the target and the names and places. Worktrees in
`.weft/worktrees` belong to Weft even if no known plan created them.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from weft.app.doctor.context import DoctorContext, KnownRun
from weft.app.isolation.plan_repository import names_of
from weft.errors import WeftError
from weft.garbage import without_gc
from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.model import Plan
from weft.plan.templates.render import render
from weft.workspaces.git.base.names import RefNames, dotted
from weft.workspaces.git.base.refs import tips
from weft.workspaces.git.base.repository import Repository, open_repository
from weft.workspaces.git.checkouts.registrations import ListedWorktree, read_listed
from weft.workspaces.git.leftovers import SCRATCH

_HEADS = "refs/heads/"
_NOTES = "refs/weft/"


class Branch(Struct, frozen=True, kw_only=True):
    """The branch of a subplan."""

    name: str
    """The flat name of the subplan."""
    path: str
    """Its path; the flat name if the subplan is no longer in the plan."""
    ref: str
    commit: str
    is_known: bool
    """Whether it is still in the plan."""
    is_slice: bool
    """Whether it is the branch of a slice, which has a worktree."""
    place: Path | None
    """The directory of the worktree."""
    scratch: Path | None
    """The directory of a temporary worktree for verify."""

    @property
    def shown(self) -> str:
        return self.ref.removeprefix(_HEADS)


class PlanRefs(Struct, frozen=True, kw_only=True):
    """The branches of a plan."""

    id: str
    run: KnownRun
    """The last run with worktrees."""
    target: str
    branches: tuple[Branch, ...]
    is_at_work: bool

    def places(self) -> Iterator[tuple[Path, bool]]:
        """Yields the directories of worktrees, and whether each is only temporary, for verify."""
        for branch in self.branches:
            if branch.place is not None and branch.scratch is not None:
                yield branch.place, False
                yield branch.scratch, True


class Worktree(Struct, frozen=True, kw_only=True):
    """A worktree of Weft."""

    listed: ListedWorktree
    is_scratch: bool
    """Whether it is a temporary one, for verify."""
    is_at_work: bool
    """Whether a run may be changing it."""

    @property
    def path(self) -> Path:
        return self.listed.path

    @property
    def is_there(self) -> bool:
        return os.path.lexists(self.path)


class RepositoryRefs(Struct, frozen=True, kw_only=True):
    """The branches and worktrees of all plans in a repository."""

    repository: Repository
    plans: tuple[PlanRefs, ...]
    worktrees: tuple[Worktree, ...]
    """The worktrees of Weft."""
    registered: frozenset[str]
    """The real paths of all worktrees, including those of the user."""
    folders: tuple[Path, ...]
    """Directories that hold only worktrees of Weft."""


def find_repository_refs(context: DoctorContext) -> RepositoryRefs | None:
    """Returns the refs and worktrees of plans; None if no plan with worktrees was ever run here."""
    runs = _last_runs(context)
    if not runs:
        return None
    folder = next(
        (directory for run in runs if (directory := Path(run.record.directory)).is_dir()),
        context.places.project,
    )
    repository = open_repository(folder, environ=context.environ)
    return _Search(context=context, repository=repository).all(runs)


def _last_runs(context: DoctorContext) -> Sequence[KnownRun]:
    """Returns the last run with worktrees of each plan."""
    last_runs: dict[str, KnownRun] = {}
    for run in context.journal_facts.runs:
        if run.started is not None and run.started.target:
            last_runs.setdefault(run.record.plan, run)
    return [*last_runs.values()]


class _Search(Struct, frozen=True, kw_only=True):
    context: DoctorContext
    repository: Repository

    def all(self, runs: Sequence[KnownRun]) -> RepositoryRefs:
        git = self.repository.git
        refs = tips(git, "refs/heads", "refs/weft")
        # The first entry is the main checkout, which is the user's.
        listed = {os.path.realpath(entry.path): entry for entry in read_listed(git)[1:]}
        plans = tuple(self._plan_refs(run, refs) for run in runs)
        own = Path(os.path.realpath(self.context.places.weft / "worktrees"))
        at_work = {plan.id for plan in plans if plan.is_at_work}
        worktrees = {
            place: Worktree(
                listed=entry, is_scratch=entry.path.name.startswith(SCRATCH), is_at_work=bool(at_work)
            )
            for place, entry in listed.items()
            if Path(place).is_relative_to(own)
            # The second set wins: a plan knows its own worktrees better than the common directory does.
        } | {
            real: Worktree(listed=listed[real], is_scratch=is_scratch, is_at_work=plan.is_at_work)
            for plan in plans
            for place, is_scratch in plan.places()
            if (real := os.path.realpath(place)) in listed
        }
        return RepositoryRefs(
            repository=self.repository,
            plans=plans,
            worktrees=tuple(worktrees[place] for place in sorted(worktrees)),
            registered=frozenset(listed),
            folders=tuple(folder for folder in sorted(own.glob("*")) if folder.name not in at_work),
        )

    def _plan_refs(self, run: KnownRun, refs: Mapping[str, str]) -> PlanRefs:
        assert run.started is not None
        return PlanRefs(
            id=run.record.plan,
            run=run,
            target=run.started.target,
            branches=tuple(self._branches(run, refs)),
            is_at_work=any(
                self.context.is_at_work(other_run.record.run)
                for other_run in self.context.journal_facts.runs
                if other_run.record.plan == run.record.plan
            ),
        )

    def _branches(self, run: KnownRun, refs: Mapping[str, str]) -> Iterator[Branch]:
        """Yields the branches of a plan, even without a commit, because their worktrees may exist."""
        plan = _plan(run)
        rows = dict[str, int]()
        names = RefNames(plan=run.record.plan)
        if plan is not None:
            names = names_of(plan)
            rows = {dotted(path): row for row, path in enumerate(plan.outline.paths)}
        prefix = f"{_HEADS}{names.prefix}{names.plan}/"
        # The private refs also name subplans that an edit has removed from the plan; their branches may still hold
        # work.
        noted_names = {name for ref in refs if (name := _subplan_of_ref(ref, names.plan))}
        for name in sorted({*rows, *noted_names}):
            ref, row = prefix + name, rows.get(name)
            is_slice = plan is not None and row is not None and plan.outline.is_leaf(row)
            yield Branch(
                name=name,
                path=name if plan is None or row is None else plan.outline.paths[row],
                ref=ref,
                commit=refs.get(ref, ""),
                is_known=row is not None,
                is_slice=is_slice,
                place=self._place(plan, row, name),
                scratch=self._place(plan, row, SCRATCH + name),
            )

    def _place(self, plan: Plan | None, row: int | None, name: str) -> Path | None:
        if plan is None:
            return None
        template = plan.scopes[row or 0].settings.worktrees
        values = {"slice": {"path": name}, "plan": {"id": plan.id}}
        return self.context.places.project / render(template, values)


def _plan(run: KnownRun) -> Plan | None:
    """Returns the plan as it was; None if this version of Weft cannot read it."""
    try:
        with without_gc():
            return load_plan(run.record.text, run.record.file, surroundings=Surroundings(git=False))
    except WeftError:
        return None


def _subplan_of_ref(ref: str, plan: str) -> str:
    """Returns the flat name of the subplan in one of Weft's private refs; empty for another ref."""
    if not ref.startswith(_NOTES):
        return ""
    _, _, name = ref.removeprefix(_NOTES).partition(f"/{plan}/")
    return name.partition("/")[0]
