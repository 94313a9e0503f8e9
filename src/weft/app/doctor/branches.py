"""Checks of the branches of plans: branches that have not landed or have no worktree.

No branch is ever removed.
"""

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from weft.app.doctor.context import DoctorContext
from weft.app.doctor.findings import Check, Finding, problem, warning
from weft.app.doctor.plan_refs import Branch, PlanRefs, RepositoryRefs, find_repository_refs
from weft.app.project.suggestions import suggest
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.reachability import ReachabilityProof
from weft.workspaces.git.base.refs import tip, tree_of


class UnlandedBranch(Struct, frozen=True, kw_only=True):
    """A branch with commits that the target lacks."""

    branch: Branch
    commits: int
    """How many commits the target lacks."""


class PlanLanding(Struct, frozen=True, kw_only=True):
    """The landing state of a plan."""

    plan: PlanRefs
    is_target_there: bool
    unlanded: tuple[UnlandedBranch, ...]


def _landings(context: DoctorContext) -> list[PlanLanding]:
    """Returns the landing states of the plans that no run is working on."""
    repository_refs = context.once(find_repository_refs)
    if repository_refs is None:
        return []
    return [_landing(repository_refs, plan) for plan in repository_refs.plans if not plan.is_at_work]


def _landing(repository_refs: RepositoryRefs, plan: PlanRefs) -> PlanLanding:
    git = repository_refs.repository.git
    existing = [branch for branch in plan.branches if branch.commit]
    target = tip(git, f"refs/heads/{plan.target}") if existing else ""
    if target is None:
        return PlanLanding(plan=plan, is_target_there=False, unlanded=())
    # The cheap question first: most branches have landed completely, and the exact proof costs several calls each.
    ahead = _ahead(git, target) if existing else frozenset[str]()
    proof = ReachabilityProof(git, target)
    missing = {branch: _missing(git, proof, branch, target) for branch in existing if branch.ref in ahead}
    slices = [
        UnlandedBranch(branch=branch, commits=count)
        for branch, count in missing.items()
        if count and branch.is_slice
    ]
    # The branch of a group contains the commits of its slices; counting them again would report the same work
    # twice.
    counted = [target, *(result.branch.commit for result in slices)]
    groups = [
        UnlandedBranch(branch=branch, commits=own)
        for branch, count in missing.items()
        if count and not branch.is_slice and (own := _own_commits(git, branch, counted))
    ]
    return PlanLanding(plan=plan, is_target_there=True, unlanded=(*slices, *groups))


def _ahead(git: Git, target: str) -> frozenset[str]:
    """Returns the branches with commits that the target lacks, with one call of git."""
    listed = git.line("for-each-ref", f"--no-merged={target}", "--format=%(refname)", "refs/heads")
    return frozenset(listed.splitlines())


def _missing(git: Git, proof: ReachabilityProof, branch: Branch, target: str) -> int:
    """Returns how many commits the target lacks; 0 if everything has landed, as `weft clean` proves it.

    If only merges are missing and the target once had the same tree, there is no need to repeat each merge.
    """
    commit = branch.commit
    count = int(git.line("rev-list", "--count", "--no-merges", commit, f"^{target}"))
    if count:
        return count
    trees = git.line("log", "--format=%T", target, f"^{commit}").split()
    return 0 if tree_of(git, commit) in trees or proof.holds(commit) else proof.missing(commit)


def _own_commits(git: Git, branch: Branch, counted: list[str]) -> int:
    """Returns how many commits no slice has. The other commits of a group are reported with their slices."""
    lines = "\n".join((branch.commit, *(f"^{commit}" for commit in counted), ""))
    return int(git.do("rev-list", "--count", "--no-merges", "--stdin", stdin=os.fsencode(lines)))


# --- branches that have not landed ---


def unmerged(context: DoctorContext) -> Iterator[Finding]:
    for landing in context.once(_landings):
        plan = landing.plan
        if not landing.is_target_there:
            last = context.last_landing(plan.run)
            yield problem(
                f"the branch {plan.target}, the target of {plan.id}, does not exist",
                command=suggest("git", "branch", plan.target, last).command if last else "",
                advice=""
                if last
                else f"create the branch {plan.target} again, or name another target in the plan",
                subject=plan.target,
            )
        for result in landing.unlanded:
            count = "1 commit" if result.commits == 1 else f"{result.commits:,} commits"
            yield warning(
                f"the branch {result.branch.shown} has {count} not on {plan.target}",
                command=_command(context, plan, result.branch),
                subject=result.branch.shown,
            )


def _command(context: DoctorContext, plan: PlanRefs, branch: Branch) -> str:
    record = plan.run.record
    run = () if context.journal_facts.runs[0].record.run == record.run else ("--run", record.run)
    if plan.run.has_ended:
        words = ("git", "log", f"{plan.target}..{branch.shown}")
        return suggest(*(("weft", "diff", branch.path or "/", *run) if branch.is_known else words)).command
    held = next((hold for hold in context.held(plan.run) if _is_within(branch.path, hold.subplan)), None)
    if held is not None:
        arguments = ("--list",) if held.needs_help else (*held.waits_for, held.subplan)
        return suggest("weft", "merge", *arguments, *run).command
    return suggest("weft", "answer", *run).command if context.asks(plan.run) else plan.run.command


def _is_within(path: str, group: str) -> bool:
    return not path or f"{path}/".startswith(f"{group}/")


# --- branches without a worktree ---


def without_worktree(context: DoctorContext) -> Iterator[Finding]:
    repository_refs = context.once(find_repository_refs)
    if repository_refs is None:
        return
    for landing in context.once(_landings):
        slices = [result.branch for result in landing.unlanded if result.branch.is_slice]
        merged = (
            _merged_commits(repository_refs.repository.git, slices, landing.plan.branches) if slices else ()
        )
        for branch in slices:
            is_lost = branch.place is not None and _real(branch.place) not in repository_refs.registered
            if is_lost and branch.commit not in merged:
                place = shlex.quote(str(branch.place))
                yield warning(
                    f"the branch {branch.shown} has not landed and has no worktree",
                    command=f"git worktree add {place} {shlex.quote(branch.shown)}",
                    subject=branch.shown,
                )


def _merged_commits(git: Git, slices: Sequence[Branch], branches: Sequence[Branch]) -> frozenset[str]:
    """Returns the commits of slices that a group's branch contains. Their worktrees are not needed."""
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
        covers="branches of plans with commits that are not on the target (a warning); a target that does not "
        "exist",
        why="work that has not landed is on no other branch",
        examine=unmerged,
    ),
    Check(
        id="branch-without-worktree",
        covers="unmerged branches of slices without a registered worktree (a warning)",
        why="there is no directory in which that work could continue",
        examine=without_worktree,
    ),
)
