"""The changes that a person requests of a slice, and the steps whose agents get the request.

The request is part of the value `feedback` of all templates, beside the failures of steps. It stays valid for
every attempt: a check that fails afterwards does not make it obsolete. If no agent of the slice reads `feedback`,
the request is added to the prompt of each agent that changes files.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from weft.engine.messages.facts import EarlierSlice
from weft.engine.state.pipelines import PlacedStep
from weft.plan.model import AgentWork
from weft.plan.templates.parse import parse_template


def request_text(request: str) -> str:
    """Returns the request as agents read it; empty without one."""
    return f"A person has reviewed the work and asks for these changes:\n{request}" if request else ""


def requested_steps(steps: Mapping[str, PlacedStep]) -> Sequence[str]:
    """Returns the addresses of the steps that get the request, in plan order; none without an agent."""
    agents = {address: placed.step.body for address, placed in steps.items()}
    works = {address: body for address, body in agents.items() if isinstance(body, AgentWork)}
    readers = [address for address, work in works.items() if reads_feedback(work.prompt)]
    return readers or [address for address, work in works.items() if not work.read_only] or list(works)


def is_request_added(address: str, steps: Mapping[str, PlacedStep]) -> bool:
    """Returns whether a step gets the request although its template does not read `feedback`."""
    work = steps[address].step.body
    return (
        isinstance(work, AgentWork) and not reads_feedback(work.prompt) and address in requested_steps(steps)
    )


def reads_feedback(prompt: str) -> bool:
    """Returns whether a template reads `feedback`."""
    return any(name.path[0] == "feedback" for name in parse_template(prompt).names)


def before_request(earlier: EarlierSlice, steps: Mapping[str, PlacedStep]) -> EarlierSlice:
    """Returns the record of an earlier run without the steps from the first one that gets a request."""
    requested = frozenset(requested_steps(steps))
    ended = [number for number, step in enumerate(earlier.steps) if step.step in requested]
    return replace(
        earlier, steps=earlier.steps[: ended[0]] if ended else earlier.steps, open=(), merging=False
    )
