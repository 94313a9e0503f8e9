"""The agents that Weft knows how to drive, by the name that `use:` gives."""

from msgspec import Struct


class Adapter(Struct, frozen=True, kw_only=True):
    name: str
    program: str | None
    """The command it needs on the machine; None if it is a part of Weft or named in the plan."""
    doc: str
    forks: bool = False
    """Whether two steps may go on from one conversation at the same time without disturbing each other."""


ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        Adapter(name="claude", program="claude", forks=True, doc="Claude Code"),
        Adapter(name="codex", program="codex", doc="Codex CLI"),
        Adapter(name="gemini", program="gemini", doc="Gemini CLI"),
        Adapter(name="opencode", program="opencode", doc="OpenCode"),
        Adapter(name="goose", program="goose", doc="goose"),
        Adapter(name="vibe", program="vibe", doc="Mistral Vibe"),
        Adapter(name="pi", program="pi", doc="pi"),
        Adapter(name="aider", program="aider", doc="Aider"),
        Adapter(name="mini-swe-agent", program="mini", doc="mini-SWE-agent"),
        Adapter(name="acp", program=None, doc="any server of the Agent Client Protocol, named by `command`"),
        Adapter(
            name="command", program=None, doc="any command, named by `command`; it gets the prompt on stdin"
        ),
        Adapter(
            name="scripted",
            program=None,
            forks=True,
            doc="plays the file named by `script`; for demos and tests",
        ),
        Adapter(
            name="builtin",
            program=None,
            forks=True,
            doc="a small agent of Weft's own, for those who have a key to a model but no agent",
        ),
    )
}
