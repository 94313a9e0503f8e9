"""The agents that Weft can run, by the name that `use:` takes."""

from collections.abc import Mapping

from msgspec import Struct, field


class Adapter(Struct, frozen=True, kw_only=True):
    """An agent program that Weft can run."""

    name: str
    program: str | None
    """The program it needs on the machine; None if it is a part of Weft or named in the plan."""
    doc: str
    install: str | None = None
    """The command that installs the program."""
    home: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables for where it keeps its settings, logins and conversations, with paths inside a home."""
    forks: bool = False
    """Whether two steps can continue one conversation at the same time without disturbing each other."""
    resumes: bool = True
    """Whether a step can continue the conversation of another."""
    reads_only: bool = False
    """Whether it has a mode in which it changes nothing, for steps with `read_only`."""
    needs_model: bool = False
    """Whether a model must be set because it has no default."""


ADAPTERS = {
    adapter.name: adapter
    for adapter in (
        Adapter(
            name="claude",
            program="claude",
            install="npm install -g @anthropic-ai/claude-code",
            home={"CLAUDE_CONFIG_DIR": ".claude"},
            forks=True,
            reads_only=True,
            doc="Claude Code",
        ),
        Adapter(
            name="codex",
            program="codex",
            install="npm install -g @openai/codex",
            home={"CODEX_HOME": ".codex"},
            forks=True,
            reads_only=True,
            doc="Codex CLI",
        ),
        Adapter(
            name="gemini",
            program="gemini",
            install="npm install -g @google/gemini-cli",
            home={"GEMINI_CLI_HOME": "."},
            reads_only=True,
            doc="Gemini CLI",
        ),
        Adapter(
            name="opencode",
            program="opencode",
            install="npm install -g opencode-ai",
            home={
                "OPENCODE_CONFIG_DIR": ".config/opencode",
                "OPENCODE_CONFIG": ".config/opencode/opencode.json",
            },
            forks=True,
            reads_only=True,
            doc="OpenCode",
        ),
        Adapter(
            name="goose",
            program="goose",
            install="npm install -g @aaif/goose",
            home={"GOOSE_PATH_ROOT": ".goose"},
            doc="goose",
        ),
        Adapter(
            name="vibe",
            program="vibe",
            install="pip install mistral-vibe",
            home={"VIBE_HOME": ".vibe"},
            doc="Mistral Vibe",
        ),
        Adapter(
            name="pi",
            program="pi",
            install="npm install -g @earendil-works/pi-coding-agent",
            home={"PI_CODING_AGENT_DIR": ".pi/agent"},
            forks=True,
            reads_only=True,
            doc="pi",
        ),
        Adapter(name="aider", program="aider", install="pip install aider-chat", resumes=False, doc="Aider"),
        Adapter(
            name="mini-swe-agent",
            program="mini",
            install="pip install mini-swe-agent mcp",
            home={"MSWEA_GLOBAL_CONFIG_DIR": ".config/mini-swe-agent"},
            resumes=False,
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
            reads_only=True,
            needs_model=True,
            doc="a small agent of Weft's own, for users with a key to a model but no agent",
        ),
    )
}
