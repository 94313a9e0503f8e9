"""Remove the branches and worktrees of plans, once their work is proven to be on the target.

The command holds the coordinator's lock, so that no run starts that would need them. The target is that of the
plan's last run. An unfinished run needs all its branches, including those that have landed, because later slices
start from them.
"""

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct, structs

from weft.app.clean.homes import clean_homes
from weft.app.isolation.plan_repository import names_of
from weft.app.project.places import Places, absolute, find_used_project
from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.engine.messages.facts import RefMove, RunStarted
from weft.errors import InputError, WeftError
from weft.plan.model import Plan
from weft.plan.templates.render import render
from weft.plan.text.problems import suggestion
from weft.ports.journal import JournalReader, RunRecord
from weft.store.lease import busy, take_lock
from weft.store.lock import LOCK_FILE
from weft.store.sqlite import open_reader
from weft.terms import FINISHED
from weft.workspaces.git.base.names import dotted
from weft.workspaces.git.base.refs import tip
from weft.workspaces.git.base.repository import Repository, open_repository
from weft.workspaces.git.leftovers import (
    LeftoverJudge,
    LeftoverJudgement,
    PlanLeftovers,
    RemovableRef,
    RetainedRef,
    RetentionReason,
    SubplanLeftovers,
    remove,
)
from weft.workspaces.git.worktrees.worktrees import Worktrees

NEEDS_PERSON = frozenset(
    {
        RetentionReason.UNMERGED,
        RetentionReason.UNCOMMITTED,
        RetentionReason.UNFINISHED,
        RetentionReason.UNCLEAR,
    }
)
"""Reasons to keep work that may exist nowhere else."""


class CleanResult(Struct, frozen=True, kw_only=True):
    """The removed and the kept leftovers of a plan."""

    plan: str
    run: str
    """Its last run."""
    target: str
    """The target branch; empty if none of its work was to land."""
    removed: tuple[RemovableRef, ...] = ()
    kept: tuple[RetainedRef, ...] = ()
    """Named by the paths of subplans, where the plan has them."""

    @property
    def waits(self) -> bool:
        return any(retained.why in NEEDS_PERSON for retained in self.kept)


def clean(
    directory: Path,
    plans: Sequence[str] = (),
    *,
    dry_run: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> list[CleanResult]:
    """Cleans up these plans, or all plans of the project; with `dry_run`, only reports what it would do."""
    places = find_used_project(absolute(directory))
    # The lock comes before the first look: what is judged removable must still be so when it is removed.
    with closing(open_reader(places.journal)) as journal, _alone(places, journal):
        # All names are checked before anything is removed.
        plan_ids = list(dict.fromkeys(record.plan for record in journal.runs()))
        for plan in plans:
            if plan not in plan_ids:
                raise InputError(f"no plan {plan!r} has been run here{suggestion(plan, plan_ids)}")
        results: list[CleanResult] = []
        for plan in dict.fromkeys(plans or plan_ids):
            runs = journal.runs(plan)
            homes = tuple(clean_homes(places, runs, dry_run=dry_run))
            of_git = [
                _clean(last, dry_run=dry_run, environ=environ) for last in _last_run(places, journal, plan)
            ]
            results += [structs.replace(result, removed=(*result.removed, *homes)) for result in of_git]
            if homes and not of_git:
                results.append(CleanResult(plan=plan, run=runs[0].run, target="", removed=homes))
        return results


@contextmanager
def _alone(places: Places, journal: JournalReader) -> Generator[None]:
    lock = take_lock(places.weft / LOCK_FILE)
    if lock is None:
        raise InputError(f"nothing is removed while a plan runs: {busy(places.project, journal.holder())}")
    try:
        yield
    finally:
        os.close(lock)


class _LastRun(Struct, frozen=True, kw_only=True):
    recorded_run: RecordedRun
    """The last run of the plan that was to land in git."""
    target: str
    last: RunRecord
    """The last run of the plan."""


def _last_run(places: Places, journal: JournalReader, plan: str) -> Iterable[_LastRun]:
    """Returns the last run, or nothing if no run of the plan had worktrees.

    A run that died before its first fact does not count.
    """
    last: RunRecord | None = None
    for record in journal.runs(plan):
        first = next(iter(journal.facts(record.run)), None)
        if isinstance(first, RunStarted):
            last = last or record
            if first.target:
                return [
                    _LastRun(
                        recorded_run=RecordedRun(places, journal, record), target=first.target, last=last
                    )
                ]
    return []


def _clean(last_run: _LastRun, *, dry_run: bool, environ: Mapping[str, str]) -> CleanResult:
    cleaned = CleanResult(plan=last_run.last.plan, run=last_run.last.run, target=last_run.target)
    try:
        plan = plan_of(last_run.recorded_run)
        repository = open_repository(Path(last_run.recorded_run.run.directory), environ=environ)
        cleaner = _PlanCleaner(last_run=last_run, plan=plan, repository=repository)
        judgement = cleaner.clean(dry_run=dry_run)
    except WeftError as error:
        return structs.replace(cleaned, kept=(RetainedRef(why=RetentionReason.UNCLEAR, message=str(error)),))
    kept = tuple(cleaner.for_people(stays) for stays in judgement.stays)
    return structs.replace(cleaned, removed=tuple(judgement.list_removable()), kept=kept)


class _PlanCleaner(Struct, frozen=True, kw_only=True):
    """The leftovers of one plan in its repository."""

    last_run: _LastRun
    plan: Plan
    repository: Repository

    def clean(self, *, dry_run: bool) -> LeftoverJudgement:
        git, worktrees = self.repository.git, Worktrees(self.repository.git, self.repository.common)
        leftovers = self._find_leftovers(worktrees)
        reason = self._stays_as_a_whole() if leftovers else None
        if reason is not None:
            return LeftoverJudgement(stays=[reason])
        ref = f"refs/heads/{self.last_run.target}"
        commit = tip(git, ref) if leftovers else ""
        if commit is None:
            return LeftoverJudgement(stays=[_no_target(self.last_run.target, self.repository)])
        judgement = LeftoverJudge(git, self.last_run.target, commit, worktrees.listed()).judge(leftovers)
        if dry_run or not leftovers:
            return judgement
        # The target is part of the transaction, unchanged: if it moves meanwhile, the proof no longer holds and
        # git removes nothing.
        target = RefMove(ref=ref, before=commit, after=commit)
        return remove(git, worktrees, judgement, target=target)

    def _find_leftovers(self, worktrees: Worktrees) -> list[SubplanLeftovers]:
        finding = PlanLeftovers(
            git=self.repository.git,
            worktrees=worktrees,
            names=names_of(self.plan),
            places=self._places,
            known={dotted(path) for path in self.plan.outline.paths},
        )
        return finding.all()

    def _places(self, name: str) -> Sequence[Path]:
        values = {"slice": {"path": name}, "plan": {"id": self.plan.id}}
        project = self.last_run.recorded_run.places.project
        # Subplans can have different places for their worktrees, and a leftover does not say which subplan made
        # it.
        templates = {scope.settings.worktrees for scope in self.plan.scopes}
        return [project / render(template, values) for template in templates]

    def _stays_as_a_whole(self) -> RetainedRef | None:
        last = self.last_run.last
        if last.state in FINISHED:
            return None
        is_held = last.state == "waiting"
        # A waiting run is held, so its work can be landed without running anything; any other run has to be
        # resumed.
        command = (
            "weft merge" if is_held else structs.replace(self.last_run.recorded_run, run=last).run_command()
        )
        state = "its process died" if last.state == "running" else f"it is {last.state}"
        return RetainedRef(
            why=RetentionReason.UNFINISHED,
            message=f"run {last.run} has not ended ({state}) and still needs its worktrees and branches",
            command=command,
        )

    def for_people(self, stays: RetainedRef) -> RetainedRef:
        paths: dict[str, str] = {dotted(path): path for path in self.plan.outline.paths}
        path = paths.get(stays.name)
        if not path:
            return stays
        if not stays.is_branch or self.last_run.last.run != self.last_run.recorded_run.run.run:
            return structs.replace(stays, name=path)
        newest = self.last_run.recorded_run.journal.runs()[0].run
        run = "" if newest == self.last_run.last.run else f" --run {self.last_run.last.run}"
        return structs.replace(stays, name=path, command=f"weft diff {path}{run}")


def _no_target(target: str, repository: Repository) -> RetainedRef:
    return RetainedRef(
        why=RetentionReason.NO_TARGET,
        message=f"the branch {target}, the target of its work, does not exist in {repository.top}, so Weft cannot "
        f"prove that the work has landed; create it again where it was",
        command=f"git branch {target} COMMIT",
    )
