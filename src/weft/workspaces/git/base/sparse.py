"""Worktrees with only some directories of the repository, in git's *cone mode*.

The patterns are stored in the worktree's own git directory. Each git that Weft starts there learns through its
environment that they are in force, so the repository's configuration, which belongs to the user, stays unchanged.
Another git, such as an agent's, sees from the index which files are left out on purpose. It does not notice when
such a file is created again; Weft's git does.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from weft.safe_files import read_file, replace_file
from weft.workspaces.errors import WorkspaceError

_LARGEST = 1 << 26
_OURS = "# Weft"
_SPECIAL = re.compile(r"[\\*?\[]")
# Variables instead of `config.worktree`, which exists only if extensions.worktreeConfig is set for the whole
# repository, and older gits refuse a repository that has that extension.
_SETTINGS = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.sparseCheckout",
    "GIT_CONFIG_VALUE_0": "true",
    "GIT_CONFIG_KEY_1": "core.sparseCheckoutCone",
    "GIT_CONFIG_VALUE_1": "true",
}


def patterns(folders: Sequence[str]) -> str:
    """Returns patterns for these directories and everything in them, and for the files in their parents."""
    chosen = {_check_folder(folder) for folder in folders}
    whole = sorted(folder for folder in chosen if chosen.isdisjoint(folder.parents))
    on_the_way = sorted({parent for folder in whole for parent in list(folder.parents)[:-1]})
    # git accepts cone mode only for this form: all files of the top, no directory; then, for each directory on
    # the way, its files but not its subdirectories; then whole directories. Anything else makes git match each
    # path against each pattern.
    lines = [_OURS, "/*", "!/*/"]
    for folder in on_the_way:
        lines += [f"/{_escape(folder)}/", f"!/{_escape(folder)}/*/"]
    lines += [f"/{_escape(folder)}/" for folder in whole]
    return "\n".join(lines) + "\n"


def _check_folder(folder: str) -> PurePosixPath:
    path = PurePosixPath(folder)
    if path.is_absolute() or not path.parts or ".." in path.parts or "\n" in folder:
        raise WorkspaceError(
            f"{folder!r} is not a directory of the repository; write its path from the top, such as src/app"
        )
    return path


def _escape(folder: PurePosixPath) -> str:
    return _SPECIAL.sub(r"\\\g<0>", str(folder))


def choose(git_dir: Path, folders: Sequence[str]) -> None:
    """Stores the patterns for these directories. Without directories, the worktree is complete."""
    if folders:
        replace_file(_file(git_dir), patterns(folders).encode(errors="surrogateescape"))


def is_chosen(git_dir: Path, folders: Sequence[str]) -> bool:
    """Returns whether Weft chose exactly these directories for the worktree; none means that it chose none."""
    return _stored_patterns(git_dir) == (patterns(folders) if folders else None)


def settings(git_dir: Path) -> Mapping[str, str]:
    """Returns variables for a git that runs in the worktree."""
    return {} if _stored_patterns(git_dir) is None else _SETTINGS


def _stored_patterns(git_dir: Path) -> str | None:
    """Returns the patterns that Weft stored.

    None also if they are the user's own, which git copies to each new worktree of a sparse checkout.
    """
    try:
        text = read_file(_file(git_dir), most=_LARGEST).decode(errors="surrogateescape")
    except FileNotFoundError:
        return None
    return text if text.startswith(_OURS) else None


def _file(git_dir: Path) -> Path:
    return git_dir / "info" / "sparse-checkout"
