"""Calls of agents, and ends of their processes, for tests."""

from typing import Any

from weft.plan.model import Agent
from weft.ports.agent import AgentCall, AgentEnded

NOW = 1_800_000_000.0


def call(*, prompt: str = "Do it", agent: dict[str, Any] | None = None, **more: Any) -> AgentCall:
    described = {"name": "coder", "use": "command", **(agent or {"command": "coder"})}
    places = {"plan_dir": "/plan", "cwd": "/plan/work", "result_file": "/plan/result.json"}
    return AgentCall(agent=Agent(**described), prompt=prompt, **{**places, **more})


def ended(**given: Any) -> AgentEnded:
    usual: dict[str, Any] = {"exit_code": 0, "signal": None, "stdout": "", "stderr": "", "result_file": None}
    return AgentEnded(**{**usual, "at": NOW, **given})
