"""Probe agents: call each for one word, to see whether it works."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.app.agents.overview import AgentStatus, PlanAgents
from weft.app.agents.question import AgentQuestion, AgentReply, OnReply, ask
from weft.app.project.approval import require
from weft.app.project.places import project_of
from weft.app.project.plans import project_layer, user_layer
from weft.errors import InputError, WeftError
from weft.plan.model import Agent

PROMPT = "Answer with the word ready. Change no files."


class ToProbe(Struct, frozen=True):
    agents: tuple[Agent, ...]
    missing: tuple[AgentStatus, ...] = ()
    """Named agents that are not installed."""


def to_probe(
    found: PlanAgents,
    seen: Sequence[AgentStatus],
    environ: Mapping[str, str],
    *,
    named: bool,
    model: str | None,
) -> ToProbe:
    """Returns the named agents; without names, the installed ones that call a model.

    Raises `WeftError` if there is none, and `InputError` if a named one cannot be called, or is not approved.
    """
    for status in seen if named else ():
        if status.needs_more:
            raise InputError(f"{status.use!r} needs a plan that names its command; name an agent of a plan")
    chosen = [status for status in seen if named or _calls_model(status)]
    agents = [status.agent for status in chosen if status.is_installed]
    if not chosen:
        raise WeftError("no agent is installed; to see how to install one, type: weft agents")
    # Agents that only Weft defines run no text of the project; those of the plan or its configuration may.
    if any(agent.name in found.plan.agents for agent in agents):
        _require_approval(found, environ)
    if model is not None:
        agents = [replace(agent, model=model) for agent in agents]
    return ToProbe(tuple(agents), tuple(status for status in chosen if not status.is_installed))


def _calls_model(status: AgentStatus) -> bool:
    """Returns whether the agent calls a model, as far as Weft knows, and has a default model."""
    is_known = not status.requires and status.is_installed
    return is_known and (status.is_of_plan or status.program is not None)


def _require_approval(found: PlanAgents, environ: Mapping[str, str]) -> None:
    """Requires the approval of the project's own commands, as a run does."""
    layer = project_layer(found.plan)
    if layer is not None:
        require(layer, project_of(found.folder).project, environ, user=user_layer(found.plan))


def probe(
    found: PlanAgents,
    agents: Sequence[Agent],
    environ: Mapping[str, str],
    *,
    timeout: float,
    on_reply: OnReply = lambda _reply: None,
) -> list[AgentReply]:
    """Returns a reply of each agent, in the same order; calls `on_reply` with each reply as soon as it arrives."""
    questions = [AgentQuestion(agent=agent, prompt=PROMPT, step="probe") for agent in agents]
    return ask(found, questions, environ, timeout=timeout, on_reply=on_reply)
