"""The registry of agents: the module of each adapter, by the name that a plan's `use:` gives.

A module declares its agent once, as `ADAPTER`. `weft.plan.language.agent_programs` is a copy of the declarations,
made by `make format`, for the layers that must not import adapters.
"""

from importlib import import_module
from typing import cast

from weft.errors import InputError
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.text.problems import suggestion
from weft.ports.agent import AgentAdapter

ADAPTERS = {
    "claude": "weft.agents.claude",
    "codex": "weft.agents.codex",
    "gemini": "weft.agents.gemini",
    "opencode": "weft.agents.opencode",
    "goose": "weft.agents.goose",
    "vibe": "weft.agents.vibe",
    "pi": "weft.agents.pi",
    "aider": "weft.agents.aider",
    "mini-swe-agent": "weft.agents.mini_swe_agent",
    "acp": "weft.agents.acp.adapter",
    "command": "weft.agents.command",
    "scripted": "weft.agents.scripted",
    "builtin": "weft.agents.builtin.adapter",
}
"""In the order in which users see them. Each module is imported when a plan needs it: to import all takes longer
than loading a small plan."""


def adapter_of(name: str) -> AgentAdapter:
    """Imports the adapter; raises `InputError` for a name that this version does not have."""
    if name in ADAPTERS:
        return cast("AgentAdapter", import_module(ADAPTERS[name]).ADAPTER)
    if name in AGENT_PROGRAMS:
        raise InputError(
            f"`use: {name}` is not built into this version of Weft yet; use `command`, with the command line "
            "that starts it and reads its prompt from standard input"
        )
    raise InputError(f"there is no adapter {name!r}{suggestion(name, tuple(AGENT_PROGRAMS))}")
