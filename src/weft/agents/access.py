"""What an agent needs to be let in to a model, and what it tells of its spending: for people who choose one.

Whether a key is right, only its provider knows. Here it is only looked whether there is one: a variable that is
set, or a file that a login has left. No value is ever read further than that.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from weft.agents.builtin import chat, messages


class Login(Struct, frozen=True):
    """A file that a program leaves where somebody has logged in."""

    file: str
    folder: str
    """Where it is below the home."""
    variable: str = ""
    """That names another place instead of the folder."""


class Access(Struct, frozen=True, kw_only=True):
    variables: tuple[str, ...] = ()
    """Each of which is enough, the usual one first. `*_API_KEY` is any that ends so."""
    logins: tuple[Login, ...] = ()
    tells: tuple[str, ...] = ()
    """What it says of what it spends."""


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
        tells=_ALL,
    ),
    "codex": Access(
        variables=("CODEX_API_KEY",),
        logins=(Login("auth.json", ".codex", "CODEX_HOME"),),
        tells=("tokens",),
    ),
    "gemini": Access(
        variables=("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"),
        logins=(Login("oauth_creds.json", ".gemini"),),
        tells=("tokens",),
    ),
    "opencode": Access(
        variables=(ANY_KEY,),
        logins=(Login("opencode/auth.json", ".local/share", "XDG_DATA_HOME"),),
        tells=_ALL,
    ),
    "goose": Access(
        variables=(ANY_KEY,),
        logins=(Login("goose/config.yaml", ".config", "XDG_CONFIG_HOME"),),
        tells=("tokens",),
    ),
    "vibe": Access(variables=("MISTRAL_API_KEY",), logins=(Login(".env", ".vibe", "VIBE_HOME"),), tells=_ALL),
    "pi": Access(
        variables=(ANY_KEY,),
        logins=(Login("auth.json", ".pi/agent", "PI_CODING_AGENT_DIR"),),
        tells=_ALL,
    ),
    "aider": Access(variables=(ANY_KEY,), logins=(Login(".aider.conf.yml", ""),), tells=_ALL),
    "mini-swe-agent": Access(
        variables=(ANY_KEY,),
        logins=(Login("mini-swe-agent/.env", ".config", "XDG_CONFIG_HOME"),),
        tells=_ALL,
    ),
    "builtin": Access(variables=(chat.KEY, chat.BASE, messages.KEY, messages.BASE), tells=("tokens",)),
}
"""Of those that call models themselves."""


def signs_of(use: str, environ: Mapping[str, str]) -> Iterator[str]:
    """The names of variables and files by which it seems to be let in; none is printed with its value."""
    access = ACCESS[use]
    for name in access.variables:
        if name == ANY_KEY:
            yield from (one for one, value in sorted(environ.items()) if one.endswith(ANY_KEY[1:]) and value)
        elif environ.get(name):
            yield name
    for login in access.logins:
        path = _path(login, environ)
        if os.path.isfile(path):  # noqa: PTH113 - of what cannot be seen: no
            yield str(path)


def _path(login: Login, environ: Mapping[str, str]) -> Path:
    named = environ.get(login.variable, "") if login.variable else ""
    return Path(named, login.file) if named else Path(environ.get("HOME", ""), login.folder, login.file)
