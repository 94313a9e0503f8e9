"""The adapters there are, by the name that `use:` gives. One is a module with `invoke` and `judge`."""

from importlib import import_module
from typing import cast

from weft.errors import InputError
from weft.plan.language.adapters import ADAPTERS as KNOWN
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
"""The modules, each of which is loaded when a plan needs it: together they take longer than many a plan."""


def adapter_of(name: str) -> AgentAdapter:
    if name in ADAPTERS:
        return cast("AgentAdapter", import_module(ADAPTERS[name]))
    if name in KNOWN:
        raise InputError(
            f"`use: {name}` is not built into this version of Weft yet; use `command`, with the command line "
            "that starts it and reads its prompt from standard input"
        )
    raise InputError(f"there is no adapter {name!r}{suggestion(name, tuple(KNOWN))}")
