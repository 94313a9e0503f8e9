"""What plans have left in git is removed, once it is proven to be where it was to land.

The lock that keeps coordinators apart is held meanwhile: nothing begins that would need what goes. The target is
that of the plan's last run. A run that has not ended needs all its branches, also those that have landed: what
starts later starts with them.
"""

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct, structs

from weft.app.clean.homes import clean_homes
from weft.app.isolation.plan_repository import names_of
from weft.app.project.places import Places, absolute, used_project
from weft.app.record.journal import RecordedRun
from weft.app.record.run_plan import plan_of
from weft.engine.messages.facts import RefMove, RunStarted
from weft.engine.messages.run_status import FINISHED
from weft.errors import InputError, WeftError
from weft.plan.model import Plan
from weft.plan.templates.render import render
from weft.plan.text.problems import suggestion
from weft.ports.journal import JournalReader, RunRecord
from weft.store.lease import busy, take_lock
from weft.store.lock import LOCK_FILE
from weft.store.sqlite import open_reader
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

WANTS_SOMEBODY = frozenset(
    {
        RetentionReason.UNMERGED,
        RetentionReason.UNCOMMITTED,
        RetentionReason.UNFINISHED,
        RetentionReason.UNCLEAR,
    }
)
"""Work that may be nowhere else stays for these reasons."""


class CleanResult(Struct, frozen=True, kw_only=True):
    """What became of what a plan left."""

    plan: str
    run: str
    """Its last."""
    target: str
    """Empty if none of its work was to land."""
    removed: tuple[RemovableRef, ...] = ()
    kept: tuple[RetainedRef, ...] = ()
    """By the paths of subplans, where the plan has them."""

    @property
    def waits(self) -> bool:
        return any(one.why in WANTS_SOMEBODY for one in self.kept)


def clean(
    directory: Path,
    plans: Sequence[str] = (),
    *,
    dry_run: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> list[CleanResult]:
    """Of these plans, or of all that were run here; with `dry_run` it is only said what would be done."""
    places = used_project(absolute(directory))
    with closing(open_reader(places.journal)) as journal, _alone(places, journal):
        known = list(dict.fromkeys(one.plan for one in journal.runs()))
        for plan in plans:
            if plan not in known:
                raise InputError(f"no plan {plan!r} has been run here{suggestion(plan, known)}")
        found: list[CleanResult] = []
        for plan in dict.fromkeys(plans or known):
            runs = journal.runs(plan)
            homes = tuple(clean_homes(places, runs, dry_run=dry_run))
            of_git = [
                _clean(one, dry_run=dry_run, environ=environ) for one in _last_run(places, journal, plan)
            ]
            found += [structs.replace(one, removed=(*one.removed, *homes)) for one in of_git]
            if homes and not of_git:
                found.append(CleanResult(plan=plan, run=runs[0].run, target="", removed=homes))
        return found


@contextmanager
def _alone(places: Places, journal: JournalReader) -> Generator[None]:
    lock = take_lock(places.weft / LOCK_FILE)
    if lock is None:
        raise InputError(f"nothing is removed while a plan is run: {busy(places.project, journal.holder())}")
    try:
        yield
    finally:
        os.close(lock)


class _LastRun(Struct, frozen=True, kw_only=True):
    book: RecordedRun
    """At the last run of a plan that landed in git."""
    target: str
    last: RunRecord
    """The last one of all."""


def _last_run(places: Places, journal: JournalReader, plan: str) -> Iterable[_LastRun]:
    """None if no run of the plan had worktrees. One that died before anything happened in it never was."""
    last: RunRecord | None = None
    for record in journal.runs(plan):
        first = next(iter(journal.facts(record.run)), None)
        if isinstance(first, RunStarted):
            last = last or record
            if first.target:
                return [_LastRun(book=RecordedRun(places, journal, record), target=first.target, last=last)]
    return []


def _clean(one: _LastRun, *, dry_run: bool, environ: Mapping[str, str]) -> CleanResult:
    cleaned = CleanResult(plan=one.last.plan, run=one.last.run, target=one.target)
    try:
        plan = plan_of(one.book)
        repository = open_repository(Path(one.book.run.directory), environ=environ)
        ground = _Ground(one=one, plan=plan, repository=repository)
        judgement = ground.clean(dry_run=dry_run)
    except WeftError as error:
        return structs.replace(cleaned, kept=(RetainedRef(why=RetentionReason.UNCLEAR, message=str(error)),))
    kept = tuple(ground.for_people(stays) for stays in judgement.stays)
    return structs.replace(cleaned, removed=tuple(judgement.list_removable()), kept=kept)


class _Ground(Struct, frozen=True, kw_only=True):
    one: _LastRun
    plan: Plan
    repository: Repository

    def clean(self, *, dry_run: bool) -> LeftoverJudgement:
        git, worktrees = self.repository.git, Worktrees(self.repository.git, self.repository.common)
        lefts = self._found(worktrees)
        reason = self._stays_as_a_whole() if lefts else None
        if reason is not None:
            return LeftoverJudgement(stays=[reason])
        ref = f"refs/heads/{self.one.target}"
        commit = tip(git, ref) if lefts else ""
        if commit is None:
            return LeftoverJudgement(stays=[_no_target(self.one.target, self.repository)])
        judgement = LeftoverJudge(git, self.one.target, commit, worktrees.listed()).judge(lefts)
        if dry_run or not lefts:
            return judgement
        target = RefMove(ref=ref, before=commit, after=commit)
        return remove(git, worktrees, judgement, target=target)

    def _found(self, worktrees: Worktrees) -> list[SubplanLeftovers]:
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
        project = self.one.book.places.project
        templates = {scope.settings.worktrees for scope in self.plan.scopes}
        return [project / render(template, values) for template in templates]

    def _stays_as_a_whole(self) -> RetainedRef | None:
        last = self.one.last
        if last.state in FINISHED:
            return None
        is_held = last.state == "waiting"
        command = "weft merge" if is_held else structs.replace(self.one.book, run=last).run_command()
        state = "its process died" if last.state == "running" else f"it is {last.state}"
        return RetainedRef(
            why=RetentionReason.UNFINISHED,
            message=f"run {last.run} has not ended ({state}) and needs all that it has made",
            command=command,
        )

    def for_people(self, stays: RetainedRef) -> RetainedRef:
        paths: dict[str, str] = {dotted(path): path for path in self.plan.outline.paths}
        path = paths.get(stays.name)
        if not path:
            return stays
        if not stays.is_branch or self.one.last.run != self.one.book.run.run:
            return structs.replace(stays, name=path)
        newest = self.one.book.journal.runs()[0].run
        run = "" if newest == self.one.last.run else f" --run {self.one.last.run}"
        return structs.replace(stays, name=path, command=f"weft diff {path}{run}")


def _no_target(target: str, repository: Repository) -> RetainedRef:
    return RetainedRef(
        why=RetentionReason.NO_TARGET,
        message=f"the branch {target}, on which all was to land, is gone from {repository.top}, so nothing is "
        "proven to be there; make it again where it was",
        command=f"git branch {target} COMMIT",
    )
