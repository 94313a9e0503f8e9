"""The adapters there are, by the name that `use:` gives. One is a module with `invoke` and `judge`."""

from weft.agents import command, scripted
from weft.agents.builtin import adapter as builtin
from weft.errors import InputError
from weft.plan.language.adapters import ADAPTERS as KNOWN
from weft.plan.text.problems import suggestion
from weft.ports.agent import AgentAdapter

ADAPTERS: dict[str, AgentAdapter] = {"command": command, "scripted": scripted, "builtin": builtin}


def adapter_of(name: str) -> AgentAdapter:
    if name in ADAPTERS:
        return ADAPTERS[name]
    if name in KNOWN:
        raise InputError(
            f"`use: {name}` is not built into this version of Weft yet; use `command`, with the command line "
            "that starts it and reads its prompt from standard input"
        )
    raise InputError(f"there is no adapter {name!r}{suggestion(name, tuple(KNOWN))}")
