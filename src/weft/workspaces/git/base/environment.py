"""The environment variables that git processes start with."""

from collections.abc import Mapping

from weft.search_path import search_path

# These variables name the user, the servers and the configuration. All other GIT_ variables are dropped: if Weft
# runs inside a git hook, they name the repository, index and object store of that hook.
_KEPT = (
    *("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_ASKPASS", "GIT_SSH", "GIT_SSL_", "GIT_LFS_"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH"),
)
PAGER = "GIT_PAGER"
_SET = {
    "GIT_TERMINAL_PROMPT": "0",
    # Without this, `git status` takes index.lock to write back what it learnt, and a user's git fails
    # meanwhile.
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_EDITOR": "false",
    PAGER: "cat",
    # Weft recognises some errors by git's English messages.
    "LC_ALL": "C",
}


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment without variables that lead git to another repository, plus Weft's own settings."""
    return kept(environ) | _SET


def kept(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment without variables that lead git to another repository."""
    variables = {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT)
    }
    return variables | {"PATH": search_path(environ)}
