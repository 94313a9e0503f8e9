"""Who is to blame for the verify of a group: what is known so far of each search, and what it is run on next.

The runs are jobs of the order that the verify is, each with the number of its question. What the host knows of
them is all it takes to go on after the death of a coordinator, so none is forgotten before the end is reported. A
number without a job is that of a question that could not be asked.
"""

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from weft.engine.messages.facts import Ended, StepOutcome
from weft.engine.messages.orders import Launch
from weft.engine.suspects import BisectionResult, Suspect, VerifyAnswer, VerifyQuestion, describe, look
from weft.errors import WeftError
from weft.ports.host import JobEnded, Running
from weft.ports.workspaces import ConflictError, MergeRequest, Workspaces
from weft.runtime.jobs import VERIFY, JobFactory, reason
from weft.runtime.lineage import Lineage
from weft.threads import run_sync

_ANSWERS = {
    StepOutcome.DONE: VerifyAnswer.GREEN,
    StepOutcome.FAILED: VerifyAnswer.RED,
    StepOutcome.TIMEOUT: VerifyAnswer.UNCLEAR,
    StepOutcome.INFRA: VerifyAnswer.UNCLEAR,
}
"""What the end of a run says; all others say nothing, and end the search."""
_TWO = 2


class _Case(Struct):
    """A verify that failed."""

    first: Ended
    """Its end, on all of the group."""
    answers: list[VerifyAnswer] = field(default_factory=list[VerifyAnswer])
    jobs: list[str] = field(default_factory=list[str])
    runs: int = 0
    suspects: list[Suspect] | None = None


class Bisection:
    def __init__(self, workspaces: Workspaces, lineage: Lineage, jobs: JobFactory) -> None:
        self._workspaces = workspaces
        self._lineage = lineage
        self._jobs = jobs
        self._cases: dict[tuple[int, int], _Case] = {}
        """By firing and execution."""

    def concerns(self, launch: Launch, fact: Ended) -> bool:
        """Whether it is a group's verify that failed, or was run again because of that."""
        if launch.step != VERIFY or not self._workspaces.has_history(launch.path):
            return False
        return launch.round > 0 or (
            fact.how is StepOutcome.FAILED and self._lineage.gathered_for(launch) is not None
        )

    def recall(self, order: Launch, found: Mapping[int, Running | JobEnded], *, at: float) -> Launch:
        """What the order had come to when somebody else died, by what the host has found of it: jobs by number."""
        last = max(found)
        for number in range(last):
            ended, launch = found.get(number), replace(order, round=number)
            if isinstance(ended, JobEnded):
                fact = self._jobs.fact(launch, ended, self._workspaces.place(order.path), at=at, halted=None)
                self._learn(launch, fact, ended.id)
            elif case := self._cases.get(_key(order)):
                case.answers.append(VerifyAnswer.UNCLEAR)
        return replace(order, round=last)

    async def next(self, launch: Launch, fact: Ended, job: str) -> Launch | Ended:
        """What is to be run next, on what is there now; or how it all ended."""
        case = self._learn(launch, fact, job)
        if case is None:
            # If it is not known what it was run on, it has nothing to say about all that is in the group.
            lost = replace(fact, how=StepOutcome.LOST, message="it is not known what it was run on")
            return fact if _key(launch) in self._cases else lost
        try:
            following = await run_sync(self._ask, launch, case)
        except (WeftError, OSError) as error:
            said = f"who is to blame could not be found: {reason(error)}"
            following = replace(case.first, message=f"{case.first.message}; {said}")
        return following if isinstance(following, Launch) else replace(following, at=fact.at)

    def _learn(self, launch: Launch, fact: Ended, job: str) -> _Case | None:
        """What the end of a run says is added to the case; None if it says nothing, or there is no case."""
        if launch.round == 0:
            self._cases[_key(launch)] = _Case(first=fact)
        case, answer = self._cases.get(_key(launch)), _ANSWERS.get(fact.how)
        if case is None:
            return None
        case.jobs.append(job)
        if launch.round == 0:
            return case
        case.runs += 1
        case.answers += [answer] if answer is not None else []
        return None if answer is None else case

    def _ask(self, launch: Launch, case: _Case) -> Launch | Ended:
        request = self._lineage.parted(launch)
        assert request is not None
        if case.suspects is None:
            case.suspects = list(self._workspaces.suspects(request))
        if len(case.suspects) < _TWO:
            return case.first
        while isinstance(found := look(case.suspects, case.answers), VerifyQuestion):
            if self._is_there(request, case.suspects, found):
                return replace(launch, round=len(case.answers) + 1)
            case.answers.append(VerifyAnswer.UNCLEAR)
        return _said(case, launch.path, found)

    def _is_there(self, request: MergeRequest, suspects: list[Suspect], question: VerifyQuestion) -> bool:
        """Whether what is asked about could be brought together."""
        without = tuple(one.name for one in suspects if one.name not in question.names)
        try:
            self._workspaces.gather(replace(request, without=without))
        except ConflictError:
            return False
        return True

    def over(self, launch: Launch) -> list[str]:
        """The jobs of a search that is over."""
        case = self._cases.pop(_key(launch), None)
        return [] if case is None else case.jobs


def _key(launch: Launch) -> tuple[int, int]:
    return launch.firing, launch.execution


def _said(case: _Case, group: str, finding: BisectionResult) -> Ended:
    first = case.first
    return replace(
        first,
        message=f"{describe(group, finding, case.runs)}: {first.message}",
        culprits=finding.culprits,
        left_out=finding.left_out,
    )
