"""Read from the journal and the repository which subplans are complete, and which results have not landed."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from weft.app.check.eligibility_rules import NOTHING_YET, Facts, UnlandedResult
from weft.app.history.completed_work import CompletedWork, completed_by, kept_of
from weft.app.history.earlier_runs import Earlier, earlier_runs
from weft.engine.messages.internal_steps import InternalStep
from weft.errors import WeftError
from weft.plan.digests import plan_digest
from weft.plan.model import Plan
from weft.plan.order.outline import ROOT
from weft.plan.text.problems import PlanError
from weft.ports.journal import JournalReader, RunRecord
from weft.store.database import NOTHING_YET as NOTHING_RUN
from weft.store.sqlite import open_reader
from weft.terms import FINISHED
from weft.workspaces.git.base.names import RefNames


def facts_of(plan: Plan, journal: Path, folder: Path, environ: Mapping[str, str]) -> Facts:
    """Returns the facts about a plan. It changes nothing and blocks no other process."""
    try:
        with closing(open_reader(journal)) as reader:
            state = _JournalState(plan, reader)
    # The plan is wrong in a way that its own load did not report: an old version of it, recorded in the journal.
    except PlanError as error:
        reason = f"the plan of an earlier run, in {journal}: {error.problems[0].message}"
        return Facts(unread={"": reason})
    except WeftError as error:
        # A journal without any run is the normal state after `weft init`, not an error.
        return NOTHING_YET if str(error) == NOTHING_RUN else Facts(unread={"": str(error)})
    try:
        return state.facts(folder, environ)
    except (WeftError, OSError) as error:
        reason = f"the repository of {folder}: {error}"
        return Facts(
            done=state.done, unread=dict.fromkeys((result.path for result in state.unlanded), reason)
        )


class _JournalState:
    """The completed and unlanded subplans of a plan, as the journal records them."""

    def __init__(self, plan: Plan, journal: JournalReader) -> None:
        runs = list(earlier_runs(journal, plan.id))
        kept = kept_of(plan, journal, runs)
        self._plan = plan
        self._target = kept.target
        outline = plan.outline
        self._groups = {path for row, path in enumerate(outline.paths) if not outline.leaves[row]}
        self.done = completed_by(kept, journal, runs)
        self._names = RefNames(plan=plan.id, prefix=plan.scopes[ROOT].settings.branch_prefix)
        held = _Held(plan, journal, runs, {earlier.subplan for earlier in kept.continued if earlier.merging})
        self.unlanded = list(self._unlanded_results(kept, held))

    def _unlanded_results(self, kept: CompletedWork, held: "_Held") -> Iterator[UnlandedResult]:
        landed = frozenset(kept.landed)
        for path in _landing(self._plan):
            if path in self.done and path not in landed:
                yield self._result(path, held.command(path, InternalStep.LAND))
        for path in held.unmerged:
            yield self._result(path, held.command(path, InternalStep.MERGE), is_done=False)

    def _result(self, path: str, command: str, *, is_done: bool = True) -> UnlandedResult:
        branch, is_group = self._names.branch(path), path in self._groups
        return UnlandedResult(path=path, branch=branch, command=command, is_done=is_done, is_group=is_group)

    def facts(self, folder: Path, environ: Mapping[str, str]) -> Facts:
        """Returns the facts, with the branches of unlanded results checked in git."""
        if not self.unlanded:
            return Facts(done=self.done)
        from weft.workspaces.git.base.program import Git  # noqa: PLC0415 - slow to load, and rarely needed

        def branches(*options: str) -> frozenset[str]:
            listed = git.line("for-each-ref", "--format=%(refname:lstrip=2)", *options, "refs/heads")
            return frozenset(listed.splitlines())

        git = Git(folder, environ=environ)
        # Two calls of git answer for all branches, however many results there are.
        existing, landed = branches(), branches(f"--merged=refs/heads/{self._target}")
        # A person may have merged a branch by hand, which the journal does not record.
        unlanded = [result for result in self.unlanded if not (result.is_done and result.branch in landed)]
        missing = [result for result in unlanded if result.branch not in existing]
        unread = {result.path: f"the branch {result.branch}: it is gone" for result in missing}
        return Facts(
            done=self.done,
            unlanded={result.path: result for result in unlanded if result.path not in unread},
            unread=unread,
        )


def _landing(plan: Plan) -> Iterator[str]:
    """Yields the paths of subplans that land as a whole and have a branch."""
    outline = plan.outline
    for row, scope in enumerate(plan.scopes):
        if row == ROOT or not scope.settings.has_branch:
            continue
        if outline.leaves[row] if scope.settings.merge_when == "slice" else outline.parents[row] == ROOT:
            yield outline.paths[row]


class _Held:
    """The holds of the last run of a plan."""

    def __init__(
        self, plan: Plan, journal: JournalReader, runs: Iterable[Earlier], continued: Collection[str]
    ) -> None:
        """`continued` are slices that the next run continues with their conflict, even if the plan has changed."""
        self._keys: Collection[tuple[str, str]] = ()
        self._options = ""
        self.unmerged: list[str] = []
        last = next(iter(runs), None)
        if last is None or last[0].state in FINISHED:
            return
        from weft.app.views.run_fold import RunFold  # noqa: PLC0415 - of no use where no run is unfinished

        fold = RunFold()
        fold.apply_all(journal.events(last[0].run))
        self._keys = fold.holds.known.keys()
        self._options = _run_option(last[0], journal)
        # After an edit, the next run starts slices again instead of retrying their merges, unless they continue
        # unchanged.
        is_same = last[0].digest == plan_digest(plan)
        unmerged = (path for path, step in self._keys if step == InternalStep.MERGE)
        self.unmerged = [path for path in unmerged if is_same or path in continued]

    def command(self, path: str, step: str) -> str:
        return f"weft merge {path}{self._options}" if (path, step) in self._keys else ""


def _run_option(run: RunRecord, journal: JournalReader) -> str:
    """Returns the command-line option that selects the run; empty if it is the last run of the project."""
    return "" if journal.runs()[0].run == run.run else f" --run {run.run}"
