"""Branches of plans: what has not landed, and what has no worktree. No branch is ever removed here."""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, problem, warning
from weft.app.doctor.plan_refs import Branch, PlanRefs, RepositoryRefs, find_remains
from weft.app.project.suggestions import suggest
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.reachability import ReachabilityProof
from weft.workspaces.git.base.refs import tip, tree_of


class UnlandedBranch(Struct, frozen=True, kw_only=True):
    branch: Branch
    commits: int
    """How many the target does not have."""


class PlanLanding(Struct, frozen=True, kw_only=True):
    """What has landed of a plan."""

    plan: PlanRefs
    is_target_there: bool
    unlanded: tuple[UnlandedBranch, ...]


def _landings(ground: DoctorContext) -> list[PlanLanding]:
    """Of plans that no run is landing."""
    remains = ground.once(find_remains)
    if remains is None:
        return []
    return [_landing(remains, plan) for plan in remains.plans if not plan.is_at_work]


def _landing(remains: RepositoryRefs, plan: PlanRefs) -> PlanLanding:
    git = remains.repository.git
    there = [branch for branch in plan.branches if branch.commit]
    target = tip(git, f"refs/heads/{plan.target}") if there else ""
    if target is None:
        return PlanLanding(plan=plan, is_target_there=False, unlanded=())
    ahead = _ahead(git, target) if there else frozenset[str]()
    proof = ReachabilityProof(git, target)
    missing = {branch: _missing(git, proof, branch, target) for branch in there if branch.ref in ahead}
    slices = [
        UnlandedBranch(branch=branch, commits=count)
        for branch, count in missing.items()
        if count and branch.is_slice
    ]
    known = [target, *(one.branch.commit for one in slices)]
    groups = [
        UnlandedBranch(branch=branch, commits=own)
        for branch, count in missing.items()
        if count and not branch.is_slice and (own := _own_commits(git, branch, known))
    ]
    return PlanLanding(plan=plan, is_target_there=True, unlanded=(*slices, *groups))


def _ahead(git: Git, target: str) -> frozenset[str]:
    """The branches with commits that the target does not have, in one go."""
    listed = git.line("for-each-ref", f"--no-merged={target}", "--format=%(refname)", "refs/heads")
    return frozenset(listed.splitlines())


def _missing(git: Git, proof: ReachabilityProof, branch: Branch, target: str) -> int:
    """How many commits the target does not have; 0 if all has landed, as `weft clean` proves it.

    Where nothing but merges is missing, and the target has had the very files, there is no need to make each anew.
    """
    commit = branch.commit
    count = int(git.line("rev-list", "--count", "--no-merges", commit, f"^{target}"))
    if count:
        return count
    trees = git.line("log", "--format=%T", target, f"^{commit}").split()
    return 0 if tree_of(git, commit) in trees or proof.holds(commit) else proof.missing(commit)


def _own_commits(git: Git, branch: Branch, known: list[str]) -> int:
    """How many that no slice has: what has come together in a group is told with the slices that it came from."""
    lines = "\n".join((branch.commit, *(f"^{commit}" for commit in known), ""))
    return int(git.do("rev-list", "--count", "--no-merges", "--stdin", stdin=os.fsencode(lines)))


# --- what has not landed ---


def unmerged(ground: DoctorContext) -> Iterator[Finding]:
    for landing in ground.once(_landings):
        plan = landing.plan
        if not landing.is_target_there:
            last = ground.last_landing(plan.run)
            yield problem(
                f"the branch {plan.target}, on which the work of {plan.id} is to land, is gone",
                command=suggest("git", "branch", plan.target, last).command if last else "",
                advice=""
                if last
                else f"make the branch {plan.target} again, or name another target in the plan",
                subject=plan.target,
            )
        for one in landing.unlanded:
            count = "1 commit" if one.commits == 1 else f"{one.commits:,} commits"
            yield warning(
                f"the branch {one.branch.shown} has {count} not on {plan.target}",
                command=_command(ground, plan, one.branch),
                subject=one.branch.shown,
            )


def _command(ground: DoctorContext, plan: PlanRefs, branch: Branch) -> str:
    record = plan.run.record
    run = () if ground.told.runs[0].record.run == record.run else ("--run", record.run)
    if plan.run.has_ended:
        words = ("git", "log", f"{plan.target}..{branch.shown}")
        return suggest(*(("weft", "diff", branch.path or "/", *run) if branch.is_known else words)).command
    held = next((hold for hold in ground.held(plan.run) if _is_within(branch.path, hold.subplan)), None)
    if held is not None:
        which = ("--list",) if held.needs_help else (*held.waits_for, held.subplan)
        return suggest("weft", "merge", *which, *run).command
    return suggest("weft", "answer", *run).command if ground.asks(plan.run) else plan.run.command


def _is_within(path: str, group: str) -> bool:
    return not path or f"{path}/".startswith(f"{group}/")


# --- what has no worktree ---


def without_worktree(ground: DoctorContext) -> Iterator[Finding]:
    remains = ground.once(find_remains)
    if remains is None:
        return
    for landing in ground.once(_landings):
        slices = [result.branch for result in landing.unlanded if result.branch.is_slice]
        merged = _merged(remains.repository.git, slices, landing.plan.branches) if slices else ()
        for branch in slices:
            is_lost = branch.place is not None and _real(branch.place) not in remains.registered
            if is_lost and branch.commit not in merged:
                place = shlex.quote(str(branch.place))
                yield warning(
                    f"the branch {branch.shown} has not landed and has no worktree",
                    command=f"git worktree add {place} {shlex.quote(branch.shown)}",
                    subject=branch.shown,
                )


def _merged(git: Git, slices: Sequence[Branch], branches: Sequence[Branch]) -> frozenset[str]:
    """The commits of slices that the branch of a group has: nothing needs the worktrees of these."""
    commits = frozenset(branch.commit for branch in slices)
    groups = [branch.commit for branch in branches if branch.commit and not branch.is_slice]
    if not groups:
        return frozenset()
    lines = "\n".join((*sorted(commits), *(f"^{commit}" for commit in groups), ""))
    return commits.difference(os.fsdecode(git.do("rev-list", "--stdin", stdin=os.fsencode(lines))).split())


def _real(place: Path) -> str:
    return os.path.realpath(place)


CHECKS = (
    Check(
        id="unmerged",
        looks_at="branches of plans with commits that are not on the branch where work lands (a warning), or that "
        "branch itself gone",
        why="work that has not landed is on no other branch",
        examine=unmerged,
    ),
    Check(
        id="branch-without-worktree",
        looks_at="branches of slices that are not merged, and whose worktree is not registered any more (a "
        "warning)",
        why="there is no place where somebody could go on with that work",
        examine=without_worktree,
    ),
)
