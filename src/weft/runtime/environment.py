"""The environment of a step: a few inherited variables, its identity, and the variables that the plan adds.

A step inherits only the variables in the tables below, so that it behaves alike on each machine and gets no secret
that it does not need. Commands come with a repository, so they get no keys; agents need their keys.
"""

from collections.abc import Collection, Mapping

from msgspec import Struct

from weft.search_path import search_path

_OURS = "WEFT_"
_POOLS = "WEFT_POOL_"
_RUN, _SUBPLAN, _NOTIFIED = "WEFT_RUN", "WEFT_SUBPLAN", "WEFT_NOTIFY_EVENT"

FOR_ALL = {
    "PATH": "where programs are",
    "HOME": "where programs have their settings",
    "USER": "git and ssh read the user's name from it",
    "LOGNAME": "the same, by its other name",
    "SHELL": "programs that start a shell start this one",
    "LANG": "language and encoding",
    "LANGUAGE": "language, in order of preference",
    "LC_*": "language and encoding, one by one",
    "TZ": "the time zone",
    "TMPDIR": "where there is room for temporary files",
    "TERM": "what a terminal can do; some programs fail without it",
    "NO_COLOR": "the user wants no colours",
    "XDG_*": "where programs have their settings, data, caches and sockets",
    "SSH_AUTH_SOCK": "the keys for git over ssh",
    "HTTP_PROXY": "the way to the network",
    "HTTPS_PROXY": "the way to the network",
    "FTP_PROXY": "the way to the network",
    "ALL_PROXY": "the way to the network",
    "NO_PROXY": "hosts that are reached without a proxy",
    "http_proxy": "curl and others read only the small letters",
    "https_proxy": "the same",
    "ftp_proxy": "the same",
    "all_proxy": "the same",
    "no_proxy": "the same",
    "SSL_CERT_FILE": "trusted certificates: OpenSSL",
    "SSL_CERT_DIR": "trusted certificates: OpenSSL",
    "CURL_CA_BUNDLE": "trusted certificates: curl",
    "REQUESTS_CA_BUNDLE": "trusted certificates: Python",
    "NODE_EXTRA_CA_CERTS": "trusted certificates: Node",
    "GIT_SSL_CAINFO": "trusted certificates: git",
    "VIRTUAL_ENV": "Python's environment; its programs are on the PATH already",
}
"""Names, or prefixes or suffixes of names, with the reason why each is inherited."""

FOR_AGENTS = {
    "*_API_KEY": "the key of a model's provider; there are many providers",
    "*_API_BASE": "where the provider is, as LiteLLM names it",
    "*_BASE_URL": "where the provider is, as most others name it",
    "ANTHROPIC_*": "tokens, models and addresses: Claude Code and the SDK",
    "OPENAI_*": "organisation, project and address: Codex and whatever speaks the same protocol",
    "GEMINI_*": "Gemini CLI",
    "GOOGLE_*": "Gemini CLI with an account of Google's cloud",
    "MISTRAL_*": "Mistral Vibe",
    "AWS_*": "models on Bedrock",
    "AZURE_*": "models on Azure",
    "CLOUD_ML_REGION": "models on Vertex AI",
    "VERTEXAI_*": "models on Vertex AI, as LiteLLM names it",
    "OLLAMA_*": "models on this machine",
    "LITELLM_*": "what many agents call models with",
    "HF_TOKEN": "models of Hugging Face",
    "CLAUDE_CODE_OAUTH_TOKEN": "a subscription of Claude Code",
    "CLAUDE_CODE_USE_*": "which provider Claude Code calls",
    "CLAUDE_CONFIG_DIR": "the settings and login of Claude Code",
    "CODEX_*": "the settings and login of Codex",
    "GOOSE_*": "provider and model of goose",
    "OPENCODE_*": "the settings of OpenCode",
    "VIBE_*": "the settings of Mistral Vibe",
    "PI_CODING_AGENT_*": "the settings of pi",
    "AIDER_*": "the settings of Aider",
    "MSWEA_*": "the settings of mini-SWE-agent",
}
"""The same, for agents only."""


_NAMES_FOR_ALL = tuple(FOR_ALL)
_NAMES_FOR_AGENTS = (*FOR_ALL, *FOR_AGENTS)


class StepIdentity(Struct, frozen=True, kw_only=True):
    """The identity of a step, which it reads from its environment."""

    run: str
    subplan: str
    """The path; empty for the whole plan."""
    step: str
    attempt: int
    job: str
    result_file: str
    plan_dir: str

    def variables(self) -> dict[str, str]:
        return {
            _RUN: self.run,
            _SUBPLAN: self.subplan,
            "WEFT_STEP": self.step,
            "WEFT_ATTEMPT": str(self.attempt),
            "WEFT_JOB": self.job,
            "WEFT_RESULT": self.result_file,
            "WEFT_PLAN_DIR": self.plan_dir,
        }


class StepEnvironment:
    """Builds the environments of the steps of a run. The inherited variables are read once."""

    def __init__(self, environ: Mapping[str, str], *, allow: Collection[str] = ()) -> None:
        """`allow` holds further names that the plan passes on."""
        self._of_commands = _inherited_variables(environ, _Names(FOR_ALL, allow))
        self._of_agents = _inherited_variables(environ, _Names(FOR_ALL | FOR_AGENTS, allow))
        self._passed_on = {name: environ[name] for name in allow if name in self._of_commands}

    def inherited(self, *, agent: bool) -> Mapping[str, str]:
        return self._of_agents if agent else self._of_commands

    @property
    def passed_on(self) -> Mapping[str, str]:
        """The variables that the plan passes on to every machine. All others are those of the account there."""
        return self._passed_on

    @staticmethod
    def names(*, agent: bool) -> tuple[str, ...]:
        """Returns the names, or patterns of names, of the variables that a step inherits."""
        return _NAMES_FOR_AGENTS if agent else _NAMES_FOR_ALL

    def of(
        self, identity: StepIdentity, *, extra: Mapping[str, str], agent: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Returns the variables of a step's process, without the inherited ones.

        `extra` holds the variables of the plan, `agent` those of the agent's adapter; a command has none of the
        latter. Names with the prefix WEFT_ are reserved: `extra` may only set those of values from pools.
        """
        # The identity comes last: a plan cannot make a step look like another one.
        planned = {name: value for name, value in extra.items() if _may_be_set(name)}
        return {**planned, **(agent or {}), **identity.variables()}


def _inherited_variables(environ: Mapping[str, str], names: "_Names") -> dict[str, str]:
    inherited = {name: value for name, value in environ.items() if name in names and _is_text(value)}
    return inherited | {"PATH": search_path(environ)} if "PATH" in inherited else inherited


def inside_step(environ: Mapping[str, str]) -> str | None:
    """Returns the subplan of the step that runs this process, empty for the plan; None outside of steps.

    The command of a notification also has the run's variables, but it is the user's own and no step.
    """
    is_notified = _NOTIFIED in environ and _SUBPLAN not in environ
    return environ.get(_SUBPLAN, "") if _RUN in environ and not is_notified else None


def _may_be_set(name: str) -> bool:
    return not name.startswith(_OURS) or name.startswith(_POOLS)


def _is_text(value: str) -> bool:
    """Returns whether the value is valid UTF-8. Other bytes are surrogates in Python; a job cannot store them."""
    return value.isascii() or value.encode(errors="replace").decode() == value


class _Names:
    """A set of variable names, some given by a prefix or suffix."""

    def __init__(self, patterns: Collection[str], names: Collection[str]) -> None:
        self._exact = {*patterns, *names}
        self._prefixes = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("*"))
        self._suffixes = tuple(pattern[1:] for pattern in patterns if pattern.startswith("*"))

    def __contains__(self, name: str) -> bool:
        listed = name in self._exact or name.startswith(self._prefixes) or name.endswith(self._suffixes)
        return listed and not name.startswith(_OURS)
