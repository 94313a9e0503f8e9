"""The agents that a plan needs."""

from collections.abc import Iterable, Iterator, Mapping

from weft.plan.loader.slices_check import agent_of
from weft.plan.model import Agent, AgentWork, Nested, Pipeline, Plan, Step


def agents_of(plan: Plan) -> Iterator[Agent]:
    """Yields the agent of each agent step."""
    for _, _, agent in agent_steps(plan):
        yield agent


def agent_steps(plan: Plan) -> Iterator[tuple[int, Step, Agent]]:
    """Yields each agent step with the row of its slice and its agent."""
    for row in range(len(plan.subplans)):
        if plan.outline.is_leaf(row):
            for step in _steps(plan.pipeline_of(row).steps, plan.pipelines):
                if isinstance(step.body, AgentWork):
                    agent = agent_of(step.body, plan.scopes[row].settings, plan.agents)
                    assert agent is not None
                    yield row, step, agent


def _steps(steps: Iterable[Step], pipelines: Mapping[str, Pipeline]) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step.body, Nested):
            yield from _steps(pipelines[step.body.pipeline].steps, pipelines)
