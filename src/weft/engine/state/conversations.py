"""The choice of the conversation that a step with `resume` continues.

A step continues the latest conversation of its agent in the slice. Only steps that are certain to have ended
before it starts are considered, and the last of them in plan order is chosen. A step in a parallel branch
that merely happens to have ended is ignored, since the choice would then depend on timing. A later attempt
continues the conversation of the attempt before it, unless an earlier step was repeated in between.

Most agents continue a conversation in place, which changes it for every later step. A step therefore gets a
fork if the conversation comes from outside its branch, or if a parallel branch may continue the same
conversation.
"""

from collections.abc import Iterator
from itertools import takewhile

from weft.engine.messages.facts import Ended
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.slice_state import Conversation, StepFiring, SubplanState
from weft.plan.model import Agent, AgentWork
from weft.plan.pipelines.flow import Flow, flow


def resumed(
    subplan: SubplanState, placed: PlacedStep, agent: Agent, place: str = ""
) -> tuple[Conversation | None, bool]:
    """Returns the conversation that a step continues, if any, and whether it continues a fork.

    `place`: the token of the placement in which the step runs. Conversations are files of the machine on which
    they were held.
    """
    if not _resumes(placed):
        return None, False
    levels = [_Level(subplan, step) for step in _around(subplan, placed)]
    conversation = _last(subplan, placed, agent, levels)
    if conversation is None or conversation.place != place:
        return None, False
    is_foreign = not _is_within(conversation.branch, branch_of(subplan, placed))
    within = takewhile(lambda level: not level.is_async, levels)
    return conversation, is_foreign or any(level.overlaps for level in within)


def note(firing: StepFiring, fact: Ended) -> None:
    """Records the conversation that an execution reported. Later steps can continue it, whatever its outcome."""
    subplan, task = firing.subplan, firing.task
    if not fact.session or task is None or not firing.step:
        return
    if task.fork and fact.session == task.session:
        return  # the agent did not fork; the conversation stays that of the earlier step
    branch = branch_of(subplan, subplan.steps[firing.step])
    conversation = None if task.fork else firing.resumes
    if conversation is None:
        place = "" if firing.launch is None else firing.launch.token
        conversation = Conversation(agent=task.agent.name, session=fact.session, branch=branch, place=place)
    conversation.session, conversation.branch = fact.session, branch
    subplan.conversations.pop(firing.step, None)  # moves the step to the end: dict order is order of report
    subplan.conversations[firing.step] = conversation


def _last(
    subplan: SubplanState, placed: PlacedStep, agent: Agent, levels: list["_Level"]
) -> Conversation | None:
    held = subplan.conversations
    since = takewhile(lambda address: address != placed.address, reversed(held))
    before = {
        address
        for address in since
        if held[address].agent == agent.name and any(level.is_behind(address) for level in levels)
    }
    last = [address for address in subplan.steps if address in before]
    return held.get(last[-1] if last else placed.address)


# The position of a step


class _Level:
    """A step in the order of its own pipeline: a step with `resume`, or a step whose pipeline contains it."""

    def __init__(self, subplan: SubplanState, placed: PlacedStep) -> None:
        self._subplan = subplan
        self._prefix = placed.prefix
        self._ids = [step.id for step in placed.beside]
        self._number = self._ids.index(placed.step.id)
        self._flow: Flow = flow(placed.beside)
        self.is_async = placed.step.is_async

    def is_behind(self, address: str) -> bool:
        """Returns whether the step, or the nested pipeline that contains it, is certain to have ended."""
        number = self._beside(address)
        return number is not None and self._flow.has_ended(number, self._number)

    def _beside(self, address: str) -> int | None:
        """Returns the position of the step at this level that has the address or contains it."""
        if not address.startswith(self._prefix):
            return None
        return self._ids.index(address.removeprefix(self._prefix).partition(".")[0])

    @property
    def overlaps(self) -> bool:
        """Whether another step with `resume` at this level, or inside one, can run at the same time."""
        resuming = (address for address, step in self._subplan.steps.items() if _resumes(step))
        return any(self._is_meanwhile(self._beside(address)) for address in resuming)

    def _is_meanwhile(self, number: int | None) -> bool:
        if number is None or number == self._number:
            return False
        first, second = sorted((number, self._number))
        return not self._flow.has_ended(first, second)


def _around(subplan: SubplanState, placed: PlacedStep) -> Iterator[PlacedStep]:
    """Yields the step, then the step whose pipeline contains it, and so on outwards."""
    yield placed
    while placed.within:
        placed = subplan.steps[placed.within]
        yield placed


def branch_of(subplan: SubplanState, placed: PlacedStep) -> str:
    """Returns the address of the innermost async step that is or contains the step; empty if there is none."""
    return next((step.address for step in _around(subplan, placed) if step.step.is_async), "")


def _resumes(placed: PlacedStep) -> bool:
    return isinstance(placed.step.body, AgentWork) and placed.step.body.resume


def _is_within(branch: str, around: str) -> bool:
    return not around or f"{branch}.".startswith(f"{around}.")
