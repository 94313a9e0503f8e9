"""Asks agents for one word each, to see whether they would work."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.app.agents.overview import AgentStatus, PlanAgents
from weft.app.agents.question import AgentQuestion, AgentReply, Tell, ask
from weft.app.project.approval import require
from weft.app.project.places import project_of
from weft.app.project.plans import project_layer, user_layer
from weft.errors import InputError, WeftError
from weft.plan.model import Agent

PROMPT = "Answer with the word ready. Change no files."


class ToProbe(Struct, frozen=True):
    agents: tuple[Agent, ...]
    missing: tuple[AgentStatus, ...] = ()
    """Those that were named and are not installed."""


def to_probe(
    found: PlanAgents,
    seen: Sequence[AgentStatus],
    environ: Mapping[str, str],
    *,
    named: bool,
    model: str | None,
) -> ToProbe:
    """All that were named; else those that are there and speak with models.

    Raises `WeftError` if there is none, and `InputError` if one cannot be asked, or not yet.
    """
    for one in seen if named else ():
        if one.needs_more:
            raise InputError(f"{one.use!r} needs a plan that says what it runs; name an agent of a plan")
    chosen = [one for one in seen if named or _speaks(one)]
    agents = [one.agent for one in chosen if one.is_installed]
    if not chosen:
        raise WeftError(
            "no agent is installed that could be asked; to see how to install one, type: weft agents"
        )
    if any(agent.name in found.plan.agents for agent in agents):
        _require_approval(found, environ)
    if model is not None:
        agents = [replace(agent, model=model) for agent in agents]
    return ToProbe(tuple(agents), tuple(one for one in chosen if not one.is_installed))


def _speaks(one: AgentStatus) -> bool:
    """With models, for all that Weft knows; and need not be told which."""
    is_known = not one.requires and one.is_installed
    return is_known and (one.is_of_plan or one.program is not None)


def _require_approval(found: PlanAgents, environ: Mapping[str, str]) -> None:
    """Of commands that came with the project, as for a run."""
    layer = project_layer(found.plan)
    if layer is not None:
        require(layer, project_of(found.folder).project, environ, user=user_layer(found.plan))


def probe(
    found: PlanAgents,
    agents: Sequence[Agent],
    environ: Mapping[str, str],
    *,
    timeout: float,
    tell: Tell = lambda _reply: None,
) -> list[AgentReply]:
    """What became of each, in the same order; `tell` hears of each when it has ended."""
    questions = [AgentQuestion(agent=agent, prompt=PROMPT, step="probe") for agent in agents]
    return ask(found, questions, environ, timeout=timeout, tell=tell)
