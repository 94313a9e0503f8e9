"""What plans have in git: their branches, and their worktrees wherever they lie; read in a few calls of git.

Of each plan that was run in the project, the last run with worktrees tells where work lands, and what the plan's
names and places are. Worktrees in `.weft/worktrees` are ours, too, if no plan is known that has made them.
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
    """One of a subplan."""

    name: str
    """The flat name of the subplan."""
    path: str
    """Its path; the flat name if the plan does not know it any more."""
    ref: str
    commit: str
    is_known: bool
    """Whether the plan still has it."""
    is_slice: bool
    """Whether the plan says that it is to have a worktree."""
    place: Path | None
    """Where that is."""
    scratch: Path | None
    """Where one was made to verify something in it."""

    @property
    def shown(self) -> str:
        return self.ref.removeprefix(_HEADS)


class PlanRefs(Struct, frozen=True, kw_only=True):
    """What a plan has in git."""

    id: str
    run: KnownRun
    """The last with worktrees."""
    target: str
    branches: tuple[Branch, ...]
    is_at_work: bool

    def places(self) -> Iterator[tuple[Path, bool]]:
        """Where worktrees can be, and whether nobody has worked there."""
        for branch in self.branches:
            if branch.place is not None and branch.scratch is not None:
                yield branch.place, False
                yield branch.scratch, True


class Worktree(Struct, frozen=True, kw_only=True):
    listed: ListedWorktree
    is_scratch: bool
    """Whether it was only made to verify something in it."""
    is_at_work: bool
    """Whether a run may be changing it."""

    @property
    def path(self) -> Path:
        return self.listed.path

    @property
    def is_there(self) -> bool:
        return os.path.lexists(self.path)


class RepositoryRefs(Struct, frozen=True, kw_only=True):
    repository: Repository
    plans: tuple[PlanRefs, ...]
    worktrees: tuple[Worktree, ...]
    """Ours."""
    registered: frozenset[str]
    """The real paths of all."""
    folders: tuple[Path, ...]
    """Directories that hold nothing but worktrees of ours."""


def find_remains(ground: DoctorContext) -> RepositoryRefs | None:
    """None if no plan with worktrees was ever run here."""
    runs = _last_runs(ground)
    if not runs:
        return None
    folder = next(
        (one for run in runs if (one := Path(run.record.directory)).is_dir()), ground.places.project
    )
    repository = open_repository(folder, environ=ground.environ)
    return _Finding(ground=ground, repository=repository).all(runs)


def _last_runs(ground: DoctorContext) -> Sequence[KnownRun]:
    """Of each plan the last that had worktrees."""
    found: dict[str, KnownRun] = {}
    for run in ground.told.runs:
        if run.started is not None and run.started.target:
            found.setdefault(run.record.plan, run)
    return [*found.values()]


class _Finding(Struct, frozen=True, kw_only=True):
    ground: DoctorContext
    repository: Repository

    def all(self, runs: Sequence[KnownRun]) -> RepositoryRefs:
        git = self.repository.git
        refs = tips(git, "refs/heads", "refs/weft")
        listed = {os.path.realpath(one.path): one for one in read_listed(git)[1:]}
        plans = tuple(self._planned(run, refs) for run in runs)
        own = Path(os.path.realpath(self.ground.places.weft / "worktrees"))
        at_work = {plan.id for plan in plans if plan.is_at_work}
        found = {
            place: Worktree(
                listed=one, is_scratch=one.path.name.startswith(SCRATCH), is_at_work=bool(at_work)
            )
            for place, one in listed.items()
            if Path(place).is_relative_to(own)
        } | {
            real: Worktree(listed=listed[real], is_scratch=is_scratch, is_at_work=plan.is_at_work)
            for plan in plans
            for place, is_scratch in plan.places()
            if (real := os.path.realpath(place)) in listed
        }
        return RepositoryRefs(
            repository=self.repository,
            plans=plans,
            worktrees=tuple(found[place] for place in sorted(found)),
            registered=frozenset(listed),
            folders=tuple(one for one in sorted(own.glob("*")) if one.name not in at_work),
        )

    def _planned(self, run: KnownRun, refs: Mapping[str, str]) -> PlanRefs:
        assert run.started is not None
        return PlanRefs(
            id=run.record.plan,
            run=run,
            target=run.started.target,
            branches=tuple(self._branches(run, refs)),
            is_at_work=any(
                self.ground.is_at_work(one.record.run)
                for one in self.ground.told.runs
                if one.record.plan == run.record.plan
            ),
        )

    def _branches(self, run: KnownRun, refs: Mapping[str, str]) -> Iterator[Branch]:
        """Also those without a commit: their worktrees may be there."""
        plan = _plan(run)
        known = dict[str, int]()
        names = RefNames(plan=run.record.plan)
        if plan is not None:
            names = names_of(plan)
            known = {dotted(path): row for row, path in enumerate(plan.outline.paths)}
        prefix = f"{_HEADS}{names.prefix}{names.plan}/"
        noted = {name for ref in refs if (name := _noted(ref, names.plan))}
        for name in sorted({*known, *noted}):
            ref, row = prefix + name, known.get(name)
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
        return self.ground.places.project / render(template, values)


def _plan(run: KnownRun) -> Plan | None:
    """As it was; None if this Weft cannot read it any more."""
    try:
        with without_gc():
            return load_plan(run.record.text, run.record.file, surroundings=Surroundings(git=False))
    except WeftError:
        return None


def _noted(ref: str, plan: str) -> str:
    """The flat name of the subplan that a note of ours is about."""
    if not ref.startswith(_NOTES):
        return ""
    _, _, name = ref.removeprefix(_NOTES).partition(f"/{plan}/")
    return name.partition("/")[0]
