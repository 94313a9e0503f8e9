"""Conversations of agents: which one a step with `resume` goes on with.

It is the last one that its agent has held in the slice before the step: of the steps that are certain to have
ended when it begins, the last in the order of the plan. What only happens to have ended does not count, or it
would depend on time what an agent knows. A step that has been tried before goes on with its own conversation, as
far as that has got by now, unless a step before it was done again since.

Most agents go on with a conversation in place, so that it is another one for whoever goes on with it later. So a
step gets a fork if the conversation is from outside of its branch, or if a branch beside it may want it as it is.
"""

from collections.abc import Iterator
from itertools import takewhile

from weft.engine.messages.facts import Ended
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.slice_state import Conversation, StepFiring, SubplanState
from weft.plan.model import Agent, AgentWork
from weft.plan.pipelines.flow import Flow, flow


def resumed(play: SubplanState, placed: PlacedStep, agent: Agent) -> tuple[Conversation | None, bool]:
    """What a step goes on with, if there is anything, and whether with a fork of it."""
    if not _resumes(placed):
        return None, False
    levels = [_Level(play, one) for one in _around(play, placed)]
    found = _last(play, placed, agent, levels)
    if found is None:
        return None, False
    is_foreign = not _is_within(found.branch, branch_of(play, placed))
    within = takewhile(lambda level: not level.is_async, levels)
    return found, is_foreign or any(level.overlaps for level in within)


def note(firing: StepFiring, fact: Ended) -> None:
    """An agent has told its conversation, which can be gone on with, however this execution has ended."""
    play, launch = firing.play, firing.launch
    if not fact.session or launch is None or launch.agent is None or not firing.step:
        return
    if launch.fork and fact.session == launch.session:
        return  # then there is no fork, and no other conversation than before
    branch = branch_of(play, play.steps[firing.step])
    conversation = None if launch.fork else firing.resumes
    if conversation is None:
        conversation = Conversation(agent=launch.agent.name, session=fact.session, branch=branch)
    conversation.session, conversation.branch = fact.session, branch
    play.conversations.pop(firing.step, None)  # who was heard last is at the end
    play.conversations[firing.step] = conversation


def _last(
    play: SubplanState, placed: PlacedStep, agent: Agent, levels: list["_Level"]
) -> Conversation | None:
    held = play.conversations
    since = takewhile(lambda address: address != placed.address, reversed(held))
    before = {
        address
        for address in since
        if held[address].agent == agent.name and any(level.is_behind(address) for level in levels)
    }
    last = [address for address in play.steps if address in before]
    return held.get(last[-1] if last else placed.address)


# Where a step stands


class _Level:
    """A step among those beside it: one that resumes, or a pipeline that such a step stands in."""

    def __init__(self, play: SubplanState, placed: PlacedStep) -> None:
        self._play = play
        self._prefix = placed.prefix
        self._ids = [step.id for step in placed.beside]
        self._number = self._ids.index(placed.step.id)
        self._flow: Flow = flow(placed.beside)
        self.is_async = placed.step.is_async

    def is_behind(self, address: str) -> bool:
        """Whether that step is certain to have ended, or is in a pipeline that is."""
        number = self._beside(address)
        return number is not None and self._flow.has_ended(number, self._number)

    def _beside(self, address: str) -> int | None:
        """The number of the step of this level that is meant, or has that one in it."""
        if not address.startswith(self._prefix):
            return None
        return self._ids.index(address.removeprefix(self._prefix).partition(".")[0])

    @property
    def overlaps(self) -> bool:
        """Whether another step of this level that resumes, or one in it, may be under way meanwhile."""
        resuming = (address for address, one in self._play.steps.items() if _resumes(one))
        return any(self._is_meanwhile(self._beside(address)) for address in resuming)

    def _is_meanwhile(self, number: int | None) -> bool:
        if number is None or number == self._number:
            return False
        first, second = sorted((number, self._number))
        return not self._flow.has_ended(first, second)


def _around(play: SubplanState, placed: PlacedStep) -> Iterator[PlacedStep]:
    """The step, then the one whose pipeline it stands in, and so on."""
    yield placed
    while placed.within:
        placed = play.steps[placed.within]
        yield placed


def branch_of(play: SubplanState, placed: PlacedStep) -> str:
    """The address of the async step that a step is, or is in; empty if there is none."""
    return next((one.address for one in _around(play, placed) if one.step.is_async), "")


def _resumes(placed: PlacedStep) -> bool:
    return isinstance(placed.step.body, AgentWork) and placed.step.body.resume


def _is_within(branch: str, around: str) -> bool:
    return not around or f"{branch}.".startswith(f"{around}.")
