"""The agents that Weft knows how to drive, by the name that `use:` gives."""

from msgspec import Struct


class Adapter(Struct, frozen=True, kw_only=True):
    name: str
    program: str | None
    """The command it needs on the machine; None if it is a part of Weft or named in the plan."""
    doc: str
    install: str | None = None
    """What to type to get that command."""
    forks: bool = False
    """Whether two steps may go on from one conversation at the same time without disturbing each other."""


ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        Adapter(
            name="claude",
            program="claude",
            install="npm install -g @anthropic-ai/claude-code",
            forks=True,
            doc="Claude Code",
        ),
        Adapter(
            name="codex", program="codex", install="npm install -g @openai/codex", forks=True, doc="Codex CLI"
        ),
        Adapter(
            name="gemini", program="gemini", install="npm install -g @google/gemini-cli", doc="Gemini CLI"
        ),
        Adapter(
            name="opencode",
            program="opencode",
            install="npm install -g opencode-ai",
            forks=True,
            doc="OpenCode",
        ),
        Adapter(name="goose", program="goose", install="npm install -g @aaif/goose", doc="goose"),
        Adapter(name="vibe", program="vibe", install="pip install mistral-vibe", doc="Mistral Vibe"),
        Adapter(
            name="pi",
            program="pi",
            install="npm install -g @earendil-works/pi-coding-agent",
            forks=True,
            doc="pi",
        ),
        Adapter(name="aider", program="aider", install="pip install aider-chat", doc="Aider"),
        Adapter(
            name="mini-swe-agent",
            program="mini",
            install="pip install mini-swe-agent mcp",
            doc="mini-SWE-agent",
        ),
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
