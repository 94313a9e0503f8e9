"""The variables with which git is started."""

from collections.abc import Mapping

from weft.search_path import search_path

# What says who the user is, how servers are reached and where configuration lies. A hook that Weft is started from
# sets others: the repository, index and object store of what it is a hook of.
_KEPT = (
    *("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_ASKPASS", "GIT_SSH", "GIT_SSL_", "GIT_LFS_"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"),
    *("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH"),
)
PAGER = "GITPAGER"
_SET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_EDITOR": "false",
    PAGER: "cat",
    "LC_ALL": "C",
}


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """Those that are given, without any that lead git to another repository, and with ours."""
    return kept(environ) | _SET


def kept(environ: Mapping[str, str]) -> dict[str, str]:
    """Those that are given, without any that lead git to another repository."""
    variables = {
        name: value
        for name, value in environ.items()
        if not name.startswith("GIT_") or name.startswith(_KEPT)
    }
    return variables | {"PATH": search_path(environ)}
