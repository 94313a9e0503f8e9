"""Searches for the parts that break the verify of a group: the answers so far, and the next run of verify.

Each run is a job of the order for the verify, numbered by its question. The jobs that the host has stored are
enough to continue a search after the death of a coordinator, so the host keeps them until the end is
reported. A number without a job belongs to a question with parts that could not be merged.
"""

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Launch, LaunchKind
from weft.engine.messages.step_refs import ExecutionKey
from weft.engine.suspects import BisectionResult, Suspect, VerifyAnswer, VerifyQuestion, describe, look
from weft.errors import WeftError
from weft.ports.host import JobEnded, Running
from weft.ports.workspaces import ConflictError, MergeRequest, ResultMerges
from weft.runtime.jobs import JobFactory, reason
from weft.runtime.lineage import Lineage
from weft.threads import run_sync

_ANSWERS = {
    StepOutcome.DONE: VerifyAnswer.GREEN,
    StepOutcome.FAILED: VerifyAnswer.RED,
    StepOutcome.TIMEOUT: VerifyAnswer.UNCLEAR,
    StepOutcome.INFRA: VerifyAnswer.UNCLEAR,
}
"""The answer that each outcome gives. Any other outcome ends the search."""
_TWO = 2


class _Case(Struct):
    """A search after a failed verify."""

    first: Ended
    """The end of the failed verify, on the whole group."""
    answers: list[VerifyAnswer] = field(default_factory=list[VerifyAnswer])
    jobs: list[str] = field(default_factory=list[str])
    runs: int = 0
    suspects: list[Suspect] | None = None


class Bisection:
    """The searches that are running."""

    def __init__(self, workspaces: ResultMerges, lineage: Lineage, jobs: JobFactory) -> None:
        self._workspaces = workspaces
        self._lineage = lineage
        self._jobs = jobs
        self._cases: dict[ExecutionKey, _Case] = {}
        """By firing and execution."""

    def concerns(self, launch: Launch, fact: Ended) -> bool:
        """Returns whether this is the end of a failed group verify, or of a run of its search."""
        if launch.kind is not LaunchKind.VERIFY or not self._workspaces.has_history(launch.path):
            return False
        return launch.round > 0 or (
            fact.how is StepOutcome.FAILED and self._lineage.gathered_for(launch) is not None
        )

    def restore(self, order: Launch, jobs: Mapping[int, Running | JobEnded], *, at: float) -> Launch:
        """Restores a search after a crash from its jobs, by number; returns the launch of the last one."""
        last = max(jobs)
        for number in range(last):
            ended, launch = jobs.get(number), replace(order, round=number)
            if isinstance(ended, JobEnded):
                fact = self._jobs.fact(launch, ended, self._workspaces.place(order.path), at=at, halted=None)
                self._learn(launch, fact, ended.id)
            # A gap: the parts of that question conflicted, so no job was started for it. The answer is
            # repeated, or the numbers of later questions would shift.
            elif case := self._cases.get(order.key):
                case.answers.append(VerifyAnswer.UNCLEAR)
        return replace(order, round=last)

    async def next(self, launch: Launch, fact: Ended, job: str) -> Launch | Ended:
        """Returns the next run of verify, for which the workspace is prepared, or the end of the search."""
        case = self._learn(launch, fact, job)
        if case is None:
            # Without the case, the set of parts of this run is unknown, so its end says nothing about the group.
            lost = replace(fact, how=StepOutcome.LOST, message="the commit that it ran on is unknown")
            return fact if launch.key in self._cases else lost
        try:
            following = await run_sync(self._ask, launch, case)
        except (WeftError, OSError) as error:
            message = f"the culprit could not be found: {reason(error)}"
            following = replace(case.first, message=f"{case.first.message}; {message}")
        return following if isinstance(following, Launch) else replace(following, at=fact.at)

    def _learn(self, launch: Launch, fact: Ended, job: str) -> _Case | None:
        """Adds the answer of a run to its case and returns it; None if there is no answer or no case."""
        if launch.round == 0:
            self._cases[launch.key] = _Case(first=fact)
        case, answer = self._cases.get(launch.key), _ANSWERS.get(fact.how)
        if case is None:
            return None
        case.jobs.append(job)
        if launch.round == 0:
            return case
        case.runs += 1
        case.answers += [answer] if answer is not None else []
        return None if answer is None else case

    def _ask(self, launch: Launch, case: _Case) -> Launch | Ended:
        request = self._lineage.with_parts(launch)
        assert request is not None
        if case.suspects is None:
            case.suspects = list(self._workspaces.suspects(request))
        if len(case.suspects) < _TWO:
            return case.first
        # The questions follow from the answers alone, so a restarted search asks the same ones.
        while isinstance(step := look(case.suspects, case.answers), VerifyQuestion):
            if self._gather(request, case.suspects, step):
                return replace(launch, round=len(case.answers) + 1)
            case.answers.append(VerifyAnswer.UNCLEAR)
        return _result(case, launch.path, step)

    def _gather(self, request: MergeRequest, suspects: list[Suspect], question: VerifyQuestion) -> bool:
        """Merges the parts of a question; returns whether that was possible."""
        without = tuple(suspect.name for suspect in suspects if suspect.name not in question.names)
        try:
            self._workspaces.gather(replace(request, without=without))
        except ConflictError:
            return False
        return True

    def forget(self, launch: Launch) -> list[str]:
        """Forgets a search and returns its jobs."""
        case = self._cases.pop(launch.key, None)
        return [] if case is None else case.jobs


def _result(case: _Case, group: str, finding: BisectionResult) -> Ended:
    first = case.first
    return replace(
        first,
        message=f"{describe(group, finding, case.runs)}: {first.message}",
        culprits=finding.culprits,
        left_out=finding.left_out,
    )
