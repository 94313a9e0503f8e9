"""Find the credentials of an agent, for `weft agents`.

Only the provider can tell whether a key is valid. Weft checks that credentials exist: a variable that is set, or a
file that a login created. It never reads their values.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from weft.plan.agent_program import ANY_KEY, Access, Login


def find_credentials(access: Access, environ: Mapping[str, str]) -> Iterator[str]:
    """Yields the names of the variables and files that hold credentials for the agent, never their values."""
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
        # Presence is all that counts. A login may be expired, but only a call to the provider could show that.
        if os.path.isfile(path):  # noqa: PTH113 - returns False where Path.is_file raises
            yield str(path)


def _path(login: Login, environ: Mapping[str, str]) -> Path:
    named = environ.get(login.variable, "") if login.variable else ""
    return Path(named, login.file) if named else Path(environ.get("HOME", ""), login.folder, login.file)
