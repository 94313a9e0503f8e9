"""`weft decompose --refine`: finds the agent to ask."""

import os

from weft.app.agents.overview import find_agents
from weft.app.decompose.refine import TIMEOUT, refiner
from weft.app.decompose.refinement import Refine
from weft.cli.output import note
from weft.cli.plan_options import directory


def refine_by(name: str, *, model: str | None, timeout: float | None) -> Refine:
    plan_agents = find_agents(None, directory(), os.environ)
    file = plan_agents.unread
    if file:
        note(f"{file} cannot be read, and its agents are not known; type: weft check {file}")
    return refiner(plan_agents, name, os.environ, model=model, timeout=timeout or TIMEOUT, tell=note).refine
