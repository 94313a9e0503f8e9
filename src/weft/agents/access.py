"""The credentials that each agent needs, and the kinds of spending it reports. `weft agents` shows both.

Only the provider can tell whether a key is valid. Weft checks that credentials exist: a variable that is set, or a
file that a login created. It never reads their values.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from weft.agents.builtin import chat, messages


class Login(Struct, frozen=True):
    """A file that a program creates when the user logs in."""

    file: str
    folder: str
    """Its directory, relative to the home directory."""
    variable: str = ""
    """An environment variable that names another directory."""


class Access(Struct, frozen=True, kw_only=True):
    """The ways to authenticate an agent, and what it reports about its spending."""

    variables: tuple[str, ...] = ()
    """Any one of them is enough; the usual one comes first. `*_API_KEY` matches every name with that ending."""
    logins: tuple[Login, ...] = ()
    reports: tuple[str, ...] = ()
    """The kinds of spending that it reports: cost, tokens."""


ANY_KEY = "*_API_KEY"
_ALL = ("cost", "tokens")
ACCESS = {
    "claude": Access(
        variables=(
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        logins=(Login(".credentials.json", ".claude", "CLAUDE_CONFIG_DIR"),),
        reports=_ALL,
    ),
    "codex": Access(
        variables=("CODEX_API_KEY",),
        logins=(Login("auth.json", ".codex", "CODEX_HOME"),),
        reports=("tokens",),
    ),
    "gemini": Access(
        variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"),
        logins=(Login("oauth_creds.json", ".gemini"),),
        reports=("tokens",),
    ),
    "opencode": Access(
        variables=(ANY_KEY,),
        logins=(Login("opencode/auth.json", ".local/share", "XDG_DATA_HOME"),),
        reports=_ALL,
    ),
    "goose": Access(
        variables=(ANY_KEY,),
        logins=(Login("goose/config.yaml", ".config", "XDG_CONFIG_HOME"),),
        reports=("tokens",),
    ),
    "vibe": Access(
        variables=("MISTRAL_API_KEY",), logins=(Login(".env", ".vibe", "VIBE_HOME"),), reports=_ALL
    ),
    "pi": Access(
        variables=(ANY_KEY,),
        logins=(Login("auth.json", ".pi/agent", "PI_CODING_AGENT_DIR"),),
        reports=_ALL,
    ),
    "aider": Access(variables=(ANY_KEY,), logins=(Login(".aider.conf.yml", ""),), reports=_ALL),
    "mini-swe-agent": Access(
        variables=(ANY_KEY,),
        logins=(Login("mini-swe-agent/.env", ".config", "XDG_CONFIG_HOME"),),
        reports=_ALL,
    ),
    "builtin": Access(variables=(chat.KEY, chat.BASE, messages.KEY, messages.BASE), reports=("tokens",)),
}
"""The agents that call models themselves. `command`, `scripted` and `acp` have credentials of their own kind."""


def find_credentials(use: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yields the names of the variables and files that hold credentials for the agent, never their values."""
    access = ACCESS[use]
    for name in access.variables:
        # The agent works with many providers; any key may be the right one.
        if name == ANY_KEY:
            yield from (
                variable
                for variable, value in sorted(environ.items())
                if variable.endswith(ANY_KEY[1:]) and value
            )
        elif environ.get(name):
            yield name
    for login in access.logins:
        path = _path(login, environ)
        if os.path.isfile(path):  # noqa: PTH113 - returns False where Path.is_file raises
            yield str(path)


def _path(login: Login, environ: Mapping[str, str]) -> Path:
    named = environ.get(login.variable, "") if login.variable else ""
    return Path(named, login.file) if named else Path(environ.get("HOME", ""), login.folder, login.file)
