"""How much the slices of a run have changed, also if it is an older run, or its branches are gone.

The commits are those that `weft diff` compares: of the refs while these belong to the run, otherwise of the
journal. Uncommitted files do not count.
"""

import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from weft.app.inspect.change_counts import Branch, compare_branches
from weft.app.inspect.diffs import is_newest
from weft.app.isolation.plan_repository import names_of
from weft.app.record.journal import RecordedRun
from weft.app.views.change_count import ChangeCount
from weft.engine.messages.facts import Ended
from weft.engine.messages.internal_steps import InternalStep
from weft.plan.model import Plan
from weft.workspaces.git.base.names import RefNames
from weft.workspaces.git.base.program import Git
from weft.workspaces.git.base.refs import tips_of
from weft.workspaces.git.base.repository import open_repository

_FIELDS = "%(objectname) %(objecttype)"
Branches = dict[str, Branch]
"""By path."""


def count_recorded_changes(
    recorded_run: RecordedRun, plan: Plan, most: int, *, environ: Mapping[str, str] = os.environ
) -> dict[str, ChangeCount]:
    """Returns the changes of the first `most` slices that this run has changed, by path.

    A slice whose commits are gone is left out.
    """
    branches = _recorded_branches(recorded_run, plan)
    if not branches:
        return {}
    git = open_repository(Path(recorded_run.run.directory), environ=environ).git
    if is_newest(recorded_run):
        branches |= _present_branches(git, names_of(plan), branches)
    changed = [branch for branch in branches.values() if branch.start and branch.start != branch.head]
    existing = _existing(git, {commit for branch in changed for commit in (branch.start, branch.head)})
    whole = (branch for branch in changed if {branch.start, branch.head} <= existing)
    return compare_branches(git, list(islice(whole, most)))


def _recorded_branches(recorded_run: RecordedRun, plan: Plan) -> Branches:
    """Returns the branches of slices as the journal has them, in the order of the plan."""
    names, outline = names_of(plan), plan.outline
    heads: dict[str, str] = {}
    starts: dict[str, str] = {}
    for recorded in recorded_run.journal.events(recorded_run.run.run):
        event = recorded.event
        if not isinstance(event.fact, Ended) or not event.fact.moves:
            continue
        ref = names.head(event.subplan)
        for after in (move.after for move in event.fact.moves if move.ref == ref):
            heads[event.subplan] = after
            if event.step == InternalStep.WORKSPACE:
                starts[event.subplan] = after
    leaves = (path for path, is_leaf in zip(outline.paths, outline.leaves, strict=True) if is_leaf)
    return {path: Branch(path, starts.get(path, ""), heads[path]) for path in leaves if path in heads}


def _present_branches(git: Git, names: RefNames, branches: Branches) -> Branches:
    """Returns the branches whose refs exist, with the commits of these."""
    refs = {path: (names.start(path), names.head(path)) for path in branches}
    tips = tips_of(git, *(ref for pair in refs.values() for ref in pair))
    return {
        path: Branch(path, tips[start], tips[head])
        for path, (start, head) in refs.items()
        if start in tips and head in tips
    }


def _existing(git: Git, commits: set[str]) -> set[str]:
    """Returns those of the commits that the repository has."""
    asked = "".join(f"{commit}\n" for commit in sorted(commits)).encode()
    lines = git.do("cat-file", f"--batch-check={_FIELDS}", stdin=asked).decode().splitlines()
    return {oid for oid, _, kind in (line.partition(" ") for line in lines) if kind == "commit"}
